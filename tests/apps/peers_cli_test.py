"""Methods llamacpp... in `verify` and `generate`: the table, agreement as it is, and one clear line for each mistake.

usage: peers_cli_test.py PROGRAM. Needs the default model (label model). tests/apps/fake_llama_server.py stands in for
llama-server.
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

import weather

PROGRAM = sys.argv.pop(1)
FAKE = pathlib.Path(__file__).resolve().parent / "fake_llama_server.py"
EXAMPLE = "examples/one-tool.json"
MODEL = "assets/models/default.gguf"  # named, it comes without the default head
LIMIT = 48


class Peers(weather.Case):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "SCHEMAFILL_PEER_TOOLS": str(self.folder / "tools")}

    def build_peer_tools(self, answers=None, mode=""):
        """As `make peer-tools` leaves them, with the fake as llama-server."""
        (self.folder / "tools" / "bin").mkdir(parents=True, exist_ok=True)
        server = self.folder / "tools" / "bin" / "llama-server"
        if not server.exists():
            server.symlink_to(FAKE)
        self.environment["FAKE_LLAMA_MODE"] = mode
        self.environment["FAKE_LLAMA_RECORD"] = str(self.folder / "record.jsonl")
        if answers:
            (self.folder / "answers.json").write_text(json.dumps(answers))
            self.environment["FAKE_LLAMA_ANSWERS"] = str(self.folder / "answers.json")

    def run_program(self, *words):
        return subprocess.run([PROGRAM, *map(str, words)], env=self.environment, capture_output=True, text=True)

    def verify(self, methods, *options, code=0):
        result = self.run_program("verify", "--dataset", self.data, "--preset", "paper", "--max-tokens", LIMIT, "--json",
                                  "--methods", methods, *options)
        self.assertEqual(result.returncode, code, result.stderr)
        return (json.loads(result.stdout.splitlines()[-1]) if code == 0 else None), result.stderr

    def plain_tokens(self):
        results = self.folder / "plain.jsonl"
        self.verify("ar", "--results", results)
        return [json.loads(line)["token_ids"] for line in results.read_text().splitlines()[1:]]

    def check_mistake(self, words, *command):
        result = self.run_program(*command)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(lines), 1, result.stderr)
        for word in words:
            self.assertIn(word, lines[0])

    def test_without_llama_server(self):
        total, errors = self.verify("llamacpp,schemafill,llamacpp-ngram")
        self.assertEqual(list(total["methods"]), ["ar", "schemafill"])
        skipped = [line for line in errors.splitlines() if line.startswith("skipped: ")]
        self.assertEqual(len(skipped), 1, errors)
        for word in ("llamacpp, llamacpp-ngram", str(self.folder / "tools" / "bin"), "make peer-tools", "--llama-server"):
            self.assertIn(word, skipped[0])
        self.check_mistake(("llamacpp", "make peer-tools"), "generate", "--request", EXAMPLE, "--method", "llamacpp")

    def test_answers_that_agree(self):
        plain = self.plain_tokens()
        # As llama-server does: on beyond the end of the calls.
        self.build_peer_tools([{"tokens": tokens + [2], "draft_n": 9, "draft_n_accepted": 3} for tokens in plain])
        total, _ = self.verify("llamacpp-ngram", "--results", self.folder / "results.jsonl")
        peer, ar = (total["methods"][name] for name in ("llamacpp-ngram", "ar"))
        self.assertEqual((peer["agreement"], peer["tokens"]), (1, ar["tokens"]))
        predicted = [min(len(tokens) + 1, LIMIT) for tokens in plain]
        forwards = sum(int((count - 3) * len(tokens) / count + 0.5) for tokens, count in zip(plain, predicted))
        self.assertEqual(peer["forwards"], forwards)
        self.assertEqual(peer["al"], round(peer["tokens"] / forwards, 3))
        self.assertEqual(peer["decode_tps"], 100)  # the fake takes 10 ms a token
        bodies = [json.loads(line) for line in (self.folder / "record.jsonl").read_text().splitlines()]
        self.assertEqual([line["body"]["n_predict"] for line in bodies if "body" in line], [LIMIT, LIMIT])
        # A finished run is only read.
        again, _ = self.verify("llamacpp-ngram", "--results", self.folder / "results.jsonl")
        self.assertEqual(again["methods"]["llamacpp-ngram"], {**peer, "resumed": 2})

    def test_other_answers_are_counted_and_no_fault(self):
        plain = self.plain_tokens()
        self.build_peer_tools([{"tokens": plain[0]}, {"tokens": plain[1][:-2]}])
        total, errors = self.verify("schemafill,llamacpp")
        self.assertEqual(total["methods"]["llamacpp"]["agreement"], 0.5)
        self.assertEqual(total["methods"]["llamacpp"]["al"], 1)
        self.assertEqual(total["agreement"], 1)
        self.assertIn("llamacpp: ", errors)

    def test_generate(self):
        self.build_peer_tools([{"tokens": [104, 105]}])
        result = self.run_program("generate", "--request", EXAMPLE, "--method", "llamacpp", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        stats = json.loads(result.stdout)["stats"]
        self.assertEqual((stats["method"], stats["tokens"], stats["forwards"]), ("llamacpp", 2, 2))
        compared = self.run_program("generate", "--request", EXAMPLE, "--method", "llamacpp", "--compare")
        self.assertEqual(compared.returncode, 0, compared.stderr)
        self.assertIn("same bytes: NO", compared.stdout)

    def test_failed_requests_are_named(self):
        self.build_peer_tools(mode="refuses")
        total, errors = self.verify("llamacpp", code=1)
        self.assertIn("too many tokens", errors)
        self.assertEqual(len([line for line in errors.splitlines() if line.startswith("failed: ")]), 2)

    def test_mistakes(self):
        generate = ("generate", "--request", EXAMPLE, "--method")
        self.check_mistake(("magic", "schemafill", "llamacpp-ngram"), *generate, "magic")
        self.check_mistake(("nowhere", "no such file"), *generate, "llamacpp", "--llama-server", "nowhere")
        self.build_peer_tools()
        self.check_mistake(("--head",), *generate, "llamacpp-eagle3", "--model", MODEL)
        self.check_mistake(("--explain",), *generate, "llamacpp", "--explain")
        self.check_mistake(("temperature 0",), *generate, "llamacpp", "--temperature", 1)
        self.build_peer_tools(mode="dies at start")
        self.check_mistake(("llamacpp", "exit code 1", "made of cheese", "log: "), *generate, "llamacpp")


if __name__ == "__main__":
    unittest.main()
