"""Variants of a request and its call: other values in both at once. Part of training_data.py.

A slot is a value of the call that stands in the request exactly once, letter by letter, and in which no other value of
the call has a share. Writing another value there and in the call keeps the two in step:

    "Weather in Boston for 3 days"  {"city": "Boston", "days": 3}
    "Weather in Denver for 5 days"  {"city": "Denver", "days": 5}

A request has no slots at all if a value of its call is in no way in the text: that value may follow from another
(a country from its city, a rate from its percentage), which a swap would make wrong.
"""

import copy
import json
import re
from collections import defaultdict
from dataclasses import dataclass

# Arguments whose values fit any tool's argument of the same class; those of other names stay within their tool.
CLASSES = {
    "place": "city location loc from_city to_city start_city end_city start_location end_location destination origin"
             " where_to departure_location arrival_location",
    "person": "directed_by cast starring actor_name",
    "artist": "artist artist_name",
    "airport": "origin_airport destination_airport",
    "company": "company company_name",
    "film": "movie_name",
    "team": "team team_name",
    "player": "player_name",
    "country": "country", "state": "state", "league": "league", "color": "color", "cuisine": "cuisine",
    "ticker": "ticker symbol stock_symbol", "username": "username", "species": "species",
    "museum": "museum museum_name", "game": "game game_name game_title",
    "song": "track song_title", "album": "album", "drug": "medication drug",
}
CLASS_OF_KEY = {key: name for name, keys in CLASSES.items() for key in keys.split()}
NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
NO_VALUE = {"dontcare", "any", "all", "none", "other", "others", "true", "false", "null", "default"}
IDENTIFIER = re.compile(r"[A-Za-z#_-]{0,8}\d{3,}")


@dataclass(frozen=True)
class Slot:
    path: tuple  # keys and indexes down the arguments
    value: object
    start: int  # where it stands in the request
    end: int
    schema_type: str
    choices: tuple  # the schema's enum, empty without one
    pool: tuple  # values of one pool may take each other's place

    @property
    def is_text(self):
        return isinstance(self.value, str)

    @property
    def in_list(self):
        return isinstance(self.value, list) or any(isinstance(step, int) for step in self.path)


# ------------------------------------------------------------------------------------------------------- finding


def spellings(value):
    """The ways in which a request writes a value that is a number or a list of numbers."""
    if isinstance(value, list):
        texts = [number_texts(item)[0] for item in value]
        return ["[" + ", ".join(texts) + "]", "[" + ",".join(texts) + "]", ", ".join(texts)]
    return number_texts(value)


def number_texts(value):
    if isinstance(value, float) and not value.is_integer():
        return [repr(value)]
    whole = int(value)
    return list(dict.fromkeys([str(whole), f"{whole:,}"] + ([repr(value)] if isinstance(value, float) else [])))


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_number_list(value):
    return isinstance(value, list) and len(value) > 1 and all(is_number(item) for item in value)


def places(value, text):
    """[(start, end)] of a value that stands in the text by itself: not as a piece of a word, number or date."""
    if isinstance(value, str):
        return [m.span() for m in re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE)]
    spans = []
    for spelling in spellings(value):
        pattern = rf"(?<![\w.,/:^+-]){re.escape(spelling)}(?![\w/:^-]|[.,]\d|, \d)"
        found = [m.span() for m in re.finditer(pattern, text)]
        # "[1, 2]" holds "1, 2", and "1.0" is spelled in two ways.
        spans += [(start, end) for start, end in found if not any(a <= start and end <= b for a, b in spans)]
    return sorted(spans)


def leaves(value, schema, path=()):
    """(path, value, schema) of the values that are no containers; a list of numbers counts as one."""
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for key, item in value.items():
            yield from leaves(item, properties.get(key, {}), path + (key,))
    elif isinstance(value, list) and not is_number_list(value):
        items = schema.get("items") or {}
        for index, item in enumerate(value):
            yield from leaves(item, items, path + (index,))
    else:
        yield path, value, schema


def is_mentioned(value, schema, text):
    """Whether the text says the value in some way, or the schema names it, so that it can't follow from another."""
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, str):
        # Dates are often spelled otherwise in the call; touches() sees to their numbers.
        return bool(schema.get("enum")) or value.lower() in text.lower() or bool(re.search(r"\d", value))
    if is_number(value):
        if any(re.search(rf"(?<![\d.]){re.escape(s)}(?![\d%])", text) for s in spellings(value)):
            return True
        return value in range(13) and bool(re.search(rf"\b{NUMBER_WORDS[int(value)]}\b", text.lower()))
    return all(is_mentioned(item, {}, text) for item in value)


def touches(value, others, own_span, text):
    """Whether another value of the call shares the place or the words of `value`."""
    said = str(value).lower()
    for other in others:
        if any(start < own_span[1] and own_span[0] < end for start, end in places(other, text)):
            return True
        if isinstance(other, str) and (said in other.lower() or (other and other.lower() in said)):
            return True
        if other == value:
            return True
    return False


def find_slots(record):
    """The slots of a record, in the order of its request."""
    found = list(leaves(record.arguments, record.tool["parameters"]))
    if not all(is_mentioned(value, schema, record.text) for _, value, schema in found):
        return []
    slots = []
    for number, (path, value, schema) in enumerate(found):
        if isinstance(value, bool) or value in (None, 0, 1, "") or (isinstance(value, str) and len(value) < 2):
            continue
        spans = places(value, record.text)
        others = [v for at, (_, v, _) in enumerate(found) if at != number and not isinstance(v, bool) and v is not None]
        if len(spans) != 1 or touches(value, others, spans[0], record.text):
            continue
        start, end = spans[0]
        if isinstance(value, str) and record.text[start:end] != value:
            continue
        keys = tuple(step for step in path if isinstance(step, str))
        family = (CLASS_OF_KEY.get(keys[-1]) or (record.tool["name"],) + keys) if isinstance(value, str) else None
        slots.append(Slot(path, value, start, end, schema.get("type"), tuple(schema.get("enum") or ()),
                          (family, shape(value))))
    return sorted(slots, key=lambda slot: slot.start)


def shape(value):
    """Text of one shape can stand where the other stands."""
    if not isinstance(value, str):
        return None
    first = "digit" if value[0].isdigit() else "upper" if value[0].isupper() else "lower"
    return first, "," in value, bool(re.search(r"\d", value)), min(value.count(" "), 4) // 3, value.isascii()


# ------------------------------------------------------------------------------------------------------ other values


class Pools:
    """The values that requests name, by what may take their place."""

    def __init__(self, slots):
        values = defaultdict(dict)
        for slot in slots:
            if slot.is_text and not slot.choices:
                values[slot.pool][slot.value] = True
        self.values = {pool: list(of_pool) for pool, of_pool in values.items()}

    def others(self, slot, rng, count):
        """Up to `count` values for a slot, none of them its own; fewer where there are not as many."""
        if slot.is_text and not slot.choices and not IDENTIFIER.fullmatch(slot.value):
            pool = [v for v in self.values.get(slot.pool, []) if v.lower() != slot.value.lower()]
            return rng.sample(pool, min(count, len(pool)))
        if slot.choices:
            fit = [v for v in slot.choices if type(v) is type(slot.value) and v != slot.value]
            if slot.is_text:
                fit = [v for v in fit if len(v) > 2 and v.lower() not in NO_VALUE and shape(v) == shape(slot.value)]
            return rng.sample(fit, min(count, len(fit)))
        values = []
        for _ in range(4 * count):
            value = other_number(slot.value, rng)
            if value != slot.value and value not in values and len(values) < count:
                values.append(value)
        return values


def other_number(value, rng):
    if isinstance(value, list):
        return [other_number(item, rng) for item in value]
    if isinstance(value, str) and re.fullmatch(r"(19|20)\d\d", value):
        return str(other_number(int(value), rng))
    if isinstance(value, str):
        return re.sub(r"\d", lambda digit: str(rng.randint(1, 9)), value)
    if value < 0:
        return -other_number(-value, rng)
    if isinstance(value, float):
        return other_float(value, rng)
    if 1900 <= value <= 2030:
        return rng.randint(max(1900, value - 12), min(2030, value + 5))
    unit = 1
    while value and value % (10 * unit) == 0 and value > 10 * unit:
        unit *= 10
    # Months, days and percentages stay such.
    limit = next((top for top in (12, 31, 60, 90, 100) if value <= top), 3 * value)
    return unit * rng.randint(max(1 if unit > 1 else 2, value // unit // 2), max(limit // unit, 2))


def other_float(value, rng):
    if value.is_integer():
        return float(other_number(int(value), rng))
    digits = repr(value).partition(".")[2]
    if not digits.isdigit():
        return value  # with an exponent
    if value < 1:
        return round(rng.randint(1, 10 ** len(digits) - 1) / 10 ** len(digits), len(digits))
    limit = next((top for top in (90, 100, 180) if value <= top), 2 * value)
    return round(min(value * rng.uniform(0.5, 1.5), limit - rng.random()), len(digits))


def written(value, old_text):
    """A value as the request would write it, after the example of the value that stood there."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        separator = ", " if ", " in old_text else ","
        inner = separator.join(number_texts(item)[0] for item in value)
        return f"[{inner}]" if old_text.startswith("[") else inner
    texts = number_texts(value)
    if isinstance(value, float) and old_text.endswith(".0"):
        return repr(value)
    return texts[1] if "," in old_text and len(texts) > 1 and "," in texts[1] else texts[0]


def with_value(arguments, path, value):
    changed = copy.deepcopy(arguments)
    holder = changed
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return changed


def is_clean(text, values):
    """Whether each of the values stands in the text just once."""
    return len({json.dumps(v) for v in values}) == len(values) and all(len(places(v, text)) == 1 for v in values)


def variant(record, slots, pools, rng):
    """(text, arguments) with other values in some or all slots; None where none fits cleanly."""
    chosen = slots if rng.random() < 0.6 else rng.sample(slots, rng.randint(1, len(slots)))
    text, arguments, kept = record.text, record.arguments, [s.value for s in slots if s not in chosen]
    values = []
    for slot in sorted(chosen, key=lambda slot: -slot.start):
        other = pools.others(slot, rng, 1)
        if not other:
            kept.append(slot.value)
            continue
        values += other
        text = text[:slot.start] + written(other[0], text[slot.start:slot.end]) + text[slot.end:]
        arguments = with_value(arguments, slot.path, other[0])
    return (text, arguments) if values and is_clean(text, values + kept) else None


# ------------------------------------------------------------------------------------------- several values in one go


def listed(texts, rng):
    """ "A, B and C" in one of its spellings."""
    comma = "; " if any("," in text for text in texts) else ", "
    last = rng.choice([" and ", " and ", comma + "and "]) if len(texts) > 2 or comma == "; " else " and "
    return comma.join(texts[:-1]) + last + texts[-1]


QUOTES = ("'", '"', "`")
# Next to these a list of values would read as something else.
JOINED_BEFORE = re.compile(r"(\b(between|and|or|to|versus|vs\.?|than|plus|times|by|a|an|every)|[,(\[{+*/=-])\s*$", re.I)
JOINED_AFTER = re.compile(r"^\s*(\b(and|or|to|by|versus|vs|plus|times|as|is|has|was|x)\b|['’]s\b|[(\[{+*/=,-])", re.I)


def enumeration(record, slots, pools, rng, count):
    """(text, [arguments]) of one sentence that asks for `count` values of one slot; None where that isn't clean."""
    fit = [s for s in slots if not s.in_list and not JOINED_BEFORE.search(record.text[:s.start])
           and "unit" not in s.path[-1].lower()]  # "16 grams and pieces" is one thing
    slot = rng.choice(fit) if fit else None
    if slot is None:
        return None
    # What is glued to the value goes with each: quotes, "$5", "5%".
    before = re.search(r"[\"'`$€£#]?$", record.text[:slot.start]).group()
    after = re.match(r"[\"'`%]?", record.text[slot.end:]).group()
    if (before in QUOTES or after in QUOTES) and before != after:
        return None
    start, end = slot.start - len(before), slot.end + len(after)
    if JOINED_BEFORE.search(record.text[:start]) or JOINED_AFTER.search(record.text[end:]):
        return None
    if re.search(r"\S$", record.text[:start]):
        return None
    others = pools.others(slot, rng, count)
    values = [slot.value] + others[:count - 1] if rng.random() < 0.4 else others
    if len(values) < count:
        return None
    rng.shuffle(values)
    old = record.text[slot.start:slot.end]
    text = record.text[:start] + listed([before + written(v, old) + after for v in values], rng) + record.text[end:]
    if not is_clean(text, values + [s.value for s in slots if s is not slot]):
        return None
    return text, [with_value(record.arguments, slot.path, value) for value in values]


def words_of_key(slot):
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", slot.path[-1]).replace("_", " ").strip().lower()
    return words if re.fullmatch(r"[a-z][a-z ]+", words) else None


AGAIN_BARE = ["Also for {}.", "And for {}?", "Then do the same for {}.", "Same for {}.", "I need that for {} too.",
              "Do the same for {}."]
AGAIN_NAMED = ["Then the same with {}.", "Do it again with {}.", "Also with {}.", "Repeat it with {}.",
               "And the same for {}.", "Once more, but with {}."]


def follow_up(record, slots, pools, rng, count):
    """(text, [arguments]) of a request and short ones behind it that change one or two values; None if not clean."""
    fit = [s for s in slots if not s.in_list and words_of_key(s)]
    if not fit:
        return None
    changed = rng.sample(fit, min(len(fit), rng.choice([1, 1, 1, 2])))
    others = [pools.others(slot, rng, count - 1) for slot in changed]
    if any(len(values) < count - 1 for values in others):
        return None
    text = record.text.rstrip()
    text += "" if text[-1] in ".?!" else "."
    # "And for Rome?" is clear where nothing else could be meant: a way's start or its end.
    rivals = [s for s in slots if s.is_text and s.pool[0] == changed[0].pool[0]]
    is_bare = len(changed) == len(rivals) == 1 and changed[0].is_text and rng.random() < 0.7
    phrases = []
    for values in zip(*others):
        texts = [written(v, record.text[s.start:s.end]) for s, v in zip(changed, values)]
        phrases.append(texts[0] if is_bare else
                       " and ".join(f"{words_of_key(s)} {t}" for s, t in zip(changed, texts)))
    templates = AGAIN_BARE if is_bare else AGAIN_NAMED
    if len(changed) == 1 and rng.random() < 0.5:
        if not is_bare:
            phrases = [phrases[0]] + [p[len(words_of_key(changed[0])) + 1:] for p in phrases[1:]]
        phrases = [listed(phrases, rng)] if len(phrases) > 1 else phrases
    for phrase in phrases:
        text += " " + rng.choice(templates).format(phrase)
        text = re.sub(r"\.\.$", ".", text)  # behind "Washington, D.C."
    answers = [record.arguments]
    for values in zip(*others):
        arguments = record.arguments
        for slot, value in zip(changed, values):
            arguments = with_value(arguments, slot.path, value)
        answers.append(arguments)
    told = [s.value for s in changed] + [value for values in others for value in values]
    if len(changed) == 1 and not is_clean(text, told):
        return None
    return text, answers
