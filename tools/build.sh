#!/usr/bin/env bash
# Configures one of CMakePresets.json's presets if needed and builds it.
# usage: tools/build.sh PRESET JOBS [TARGET [CMAKE_OPTION ...]]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1 jobs=$2 target=${3:-all}
options=("${@:4}")
dir=build
[ "$preset" = release ] || dir=build-$preset
log=$dir/logs/configure.log
mkdir -p "$dir/logs"

# CMake configures again by itself when a CMakeLists.txt changed, but not when the checkout was moved or llama.cpp
# replaced; it takes a fraction of a second when nothing did.
echo "building $dir/ ..."
if ! cmake --preset "$preset" "${options[@]}" >"$log" 2>&1; then
  cat "$log" >&2
  echo "build failed: CMake could not configure $dir/. The reason stands above; log: $log" >&2
  echo "  remedy: for a missing package 'make setup'; after moving the checkout 'make clean'" >&2
  exit 1
fi
if ! cmake --build "$dir" -j "$jobs" --target "$target"; then
  echo "build failed: the first error stands above" >&2
  exit 1
fi
