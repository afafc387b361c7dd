"""Other names for an example's tools and arguments, in catalog and calls at once. Part of training_data.py.

A small model learns the names of its training tools by heart and then misspells those of new ones. Names that are new
in each example can only be copied from the catalog:

    get_stock_data(symbol, data_points)  ->  stock.data_museum(symbol, data_points_value)
"""

import re

ENDS = ["name", "value", "id", "type", "list", "param", "info", "number", "input", "text"]
SEPARATORS = ["_", "_", "_", ".", ""]  # "": getStockData


def words_of(name):
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)


def spelt(words, separator):
    if separator:
        return separator.join(word.lower() for word in words)
    return words[0].lower() + "".join(word.capitalize() for word in words[1:])


def misspelt(word, rng):
    """The word with one letter more or less."""
    at = rng.randrange(1, len(word))
    return word[:at] + word[at - 1:] if rng.random() < 0.5 else word[:at] + word[at + 1:]


def other_tool_name(name, pool, rng):
    words = words_of(name)
    if not words:
        return name
    at = rng.randrange(len(words))
    change = rng.random()
    if change < 0.35:
        words[at] = rng.choice(pool)
    elif change < 0.55:
        words.insert(at, rng.choice(pool))
    elif change < 0.75 and len(words) > 2:
        del words[at]
    elif change < 0.9 and len(words[at]) > 4:
        words[at] = misspelt(words[at], rng)
    separator = rng.choice(SEPARATORS)
    if separator == ".":  # one dot, as in math.factorial
        head = rng.randint(1, len(words))
        return ".".join(filter(None, [spelt(words[:head], "_"), "_".join(w.lower() for w in words[head:])]))
    return spelt(words, separator)


def other_key(key, pool, rng):
    words = words_of(key)
    if not words:
        return key
    change = rng.random()
    if change < 0.4:
        words.append(rng.choice(ENDS))
    elif change < 0.6:
        words.insert(0, rng.choice(pool))
    elif change < 0.8 and len(words) > 1:
        del words[rng.randrange(len(words))]
    return spelt(words, rng.choice(["_", "_", "_", ""]))


def renamed_tool(tool, pool, rng, key_share):
    """(tool of other names, {key: its other name})"""
    schema = tool["parameters"]
    keys = {key: key for key in schema["properties"]}
    for key in keys:
        other = other_key(key, pool, rng) if rng.random() < key_share else key
        if other not in keys and other not in keys.values():
            keys[key] = other
    changed = dict(schema, properties={keys[key]: value for key, value in schema["properties"].items()})
    if isinstance(schema.get("required"), list):
        changed["required"] = [keys.get(key, key) for key in schema["required"]]
    return dict(tool, name=other_tool_name(tool["name"], pool, rng), parameters=changed), keys


def with_shared_words(names, rng):
    """The names, two of which share their first or last words, in front of and behind a dot now and then."""
    one, other = rng.sample(range(len(names)), 2)
    first, second = words_of(names[one]), words_of(names[other])
    if len(first) < 2 or len(second) < 2:
        return names
    if rng.random() < 0.6:
        second[0] = first[0]
    else:
        second[-1] = first[-1]
    separator = rng.choice(SEPARATORS)
    made = list(names)
    for at, words in ((one, first), (other, second)):
        dotted = separator == "."
        made[at] = f"{words[0].lower()}.{spelt(words[1:], '_')}" if dotted else spelt(words, separator)
    return made


def rename(tools, called, pool, rng, key_share=0.35, alike=False):
    """(tools, [(tool, arguments)]) of other names; as they are where two tools would get the same. `alike`: two of the
    names share words.
    """
    made = {tool["name"]: renamed_tool(tool, pool, rng, key_share) for tool in tools}
    others = [made[tool["name"]][0] for tool in tools]
    if alike and len(others) > 1:
        for other, name in zip(others, with_shared_words([other["name"] for other in others], rng)):
            other["name"] = name
    if len({tool["name"] for tool in others}) < len(others):
        return tools, called
    calls = []
    for tool, arguments in called:
        other, keys = made[tool["name"]]
        calls.append((other, {keys.get(key, key): value for key, value in arguments.items()}))
    return others, calls
