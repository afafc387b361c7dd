"""A small data set for tests that run the program: a request a city, all for one tool."""

import json

TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather of a city", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


def write_requests(path, cities):
    path.write_text("".join(
        json.dumps({"messages": [{"role": "user", "content": f"What is the weather in {city}?"}], "tools": TOOLS}) + "\n"
        for city in cities))
