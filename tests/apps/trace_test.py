"""`schemafill trace`: the page stands alone, no text of a trace becomes markup, and mistakes are told.

usage: trace_test.py PROGRAM. Where Chromium is installed, the page is opened in it as well.
"""
import html
import json
import re
import subprocess
import sys
import unittest

from page_checks import CHROMIUM, FolderCase, Outline, open_page
from trace_fixture import NASTY, trace

PROGRAM = sys.argv.pop(1)
ROUND = {"type": "round", "round": 1, "nodes": [], "committed": [{"token": 1, "text": "x"}]}


def run(*arguments, **options):
    return subprocess.run([PROGRAM, "trace", *map(str, arguments)], capture_output=True, **options)


class Case(FolderCase):
    def write(self, name, lines):
        path = self.folder / name
        path.write_bytes(lines if isinstance(lines, bytes) else
                         "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())
        return path

    def page(self, lines, name="trace.jsonl"):
        result = run(self.write(name, lines), "-o", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()


class Pages(Case):
    def test_it_stands_alone(self):
        page = self.page(trace())
        outline = Outline(page)
        for tag, attributes in outline.elements:
            for name in ("src", "href", "srcset", "action", "poster", "data"):
                self.assertRegex(attributes.get(name) or "data:", r"^(data:|#)", (tag, attributes))
        policy = next(attributes["content"] for tag, attributes in outline.elements if attributes.get("http-equiv"))
        self.assertIn("default-src 'none'", policy)
        self.assertEqual(re.findall(r"@import|url\(|fetch\(|XMLHttpRequest|innerHTML|outerHTML|insertAdjacentHTML|\beval\(|https?://", page), [])

    def test_no_text_becomes_markup(self):
        lines = trace()
        page = self.page(lines, "<b>&\"'.jsonl")
        outline = Outline(page)
        self.assertEqual([tag for tag, _ in outline.elements],
                         [tag for tag, _ in Outline(self.page([ROUND])).elements])
        data, _ = outline.scripts
        self.assertEqual(json.loads(data), {"file": "<b>&\"'.jsonl", "lines": lines})
        self.assertNotIn("<", data)
        for text in NASTY[:2]:
            self.assertFalse(text in page.replace("</script>\n", ""), text)

    def test_output(self):
        for name, page in (("a.jsonl", "a.html"), ("b.json", "b.json.html"), ("c", "c.html")):
            result = run(self.write(name, [ROUND]))
            self.assertEqual((result.returncode, result.stdout), (0, b""), result.stderr)
            self.assertEqual(result.stderr.decode().strip(), str(self.folder / page))
            self.assertTrue((self.folder / page).read_text().startswith("<!doctype html>"))
        result = run(self.folder / "a.jsonl", "-o", self.folder / "other.htm")
        self.assertEqual((self.folder / "other.htm").read_bytes(), (self.folder / "a.html").read_bytes())
        with open(self.folder / "a.jsonl") as lines:
            self.assertEqual(len(run("-", "-o", "-", stdin=lines).stdout) > 10000, True)

    def test_blank_lines_and_unknown_lines_are_left_out(self):
        text = b'\n{"type": "news", "x": 1}\r\n\n' + json.dumps(ROUND).encode()
        self.assertIn('"news"', self.page(text))


class Mistakes(Case):
    def check(self, result, *words):
        self.assertEqual((result.returncode, result.stdout), (2, b""), result.stderr)
        message = result.stderr.decode()
        self.assertEqual(len(message.strip().splitlines()), 1, message)
        for word in ("error: ", *words):
            self.assertIn(word, message)

    def test_traces(self):
        round_line = json.dumps(ROUND).encode()
        rows = [
            ("empty", b"", ("is empty", "generate --trace")),
            ("not JSON", round_line + b"\n{bad\n", ("line 2", "generate --trace")),
            ("cut off", round_line + b"\n" + round_line[:30], ("line 2",)),
            ("a list", b"[]\n", ("line 1",)),
            ("not UTF-8", b'{"type": "\xff"}\n', ("line 1",)),
            ("no rounds", b'{"type": "forecast"}\n', ("round",)),
            ("a data set", b'{"messages": []}\n', ("round",)),
            ("two requests", b'{"type": "forecast"}\n' + round_line + b'\n{"type": "forecast"}\n', ("line 3", "second request")),
            ("nodes no list", b'{"type": "round", "nodes": 3, "committed": []}\n', ("line 1", "`nodes`")),
            ("committed absent", b'{"type": "round", "nodes": []}\n', ("line 1", "`committed`")),
            ("node no object", b'{"type": "round", "nodes": [7], "committed": []}\n', ("line 1", "`nodes`")),
        ]
        for name, content, words in rows:
            with self.subTest(name):
                self.check(run(self.write("bad.jsonl", content)), "bad.jsonl", *words)
                self.assertFalse((self.folder / "bad.html").exists())

    def test_files(self):
        good = self.write("good.jsonl", [ROUND])
        self.check(run(self.folder / "missing.jsonl"), "missing.jsonl", "No such file")
        self.check(run(self.folder), "folder")
        self.check(run(good, "-o", self.folder / "no" / "page.html"), "page.html", "can't be written", "No such file")
        self.check(run(good, "-o", self.folder), "can't be written")
        self.check(run(good, "-o", good), "is the trace itself")
        self.check(run("-", input=b""), "-o")
        self.assertEqual(run().returncode, 2)


@unittest.skipUnless(CHROMIUM, "Chromium is not installed (Debian: apt-get install chromium)")
class Browser(Case):
    """What Chromium makes of the page."""

    def open(self, lines):
        page = self.folder / "page.html"
        page.write_text(self.page(lines))
        dom, said = open_page(page, self.folder / "profile")
        self.assertEqual(said, [])
        return dom

    def check_text(self, dom):
        body = re.sub(r"<(script|style).*?</\1>", "", dom, flags=re.S)
        self.assertEqual(re.findall(r".{40}(?:undefined|NaN|\[object).{40}", body), [])

    def answer(self, dom):
        inner = re.search(r'<div class="answer.*?</div>', dom, re.S).group()
        return html.unescape(re.sub(r"<[^>]*>", "", inner))

    def test_full_trace(self):
        lines = trace()
        dom = self.open(lines)
        self.assertEqual(dom.count('<details class="round"'), 6)
        self.check_text(dom)
        shown = self.answer(dom)
        for text in ("get_weather", '"Paris"', '"Asia/Tokyo"', NASTY[0], NASTY[1], NASTY[2], "U+202E", "\u2603"):
            self.assertIn(text, shown)
        lanes = re.search(r'<table class="lanes".*?</table>', dom, re.S).group()
        for word in ("complete", "packed", "written", "rebound", "closed", "no more"):
            self.assertIn(f">{word}<", lanes)

    def test_older_and_long_and_odd_traces(self):
        without = [{key: value for key, value in line.items() if key not in ("side", "prepared", "events")} for line in trace()[:-1]]
        self.assertIn("no SIDE branches", self.open(without))
        self.assertEqual(self.open(trace(140)).count('<details class="round"'), 140)
        odd = [{"type": "round", "nodes": [{"parent": 5}, {"parent": -7, "accepted": True}], "committed": [{}], "side": 3, "events": [{}],
                "prepared": [{}], "cells": None}]
        self.check_text(self.open(odd))


if __name__ == "__main__":
    unittest.main()
