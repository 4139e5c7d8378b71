"""The name of a class or a type alias stands for one thing: it is in one module of the wheel."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"
CAMEL_CASE = re.compile("_?[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*")
VALUES_OF_ALIASES = (ast.Subscript, ast.BinOp, ast.Attribute, ast.Name)


def names_of_types(module: ast.Module) -> Iterator[str]:
    """The classes of a module, and its aliases: ``X: TypeAlias = ...``, ``X = Literal[...]`` and ``type X = ...``."""
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
            yield ast.unparse(node.target)
        elif isinstance(node, ast.Assign) and isinstance(node.value, VALUES_OF_ALIASES):
            yield from filter(CAMEL_CASE.fullmatch, map(ast.unparse, node.targets))
        elif type(node).__name__ == "TypeAlias":  # of Python 3.12
            yield ast.unparse(node.name)  # type: ignore[attr-defined]


def test_no_two_modules_have_a_type_of_one_name():
    modules = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for name in names_of_types(ast.parse(path.read_text(encoding="utf-8"))):
            modules[name].add(str(path.relative_to(SOURCE)))
    assert len(modules) > 400
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}
