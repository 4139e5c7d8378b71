"""A name in shaders stands for one kind of thing: a macro, a specialization constant, or a value that one may have."""

import re
from collections import defaultdict
from pathlib import Path

SHADERS = Path(__file__).resolve().parents[2] / "shaders"
SPECIALIZED = re.compile(r"constant_id = \d+\) const \w+ ([A-Z_0-9]+)")
VALUE = re.compile(r"^const uint ([A-Z_0-9]+) = (?:\d+u \* [A-Z_0-9]+|\d+u?);", re.MULTILINE)


def test_no_name_stands_for_two_kinds_of_things():
    kinds = defaultdict(set)
    for name in re.findall(r" ([A-Z][A-Z_0-9]*)=\d+", (SHADERS / "variants.txt").read_text(encoding="utf-8")):
        kinds[name].add("macro")
    for path in (*SHADERS.rglob("*.comp"), *SHADERS.rglob("*.glsl")):
        text = path.read_text(encoding="utf-8")
        specialized = set(SPECIALIZED.findall(text))
        for name in specialized:
            kinds[name].add("constant")
        for name in {*VALUE.findall(text)} - specialized:  # which a variant may state, where others specialize it
            kinds[name].add("value")
    assert {kind for found in kinds.values() for kind in found} == {"macro", "constant", "value"}
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}
