"""`schemafill report`: the page stands alone, no text of a run becomes markup, and mistakes are told.

usage: report_test.py PROGRAM. Where Chromium is installed, the page is opened in it as well.
"""
import re
import subprocess
import sys
import unittest

import report_fixture
from page_checks import CHROMIUM, FolderCase, Outline, open_page

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([PROGRAM, "report", *map(str, arguments)], capture_output=True, text=True)


class Case(FolderCase):
    def write(self, name, lines):
        path = self.folder / name
        path.write_text(lines if isinstance(lines, str) else report_fixture.text(lines))
        return path

    def page(self, *runs):
        files = [self.write(f"run{i}.jsonl", lines) for i, lines in enumerate(runs)]
        result = run(*files, "-o", "-")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def all_runs(self):
        return [report_fixture.methods_run(), report_fixture.calls_run(), report_fixture.deviation_run(),
                report_fixture.methods_run(4), report_fixture.methods_run(5)]


class Pages(Case):
    def test_it_stands_alone(self):
        outline = Outline(self.page(*self.all_runs()))
        for tag, attributes in outline.elements:
            self.assertNotEqual(tag, "script")
            for name in ("src", "href", "srcset", "action", "poster", "data"):
                self.assertRegex(attributes.get(name) or "data:", r"^(data:|#)", (tag, attributes))

    def test_no_text_becomes_markup(self):
        lines = report_fixture.methods_run()
        page = self.page(lines)
        tame = report_fixture.text(lines).replace(report_fixture.text([report_fixture.NASTY])[1:-2], "tame")
        self.assertEqual([tag for tag, _ in Outline(page).elements], [tag for tag, _ in Outline(self.page(tame)).elements])
        self.assertNotIn("\u202e", page)

    def test_for_screen_readers(self):
        outline = Outline(self.page(*self.all_runs()))
        headings = [int(tag[1]) for tag, _ in outline.elements if re.fullmatch("h[1-6]", tag)]
        self.assertEqual(headings[0], 1)
        for before, after in zip(headings, headings[1:]):
            self.assertLessEqual(after, before + 1)
        for tag, attributes in outline.elements:
            if tag == "th":
                self.assertIn(attributes["scope"], ("row", "col", "colgroup"))
            if tag == "svg":
                self.assertEqual(attributes["role"], "img")
                self.assertGreater(len(attributes["aria-label"]), 20)
        ids = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
        self.assertEqual(len(ids), len(set(ids)))

    def test_what_it_says(self):
        page = self.page(*self.all_runs())
        for text in ("seed 7", "self-test: rows agree", "1.2.3", "128 MiB", "Table 3: by the number of calls", "Figure 4",
                     "Table 4", "Table 5", "Figure 2: answers that differ", "answers are those of ar"):
            self.assertIn(text, page)

    def test_markdown(self):
        path = self.write("a.jsonl", report_fixture.methods_run())
        page, markdown = self.folder / "a.html", self.folder / "a.md"
        result = run(path, "-o", page, "--markdown", markdown)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", f"{page}\n{markdown}\n"))
        text = markdown.read_text()
        self.assertIn("| schemafill | 6.67 |", text)
        rows = [line for line in text.splitlines() if line.startswith("|")]
        self.assertEqual({len(re.findall(r"(?<!\\)\|", row)) for row in rows}, {8, 10})


class Mistakes(Case):
    def check(self, result, *words):
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        for word in ("error: ", *words):
            self.assertIn(word, result.stderr)

    def test_runs(self):
        line = report_fixture.text(report_fixture.methods_run()[:1])
        rows = [
            ("empty", "", "line 1"),
            ("not JSON", "{bad\n", "line 1"),
            ("a trace", '{"type": "round", "nodes": []}\n', "line 1"),
            ("settings no object", '{"settings": 3}\n', "line 1"),
            ("table no number", '{"settings": {"table": "x"}}\n', "line 1"),
            ("machine no object", '{"settings": {}, "machine": 7}\n', "line 1"),
            ("a sample cut off", line + '{"type": "sample"}\n', "line 2"),
        ]
        for name, content, word in rows:
            with self.subTest(name):
                page = self.folder / "bad.html"
                self.check(run(self.write("bad.jsonl", content), "-o", page), "bad.jsonl", word)
                self.assertFalse(page.exists())

    def test_files(self):
        good = self.write("good.jsonl", report_fixture.methods_run())
        page = self.folder / "page.html"
        self.check(run(self.folder / "missing.jsonl", "-o", page), "missing.jsonl", "No such file")
        self.check(run(good, self.folder / "missing.jsonl", "-o", page), "missing.jsonl")
        self.check(run(good), "-o")
        self.check(run(good, "-o", self.folder / "no" / "page.html"), "page.html", "can't be written")
        self.check(run(good, "-o", self.folder), "can't be written")
        self.check(run(good, "-o", good), "is a run itself")
        self.check(run(good, "-o", page, "--markdown", good), "is a run itself")
        self.check(run(good, "-o", page, "--markdown", page), "name two files")
        self.assertEqual(run().returncode, 2)
        self.assertFalse(page.exists())

    def test_odd_headers_are_shown(self):
        for header in ({"settings": {}}, {"settings": {"seed": [1]}, "machine": {"cpu": 3, "cores": "x", "instructions": 1}, "model": {"a": 1}}):
            self.assertIn("No request", self.page([header]))


@unittest.skipUnless(CHROMIUM, "Chromium is not installed (Debian: apt-get install chromium)")
class Browser(Case):
    """What Chromium makes of the page."""

    def test_page(self):
        page = self.folder / "page.html"
        page.write_text(self.page(*self.all_runs()))
        dom, said = open_page(page, self.folder / "profile")
        self.assertEqual(said, [])
        self.assertGreater(dom.count("<svg"), 15)
        body = re.sub(r"<style.*?</style>", "", dom, flags=re.S)
        self.assertEqual(re.findall(r".{40}(?:undefined|\bnan\b|NaN).{40}", body), [])


if __name__ == "__main__":
    unittest.main()
