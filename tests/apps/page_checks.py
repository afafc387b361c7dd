"""What the tests of `trace` and `report` ask of a page."""
import html.parser
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class FolderCase(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Outline(html.parser.HTMLParser):
    """Elements with their attributes, and the texts of the scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.inside = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data


def open_page(page, profile):
    """(the page's DOM in Chromium, what its console said)"""
    result = subprocess.run(
        [CHROMIUM, "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}", "--enable-logging=stderr",
         *(["--no-sandbox"] if os.geteuid() == 0 else []), "--virtual-time-budget=5000", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120)
    return result.stdout, [line for line in result.stderr.splitlines() if "CONSOLE" in line]
