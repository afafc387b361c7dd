"""A small data set for tests that run the program: a request a city, all for one tool."""

import json
import pathlib
import tempfile
import unittest

TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather of a city", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


class Case(unittest.TestCase):
    """A folder of its own with the data set in it."""
    cities = ("Paris", "Oslo")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.data = self.folder / "data.jsonl"
        self.data.write_text("".join(
            json.dumps({"messages": [{"role": "user", "content": f"What is the weather in {city}?"}], "tools": TOOLS}) + "\n"
            for city in self.cities))
