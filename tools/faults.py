"""Read the planted faults of tools/faults.toml, and compute the source file that each of them changes.

A fault in Python names a symbol of the library and an operation on it, so that it stays valid when the code is moved or
formatted, or comments change. Symbols are found by name in ``src/restride``, except in the reference; where tests of
this repository are to catch the fault, also in ``src/restride_conformance``, which judges what ``restride test`` runs.
A fault in a shader names a text, which is found in any file below ``shaders/``.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAULTS = Path(__file__).with_name("faults.toml")

_JUDGE = "reference"
"""The folder of ``src/restride`` with which all results are compared: a fault there would prove nothing."""
TESTS = ("tests/", "lab/tests/")
"""Prefixes of a fault's ``run`` that names tests, for faults that no case can show: files and options for pytest."""
IMPORTS = "from dataclasses import replace\nimport numpy as np\n"
"""Imports added to the changed file, so that the expressions of a fault may use these names."""

_Function = ast.FunctionDef
_Constant = ast.Assign | ast.AnnAssign


class FaultError(Exception):
    """A fault does not fit its source, or the changed copy does not compile."""


@dataclass(frozen=True)
class Fault:
    """A fault, and the cases or tests that should catch it.

    symbol: a function, method or constant, ``name`` or ``Class.name``; "" for a fault in a shader. If several symbols
        have the name, the fault must fit only one of them; otherwise ``module.name`` says which.
    gives: an expression that replaces the function's return value, or the constant, where ``result`` is the original
        value. It may use the parameters, and the names of the module.
    takes: for some parameters an expression that replaces the argument.
    replace, by: a pattern, and the code that replaces the only part of the symbol that matches it. A capital letter in
        the pattern stands for any expression; if it occurs twice, both must be equal. For a shader both are text, in
        which white space does not matter.
    shader: the name of the file, if several files have that text.
    run: the catalogue of ``restride test`` and the selection from it; or tests of this repository, as for pytest.
    options: further arguments of ``restride test``.
    """

    name: str
    symbol: str = ""
    gives: str = ""
    takes: Mapping[str, str] = field(default_factory=dict)
    replace: str = ""
    by: str = ""
    shader: str = ""
    run: str = "ci"
    options: str = ""

    def plant(self, root: Path = ROOT) -> tuple[Path, str]:
        """The file that the fault changes, relative to ``root``, and its text with the fault.

        Raises:
            FaultError: the symbol, the part of it or the text does not exist, or is not unique.
        """
        try:
            return self._in_python(root) if self.symbol else self._in_shader(root)
        except (FaultError, SyntaxError) as error:
            raise FaultError(f"{self.name!r}: {error}") from error

    def _in_shader(self, root: Path) -> tuple[Path, str]:
        text = re.compile(r"\s+".join(map(re.escape, self.replace.split())))
        files = [path for path in sorted((root / "shaders").rglob("*.*")) if path.suffix in (".comp", ".glsl")]
        sources = {path: path.read_text(encoding="utf-8") for path in files if self.shader in ("", path.name)}
        places = [(path, match) for path, source in sources.items() for match in text.finditer(source)]
        if len(places) != 1:
            names = ", ".join(path.name for path, _ in places)
            hint = f": {names}; add shader = or more text" if places else "; write the fault anew"
            raise FaultError(f"{self.replace!r} occurs {len(places)} times in the shaders, not once{hint}")
        path, match = places[0]
        source = sources[path]
        return path.relative_to(root), source[: match.start()] + self.by.strip() + source[match.end() :]

    def _in_python(self, root: Path) -> tuple[Path, str]:
        planted: dict[Path, str] = {}
        errors = []
        packages = ("restride", "restride_conformance") if self.run.startswith(TESTS) else ("restride",)
        places = [place for name in packages for place in _places_of(self.symbol, root / "src" / name)]
        for path, name in places:
            try:
                planted[path.relative_to(root)] = self._in_module(path.read_text(encoding="utf-8"), name)
            except FaultError as error:
                errors.append(str(error))
        if len(planted) != 1:
            files = ", ".join(path.as_posix() for path in planted)
            what = f"{len(planted)} functions or constants are named {self.symbol!r}, not one: {files}"
            raise FaultError("; ".join(errors) if errors and not planted else what)
        return planted.popitem()

    def _in_module(self, text: str, name: str) -> str:
        tree = ast.parse(text)
        node = dict(_definitions(tree.body))[name]
        known = _names(tree.body) | {argument.arg for argument in _arguments(node)} | {"result"}
        before = ast.dump(node)
        if self.replace:
            _replace(node, self.replace, self.by, known | _all_names(node))
        if isinstance(node, _Function):
            _change_function(node, self.gives, self.takes, known)
        elif self.gives:
            value = ast.unparse(node.value) if node.value is not None else "None"
            node.value = _expression(f"(lambda result: {self.gives})({value})", known)
        if ast.dump(node) == before:
            raise FaultError(f"it leaves {self.symbol!r} as it is")
        decorators = node.decorator_list if isinstance(node, _Function) else []
        first = min(part.lineno for part in (node, *decorators)) - 1
        head = next(line for line in tree.body if not _is_head(line)).lineno - 1
        lines = text.splitlines(keepends=True)
        new = textwrap.indent(ast.unparse(node), " " * node.col_offset)
        return "".join([*lines[:head], IMPORTS, *lines[head:first], new, "\n", *lines[node.end_lineno :]])


def read_faults(path: Path = FAULTS) -> list[Fault]:
    """The faults of a TOML file."""
    with path.open("rb") as file:
        return [Fault(**entry) for entry in tomllib.load(file)["fault"]]


def _places_of(symbol: str, package: Path) -> list[tuple[Path, str]]:
    """The files that define a symbol, and its name in each file."""
    found = _symbols(package).get(symbol.rpartition(".")[2], ())
    return [(path, name) for dotted, path, name in found if f".{dotted}".endswith(f".{symbol}")]


@lru_cache(maxsize=4)
def _symbols(package: Path) -> dict[str, list[tuple[str, Path, str]]]:
    """All definitions by the last part of their names: the dotted name, the file, and the name inside the file."""
    symbols: dict[str, list[tuple[str, Path, str]]] = {}
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package).with_suffix("").parts
        if _JUDGE not in module:
            names = dict(_definitions(ast.parse(path.read_text(encoding="utf-8")).body))
            for name in names:
                dotted = ".".join((*(part for part in module if part != "__init__"), name))
                symbols.setdefault(name.rpartition(".")[2], []).append((dotted, path, name))
    return symbols


def _definitions(body: Sequence[ast.stmt], prefix: str = "") -> Iterator[tuple[str, _Function | _Constant]]:
    """Yield functions, methods and constants with their names in the module; overloads come before their function."""
    for node in body:
        if isinstance(node, _Function):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield prefix + node.targets[0].id, node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield prefix + node.target.id, node


def _replace(node: ast.AST, pattern: str, by: str, known: set[str]) -> None:
    wanted, planted = _code(pattern), _code(by)
    places = [part for part in ast.walk(node) if _matches(wanted, part, {})]
    if len(places) != 1:
        raise FaultError(f"{pattern!r} matches {len(places)} places, not one, of\n{ast.unparse(node)}")
    letters: dict[str, ast.expr] = {}
    _matches(wanted, places[0], letters)
    _require_names(planted, known | letters.keys())
    _Replacing(places[0], _Filling(letters).visit(copy.deepcopy(planted))).visit(node)


def _change_function(function: _Function, gives: str, takes: Mapping[str, str], known: set[str]) -> None:
    """Replace arguments at the start of a function; for ``gives`` wrap its body in an inner function."""
    parameters = [argument.arg for argument in _arguments(function)]
    lines: list[ast.stmt] = []
    for parameter, text in takes.items():
        if parameter not in parameters:
            raise FaultError(f"{parameter!r} is no parameter, those are {parameters}")
        lines += ast.parse(f"{parameter} = {ast.unparse(_expression(text, known))}").body
    if gives:
        arguments = function.args
        inner = copy.deepcopy(function)
        inner.name, inner.decorator_list = "faultless", []
        inner.args.defaults, inner.args.kw_defaults = [], [None] * len(arguments.kwonlyargs)
        passed = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        passed += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
        passed += [f"{argument.arg}={argument.arg}" for argument in arguments.kwonlyargs]
        passed += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
        call, wrong = f"faultless({', '.join(passed)})", ast.unparse(_expression(gives, known))
        if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(function)):
            call, wrong = f"list({call})", f"iter({wrong})"
        function.body = [*lines, inner, *ast.parse(f"result = {call}\nreturn {wrong}").body]
    else:
        function.body[:0] = lines


def _matches(pattern: ast.AST, node: ast.AST, letters: dict[str, ast.expr]) -> bool:
    """True if ``node`` matches the pattern; fills ``letters`` with the expressions for its capital letters."""
    if isinstance(pattern, ast.Name) and _is_letter(pattern.id):
        if not isinstance(node, ast.expr):
            return False
        return ast.unparse(letters.setdefault(pattern.id, node)) == ast.unparse(node)
    if type(pattern) is not type(node):
        return False
    for name in pattern._fields:
        sides = getattr(pattern, name), getattr(node, name)
        pairs = list(zip(*sides, strict=False)) if isinstance(sides[0], list) else [sides]
        if isinstance(sides[0], list) and len(sides[0]) != len(sides[1]):
            return False
        for one, other in pairs:
            if isinstance(one, ast.expr_context):
                continue
            if not (_matches(one, other, letters) if isinstance(one, ast.AST) else one == other):
                return False
    return True


def _is_letter(name: str) -> bool:
    return len(name) == 1 and name.isupper()


def _code(text: str) -> ast.expr | ast.stmt:
    """Parse an expression or a statement."""
    (code,) = ast.parse(text).body
    return code.value if isinstance(code, ast.Expr) else code


def _expression(text: str, known: set[str]) -> ast.expr:
    code = ast.parse(text, mode="eval").body
    _require_names(code, known)
    return code


def _require_names(code: ast.AST, known: set[str]) -> None:
    """Raise FaultError for unknown names, which would cause a NameError instead of a wrong result."""
    unknown = {node.id for node in ast.walk(code) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    own = {node.id for node in ast.walk(code) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(code) if isinstance(node, ast.arg)}
    unknown -= known | own | _names(ast.parse(IMPORTS).body) | set(dir(builtins))
    if unknown:
        raise FaultError(f"{ast.unparse(code)!r} uses {', '.join(sorted(unknown))}, which the symbol does not know")


def _arguments(node: ast.AST) -> list[ast.arg]:
    return [part for part in ast.walk(node.args) if isinstance(part, ast.arg)] if isinstance(node, _Function) else []


def _all_names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _names(body: Sequence[ast.stmt]) -> set[str]:
    """The names that these statements of a module define or import."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        else:
            names |= {
                part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            }
    return names


def _is_head(line: ast.stmt) -> bool:
    """True for the docstring of a module, and for imports from ``__future__``."""
    is_text = isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
    return is_text or (isinstance(line, ast.ImportFrom) and line.module == "__future__")


class _Replacing(ast.NodeTransformer):
    """A transformer that replaces one node by another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


class _Filling(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self._names.get(node.id, node))
