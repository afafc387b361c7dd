# Two commands on a fresh Debian 12 with git, make and Python 3:
#
#   make demo    sets everything up, builds, and runs one request with and without SchemaFill
#   make test    sets everything up, builds, and runs every test
#
# The first run takes about 8 minutes on 2 cores (llama.cpp, once); after that, seconds.

DEMO  = build/schemafill generate --request examples/two-calls.json --compare
JOBS ?= $(shell nproc)

.PHONY: build help setup demo test train-tools micro-bench asan peer-tools clean
.DEFAULT_GOAL := build

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 22

setup:  ## install packages, build llama.cpp's library, make the default model (once; then it only checks)
	@python3 tools/setup.py

build: setup  ## build build/schemafill (default)
	@tools/build.sh release $(JOBS)

demo: setup  ## build the program alone and run the demonstration
	@tools/build.sh release $(JOBS) schemafill_cli
	$(DEMO)

test: train-tools  ## build everything, the trainers included, and run every test
	@tools/build.sh release $(JOBS)
	ctest --test-dir build --output-on-failure --no-tests=error -j 2

train-tools: setup  ## install libtorch and build the trainers of adapters and heads
	@python3 tools/setup.py --train
	@tools/build.sh release $(JOBS) schemafill_train_cli -DSCHEMAFILL_TRAIN=ON

micro-bench: setup  ## how the cost of each stage grows with tools, slots and output (under a minute)
	@tools/build.sh release $(JOBS) micro_bench -DSCHEMAFILL_MICRO_BENCH=ON
	build/benchmarks/micro_bench --benchmark_min_time=0.05

asan: setup  ## build with AddressSanitizer and UBSan, and run the tests
	@tools/build.sh asan $(JOBS)
	ctest --test-dir build-asan --output-on-failure --no-tests=error -j 2

peer-tools: setup  ## build llama-server, llama-bench and others, for benchmarks (about 10 minutes, once)
	@python3 tools/setup.py --peer-tools

clean:  ## remove what the build made (keeps .venv/, assets/ and the cache)
	rm -rf build build-dev build-asan build-tsan
