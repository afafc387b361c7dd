"""Tests tools/score_answers.py."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import score_answers as scores  # noqa: E402

TOOLS = [{"name": "f", "parameters": {"properties": {"city": {}, "days": {}, "where": {}}}},
         {"name": "g", "parameters": {}}]


def answer(*calls):
    return json.dumps({"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in calls]})


def figures(text, reference):
    s = scores.score(text, TOOLS, reference)
    return s.well_formed, s.calls, s.right_calls, s.exact


class ScoreTest(unittest.TestCase):
    def test_values(self):
        for value, allowed, right in [
            (5, [5], True), (5.0, [5], True), (5, [6, 5], True), (6, [5], False), ("5", [5], False),
            (True, [True], True), (1, [True], False), (True, [1], False), (None, [None], True), (None, [0], False),
            ("New York", ["new-york"], True), ("NYC", ["New York", "NYC"], True), ("Oslo", ["Rome"], False),
            ([1, 2], [[1, 2]], True), ([2, 1], [[1, 2]], False), ([1], [[1, 2]], False),
            ({"a": 1}, [{"a": [1], "b": ["", 2]}], True), ({"a": 1, "b": 3}, [{"a": [1], "b": ["", 2]}], False),
        ]:
            with self.subTest(value=value, allowed=allowed):
                self.assertEqual(scores.arguments_right({"x": value}, {"x": allowed}), right)

    def test_arguments_may_be_missing_only_where_the_reference_says_so(self):
        self.assertTrue(scores.arguments_right({}, {"x": ["", 1]}))
        self.assertFalse(scores.arguments_right({}, {"x": [1]}))
        self.assertFalse(scores.arguments_right({"y": 1}, {"x": ["", 1]}))

    def test_calls_match_in_any_order_once_each(self):
        reference = [{"f": {"city": ["Oslo", "Rome"]}}, {"f": {"city": ["Oslo"]}}]
        self.assertEqual(figures(answer(("f", {"city": "Oslo"}), ("f", {"city": "Rome"})), reference), (1, 2, 2, 1))
        self.assertEqual(figures(answer(("f", {"city": "Rome"}), ("f", {"city": "Rome"})), reference), (1, 2, 1, 0))
        self.assertEqual(figures(answer(("f", {"city": "Oslo"})), reference), (1, 1, 1, 0))
        extra = answer(("f", {"city": "Oslo"}), ("f", {"city": "Rome"}), ("g", {}))
        self.assertEqual(figures(extra, reference), (1, 3, 2, 0))

    def test_form(self):
        reference = [{"g": {}}]
        for text, expected in [
            (answer(("g", {})), (1, 1, 1, 1)),
            (answer(("h", {})), (0, 1, 0, 0)),
            (answer(("g", {"new": 1})), (0, 1, 0, 0)),
            (answer(("g", {})) + "}", (0, 0, 0, 0)),
            ("I can't", (0, 0, 0, 0)),
            ("[]", (0, 0, 0, 0)),
            ('{"tool_calls": [{"name": "g"}]}', (0, 0, 0, 0)),
            ('{"tool_calls": [{"name": "g", "arguments": "{}"}]}', (0, 0, 0, 0)),
        ]:
            with self.subTest(text=text):
                self.assertEqual(figures(text, reference), expected)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder)
            (data / "possible_answer").mkdir()
            (data / "BFCL_v4_parallel.json").write_text(json.dumps({"id": "p_0", "function": TOOLS}))
            (data / "possible_answer" / "BFCL_v4_parallel.json").write_text(
                json.dumps({"id": "p_0", "ground_truth": [{"g": {}}]}))
            results = data / "r.jsonl"
            pair = {"type": "sample", "request": "p_0", "method": "ar", "text": answer(("g", {}))}
            header = {"type": "verify", "settings": {"dataset": "parallel"}, "model": "m.gguf"}
            results.write_text(f"{json.dumps(header)}\n{json.dumps(pair)}\n")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                scores.main(["--data", folder, "--json", str(results)])
            self.assertIn("parallel", out.getvalue())
            self.assertEqual(json.loads(out.getvalue().splitlines()[-1])["all"]["exact"], 1)
            for bad, message in [("{}", "line 1 is not the header"), (json.dumps(header), "holds no answers"),
                                 ("{", "not JSON lines")]:
                results.write_text(bad)
                with self.assertRaisesRegex(SystemExit, message):
                    scores.main(["--data", folder, str(results)])


if __name__ == "__main__":
    unittest.main()
