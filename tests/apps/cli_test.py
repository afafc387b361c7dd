"""The program as its user meets it: exit codes, one clear line for each mistake, and what stdout holds.

usage: cli_test.py PROGRAM. Needs the default model (label model).
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
EXAMPLE = "examples/two-tools-three-calls.json"
TOOL = {"name": "f", "description": "Does it", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}
ASK = [{"role": "user", "content": "Do it with x = 1."}]


def run(*arguments, stdin=""):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, text=True)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path


class Mistakes(Files):
    """(what the user did, what the line must hold)"""

    def check(self, arguments, *words, stdin=""):
        result = run(*arguments, stdin=stdin)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        lines = result.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("error: "), lines[0])
        for word in words:
            self.assertIn(word, lines[0])

    def test_requests(self):
        rows = [
            ("not json", "line 1", "{bad"),
            ("empty file", "line 1", ""),
            ("a list", "object", "[]"),
            ("no messages", "messages", {}),
            ("empty messages", "messages", {"messages": []}),
            ("wrong role", "messages[0].role", {"messages": [{"role": "king", "content": "x"}]}),
            ("wrong content", "messages[0].content", {"messages": [{"role": "user", "content": 5}]}),
            ("tools no list", "tools", {"messages": ASK, "tools": 3}),
            ("tool without name", "tools[0]", {"messages": ASK, "tools": [{"description": "x"}]}),
            ("max_tokens", "max_tokens", {"messages": ASK, "max_tokens": 0}),
            ("temperature", "temperature", {"messages": ASK, "temperature": 9}),
            ("top_k", "top_k", {"messages": ASK, "top_k": 1.5}),
            ("min_p", "min_p", {"messages": ASK, "min_p": 2}),
        ]
        for name, word, body in rows:
            with self.subTest(name):
                self.check(["generate", "--request", self.write("request.json", body)], "request.json", word)

    def test_stdin(self):
        self.check(["generate", "--request", "-"], "standard input", stdin="{")

    def test_files(self):
        self.check(["generate", "--request", self.folder / "missing.json"], "missing.json", "No such file")
        self.check(["generate", "--request", self.folder], "folder")
        self.check(["generate", "--tools", self.folder / "missing.json", "text"], "missing.json")
        self.check(["generate", "--request", EXAMPLE, "--model", self.folder / "missing.gguf"], "missing.gguf")
        self.check(["generate", "--request", EXAMPLE, "--model", self.write("one.gguf", "x")], "one.gguf")
        self.check(["generate", "--request", EXAMPLE, "--head", self.write("head.gguf", "x")], "head.gguf")
        self.check(["generate", "--request", EXAMPLE, "--trace", self.folder / "no" / "trace"], "--trace")
        self.check(["verify", "--dataset", self.folder / "missing.jsonl"], "missing.jsonl")
        self.check(["verify", "--data", self.folder], "make setup")

    def test_data(self):
        data = self.write("data.jsonl", json.dumps({"messages": ASK}) + "\n{\n")
        self.check(["verify", "--dataset", data, "--strict-data"], "data.jsonl:2: JSON: ", "--strict-data")

    def test_prompt_longer_than_the_context(self):
        body = {"messages": [{"role": "user", "content": "word " * 3000}], "tools": [TOOL]}
        self.check(["generate", "--context", 1024, "--request", self.write("long.json", body)], "tokens", "1024")

    def test_options(self):
        self.check(["generate"], "--request")
        self.check(["generate", "--request", EXAMPLE, "--method", "magic"], "magic", "schemafill")

    def test_usage(self):
        rows = ["", "fly", "generate --fly", "generate --threads x", "generate --temperature 7", "generate --top-k -1",
                "generate --top-p 2", "generate --min-p x", "verify --max-tokens 0"]
        for arguments in map(str.split, rows):
            with self.subTest(arguments):
                result = run(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))


class Answers(Files):
    def test_json_is_one_object(self):
        result = run("generate", "--request", EXAMPLE, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        answer = json.loads(result.stdout)
        self.assertEqual(set(answer), {"tool_calls", "text", "stats"})
        self.assertTrue(answer["tool_calls"])
        for call in answer["tool_calls"]:
            self.assertEqual(set(call), {"name", "arguments"})
        self.assertEqual(json.loads(answer["text"])["tool_calls"], answer["tool_calls"])

    def test_methods_and_presets_give_the_same_bytes(self):
        rows = [["--method", "ar"], ["--preset", "paper"], ["--preset", "auto"], ["--threads", "1"]]
        texts = []
        for sampling in [[], ["--temperature", "0.9", "--seed", "7"]]:
            answers = {json.loads(run("generate", "--request", EXAMPLE, "--json", *row, *sampling).stdout)["text"]
                       for row in rows}
            self.assertEqual(len(answers), 1, answers)
            texts += answers
        # A cut that leaves one token is greedy.
        for cut in (["--top-k", "1"], ["--top-p", "0"], ["--min-p", "1"]):
            one = run("generate", "--request", EXAMPLE, "--json", "--temperature", "0.9", "--seed", "7", *cut)
            self.assertEqual(json.loads(one.stdout)["text"], texts[0], cut)

    def test_stdin_and_tools(self):
        body = pathlib.Path("examples/one-tool.json").read_text()
        by_stdin = run("generate", "--request", "-", stdin=body)
        self.assertEqual(by_stdin.stdout, run("generate", "--request", "examples/one-tool.json").stdout)
        quick = run("generate", "--tools", "examples/tools.json", "Convert 80 USD to EUR.")
        self.assertTrue(quick.stdout.startswith("convert_currency({"), quick.stdout)

    def test_compare(self):
        result = run("generate", "--request", EXAMPLE, "--compare")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("same bytes: yes", result.stdout)

    def test_trace_adds_up(self):
        trace = self.folder / "trace.jsonl"
        result = run("generate", "--request", EXAMPLE, "--json", "--preset", "paper", "--trace", trace)
        stats = json.loads(result.stdout)["stats"]
        lines = [json.loads(line) for line in trace.read_text().splitlines()]
        self.assertEqual([line["type"] for line in lines], ["forecast"] + ["round"] * stats["forwards"] + ["result"])
        rounds = lines[1:-1]
        self.assertEqual(sum(len(line["committed"]) for line in rounds), stats["tokens"])
        self.assertEqual(sum(len(line["nodes"]) + line["side_rows"] for line in rounds), stats["nodes"])
        text = "".join(token["text"] for line in rounds for token in line["committed"])
        self.assertEqual(text, json.loads(result.stdout)["text"])

    def test_max_tokens(self):
        stats = json.loads(run("generate", "--request", EXAMPLE, "--json", "--max-tokens", 9).stdout)["stats"]
        self.assertEqual((stats["tokens"], stats["stop"]), (9, "length"))

    def test_trace_as_a_page(self):
        trace = self.folder / "trace.jsonl"
        run("generate", "--request", EXAMPLE, "--preset", "paper", "--trace", trace)
        result = run("trace", trace)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("<!doctype html>", (self.folder / "trace.html").read_text())

    def test_strict(self):
        prose = self.write("prose.json", {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8})
        self.assertEqual(run("generate", "--request", EXAMPLE, "--strict").returncode, 0)
        self.assertEqual(run("generate", "--request", prose).returncode, 0)
        result = run("generate", "--request", prose, "--strict")
        self.assertEqual(result.returncode, 1)
        self.assertIn("strict:", result.stderr)


class Verify(unittest.TestCase):
    def test_bfcl(self):
        result = run("verify", "--dataset", "bfcl", "--limit", "3", "--preset", "paper", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        line = json.loads(result.stdout.splitlines()[-1])
        self.assertEqual((line["requests"], line["agreement"]), (3, 1.0))
        self.assertGreater(line["methods"]["schemafill"]["al"], 1)

    def test_a_lossy_method_may_differ(self):
        options = ["verify", "--dataset", "bfcl", "--limit", "2", "--max-tokens", "120", "--methods", "parallel-fill"]
        result = run(*options, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        line = json.loads(result.stdout.splitlines()[-1])
        self.assertEqual(line["agreement"], 1)
        ar, filled = line["methods"]["ar"], line["methods"]["parallel-fill"]
        self.assertEqual((ar["lossy"], filled["lossy"], filled["al"]), (False, True, None))
        self.assertLess(filled["forwards"], ar["forwards"])
        table = run(*options)
        self.assertEqual(table.returncode, 0, table.stderr)
        self.assertIn("parallel-fill*", table.stdout)
        self.assertIn("* lossy", table.stdout)


if __name__ == "__main__":
    unittest.main()
