#!/usr/bin/env python3
"""Checks the direction of #include lines in src/ and include/.

    check_includes.py [ROOT]      checks a checkout; prints file:line: rule, exits 1 if anything is wrong
    check_includes.py --self-test shows that every rule is able to fail

A folder may include from itself and from folders before it in ORDER. The two model backends do not know each other.
Third-party headers that would tie the code to one engine or one program stay in one folder each.
"""

import re
import sys
import tempfile
from pathlib import Path

ORDER = ("base json model model/llama model/scripted sample kv catalog forecast plan draft pack verify commit engine"
         " api measure train serve apps").split()
BACKENDS = ("model/llama", "model/scripted")
SUFFIXES = (".h", ".cc", ".cpp", ".inc")

# (headers, the only folders that may include them)
CONFINED = [
    (re.compile(r"(llama(-cpp)?|ggml[\w-]*|gguf)\.h"), ["model/llama"]),
    (re.compile(r"(torch|ATen|c10)/.*"), ["train"]),
    (re.compile(r"CLI/.*"), ["apps"]),
    (re.compile(r"httplib\.h"), ["serve", "apps"]),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path):
    """The folder in ORDER that "kv/arena.h" or "model/llama/x.h" belongs to, or None."""
    parts = path.split("/")[:-1]
    for depth in (2, 1):
        if "/".join(parts[:depth]) in ORDER and len(parts) >= depth:
            return "/".join(parts[:depth])
    return None


def violations_of(folder, quote, header):
    """The rules that `#include header` breaks in a file of src/`folder`."""
    for pattern, homes in CONFINED:
        if pattern.fullmatch(header) and folder not in homes:
            yield f"<{header}> may be included only in {' and '.join(f'src/{home}/' for home in homes)}"
    if quote == "<":
        return
    target = folder_of(header)
    if target is None:
        yield f'"{header}" does not start with a folder of src/ (system and public headers take <>)'
    elif ORDER.index(target) > ORDER.index(folder):
        yield f"src/{folder}/ must not include src/{target}/, which comes later in the order"
    elif folder in BACKENDS and target in BACKENDS and folder != target:
        yield f"the backends src/{folder}/ and src/{target}/ must not know each other"


def lines_of(path):
    return enumerate(path.read_text(encoding="utf-8").splitlines(), 1)


def check(root):
    """(list of "file:line: rule", number of files read)"""
    errors = []
    files = 0
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        files += 1
        name = path.relative_to(root)
        folder = folder_of(str(path.relative_to(root / "src")))
        if folder is None:
            errors.append(f"{name}:1: lies in no folder of the order ({' '.join(ORDER)})")
            continue
        for number, line in lines_of(path):
            if found := INCLUDE.match(line):
                errors += [f"{name}:{number}: {rule}" for rule in violations_of(folder, found[1], found[2])]
    for path in sorted((root / "include").rglob("*.h")):
        files += 1
        for number, line in lines_of(path):
            found = INCLUDE.match(line)
            if found and found[1] == '"':
                errors.append(f'{path.relative_to(root)}:{number}: a public header must not include "{found[2]}" from src/')
            if found and any(pattern.fullmatch(found[2]) for pattern, _ in CONFINED):
                errors.append(f"{path.relative_to(root)}:{number}: a public header must not include <{found[2]}>")
    return errors, files


# file, its text, what its error must contain ("" for none)
CASES = [
    ("src/kv/a.cc", '#include "kv/a.h"\n#include "model/types.h"\n#include <vector>\n#include <schemafill/x.h>\n', ""),
    ("src/model/llama/a.cc", '#include <llama.h>\n#include <ggml-cpu.h>\n#include "model/types.h"\n', ""),
    ("src/apps/a.cc", '#include <CLI/CLI.hpp>\n#include <httplib.h>\n#include "engine/engine.h"\n', ""),
    ("src/base/a.cc", '\n#include "json/json.h"\n', "src/base/a.cc:2: src/base/ must not include src/json/"),
    ("src/model/a.cc", '#include "model/llama/x.h"\n', "src/model/ must not include src/model/llama/"),
    ("src/model/scripted/a.cc", '#include "model/llama/x.h"\n', "must not know each other"),
    ("src/verify/a.h", '  #  include "engine/engine.h"\n', "src/verify/ must not include src/engine/"),
    ("src/engine/a.cc", "#include <llama.h>\n", "<llama.h> may be included only in src/model/llama/"),
    ("src/kv/a.h", '#include "ggml-backend.h"\n', "<ggml-backend.h> may be included only"),
    ("src/catalog/a.cc", "#include <gguf.h>\n", "<gguf.h> may be included only"),
    ("src/api/a.cc", "#include <httplib.h>\n", "<httplib.h> may be included only in src/serve/ and src/apps/"),
    ("src/train/a.cc", '#include <torch/torch.h>\n#include "engine/engine.h"\n', ""),
    ("src/apps/a.cc", "#include <torch/torch.h>\n", "<torch/torch.h> may be included only in src/train/"),
    ("src/engine/a.cc", '#include "train/head.h"\n', "src/engine/ must not include src/train/"),
    ("src/plan/a.cc", "#include <CLI/App.hpp>\n", "<CLI/App.hpp> may be included only in src/apps/"),
    ("src/plan/a.cc", '#include "b.h"\n', "does not start with a folder"),
    ("src/other/a.cc", "int x;\n", "lies in no folder of the order"),
    ("include/schemafill/a.h", '#include "base/result.h"\n', "a public header must not include"),
    ("include/schemafill/b.h", "#include <llama.h>\n", "a public header must not include <llama.h>"),
]


def self_test():
    failed = 0
    for file, text, expected in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file
            path.parent.mkdir(parents=True)
            path.write_text(text)
            errors, _ = check(Path(folder))
        if (not errors) if not expected else any(expected in error for error in errors):
            continue
        failed += 1
        print(f"{file} with {text!r}:\n  expected {expected!r}, got {errors}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    errors, files = check(root)
    for error in errors:
        print(error)
    if not files:
        print(f"{root}: no sources found")
        return 1
    print(f"{files} files, {len(errors)} includes in the wrong direction")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
