"""Tests tools/training_data.py on a few records of its own and, where set-up has brought them, on BFCL's files."""

import contextlib
import io
import json
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import training_compose as compose  # noqa: E402
import training_names as naming  # noqa: E402
import training_data as data  # noqa: E402
import training_variants as variants  # noqa: E402

BFCL = Path(os.environ.get("SCHEMAFILL_ASSETS", ROOT / "assets")) / "bfcl"
TEST_SETS = "exec_parallel parallel parallel_multiple live_parallel live_parallel_multiple".split()

opened = []
# Hooks stay for the life of the process; this one only takes notes.
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)


def tool(name, required=None, **properties):
    properties = {key: {"type": of, "description": f"The {key}."} if isinstance(of, str) else of
                  for key, of in properties.items()}
    return {"name": name, "description": f"{name} does it.",
            "parameters": {"type": "dict", "properties": properties,
                           "required": list(properties) if required is None else required}}


WEATHER = tool("weather.get", ["city"], city="string", days="integer",
               unit={"type": "string", "enum": ["metric", "us"]})
POWER = tool("math_power", base="integer", exponent="float")
GUEST = {"type": "dict", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
BOOKING = tool("book_table", guest=GUEST, sizes={"type": "array", "items": {"type": "integer"}})
CITIES = "Paris London Rome Oslo Quito Lima Cairo Delhi Tokyo Accra".split()


def record(text, function, arguments):
    return data.Record("r", "simple_python", [{"role": "user", "content": text}], [function], function, arguments)


class Fixture(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "possible_answer").mkdir()
        for name in data.SOURCES:
            self.write(name, [])
        # Enough that 650 are held out, and 150 weather and power requests stay.
        rows = []
        for n in range(800):
            if n % 3 == 0:
                rows.append((f"What is {n + 20} to the power of {n % 7 + 2}?", [POWER, WEATHER],
                             {"math_power": {"base": [n + 20], "exponent": [n % 7 + 2]}}))
            else:
                city = CITIES[n % 10]
                rows.append((f"Tell me about the weather in {city} for the next {n + 20} days.", [WEATHER],
                             {"weather.get": {"days": [n + 20], "city": [city], "unit": ["", "us"]}}))
        self.write("simple_python", rows)
        self.write("simple_java", [("Book for Ann, who is 34, at tables of [4, 6, 8].", [BOOKING], {"book_table": {
            "sizes": [[4, 6, 8]], "guest": [{"age": [34], "name": ["Ann", "Anna"]}]}})])

    def write(self, name, rows):
        questions = [{"id": f"{name}_{n}", "question": [[{"role": "user", "content": text}]], "function": tools}
                     for n, (text, tools, _) in enumerate(rows)]
        answers = [{"id": f"{name}_{n}", "ground_truth": [call]} for n, (_, _, call) in enumerate(rows)]
        for path, entries in [(self.question(name), questions), (self.answer(name), answers)]:
            path.write_text("\n".join(json.dumps(entry) for entry in entries))

    def question(self, name):
        return self.folder / f"BFCL_v4_{name}.json"

    def answer(self, name):
        return self.folder / "possible_answer" / f"BFCL_v4_{name}.json"

    def run_script(self, *options, out="out", source=None):
        """(exit code, stdout, stderr)"""
        stdout, stderr = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            code = data.main(["--data", str(source or self.folder), "--out", str(self.folder / out),
                              "--dev-share", "0.2", *options])
        return code, stdout.getvalue(), stderr.getvalue()

    def read(self, part, out="out"):
        return [json.loads(line) for line in (self.folder / out / f"{part}.jsonl").read_text().splitlines()]

    def check_value(self, value, schema):
        kind = data.TYPE_OF_WORD.get(schema.get("type"))
        if kind is not None:
            self.assertIs(type(value), kind, (value, schema))
        for item in value if isinstance(value, list) else []:
            self.check_value(item, schema.get("items") or {})

    def check_example(self, example, max_chars=2400):
        self.assertEqual(list(example), ["id", "messages", "tools", "answer"])
        calls = json.loads(example["answer"])["tool_calls"]
        self.assertEqual(example["answer"], json.dumps({"tool_calls": calls}, ensure_ascii=False))
        tools = {entry["function"]["name"]: entry["function"]["parameters"] for entry in example["tools"]}
        self.assertEqual(len(tools), len(example["tools"]), example["id"])
        self.assertEqual(len(calls), example["id"].count("+") + 1, example["id"])
        self.assertEqual(len({json.dumps(call) for call in calls}), len(calls), example["id"])
        for call in calls:
            self.assertEqual(list(call), ["name", "arguments"])
            schema, arguments = tools[call["name"]], call["arguments"]
            self.assertEqual(list(arguments), [key for key in schema["properties"] if key in arguments])
            self.assertLessEqual(set(schema.get("required", [])), set(arguments))
            for key, value in arguments.items():
                self.check_value(value, schema["properties"][key])
        calls = [(t["function"], call["arguments"]) for call in calls for t in example["tools"]
                 if t["function"]["name"] == call["name"]]
        tools = [t["function"] for t in example["tools"]]
        self.assertLessEqual(compose.length(example["messages"], tools, calls), max_chars)

    def check_examples(self, parts):
        """Checks what holds for every output; `parts` are the lines of train and dev."""
        names = [set(), set()]
        for examples, of_part in zip(parts, names):
            for example in examples:
                self.check_example(example)
                of_part.update(example["id"].split(":")[1].split("+"))
        self.assertFalse(names[0] & names[1])
        everything = [example for examples in parts for example in examples]
        contents = {json.dumps([e["messages"], e["tools"], e["answer"]]) for e in everything}
        self.assertEqual(len(contents), len(everything))
        self.assertEqual(len({example["id"] for example in everything}), len(everything))
        return names[0] | names[1]


class TrainingDataTest(Fixture):
    def test_examples_are_sound(self):
        code, stdout, _ = self.run_script("--composed", "300", "--json")
        self.assertEqual(code, 0)
        parts = self.read("train"), self.read("dev")
        used = self.check_examples(parts)
        counts = json.loads(stdout)
        self.assertEqual(counts["held_out"], 650)
        self.assertEqual([counts["train"]["examples"], counts["dev"]["examples"]], [len(part) for part in parts])
        self.assertGreater(min(len(part) for part in parts), 20)
        records = data.read_set(self.folder, "simple_python")
        self.assertFalse(used & set(data.single650([r for r, _ in records])))
        self.assertEqual({e["id"].split(":")[0].split("-")[0] for e in parts[0]}, {"single", *compose.KINDS})

    def test_renamed_examples_are_sound(self):
        self.run_script("--composed", "200", out="plain")
        self.run_script("--composed", "200", "--renamed", "0.8")
        examples = self.read("train")
        for example in examples:
            self.check_example(example, max_chars=2800)
        self.assertEqual(self.read("dev"), self.read("dev", out="plain"))
        names = lambda examples: {t["function"]["name"] for e in examples for t in e["tools"]}
        keys = lambda examples: {k for e in examples for t in e["tools"] for k in t["function"]["parameters"]["properties"]}
        plain = self.read("train", out="plain")
        self.assertGreater(len(names(examples) - names(plain)), 20)
        self.assertGreater(len(keys(examples) - keys(plain)), 10)

    def test_alike_tools_share_words_and_have_their_own(self):
        self.run_script("--composed", "200", "--renamed", "0.8", "--alike", "0.8")
        shared = 0
        for example in self.read("train"):
            self.check_example(example, max_chars=2800)
            words = [set(naming.words_of(t["function"]["name"].lower())) for t in example["tools"]]
            shared += any(one & other for i, one in enumerate(words) for other in words[:i])
        self.assertGreater(shared, 40)

    def test_numbers_and_names_of_composed_calls_stand_in_the_request(self):
        self.run_script("--composed", "300")
        for example in self.read("train"):
            text = example["messages"][-1]["content"]
            for call in json.loads(example["answer"])["tool_calls"]:
                for key in {"base", "exponent", "days", "city"} & set(call["arguments"]):
                    self.assertEqual(len(variants.places(call["arguments"][key], text)) > 0, True, (text, call))

    def test_same_seed_same_bytes(self):
        both = lambda out: [(self.folder / out / f"{part}.jsonl").read_bytes() for part in ("train", "dev")]
        for out, seed in [("a", "1"), ("b", "1"), ("c", "2")]:
            self.run_script("--composed", "100", "--seed", seed, out=out)
        self.assertEqual(both("a"), both("b"))
        for one, other in zip(both("a"), both("c")):
            self.assertNotEqual(one, other)

    def test_never_opens_test_files(self):
        for name in TEST_SETS:
            self.question(name).write_text("not for training")
            self.answer(name).write_text("not for training")
        del opened[:]
        self.assertEqual(self.run_script("--composed", "10")[0], 0)
        read = {path for path in opened if path.startswith(str(self.folder)) and "/out/" not in path}
        self.assertEqual(read, {str(path(name)) for path in (self.question, self.answer) for name in data.SOURCES})

    def test_requests_that_repeat_a_held_out_one_are_dropped(self):
        rows = [("tell me about the WEATHER in London for the next 21 days", [WEATHER],
                 {"weather.get": {"days": [21], "city": ["London"]}})]
        held = data.single650([r for r, _ in data.read_set(self.folder, "simple_python")])
        self.write("simple_javascript", rows)
        counts = json.loads(self.run_script("--composed", "0", "--json")[1])
        self.assertEqual(counts["dropped"].get("asks the same as a held-out record", 0), int("simple_python_1" in held))
        self.assertIn("simple_python_1", held)  # else the row above shows nothing

    def test_errors_name_file_and_line(self):
        good_question, good_answer = self.question("multiple").read_bytes(), self.answer("multiple").read_bytes()
        question = {"id": "a", "question": [[{"role": "user", "content": "x"}]], "function": [WEATHER]}
        bad = [
            (["{"], [], "BFCL_v4_multiple.json:1: not JSON"),
            ([json.dumps(question), "[]"], [], "BFCL_v4_multiple.json:2: must be an object with a string `id`"),
            ([json.dumps({**question, "question": "x"})], ['{"id": "a", "ground_truth": []}'], "`question` must be"),
            ([json.dumps({**question, "function": [{}]})], ['{"id": "a", "ground_truth": []}'], "`function` must be"),
            ([json.dumps(question)], [], "BFCL_v4_multiple.json:1: a has no answer"),
            ([json.dumps(question)], ['{"id": "a"}'], "possible_answer/BFCL_v4_multiple.json:1: `ground_truth`"),
        ]
        for questions, answers, message in bad:
            self.question("multiple").write_text("\n".join(questions))
            self.answer("multiple").write_text("\n".join(answers))
            code, _, stderr = self.run_script()
            self.assertEqual(code, 2)
            self.assertIn(message, stderr)
        self.question("multiple").write_bytes(good_question)
        self.answer("multiple").write_bytes(good_answer)
        self.answer("simple_java").unlink()
        code, _, stderr = self.run_script()
        self.assertEqual((code, "simple_java.json: no such file; `make setup`" in stderr), (2, True))


class PartsTest(unittest.TestCase):
    def test_hash_is_that_of_the_data_sets(self):  # the values of RecordHash.IsFnv1a in tests/catalog/dataset_test.cc
        for text, value in [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)]:
            self.assertEqual(data.record_hash(text), value)

    def test_single650_takes_one_user_turn_and_keeps_file_order_in_ties(self):
        def of(record_id, name, roles="user", tools=(WEATHER,)):
            return data.Record(record_id, name, [{"role": r, "content": "x"} for r in roles.split()], list(tools))
        records = [of("same", "multiple"), of("same", "simple_python", "system user"), of("java", "simple_java"),
                   of("two", "multiple", "user user"), of("none", "multiple", tools=())]
        self.assertEqual(data.single650(records), ["same", "same"])

    def test_answers_follow_the_schema(self):
        rows = [
            ({"city": ["Rome", "roma"], "days": ["", 3]}, WEATHER, {"city": "Rome"}),
            ({"unit": ["us"], "city": ["Rome"]}, WEATHER, {"city": "Rome", "unit": "us"}),
            ({"exponent": [2], "base": [3.0]}, POWER, {"base": 3, "exponent": 2.0}),
            ({"exponent": ["", 2.5], "base": [3]}, POWER, {"base": 3, "exponent": 2.5}),
            ({"sizes": [[4, 6]], "guest": [{"age": [3], "name": ["Ann"]}]}, BOOKING,
             {"guest": {"name": "Ann", "age": 3}, "sizes": [4, 6]}),
            ({"base": ["x"], "exponent": [1]}, POWER, "value of another type than the schema's"),
            ({"base": [True], "exponent": [1]}, POWER, "value of another type than the schema's"),
            ({"base": [1]}, POWER, "required argument without a value"),
            ({"base": [""], "exponent": [1]}, POWER, "required argument without a value"),
            ({"city": ["Rome"], "town": ["Rome"]}, WEATHER, "argument that the schema lacks"),
        ]
        for allowed, function, expected in rows:
            try:
                got = data.resolve_object(allowed, function["parameters"])
            except data.Unusable as reason:
                got = str(reason)
            self.assertEqual(json.dumps(got), json.dumps(expected))

    def test_slots_are_values_that_can_be_swapped(self):
        rows = [
            ("Weather in Paris for 7 days", WEATHER, {"city": "Paris", "days": 7}, ["Paris", 7]),
            ("Weather in Paris, the Paris, for 7 days", WEATHER, {"city": "Paris", "days": 7}, [7]),  # twice
            ("Weather in Paris for a week", WEATHER, {"city": "Paris", "days": 70}, []),  # 70 comes from elsewhere
            ("Weather on 7/7 in Paris for 7 days", WEATHER, {"city": "Paris", "days": 7}, ["Paris", 7]),
            ("Compute 2 to the 2", POWER, {"base": 2, "exponent": 2.0}, []),
            ("Compute 1,200 to the 3.5", POWER, {"base": 1200, "exponent": 3.5}, [1200, 3.5]),
            ("Compute x5 to the 3.5", POWER, {"base": 5, "exponent": 3.5}, [3.5]),  # in a word
            ("Tables [4, 6] for Ann, 34", BOOKING, {"guest": {"name": "Ann", "age": 34}, "sizes": [4, 6]},
             [[4, 6], "Ann", 34]),
        ]
        for text, function, arguments, expected in rows:
            slots = variants.find_slots(record(text, function, arguments))
            self.assertEqual([slot.value for slot in slots], expected, text)

    def test_numbers_keep_their_kind(self):
        rng = random.Random(1)
        for _ in range(200):
            self.assertIn(variants.other_number(7, rng), range(2, 13))
            self.assertEqual(variants.other_number(3000, rng) % 1000, 0)
            self.assertRegex(variants.other_number("AB-123", rng), r"^AB-\d{3}$")
            self.assertTrue(0 < variants.other_number(0.25, rng) < 1)
            self.assertIs(type(variants.other_number(4.0, rng)), float)
            self.assertLess(variants.other_number(-5, rng), 0)
        self.assertEqual(variants.written(2500, "1,200"), "2,500")
        self.assertEqual(variants.written([1, 2.5], "[3,4]"), "[1,2.5]")

    def test_enumerations_and_follow_ups(self):
        rng = random.Random(1)
        one = record("Weather in 'Paris' for 7 days", WEATHER, {"city": "Paris", "days": 7})
        slots = variants.find_slots(one)
        more = [s for city in CITIES
                for s in variants.find_slots(record(f"In {city}", WEATHER, {"city": city}))]
        pools = variants.Pools(slots + more)
        text, answers = variants.enumeration(one, slots[:1], pools, rng, 3)
        cities = [arguments["city"] for arguments in answers]
        self.assertRegex(text, "^Weather in '{}', '{}',? and '{}' for 7 days$".format(*cities))
        self.assertEqual({arguments["days"] for arguments in answers}, {7})
        text, answers = variants.follow_up(one, slots[1:], pools, rng, 2)
        self.assertTrue(text.startswith("Weather in 'Paris' for 7 days. "), text)
        self.assertIn(f"days {answers[1]['days']}", text)
        between = record("Is it 7 or 9 in Paris?", WEATHER, {"city": "Paris", "days": 7})
        self.assertIsNone(variants.enumeration(between, variants.find_slots(between)[:1], pools, rng, 2))

    def test_length_weighs_digits_and_other_scripts(self):
        self.assertEqual([compose.weight(text) for text in ("", "abc", "a12", "aé")], [0, 3, 13, 10])

    def test_joining_keeps_every_portion(self):
        texts = ["Find a bar in Rome.", "what is 3 to the power of 4?", "Hi, say 'Hello!'"]
        portions = lambda: [compose.Portion(text, POWER, [{}], None) for text in texts]
        joined = {compose.join(portions(), random.Random(seed)) for seed in range(60)}
        self.assertGreater(len(joined), 30)
        for text in joined:
            for core in ("ind a bar in Rome", "hat is 3 to the power of 4", "ay 'Hello!'"):
                self.assertIn(core, text)
            self.assertNotIn("Hi,", text)
        self.assertEqual(compose.join(portions()[:1], random.Random(1)), texts[0])


@unittest.skipUnless(BFCL.exists(), "no BFCL files; `make setup` fetches them")
class BfclTest(Fixture):
    def test_holds_out_what_the_program_does(self):  # ids: Bfcl.EveryRecordIsRead in tests/catalog/dataset_test.cc
        ids = data.single650([r for name in data.SINGLE650 for r, _ in data.read_set(BFCL, name)])
        self.assertEqual((len(ids), ids[0], ids[-1]), (650, "live_multiple_323-132-13", "live_multiple_341-133-5"))

    def test_examples_are_sound(self):
        del opened[:]
        code, stdout, stderr = self.run_script("--composed", "300", "--json", source=BFCL)
        self.assertEqual(code, 0, stderr)
        self.assertFalse([path for path in opened if "parallel" in path])
        held = set(data.single650([r for name in data.SINGLE650 for r, _ in data.read_set(BFCL, name)]))
        self.assertFalse(self.check_examples([self.read("train"), self.read("dev")]) & held)
        self.assertGreater(json.loads(stdout)["train"]["records"], 900)


if __name__ == "__main__":
    unittest.main()
