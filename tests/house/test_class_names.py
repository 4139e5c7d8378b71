"""A class name stands for one thing: it is in one module of the wheel."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"


def test_no_two_modules_have_a_class_of_one_name():
    modules = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                modules[node.name].add(str(path.relative_to(SOURCE)))
    assert len(modules) > 300
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}
