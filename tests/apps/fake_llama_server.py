#!/usr/bin/env python3
"""Speaks as much of llama-server's HTTP as methods `llamacpp...` use, for tests of them without llama-server.

usage: fake_llama_server.py --host HOST --port PORT ...      (all other arguments are only recorded)

In the environment:
  FAKE_LLAMA_ANSWERS  JSON file: a list of answers, given in turn: {"tokens": [...]} and what `timings` has beyond the usual
  FAKE_LLAMA_RECORD   file that gets a JSON line with what it was started with, then one for each request
  FAKE_LLAMA_MODE     what goes wrong: see MODES
"""
import http.server
import json
import os
import sys
import time

MODES = {
    "dies at start", "never ready", "not JSON", "no timings", "miscounts", "refuses", "refuses without a word",
    "dies in an answer", "hangs",
}
MODE = os.environ.get("FAKE_LLAMA_MODE", "")
TOKEN_MS = 10


def record(line):
    if path := os.environ.get("FAKE_LLAMA_RECORD"):
        with open(path, "a", encoding="utf-8") as out:
            print(json.dumps(line), file=out)


def answers():
    path = os.environ.get("FAKE_LLAMA_ANSWERS")
    given = json.load(open(path, encoding="utf-8")) if path else [{"tokens": [0]}]
    while True:
        yield from given


ANSWERS = answers()


def completion(body):
    answer = dict(next(ANSWERS))
    tokens = answer.pop("tokens")[:body["n_predict"]]
    timings = {"cache_n": 0, "prompt_n": len(body["prompt"]), "prompt_ms": 100.5, "predicted_n": len(tokens),
               "predicted_ms": float(TOKEN_MS * (len(tokens) - 1)), **answer}
    if MODE == "miscounts":
        timings["predicted_n"] += 1
    reply = {"content": "what it reads as is not looked at", "tokens": tokens, "stop": True, "timings": timings}
    if MODE == "no timings":
        del reply["timings"]
    return reply


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    polled = 0

    def reply(self, status, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        Handler.polled += 1
        loading = Handler.polled == 1 or MODE == "never ready"
        self.reply(503 if loading else 200, {"error": {"message": "Loading model"}} if loading else {"status": "ok"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        record({"path": self.path, "body": body})
        if MODE == "dies in an answer":
            print("the model fell over", file=sys.stderr, flush=True)
            os._exit(5)
        if MODE == "hangs":
            time.sleep(60)
        if MODE.startswith("refuses"):
            self.reply(400, {"error": {"code": 400, "message": "too many tokens"}} if MODE == "refuses" else b"")
        elif MODE == "not JSON":
            self.reply(200, b'{"tokens": [1, ')
        else:
            self.reply(200, completion(body))

    def log_message(self, *_):
        pass


def main():
    assert not MODE or MODE in MODES, MODE
    if MODE == "dies at start":
        print("loading", file=sys.stderr)
        sys.exit("error: the model is made of cheese\n")
    arguments = sys.argv[1:]
    record({"arguments": arguments, "pid": os.getpid(),
            "environment": sorted(name for name in os.environ if name.startswith(("LLAMA_", "GGML_")))})
    host, port = (arguments[arguments.index(name) + 1] for name in ("--host", "--port"))
    http.server.ThreadingHTTPServer((host, int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main()
