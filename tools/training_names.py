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


def rename(tools, called, pool, rng, key_share=0.35):
    """(tools, [(tool, arguments)]) of other names; as they are where two tools would get the same."""
    made = {tool["name"]: renamed_tool(tool, pool, rng, key_share) for tool in tools}
    others = [made[tool["name"]][0] for tool in tools]
    if len({tool["name"] for tool in others}) < len(others):
        return tools, called
    calls = []
    for tool, arguments in called:
        other, keys = made[tool["name"]]
        calls.append((other, {keys.get(key, key): value for key, value in arguments.items()}))
    return others, calls
