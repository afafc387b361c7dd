"""Requests for several calls, composed of requests for one. Part of training_data.py.

An example is made of portions: pieces of a request, each with the calls that it asks for. Its kind says how:

    repeat       several requests for one tool, of different records or variants of one
    enumeration  one sentence that asks for several values ("for Paris, London and Rome"), a call each
    follow_up    a request and short ones behind it ("Also for Rome.")
    mixed        requests for different tools
    blend        requests for different tools, one of them repeated, with an enumeration or followed up
"""

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass

import training_names as names
import training_variants as variants

# The system turn and the chat template's words: BuildTurns in src/catalog/prompt.cc.
PROMPT_FRAME = 200
TRIES = 30  # to compose one example, before it is given up
LONGEST_PORTION = 600
KINDS = {"repeat": 25, "enumeration": 14, "follow_up": 11, "mixed": 32, "blend": 18}
CALLS = {2: 34, 3: 30, 4: 22, 5: 8, 6: 6}


def example(example_id, messages, tools, calls):
    return {
        "id": example_id,
        "messages": messages,
        "tools": [{"type": "function", "function": tool} for tool in tools],
        "answer": answer(calls),
        "weight": length(messages, tools, calls),
    }


def answer(calls):
    return json.dumps({"tool_calls": [{"name": tool["name"], "arguments": arguments} for tool, arguments in calls]},
                      ensure_ascii=False)


def rendered(tool):
    return json.dumps(tool, ensure_ascii=False)


def weight(text):
    """Characters, as many as stand for a token: the tokenizer takes digits one by one and other scripts in bytes."""
    digits = sum(map(text.count, "0123456789"))
    foreign = 0 if text.isascii() else sum(not character.isascii() for character in text)
    return len(text) + 5 * digits + 8 * foreign


def length(messages, tools, calls):
    """Weight of prompt and answer together; 3.8 are about a token."""
    prompt = sum(weight(message["content"]) for message in messages) + sum(weight(rendered(tool)) for tool in tools)
    return PROMPT_FRAME + prompt + weight(answer(calls))


@dataclass
class Portion:
    text: str
    tool: dict
    arguments: list  # one for each call
    record: object


# ------------------------------------------------------------------------------------------------------------ joining

# First words that a sentence has as well when it goes on with a small letter.
STARTERS = set("find can help what calculate could get what's how search who give provide retrieve book predict check"
               " generate fetch set convert please run when list play create analyze perform order do would delete sort"
               " make are solve identify estimate look tell change determine is".split())
GREETING = re.compile(r"^(hi|hey|hello)( there)?[,.!]\s+", re.IGNORECASE)
LEADS = ["", "", "", "Please do the following:\n", "I need a few things:\n", "Do these:\n", "Several things:\n"]
BETWEEN = ["Also, ", "Also, ", "Then ", "Then, ", "And ", "Next, ", "After that, ", "Additionally, ", "Besides, ",
           "I also need this: ", "One more thing: ", "Another one: ", "Furthermore, "]


def opened_small(text):
    """The text as it goes on behind "Also, "."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    return text[0].lower() + text[1:] if first.lower().strip(",") in STARTERS else text


def may_lose_end(portion):
    """Whether the last character is punctuation and no part of a value."""
    if portion.text[-1] not in ".?!":
        return False
    found = [v for arguments in portion.arguments for _, v, _ in variants.leaves(arguments, {})]
    return not any(isinstance(v, str) and v and portion.text.endswith(v) for v in found)


def ended(portion):
    return portion.text if portion.text[-1] in ".?!。？！" else portion.text + "."


def unended(portion):
    return portion.text[:-1] if may_lose_end(portion) else portion.text


def join(portions, rng):
    """One request that holds the portions in their order."""
    if len(portions) == 1:
        return portions[0].text
    for portion in portions:
        portion.text = portion.text.strip()
    for portion in portions[1:]:
        portion.text = GREETING.sub("", portion.text)
    foreign = not all(portion.text.isascii() for portion in portions)
    style = rng.choice(["lines", "numbers", "bullets", "sentences"] if foreign else
                       ["lines", "numbers", "bullets", "ordinals", "sentences", "sentences",
                        "words", "words", "words", "words", "and", "and", "and"])
    if style == "lines":
        return rng.choice(["\n", "\n\n"]).join(portion.text for portion in portions)
    if style == "numbers":
        mark = rng.choice(["{}. ", "{}) ", "({}) "])
        separator = rng.choice(["\n", "\n", " "])
        items = [mark.format(n) + portion.text for n, portion in enumerate(portions, 1)]
        return rng.choice(LEADS) + separator.join(items)
    if style == "bullets":
        return rng.choice(LEADS[3:]) + "\n".join("- " + portion.text for portion in portions)
    if style == "sentences":
        return " ".join(ended(portion) for portion in portions)
    if style == "ordinals":
        ordinals = ["First, ", "Second, ", "Third, ", "Fourth, ", "Fifth, ", "Sixth, "]
        return " ".join(name + opened_small(ended(portion)) for name, portion in zip(ordinals, portions))
    if style == "and":
        text = unended(portions[0])
        for at, portion in enumerate(portions[1:], 2):
            last = at == len(portions)
            words = [", and ", " and ", ", and also ", " and then ", "; "] if last else ["; ", ", then ", ", "]
            text += rng.choice(words) + opened_small(ended(portion) if last else unended(portion))
        return text
    text = ended(portions[0])
    for at, portion in enumerate(portions[1:], 2):
        words = BETWEEN + (["Finally, ", "Lastly, "] if at == len(portions) else [])
        text += rng.choice([" ", " ", " ", "\n"]) + rng.choice(words) + opened_small(ended(portion))
    return text


# ---------------------------------------------------------------------------------------------------------- composing

# Words of tool names that say nothing of what a tool is about.
COMMON_WORDS = set("get find calculate search fetch retrieve api data info information details by of the for and a to"
                   " in create set list check compute analyze new request query".split())


def subject(tool):
    """What the tool's name is about."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", tool["name"])
    return {word.lower().rstrip("s") for word in words} - COMMON_WORDS


@dataclass(eq=False)
class Offer:
    """What is asked of a tool again and again."""
    tool: dict
    text: str
    weight: int
    subject: set

    @property
    def name(self):
        return self.tool["name"]


class Composer:
    """Composes examples. Two tools for one thing don't meet in one, as its request could mean either. `renamed` is the
    share of examples whose tools get other names, `alike` the share in which tools may share words where each has one
    of its own as well (circle.calculate_area, rectangle.calculate_area), so that the request tells them apart.
    """

    def __init__(self, records, rng, max_chars, is_forbidden, renamed=0.0, alike=0.0):
        self.rng, self.max_chars, self.is_forbidden = rng, max_chars, is_forbidden
        self.renamed, self.alike = renamed, alike
        self.may_be_alike = False  # in the example at hand
        self.given_up = Counter()
        fit = [r for r in records if len(r.messages) == 1 and 10 <= len(r.text) <= LONGEST_PORTION]
        self.slots = {r.id: variants.find_slots(r) for r in fit}
        self.pools = variants.Pools([slot for r in fit for slot in self.slots[r.id]])
        self.offers = {id(tool): Offer(tool, rendered(tool), weight(rendered(tool)), subject(tool))
                       for r in records for tool in r.tools}
        by_tool = defaultdict(list)
        for record in fit:
            by_tool[self.offer(record.tool).text].append(record)
        self.sizes = {r.id: self.offer(r.tool).weight + weight(r.text) + weight(answer([(r.tool, r.arguments)]))
                      for r in fit}
        # Every tool is as likely, however many records ask for it.
        self.by_tool = list(by_tool.values())
        self.with_slots = [[r for r in rs if self.slots[r.id]] for rs in self.by_tool]
        self.with_slots = [rs for rs in self.with_slots if rs]
        self.distinct = list({offer.text: offer for offer in self.offers.values()}.values())
        self.name_words = sorted({word.lower() for offer in self.distinct for word in names.words_of(offer.name)
                                  if len(word) > 2})
        self.about = defaultdict(list)  # word of a subject: the records of each tool that has it
        for same in self.by_tool:
            for word in sorted(self.offer(same[0].tool).subject):
                self.about[word].append(same)

    def offer(self, tool):
        return self.offers[id(tool)]

    def examples(self, count):
        made = []
        if not self.by_tool:
            return made
        for number in range(count):
            kind, = self.rng.choices(list(KINDS), KINDS.values())
            calls, = self.rng.choices(list(CALLS), CALLS.values())
            for attempt in range(TRIES):
                calls -= attempt % 8 == 7 and calls > 2  # so many may not fit
                composed = self.compose(kind, calls)
                if composed is not None:
                    text, tools, called, records = composed
                    if self.renamed and self.rng.random() < self.renamed:
                        tools, called = names.rename(tools, called, self.name_words, self.rng, alike=self.may_be_alike)
                    made.append(example(f"{kind}-{number}:{'+'.join(records)}",
                                        [{"role": "user", "content": text}], tools, called))
                    break
            else:
                self.given_up[kind] += 1
        return made

    def compose(self, kind, calls):
        """(text, tools, [(tool, arguments)], record ids, one a call), or None."""
        self.may_be_alike = self.alike > 0 and self.rng.random() < self.alike
        portions = self.portions(kind, calls)
        if portions is None:
            return None
        called = [(portion.tool, arguments) for portion in portions for arguments in portion.arguments]
        if len({json.dumps([tool["name"], arguments]) for tool, arguments in called}) < len(called):
            return None
        records = [portion.record.id for portion in portions for _ in portion.arguments]
        own_tools = [tool for portion in portions for tool in portion.record.tools]
        text = join(portions, self.rng)
        tools = self.with_distractors(text, called, own_tools)
        return tools and (text, tools, called, records)

    def portions(self, kind, calls):
        if kind == "mixed":
            return self.of_different_tools(calls)
        if kind != "blend":
            return self.of_one_tool(kind, calls)
        if calls == 2:
            calls = 3
        repeated = self.rng.randint(2, calls - 1)
        one = self.of_one_tool(self.rng.choice(["repeat", "enumeration", "follow_up"]), repeated)
        others = one and self.of_different_tools(calls - repeated, [one[0].tool])
        if not others:
            return None
        portions = one + others
        self.rng.shuffle(portions)
        return portions

    def of_one_tool(self, kind, calls):
        if kind == "repeat":
            return self.repeated(calls)
        records = self.rng.choice(self.with_slots) if self.with_slots else None
        if records is None:
            return None
        record = self.rng.choice(records)
        make = variants.enumeration if kind == "enumeration" else variants.follow_up
        made = make(record, self.slots[record.id], self.pools, self.rng, calls)
        if made is None or self.is_forbidden(made[0]):
            return None
        return [Portion(made[0], record.tool, made[1], record)]

    def repeated(self, calls):
        """Portions of one call each for one tool: records first, then variants of them."""
        records = self.rng.choice(self.by_tool)
        chosen = self.rng.sample(records, min(calls, len(records)))
        if len(records) > 1 and self.rng.random() < 0.4:
            chosen = chosen[:self.rng.randint(1, len(chosen))]
        portions = [self.plain(record) for record in chosen]
        while len(portions) < calls:
            portion = self.varied(self.rng.choice(records))
            if portion is None:
                return None
            portions.append(portion)
        if any(portion is None for portion in portions):
            return None
        self.rng.shuffle(portions)
        return portions

    def plain(self, record):
        """A record as it is, or now and then a variant of it."""
        changed = self.varied(record) if self.rng.random() < 0.3 else None
        return changed or Portion(record.text, record.tool, [record.arguments], record)

    def varied(self, record):
        slots = self.slots[record.id]
        made = slots and variants.variant(record, slots, self.pools, self.rng)
        if not made or self.is_forbidden(made[0]):
            return None
        return Portion(made[0], record.tool, [made[1]], record)

    def of_different_tools(self, calls, taken=()):
        """Portions of one call each, for tools that don't clash with each other nor with the tools `taken`."""
        portions, room = [], self.max_chars - PROMPT_FRAME
        used = [self.offer(tool) for tool in taken]
        for _ in range(12 * calls):
            record = self.rng.choice(self.rng.choice(self.with_a_word_of(used) or self.by_tool))
            offer, size = self.offer(record.tool), self.sizes[record.id]
            if size > room or self.clashes(offer, used):
                continue
            portions.append(self.plain(record))
            if len(portions) == calls:
                return portions
            used.append(offer)
            room -= size
        return None

    def with_a_word_of(self, offers):
        """Records of each tool whose subject shares a word with one of the offers', now and then; else []."""
        words = sorted(set().union(*(offer.subject for offer in offers))) if self.may_be_alike else []
        return self.about[self.rng.choice(words)] if words and self.rng.random() < 0.7 else []

    def clashes(self, offer, others):
        """Whether one of the others has the offer's name or could be meant where the offer is."""
        for other in others:
            if offer.name == other.name:
                return True
            own, its = offer.subject - other.subject, other.subject - offer.subject
            if offer.subject & other.subject and not (self.may_be_alike and own and its):
                return True
        return False

    def with_distractors(self, text, called, own_tools):
        """The tools of an example in random order, or None where it is too long."""
        offers = list({self.offer(tool).text: self.offer(tool) for tool, _ in called}.values())
        room = self.max_chars - length([{"role": "user", "content": text}], [o.tool for o in offers], called)
        taken, called_offers = {o.name for o in offers}, list(offers)
        if len(taken) < len(offers) or room < 0:
            return None
        candidates = self.rng.sample(self.distinct, min(8, len(self.distinct)))
        near = self.with_a_word_of(offers)
        if near:
            candidates = [self.offer(same[0].tool) for same in self.rng.sample(near, min(3, len(near)))] + candidates
        candidates = [offer for offer in candidates if not self.clashes(offer, called_offers)]
        if len(offers) == 1 and self.rng.random() < 0.5:
            candidates = [self.offer(tool) for tool in own_tools] + candidates  # the record's own, near misses
        wanted = len(offers) + self.rng.choice([0, 0, 0, 1, 2, 3])
        for offer in candidates:
            if len(offers) < wanted and offer.name not in taken and offer.weight <= room:
                offers.append(offer)
                taken.add(offer.name)
                room -= offer.weight
        self.rng.shuffle(offers)
        return [offer.tool for offer in offers]
