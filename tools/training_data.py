#!/usr/bin/env python3
"""Builds the examples that the default target's adapter and its EAGLE-3 head are trained on.

    training_data.py --data assets/bfcl --out out/train --seed 1 --composed 6000

Reads BFCL's six single-call files with their answers and writes OUT/train.jsonl and OUT/dev.jsonl, an example a line:

    {"id": "repeat-17:live_simple_3+live_simple_9", "messages": [...], "tools": [...], "answer": "..."}

`messages` and `tools` are an OpenAI body, `answer` is the exact text to learn. The part of the id behind the colon
names the records that the calls come from, one a call. Same arguments, same bytes; no network. Standard library only.

BFCL's files with several calls a request are test data and are never opened (CONTRIBUTING.md, rule 6). Left out as
well: the 650 requests of single650 and any record that asks the same. Records are divided into train and dev
before anything is composed of them, those that ask the same together. training_compose.py makes the
examples of several calls, training_names.py renames tools.
"""

import argparse
import json
import os
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import training_compose as compose

SINGLE650 = ("simple_python", "multiple", "live_simple", "live_multiple")  # in this order: it decides ties
SOURCES = SINGLE650 + ("simple_java", "simple_javascript")
HELD_OUT = 650

# The words for a schema's types, those of BFCL's Java and JavaScript files too. Any other word allows every value.
TYPES = {
    str: ("string", "String", "char"),
    int: ("integer", "long", "int"),
    float: ("float", "double", "number"),
    bool: ("boolean", "Boolean"),
    list: ("array", "Array", "ArrayList", "tuple"),
    dict: ("dict", "HashMap", "object"),
}
TYPE_OF_WORD = {word: kind for kind, words in TYPES.items() for word in words}


class DataError(Exception):
    """Wrong input; the message names the file and is for a person."""


class Unusable(Exception):
    """A record that is no example; the message is the reason that gets counted."""


@dataclass
class Record:
    id: str
    set: str
    messages: list
    tools: list  # functions as BFCL writes them
    tool: dict = None  # the one that the answer calls
    arguments: dict = None

    @property
    def text(self):
        return self.messages[-1]["content"]


# -------------------------------------------------------------------------------------------------------- reading


def read_lines(path):
    """[(place, object)] of a file of JSON lines; `place` is for messages."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; `make setup` fetches BFCL's files") from None
    except (OSError, UnicodeDecodeError) as e:
        raise DataError(f"{path}: can't be read ({e})") from None
    entries = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            entry = json.loads(line)
        except ValueError as e:
            raise DataError(f"{place}: not JSON ({e})") from None
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            raise DataError(f"{place}: must be an object with a string `id`")
        entries.append((place, entry))
    return entries


def is_text(thing, *names):
    return isinstance(thing, dict) and all(isinstance(thing.get(name), str) for name in names)


def read_question(place, entry, name):
    question, functions = entry.get("question"), entry.get("function")
    turns_ok = isinstance(question, list) and question and isinstance(question[0], list) and question[0]
    if not turns_ok or not all(is_text(message, "role", "content") for message in question[0]):
        raise DataError(f"{place}: `question` must be a list of turns, each a list of messages with role and content")
    for tool in functions if isinstance(functions, list) else [None]:
        schema = tool.get("parameters") if is_text(tool, "name") else None
        if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
            raise DataError(f"{place}: `function` must be a list of objects with name and parameters.properties")
    return Record(entry["id"], name, question[0], functions)


def read_set(folder, name):
    """[(Record without its call, ground truth)] of one BFCL file and its answers, in file order."""
    questions = read_lines(folder / f"BFCL_v4_{name}.json")
    answers = read_lines(folder / "possible_answer" / f"BFCL_v4_{name}.json")
    truths = {}
    for place, answer in answers:
        if not isinstance(answer.get("ground_truth"), list):
            raise DataError(f"{place}: `ground_truth` must be a list")
        truths[answer["id"]] = place, answer["ground_truth"]
    pairs = []
    for place, entry in questions:
        if entry["id"] not in truths:
            raise DataError(f"{place}: {entry['id']} has no answer in {folder / 'possible_answer'}")
        pairs.append((read_question(place, entry, name), truths[entry["id"]]))
    return pairs


# ----------------------------------------------------------------------------------------------- held out, train, dev


def record_hash(record_id):
    """FNV-1a, 64 bits: RecordHash of src/catalog/dataset.h."""
    value = 0xCBF29CE484222325
    for byte in record_id.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def single650(records):
    """The ids that the data set of that name holds: see LoadDataset in src/catalog/dataset.h."""
    def is_single(record):
        return sum(message["role"] == "user" for message in record.messages) == 1 and bool(record.tools)
    eligible = [r for name in SINGLE650 for r in records if r.set == name and is_single(r)]
    return [r.id for r in sorted(eligible, key=lambda r: record_hash(r.id))[:HELD_OUT]]


def what_it_asks(text):
    """The same for two requests that differ in case, spaces and punctuation only."""
    return " ".join(re.findall(r"\w+", text.lower()))


def divide(records, dev_share):
    """(train, dev). Which part a record belongs to follows from the first id of those that ask the same."""
    first_id, parts = {}, ([], [])
    for record in records:
        leader = first_id.setdefault(what_it_asks(record.text), record.id)
        parts[record_hash("dev " + leader) % 10000 < dev_share * 10000].append(record)
    return parts


# -------------------------------------------------------------------------------------------------------- answers


def typed(value, schema):
    """`value` in the type that the schema declares. Raises Unusable where it is of another."""
    kind = TYPE_OF_WORD.get(schema.get("type"))
    if kind is float and type(value) is int:
        value = float(value)
    if kind is int and type(value) is float and value.is_integer():
        value = int(value)
    if kind is not None and type(value) is not kind:
        raise Unusable("value of another type than the schema's")
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        return [typed(item, items) for item in value]
    return value


def resolve(value, schema):
    """One allowed value as it is to be written. Objects in it hold lists of allowed values again."""
    items = schema.get("items")
    if isinstance(value, list):
        return typed([resolve(v, items if isinstance(items, dict) else {}) for v in value], schema)
    if not isinstance(value, dict):
        return typed(value, schema)
    return typed(resolve_object(value, schema), schema)


def resolve_object(allowed, schema):
    """{argument: first allowed value} in the schema's order, without what may be absent."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or (properties and not set(allowed) <= set(properties)):
        raise Unusable("argument that the schema lacks")
    if not set(required) <= set(allowed):
        raise Unusable("required argument without a value")
    chosen = {}
    for key in properties or allowed:
        if key not in allowed:
            continue
        values = allowed[key] if isinstance(allowed[key], list) else [allowed[key]]
        if "" in values and key not in required:
            continue
        values = [v for v in values if v != "" and v is not None]
        if not values:
            raise Unusable("required argument without a value")
        chosen[key] = resolve(values[0], properties.get(key, {}))
    return chosen


def add_call(record, place, truth):
    if [m["role"] for m in record.messages] not in (["user"], ["system", "user"]):
        raise Unusable("not one user turn at the end")
    if len(truth) != 1:
        raise Unusable("not one call")
    if not isinstance(truth[0], dict) or len(truth[0]) != 1 or not isinstance(*truth[0].values(), dict):
        raise DataError(f"{place}: a call must be an object of one key, the tool, with the arguments as an object")
    (name, allowed), = truth[0].items()
    record.tool = next((tool for tool in record.tools if tool["name"] == name), None)
    if record.tool is None:
        raise Unusable("call of a tool that the request lacks")
    record.arguments = resolve_object(allowed, record.tool["parameters"])


def usable_records(folder, counts):
    """(records to train on, requests that no example may repeat)"""
    pairs = [pair for name in SOURCES for pair in read_set(folder, name)]
    counts["records"] = dict(Counter(record.set for record, _ in pairs))
    held_out = set(single650([record for record, _ in pairs]))
    asked = {what_it_asks(record.text) for record, _ in pairs if record.id in held_out}
    dropped, records = Counter(), []
    for record, (place, truth) in pairs:
        if record.id in held_out:
            continue
        try:
            if what_it_asks(record.text) in asked:
                raise Unusable("asks the same as a held-out record")
            add_call(record, place, truth)
            records.append(record)
        except Unusable as reason:
            dropped[str(reason)] += 1
    counts["held_out"], counts["dropped"] = len(held_out), dict(sorted(dropped.items()))
    return records, asked


# --------------------------------------------------------------------------------------------------------- writing


def singles(records, rng, max_chars, counts):
    """One example a record. Tools that are not called go, in random order, where the example is too long."""
    examples = []
    for record in records:
        call = [(record.tool, record.arguments)]
        others = [tool for tool in record.tools if tool is not record.tool]
        kept = rng.sample(others, len(others))
        while kept and compose.length(record.messages, [record.tool] + kept, call) > max_chars:
            kept.pop()
        if compose.length(record.messages, [record.tool] + kept, call) > max_chars:
            counts["too_long"] += 1
            continue
        counts["with_fewer_tools"] += len(kept) < len(others)
        tools = [tool for tool in record.tools if tool is record.tool or any(tool is k for k in kept)]
        examples.append(compose.example(f"single:{record.id}", record.messages, tools, call))
    return examples


def without_repeats(examples):
    seen, kept = set(), []
    for example in examples:
        content = json.dumps([example[key] for key in ("messages", "tools", "answer")])
        if content not in seen:
            seen.add(content)
            kept.append(example)
    return kept


def build_part(part, records, wanted, options, forbidden):
    """(examples of one part in random order, their counts)"""
    rng = random.Random(f"{options.seed} {part}")
    single_counts = Counter(too_long=0, with_fewer_tools=0)
    examples = singles(records, rng, options.max_chars, single_counts)
    composer = compose.Composer(records, rng, options.max_chars,
                                lambda text: what_it_asks(text) in forbidden,
                                *((options.renamed, options.alike) if part == "train" else ()))
    examples = without_repeats(examples + composer.examples(wanted))
    rng.shuffle(examples)
    kinds = Counter(e["id"].split(":")[0].split("-")[0] for e in examples)
    calls = Counter(e["id"].count("+") + 1 for e in examples)
    return examples, {
        "records": len(records),
        "examples": len(examples),
        "by_kind": dict(sorted(kinds.items())),
        "by_calls": {str(n): calls[n] for n in sorted(calls)},
        "singles_too_long": single_counts["too_long"],
        "singles_with_fewer_tools": single_counts["with_fewer_tools"],
        "composed_given_up": dict(sorted(composer.given_up.items())),
        "longest": max((e["weight"] for e in examples), default=0),
        "mean": round(sum(e["weight"] for e in examples) / max(len(examples), 1)),
    }


def write(path, examples):
    temporary = path.with_name(path.name + ".part")
    with open(temporary, "w", encoding="utf-8", newline="\n") as out:
        for example in examples:
            line = {key: example[key] for key in ("id", "messages", "tools", "answer")}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
    os.replace(temporary, path)


def build(options):
    counts = {}
    records, held_out = usable_records(options.data, counts)
    parts = dict(zip(("train", "dev"), divide(records, options.dev_share)))
    wanted = {"dev": round(options.composed * options.dev_share)}
    wanted["train"] = options.composed - wanted["dev"]
    options.out.mkdir(parents=True, exist_ok=True)
    for part, of_part in parts.items():
        others = {what_it_asks(r.text) for other, rs in parts.items() if other != part for r in rs}
        examples, counts[part] = build_part(part, of_part, wanted[part], options, held_out | others)
        write(options.out / f"{part}.jsonl", examples)
    return counts


def table(counts, indent=""):
    for name, value in counts.items():
        label = indent + str(name).replace("_", " ")
        if isinstance(value, dict):
            yield label
            yield from table(value, indent + "  ")
        else:
            yield f"{label:<48}{value:>8}"


def share(text):
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError("must be at least 0 and less than 1")
    return value


def natural(text):
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Builds training examples from BFCL's single-call files.")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="BFCL's files, as in assets/bfcl")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="gets train.jsonl and dev.jsonl")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--composed", type=natural, default=6000, metavar="N", help="examples of several calls")
    parser.add_argument("--max-chars", type=natural, default=2400, metavar="N",
                        help="longest prompt and answer together, a digit counted as 6 characters and one outside of"
                             " ASCII as 9; 2,400 are about 640 tokens")
    parser.add_argument("--dev-share", type=share, default=0.05, metavar="SHARE", help="of the records, for dev.jsonl")
    parser.add_argument("--renamed", type=share, default=0.0, metavar="SHARE",
                        help="of the composed examples for training, that get tools and arguments of other names,"
                             " which may be a little longer")
    parser.add_argument("--alike", type=share, default=0.0, metavar="SHARE",
                        help="of the composed examples for training, in which tools may share words of their names")
    parser.add_argument("--json", action="store_true", help="counts as one JSON object on stdout as well")
    options = parser.parse_args(arguments)
    try:
        counts = build(options)
    except DataError as e:
        print(f"training_data: {e}", file=sys.stderr)
        return 2
    except OSError as e:
        print(f"training_data: can't write: {e}", file=sys.stderr)
        return 2
    print("\n".join(table(counts)), file=sys.stderr)
    if options.json:
        print(json.dumps(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
