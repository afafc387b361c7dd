"""`verify --results`: a run that was stopped goes on to the same totals, and files of other runs are refused.

usage: verify_results_test.py PROGRAM. Needs the default model (label model).
"""
import json
import signal
import subprocess
import sys
import unittest

import weather

PROGRAM = sys.argv.pop(1)
CITIES = ["Paris", "Oslo", "Lima"]
# Of a request: what it is, not how long it took.
COUNTS = ("agreement", "tokens", "forwards", "nodes", "accepted_nodes", "al", "nodes_per_verify")


class Results(weather.Case):
    cities = CITIES

    def setUp(self):
        super().setUp()
        self.results = self.folder / "results.jsonl"

    def command(self, *options, results=True):
        # Preset paper: what is drafted depends on no clock.
        given = ["--preset", "paper", "--max-tokens", 24, *(["--results", self.results] if results else []), *options]
        last = dict(zip(given[::2], given[1::2]))  # an option given again counts in place of the first
        return [PROGRAM, "verify", "--dataset", self.data, "--json", *(str(word) for pair in last.items() for word in pair)]

    def verify(self, *options, code=0, results=True):
        run = subprocess.run(self.command(*options, results=results), capture_output=True, text=True)
        self.assertEqual(run.returncode, code, run.stderr)
        return json.loads(run.stdout.splitlines()[-1]) if code != 2 else run.stderr

    def lines(self):
        return [json.loads(line) for line in self.results.read_text().splitlines()]

    def test_lines_hold_the_totals(self):
        total = self.verify()
        header, *pairs = self.lines()
        settings = header["settings"]
        self.assertEqual((header["type"], settings["preset"], settings["max_tokens"]), ("verify", "paper", 24))
        self.assertEqual([pair["method"] for pair in pairs], ["ar", "schemafill"] * len(CITIES))
        for method, figures in total["methods"].items():
            own = [pair for pair in pairs if pair["method"] == method]
            for name in ("tokens", "forwards", "nodes", "accepted_nodes"):
                self.assertEqual(figures[name], sum(pair["stats"][name] for pair in own), (method, name))
            self.assertEqual(figures["al"], round(figures["tokens"] / figures["forwards"], 3))
            self.assertEqual(figures["nodes_per_verify"], round(figures["nodes"] / figures["forwards"], 3))
        for pair in pairs:
            self.assertTrue(pair["agrees"])
            self.assertEqual(len(pair["token_ids"]), pair["stats"]["tokens"])
            self.assertLessEqual(len(pair["token_ids"]), 24)

    def test_an_interrupted_run_goes_on(self):
        whole = self.verify(results=False)["methods"]
        self.verify("--limit", 1)
        # As after a power cut: a line that is not whole.
        self.results.write_text(self.results.read_text() + '{"type": "sample", "requ')
        rest = self.verify()["methods"]
        for method in whole:
            self.assertEqual({name: rest[method][name] for name in COUNTS}, {name: whole[method][name] for name in COUNTS})
            self.assertEqual(rest[method]["resumed"], 1)
        # A finished run is only read.
        before = self.results.read_text()
        again = self.verify()["methods"]
        self.assertEqual(self.results.read_text(), before)
        for method in whole:
            self.assertEqual(again[method] | {"resumed": 1}, rest[method])
            self.assertEqual(again[method]["resumed"], len(CITIES))

    def test_a_method_is_compared_with_kept_plain_decoding(self):
        self.verify("--methods", "ar")
        kept = self.lines()
        self.assertEqual([pair["method"] for pair in kept[1:]], ["ar"] * len(CITIES))
        total = self.verify()["methods"]
        self.assertEqual((total["ar"]["resumed"], total["schemafill"]["resumed"]), (len(CITIES), 0))
        self.assertEqual(total["schemafill"]["agreement"], 1)
        self.assertEqual(len(self.lines()), len(kept) + len(CITIES))
        # Another answer in the file is seen.
        lines = self.lines()
        lines[1]["token_ids"][3] += 1
        lines[1]["text"] = "{!" + lines[1]["text"][2:]
        self.results.write_text("".join(json.dumps(line) + "\n" for line in lines))
        changed = self.verify(code=1)
        self.assertLess(changed["agreement"], 1)
        self.assertIn("at byte 1:", changed["methods"]["schemafill"]["first_difference"])

    def test_an_edited_request_runs_again(self):
        self.verify("--limit", 1)
        self.data.write_text(self.data.read_text().replace("Paris", "Rome"))
        self.assertEqual(self.verify("--limit", 1)["methods"]["ar"]["resumed"], 0)

    def test_control_c(self):
        with open(self.folder / "err", "w+") as errors:
            run = subprocess.Popen(self.command("--max-tokens", 25), stdout=subprocess.PIPE, stderr=errors, text=True)
            while run.poll() is None and (not self.results.exists() or self.results.read_text().count("\n") < 2):
                pass
            run.send_signal(signal.SIGINT)
            out = run.communicate(timeout=300)[0]
            errors.seek(0)
            self.assertEqual(run.returncode, 1, errors.read())
        total = json.loads(out.splitlines()[-1])
        self.assertTrue(total["interrupted"])
        self.assertLess(total["requests"], len(CITIES))
        pairs = self.lines()[1:]
        self.assertLess(len(pairs), 2 * len(CITIES))
        self.assertEqual(self.verify("--max-tokens", 25)["requests"], len(CITIES))
        self.assertEqual(self.lines()[1:1 + len(pairs)], pairs)

    def test_mistakes(self):
        def check(words, *options):
            message = self.verify("--limit", 1, *options, code=2)
            for word in words:
                self.assertIn(word, message)

        self.verify("--limit", 1, "--methods", "ar")
        for name, value in (("max-tokens", 9), ("preset", "auto"), ("seed", 5), ("context", 4096)):
            with self.subTest(name):
                check(("results.jsonl", name.replace("-", "_"), "another file"), f"--{name}", value)
        good = self.results.read_text()
        for name, text, words in (("no header", "x\n", ("line 1", "header")), ("no results file", "{}\n", ("line 1", "header")),
                                  ("one line without end", "x", ("line 1", "header")),
                                  ("not JSON", good + "oops\n", ("line 3",)), ("a field missing", good + "{}\n", ("line 3", "dataset"))):
            with self.subTest(name):
                self.results.write_text(text)
                check(words)
                self.assertEqual(self.results.read_text(), text)
        self.results.unlink()
        self.results.mkdir()
        check(("folder",))


if __name__ == "__main__":
    unittest.main()
