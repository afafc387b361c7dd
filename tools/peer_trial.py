#!/usr/bin/env python3
"""The trial that chose the settings of methods llamacpp... (src/apps/peers.cc): llama-server with one setting after the other.

    peer_trial.py REQUESTS.jsonl [--limit N] [--max-tokens N] [--head FILE] [--only WORD ...] [--server ARGUMENT ...]

REQUESTS.jsonl holds OpenAI bodies; never take test data. Each request goes to every setting in turn before the next one
does, so that a busy machine is busy for all of them. The bodies are those that `schemafill verify` sends: a stand-in for
llama-server writes them down. Needs `make peer-tools` and a build.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAKE = ROOT / "tests" / "apps" / "fake_llama_server.py"
TUNED = "--flash-attn on --cache-type-k q8_0 --cache-ram 0"


def ngram_settings():
    yield "plain", TUNED
    yield "plain, defaults", ""
    for kind in ("simple", "map-k", "map-k4v"):
        for n, m in ((12, 48), (6, 12), (4, 8), (3, 4)):
            sizes = f"--spec-ngram-{kind}-size-n {n} --spec-ngram-{kind}-size-m {m}"
            yield f"ngram-{kind} {n} {m}", f"{TUNED} --spec-type ngram-{kind} {sizes}"
    for match, least, most in ((24, 48, 64), (8, 2, 16), (6, 1, 12), (4, 1, 16), (4, 1, 8), (4, 1, 4)):
        sizes = f"--spec-ngram-mod-n-match {match} --spec-ngram-mod-n-min {least} --spec-ngram-mod-n-max {most}"
        yield f"ngram-mod {match} {least} {most}", f"{TUNED} --spec-type ngram-mod {sizes}"
    for most in (3, 8):
        yield f"ngram-cache {most}", f"{TUNED} --spec-type ngram-cache --spec-draft-n-max {most}"


def head_settings(head):
    yield "plain", TUNED
    for most in (1, 2, 3, 5, 8):
        for least_p in (0, 0.5, 0.8):
            draft = f"--spec-type draft-eagle3 --spec-draft-model {head} --spec-draft-n-max {most} --spec-draft-p-min {least_p}"
            yield f"eagle3 {most} {least_p}", f"{TUNED} {draft}"


def bodies(args, folder):
    """What verify sends for the requests."""
    record = folder / "record.jsonl"
    subprocess.run(
        [args.program, "verify", "--dataset", args.requests, "--limit", str(args.limit), "--methods", "llamacpp",
         "--max-tokens", str(args.max_tokens), "--threads", str(args.threads), "--preset", "paper", "--model", args.model, "--llama-server", FAKE, "--json"],
        env={**os.environ, "FAKE_LLAMA_RECORD": str(record)}, stdout=subprocess.DEVNULL, check=True)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    return [line["body"] for line in lines if "body" in line]


class Server:
    def __init__(self, args, folder, name, words):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = folder / f"{name.replace(' ', '_')}.log"
        command = [args.llama_server, "--host", "127.0.0.1", "--port", str(self.port), "--model", args.model,
                   "--ctx-size", "4096", "--threads", str(args.threads), "--parallel", "1", "--no-ui", "--offline",
                   *words.split(), *args.server]
        self.process = subprocess.Popen(command, stdout=open(self.log, "w"), stderr=subprocess.STDOUT)
        self.sums = dict.fromkeys(("predicted_n", "predicted_ms", "draft_n", "draft_n_accepted"), 0)
        self.answers = 0

    def wait(self):
        while self.process.poll() is None:
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health").read()
            except OSError:
                time.sleep(0.1)
        sys.exit(f"{self.log.read_text()}\nllama-server ended")

    def ask(self, body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/completion", json.dumps(body).encode())
        answer = json.load(urllib.request.urlopen(request))
        for key in self.sums:
            self.sums[key] += answer["timings"].get(key, 0)
        self.answers += 1
        return answer["tokens"]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def row(name, server, same, plain_rate):
    sums = server.sums
    forwards = sums["predicted_n"] - sums["draft_n_accepted"]
    rate = 1000 * (sums["predicted_n"] - server.answers) / sums["predicted_ms"]
    return (f"{name:<22}{same:>6}{sums['predicted_n']:>8}{forwards:>9}{sums['predicted_n'] / forwards:>7.2f}"
            f"{sums['draft_n'] / forwards:>13.2f}{rate:>9.1f}{rate / (plain_rate or rate):>8.2f}x"), rate


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("requests")
    parser.add_argument("--program", default=str(ROOT / "build" / "schemafill"))
    parser.add_argument("--llama-server", default=str(ROOT / ".peer-tools" / "bin" / "llama-server"))
    parser.add_argument("--model", default=str(ROOT / "assets" / "models" / "default.gguf"))
    parser.add_argument("--head", help="try drafts by this EAGLE-3 head instead of n-grams")
    parser.add_argument("--limit", type=int, default=12)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[], help="settings whose name holds one of these words, and plain")
    parser.add_argument("--server", nargs="*", default=[], help="more arguments for every llama-server")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # servers are stopped on the way out
    settings = dict(head_settings(args.head) if args.head else ngram_settings())
    if args.only:
        settings = {name: words for name, words in settings.items()
                    if name == "plain" or any(word in name for word in args.only)}
    with tempfile.TemporaryDirectory() as folder:
        requests = bodies(args, Path(folder))
        servers = {name: Server(args, Path(folder), name, words) for name, words in settings.items()}
        same = dict.fromkeys(servers, 0)
        try:
            for server in servers.values():
                server.wait()
            for number, body in enumerate(requests, 1):
                answers = {name: server.ask(body) for name, server in servers.items()}
                for name, tokens in answers.items():
                    same[name] += tokens == answers["plain"]
                print(f"\r{number} of {len(requests)}", end="", file=sys.stderr, flush=True)
        finally:
            for server in servers.values():
                server.stop()
    print(f"\r{'setting':<22}{'same':>6}{'tokens':>8}{'forwards':>9}{'AL':>7}{'nodes/verify':>13}{'tokens/s':>9}{'speed-up':>9}")
    plain_rate = 0
    for name, server in servers.items():
        text, rate = row(name, server, same[name], plain_rate)
        plain_rate = plain_rate or rate
        print(text)


if __name__ == "__main__":
    main()
