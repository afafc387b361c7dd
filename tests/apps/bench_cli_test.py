"""`bench`: lines a script can rely on, the same counts on every launch, resumed runs, and one clear line for each mistake.

usage: bench_cli_test.py PROGRAM. Needs the default model (label model).
"""
import json
import subprocess
import sys
import unittest

import weather

PROGRAM = sys.argv.pop(1)
CITIES = ["Paris", "Oslo"]
METHODS = ["ar", "schemafill", "schemafill-b@paper", "oracle"]
FIELDS = "method requests tps decode_tps speedup decode_speedup al nodes_per_verify agreement".split()
COUNTS = ("requests", "launches", "tokens", "forwards", "nodes", "accepted_nodes", "agreement")


class Bench(weather.Case):
    cities = CITIES

    def setUp(self):
        super().setUp()
        self.results = self.folder / "run.jsonl"

    def run_bench(self, *options, code=0, data=None):
        # Preset paper: what is drafted depends on no clock.
        words = ["bench", "--dataset", data or self.data, "--preset", "paper", "--max-tokens", 24, *options]
        result = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def lines(self, *options):
        result = self.run_bench("--json", "--methods", ",".join(METHODS[1:]), *options)
        *methods, machine = map(json.loads, result.stdout.splitlines())
        self.assertIn("machine", machine)
        self.assertEqual([line["method"] for line in methods], METHODS)
        return methods

    def counts(self, methods):
        return [{name: line[name] for name in COUNTS} for line in methods]

    def test_a_line_a_method(self):
        methods = self.lines()
        for line in methods:
            for name in FIELDS:
                self.assertIn(name, line)
            self.assertEqual((line["requests"], line["agreement"]), (len(CITIES), 1))
        ar, schemafill, _, oracle = methods
        self.assertEqual((ar["al"], ar["speedup"], ar["nodes"]), (1, 1, 0))
        self.assertGreater(schemafill["al"], 1)
        self.assertGreaterEqual(oracle["al"], schemafill["al"])

    def test_launches_count_the_same_and_a_killed_run_goes_on(self):
        whole = self.counts(self.lines("--launches", 2))
        once = self.counts(self.lines("--results", self.results))
        for twice, single in zip(whole, once):
            for name in ("tokens", "forwards", "nodes", "accepted_nodes"):
                self.assertEqual(twice[name], 2 * single[name], name)
        # Killed in the second request: some methods have answered, and a line is half written.
        lines = self.results.read_text().splitlines()
        self.assertEqual(len(lines), 1 + len(CITIES) * len(METHODS))
        self.results.write_text("\n".join(lines[:7]) + "\n" + lines[7][:20])
        self.assertEqual(self.counts(self.lines("--results", self.results, "--launches", 2)), whole)
        # A finished run is only read.
        before = self.results.read_text()
        self.lines("--results", self.results, "--launches", 2)
        self.assertEqual(self.results.read_text(), before)

    def test_the_table_fits_a_terminal(self):
        result = self.run_bench("--methods", "schemafill,parallel-fill,oracle", "--limit", 1)
        self.assertIn("parallel-fill*", result.stdout)
        self.assertIn("* lossy", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines()[:-2])), 80)

    def compare(self, *options, code=0):
        words = ["compare", "--dataset", self.data, "--limit", 2, "--block", 1, "--json", *options]
        result = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def test_compare(self):
        folder = self.folder / "sides"
        fixed = "--preset paper --max-tokens 24"
        options = ("--folder", folder, "--options", fixed, "--other-options", f"{fixed} --threads 1")
        line = json.loads(self.compare(*options).stdout)
        self.assertEqual((line["requests"], line["same_answers"]), (2, 2))
        self.assertEqual(line["this"]["al"], line["other"]["al"])
        speedup = line["decode_speedup"]
        self.assertLessEqual(speedup["low"], speedup["ratio"])
        self.assertGreaterEqual(speedup["high"], speedup["ratio"])
        self.assertEqual(json.loads(self.compare(*options).stdout), line)  # read, not run again
        for options, word in (((), "the same"), (("no-such-build",), "no-such-build"),
                              (("--options", "--model nowhere.gguf"), "nowhere.gguf")):
            self.assertIn(word, self.compare(*options, code=2).stderr)

    def test_mistakes(self):
        for options, words in (
                (("--table", 9), ("--table 9", "1 to 6")),
                (("--figure", 3), ("--figure 3", "2 and 4")),
                (("--figure", 2, "--table", 2), ("--table", "--figure")),
                (("--methods", "magic"), ("magic", "schemafill")),
                (("--methods", "schemafill@fast"), ("fast", "paper")),
                (("--methods", "llamacpp@paper"), ("llamacpp@paper", "preset")),
                (("--results", self.folder), (str(self.folder),)),
                (("--strict-data",), ("nowhere.jsonl",))):
            with self.subTest(options=options):
                missing = "nowhere.jsonl" if options == ("--strict-data",) else None
                result = self.run_bench(*options, code=2, data=missing)
                self.assertEqual(result.stdout, "")
                errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
                self.assertEqual(len(errors), 1, result.stderr)
                for word in words:
                    self.assertIn(word, errors[0])


if __name__ == "__main__":
    unittest.main()
