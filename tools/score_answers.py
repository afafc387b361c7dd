#!/usr/bin/env python3
"""Scores a model's answers to BFCL requests: form, number of calls, and a simple exact match.

    score_answers.py --data assets/bfcl RESULTS.jsonl ...

RESULTS are files of `schemafill verify --results`, one or several a data set; the answers scored are plain decoding's
(--method ar). Prints a line a data set:

    well formed   the answer is one JSON object of calls whose tools and argument names the request has
    calls         calls given, as a share of the calls that the reference has
    calls right   reference calls that were given, each with allowed values (order is free)
    exact         requests with exactly the reference's calls

A value is right if the reference allows it: numbers by value, texts without case, blanks and punctuation, as BFCL
compares them; lists and objects part by part. An argument may be missing if the reference allows "" for it. This is
not BFCL's own checker, which knows more special cases. Standard library only.
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path


class ScoreError(Exception):
    """Wrong input; the message is for a person."""


@dataclass
class Score:
    requests: int = 0
    parsed: int = 0
    well_formed: int = 0
    calls: int = 0
    reference_calls: int = 0
    right_calls: int = 0
    exact: int = 0

    def add(self, other):
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def parse_answer(text):
    """[(name, arguments)] of an answer that is one object of calls, else None."""
    try:
        calls = json.loads(text)["tool_calls"]
        pairs = [(call["name"], call["arguments"]) for call in calls]
    except (ValueError, KeyError, TypeError):
        return None
    return pairs if all(isinstance(n, str) and isinstance(a, dict) for n, a in pairs) else None


def fits_tools(calls, tools):
    keys = {tool["name"]: tool["parameters"].get("properties", {}) for tool in tools}
    return all(name in keys and arguments.keys() <= keys[name].keys() for name, arguments in calls)


def normal(text):
    return re.sub(r"[ ,./\-_*^]", "", text).lower().replace("'", '"')


def same(value, allowed):
    """Whether a value is the one the reference has."""
    if isinstance(allowed, bool) or isinstance(value, bool):
        return value is allowed
    if isinstance(allowed, (int, float)) and isinstance(value, (int, float)):
        return value == allowed
    if isinstance(allowed, str) and isinstance(value, str):
        return normal(value) == normal(allowed)
    if isinstance(allowed, list) and isinstance(value, list):
        return len(value) == len(allowed) and all(map(same, value, allowed))
    if isinstance(allowed, dict) and isinstance(value, dict):
        return arguments_right(value, allowed)
    return value is None and allowed is None


def arguments_right(arguments, reference):
    """`reference` has a list of allowed values for every argument; "" among them: it may be missing."""
    return arguments.keys() <= reference.keys() and all(
        any(same(arguments[key], one) for one in allowed) if key in arguments else "" in allowed
        for key, allowed in reference.items())


def count_right(calls, reference):
    """How many reference calls can be given a call each (a largest matching)."""
    fits = [[i for i, (name, arguments) in enumerate(calls)
             if name in wanted and arguments_right(arguments, wanted[name])] for wanted in reference]
    taken = {}

    def place(wanted, seen):
        for call in fits[wanted]:
            if call not in seen:
                seen.add(call)
                if call not in taken or place(taken[call], seen):
                    taken[call] = wanted
                    return True
        return False

    return sum(place(wanted, set()) for wanted in range(len(reference)))


def score(text, tools, reference):
    result = Score(requests=1, reference_calls=len(reference))
    calls = parse_answer(text)
    if calls is None:
        return result
    result.parsed = 1
    result.well_formed = int(fits_tools(calls, tools))
    result.calls = len(calls)
    result.right_calls = count_right(calls, reference)
    result.exact = int(result.right_calls == len(reference) == len(calls))
    return result


def read_lines(path):
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as e:
        raise ScoreError(f"{path}: {e.strerror}") from None
    except ValueError as e:
        raise ScoreError(f"{path}: not JSON lines ({e})") from None


def score_file(path, data, method):
    """(data set, model, Score) of one results file."""
    header, *results = read_lines(path) or [{}]
    if header.get("type") != "verify":
        raise ScoreError(f"{path}: line 1 is not the header of a results file of `schemafill verify`")
    name = header["settings"]["dataset"]
    questions = {r["id"]: r["function"] for r in read_lines(data / f"BFCL_v4_{name}.json")}
    answers = {r["id"]: r["ground_truth"] for r in read_lines(data / "possible_answer" / f"BFCL_v4_{name}.json")}
    if not all(isinstance(call, dict) for calls in answers.values() for call in calls):
        raise ScoreError(f"{path}: {name} has no lists of allowed values to compare with")
    total = Score()
    for result in results:
        if result.get("method") == method and result["request"] in questions:
            total.add(score(result["text"], questions[result["request"]], answers[result["request"]]))
    if total.requests == 0:
        raise ScoreError(f"{path}: holds no answers of method {method}")
    return name, header["model"], total


def line(name, total):
    share = lambda part, whole: f"{100 * part / max(1, whole):.1f} %"
    return (f"{name:<28}{total.requests:>9}{share(total.well_formed, total.requests):>13}"
            f"{total.calls / max(1, total.reference_calls):>8.2f}"
            f"{share(total.right_calls, total.reference_calls):>13}{share(total.exact, total.requests):>9}")


def main(argv=None):
    parser = argparse.ArgumentParser(description="Scores answers to BFCL requests.")
    parser.add_argument("results", nargs="+", type=Path, help="files of `schemafill verify --results`")
    parser.add_argument("--data", required=True, type=Path, metavar="DIR", help="BFCL's files, as in assets/bfcl")
    parser.add_argument("--method", default="ar", help="whose answers (default: ar)")
    parser.add_argument("--json", action="store_true", help="counts as one JSON object as well")
    args = parser.parse_args(argv)
    try:
        scores = [score_file(path, args.data, args.method) for path in args.results]
    except ScoreError as e:
        sys.exit(f"score_answers: {e}")
    print(f"{'data set':<28}{'requests':>9}{'well formed':>13}{'calls':>8}{'calls right':>13}{'exact':>9}")
    total = Score()
    for name, _, one in scores:
        print(line(name, one))
        total.add(one)
    if len(scores) > 1:
        print(line("all", total))
    if args.json:
        print(json.dumps({"data_sets": {name: vars(one) for name, _, one in scores}, "all": vars(total)}))


if __name__ == "__main__":
    main()
