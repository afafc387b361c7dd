"""A trace in the full format of `generate --trace`: two calls, SIDE branches, six rounds, and texts that break careless pages.

usage: trace_fixture.py > trace.jsonl; with a number behind it, that many rounds (the first six, again and again).
"""
import json
import sys

# Texts that end a script, open a comment, turn the reading direction, have no shape or are half a character.
NASTY = ["</script>", "<!--<script>", "&amp;\"'", "\u202e", "\ufffd", "\ufffd", "\ufffd", "\n", "\t", "\u05e9\u05dc\u05d5\u05dd", "\u0000"]


def identity(text):
    return sum(map(ord, text)) % 49152


def token(text):
    return {"token": identity(text), "text": text}


class Round:
    def __init__(self, number):
        self.line = {"type": "round", "round": number, "nodes": [], "committed": [], "side": [], "prepared": [], "events": [],
                     "draft_ms": 0.4 + 0.1 * number, "verify_ms": 21.5 + number, "cells": {"prefix": 231, "verified": 12 * number,
                     "side": 9 * min(number, 3), "parked": number, "peak": 240 + 15 * number}}

    def draft(self, kind, *texts, behind=-1, accepted=True, probability=0.97):
        """A chain of candidates; gives the index of the last."""
        for text in texts:
            self.line["nodes"].append({**token(text), "parent": behind, "probability": probability, "kind": kind, "accepted": accepted})
            if accepted:
                self.line["committed"].append(token(text))
            behind, probability = len(self.line["nodes"]) - 1, probability * 0.96
        return behind

    def own(self, text):
        self.line["committed"].append(token(text))

    def side(self, branch, group, call, tool, field, context, accepted, rejected=(), correction=None, value="", complete=False):
        self.line["side"].append({"branch": branch, "group": group, "call": call, "tool": tool, "field": field,
                                  "context": [token(text) for text in context],
                                  "draft": [{**token(text), "accepted": True} for text in accepted]
                                  + [{**token(text), "accepted": False} for text in rejected],
                                  **({"correction": token(correction)} if correction is not None else {}),
                                  "value": value, "complete": complete})

    def prepared(self, call, tool, field, value, complete=True):
        self.line["prepared"].append({"call": call, "tool": tool, "field": field, "json": value, "complete": complete})

    def event(self, transition, group, call, tool, field=""):
        self.line["events"].append({"transition": transition, "group": group, "call": call, "tool": tool,
                                    **({"field": field} if field else {})})


def rounds():
    one = Round(1)
    at = one.draft("scaffold", '{"', "tool", "_", "calls", '":', " [", '{"', "name", '":', ' "')
    one.draft("name", "send", "_", "message", behind=at, accepted=False, probability=0.11)
    one.draft("name", "get", "_", "time", behind=at, accepted=False, probability=0.2)
    at = one.draft("name", "get", "_", behind=at, probability=0.6)
    at = one.draft("name", "weather", behind=at, probability=0.58)
    at = one.draft("scaffold", '",', ' "', "arguments", '":', ' {"', behind=at, probability=0.56)
    at = one.draft("key", "city", '":', behind=at, probability=0.5)
    one.draft("copy", ' "', "Tokyo", behind=at, accepted=False, probability=0.14)
    one.own(' "')
    one.side(0, 0, 0, "get_weather", "city", [" Select", " the", " first", " request", ".", '{"', "city", '":'], [' "', "Par", "is"],
             ['",'], '"', '"Paris"', True)
    one.side(1, 0, 0, "get_weather", "unit", ['{"', "unit", '":'], [' "', "c"], ["entigrade", '"'], "els", '"cels')
    one.side(2, 1, 1, "get_time", "zone", [" Select", " the", " second", " request", ".", '{"', "zone", '":'], [' "'], ["Tok", "yo"], "Asia", '"Asia')
    one.event("bound", 0, 0, "get_weather")

    two = Round(2)
    two.prepared(0, "get_weather", "city", '"Paris"')
    two.prepared(0, "get_weather", "unit", '"cels', False)
    two.prepared(1, "get_time", "zone", '"Asia', False)
    at = two.draft("prepared", "Par", "is", '"', probability=0.91)
    at = two.draft("scaffold", ",", ' "', behind=at, probability=0.8)
    at = two.draft("key", "unit", '":', behind=at, probability=0.6)
    two.draft("value", ' "', "fahren", "heit", behind=at, accepted=False, probability=0.1)
    two.draft("prepared", ' "', "cels", behind=at, probability=0.7)
    two.own("ius")
    two.side(1, 0, 0, "get_weather", "unit", ["els"], ["ius"], [], '"', '"celsius"', True)
    two.side(2, 1, 1, "get_time", "zone", ["Asia"], ["/"], ["Ky", "oto"], "Tok", '"Asia/Tok')
    two.side(3, 1, 1, "get_time", "note", ['{"', "note", '":'], [' "'], ["now"], "</script>", '"</script>')
    two.event("written", 0, 0, "get_weather", "city")
    two.event("written", 0, 0, "get_weather", "unit")

    three = Round(3)
    three.prepared(0, "get_weather", "unit", '"celsius"')
    three.prepared(1, "get_time", "zone", '"Asia/Tok', False)
    at = three.draft("prepared", '"', probability=0.95)
    at = three.draft("scaffold", "}}", ",", ' {"', "name", '":', ' "', behind=at)
    three.draft("name", "get", "_", "weather", behind=at, accepted=False, probability=0.3)
    three.draft("name", "send", "_", "message", behind=at, accepted=False, probability=0.05)
    three.own("get")
    three.side(2, 1, 1, "get_time", "zone", ["Tok"], ["yo", '"'], ["}"], ",", '"Asia/Tokyo"', True)
    three.side(3, 1, 1, "get_time", "note", ["</script>"], [NASTY[1]], [" later"], NASTY[2], '"</script><!--<script>&amp;\\"\'')
    three.event("call closed", 0, 0, "get_weather")

    four = Round(4)
    four.prepared(1, "get_time", "zone", '"Asia/Tokyo"')
    four.prepared(1, "get_time", "note", '"</script><!--<script>&amp;\\"\'', False)
    at = four.draft("name", "_", "time")
    at = four.draft("scaffold", '",', ' "', "arguments", '":', ' {"', behind=at)
    at = four.draft("key", "zone", '":', behind=at)
    at = four.draft("prepared", ' "', "Asia", "/", "Tok", "yo", '"', behind=at, probability=0.7)
    at = four.draft("scaffold", ",", ' "', behind=at, probability=0.4)
    at = four.draft("key", "note", '":', behind=at, probability=0.3)
    four.draft("prepared", ' "', "</script>", NASTY[1], behind=at, probability=0.2)
    four.own(NASTY[2])
    four.side(3, 1, 1, "get_time", "note", [NASTY[2]], [], ['"'], NASTY[3], '"...')
    four.event("rebound", 1, 1, "get_time")
    four.event("written", 1, 1, "get_time", "zone")
    four.event("written", 1, 1, "get_time", "note")

    five = Round(5)
    five.draft("copy", *NASTY[4:7], accepted=False, probability=0.2)
    five.own(NASTY[3])

    six = Round(6)
    at = six.draft("copy", *NASTY[4:], probability=0.5)
    at = six.draft("scaffold", '"', "}}", "]", behind=at)
    six.draft("scaffold", "}", behind=at, probability=0.9)
    six.own("")
    six.event("call closed", 1, 1, "get_time")
    six.event("list ended", 2, 2, "send_message")
    return [one.line, two.line, three.line, four.line, five.line, six.line]


def trace(count=6):
    slots = {"get_weather": ("city", "unit?"), "get_time": ("zone", "note?"), "send_message": ("to", "text")}
    forecast = {"type": "forecast", "ranking": [{"tool": tool, "score": score} for tool, score in
                                                (("get_weather", 4.31), ("get_time", 3.96), ("send_message", 0.52), ("evil</script><b>", 0.0))],
                "groups": [{"call": call, "tool": tool, "slots": [{"path": path.rstrip("?"), "type": "string", "required": not path.endswith("?")}
                                                                  for path in slots[tool]]} for call, tool in enumerate(slots)]}
    lines = []
    while len(lines) < count:
        lines += rounds()
    lines = lines[:count]
    for number, line in enumerate(lines, 1):
        line["round"] = number
    text = "".join(part["text"] for line in lines for part in line["committed"]).replace("\ufffd" * 3, "\u2603")
    nodes = [node for line in lines for node in line["nodes"]]
    result = {"type": "result", "method": "schemafill", "text": text, "stop": "closed",
              "stats": {"prompt_tokens": 232, "tokens": sum(len(line["committed"]) for line in lines), "forwards": count, "nodes": len(nodes),
                        "accepted": sum(node["accepted"] for node in nodes), "prefill_ms": 812.4, "decode_ms": 161.2, "total_ms": 975.0}}
    return [forecast, *lines, result]


if __name__ == "__main__":
    for line in trace(int(sys.argv[1]) if len(sys.argv) > 1 else 6):
        print(json.dumps(line, ensure_ascii=False))
