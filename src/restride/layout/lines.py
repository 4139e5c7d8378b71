"""Layouts in lines that other programs print: oneDNN's verbose mode, MLIR's types and HLO's instructions.

    oneDNN   memory { " " memory } ... ( sizes { ":" sizes } | problem )
    memory   = name ( ":" | "_" ) type [ ":" flags ] ":blocked:" tag [ ":" strides ] [ ":" extra ]
    sizes    = number { "x" number }                       of all memories, or of each in order
    problem  = benchdnn's letters and numbers: mb2_ic16oc32_ih4oh4kh3sh1dh0ph1_iw4ow4kw3sw1dw0pw1
    MLIR     ( "memref<" | "tensor<" ) { number "x" } type [ "," layout ] [ "," memory space ] ">"
    layout   = "strided<[" strides "]" [ ", offset: " number ] ">" | "affine_map<(d0, d1) -> (d1, d0)>"
    HLO      name " = " shape opcode "(" [ shape ] operand { "," [ shape ] operand } ")" ...
             | "(" shape { "," shape } ")"

A shape is XLA's text of a layout, or several in parentheses. What a line says beside its layouts, such as attributes
and times, is passed over; what would move elements and is not known here is refused by name.

Worked example: ``src:f32:p:blocked:aBcd16b::f0 2x20x4x4`` is ``f32[2,20,4,4]:aBcd16b``, with channels padded to 32.

Source: oneDNN, verbose mode and ``md2fmt_str`` of verbose.cpp; MLIR, builtin dialect: MemRefType and
StridedLayoutAttr; XLA, "HLO text".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from restride.dtypes import BY_NAME, DTYPES, ELEMENT_TYPES, DType, as_dtype
from restride.errors import DescriptorError, UnsupportedError, prefixed
from restride.layout.tags import parse_tag
from restride.layout.tensor_desc import TensorDesc
from restride.layout.text import Scanner, cut

MAX_LINE = 1 << 16
"""Maximum number of characters of a line."""

MAX_LAYOUTS = 64
"""Maximum number of layouts in a line."""

Role = Literal["source", "destination", ""]


class Found(NamedTuple):
    """A layout in a line: its name there, and its side in a reorder that is read from the line; "" for neither side."""

    name: str
    desc: TensorDesc
    role: Role = ""


def layouts_in(line: str) -> tuple[Found, ...]:
    """The layouts in a line of oneDNN, MLIR or HLO, in its order; none if it is not such a line.

    Raises:
        DescriptorError: the line is too long, or a layout in it is incomplete, such as with sizes known at run time.
        UnsupportedError: a layout has a part that says where elements are, and that is not known here.
    """
    kinds = ((_is_onednn, _of_onednn), (_is_mlir, _of_mlir), (_INSTRUCTION.match, _of_hlo))
    read = next((read for belongs, read in kinds if belongs(line)), None)
    if read is None:
        return ()
    if len(line) > MAX_LINE:
        raise DescriptorError(f"a line has at most {MAX_LINE} characters, not {len(line)}: {cut(line)}")
    found = tuple(read(line))
    if not found:
        raise DescriptorError(f"there is no layout in {cut(line)}")
    names = [each.name for each in found]
    return tuple(
        each if names.count(each.name) == 1 else each._replace(name=f"{each.name} {names[:place].count(each.name) + 1}")
        for place, each in enumerate(found)
    )


def layout_for(role: Role, text: str) -> TensorDesc | None:
    """The only layout in a line, or the only one with this role; None if ``text`` is not such a line.

    Raises:
        DescriptorError: there are several layouts, and not exactly one has this role; or as ``layouts_in``.
        UnsupportedError: as ``layouts_in``.
    """
    found = layouts_in(text)
    those = found if len(found) < 2 else [each for each in found if each.role == role]
    if found and len(those) != 1:
        names = ", ".join(f"{each.name} {each.desc}" for each in found)
        raise DescriptorError(f"{len(those)} of the layouts in the line are the {role}: give one of {names}")
    return those[0].desc if found else None


def _require_few(count: int) -> None:
    if count > MAX_LAYOUTS:
        raise DescriptorError(f"a line has at most {MAX_LAYOUTS} layouts, not {count}")


def _element(name: str) -> DType:
    if name not in BY_NAME:
        raise UnsupportedError(f"elements of type {cut(name)} are not supported, only those of {', '.join(DTYPES)}")
    return as_dtype(name)


# oneDNN's verbose mode.

_KINDS = ("blocked", "wino", "rnn_packed", "opaque", "sparse", "cublaslt_blocked", "any", "undef")
"""Kinds of formats. Only ``blocked`` says where elements are."""

_ONEDNN_TYPES: dict[str, str] = {row.onednn: row.name for row in ELEMENT_TYPES.values() if row.onednn}
"""oneDNN's names of types that differ from ours."""

_UNKNOWN_TYPES = ("s4", "u4", "f4_e2m1", "f4_e3m0", "e8m0", "f8_e8m0")

_SIZES = re.compile(r"x?N(xN){0,11}(:N(xN){0,11}){0,64}".replace("N", r"(\d{1,155}|\*)"))
_PROBLEM = re.compile(r"(_?[a-z]{1,3}\d{1,18}){2,40}")
_SIZE = re.compile(r"([a-z]{1,3})(\d{1,18})")
_FLAGS = {"o": "an offset of the padding (flag o)", "0": "an offset of the first element (flag 0)"}


class _Memory(NamedTuple):
    """A memory descriptor of oneDNN as it is written."""

    name: str
    dtype: str
    flags: str
    kind: str
    tag: str
    strides: str
    extra: str

    @classmethod
    def of(cls, word: str) -> _Memory:
        """Read ``src:f32:p:blocked:aBcd16b::f0`` and older spellings: ``src_f32::blocked:aBcd16b:f0``."""
        parts = word.split(":")
        place = next(at for at in range(1, len(parts)) if parts[at] in _KINDS)
        known = (*BY_NAME, *_ONEDNN_TYPES, *_UNKNOWN_TYPES, "undef")
        joined = next((each for each in known if parts[0].endswith(f"_{each}")), None)
        if joined is not None:
            parts[:1] = [parts[0].removesuffix(f"_{joined}"), joined]
            place += 1
        name, dtype, *flags = *parts[:place], *[""] * (2 - place)
        tag, *rest = parts[place + 1 :] or [""]
        strides = [each for each in rest[:1] if _SIZES.fullmatch(each)]
        extra = [each for each in rest[len(strides) :] if each]
        return cls(name, dtype, "".join(flags), parts[place], tag, "".join(strides), ":".join(extra))

    def desc(self, sizes: tuple[int, ...]) -> TensorDesc:
        """The layout of an array of these sizes."""
        dtype = self.element()
        for flag, what in _FLAGS.items():
            if flag in self.flags:
                raise UnsupportedError(f"{what} is not in the line, so that the layout is not known")
        if self.extra not in ("", "f0"):
            raise UnsupportedError(
                f"extra data {self.extra!r}, such as compensation behind the elements, is not supported"
            )
        tag = parse_tag(self.tag)
        if self.strides and tag.blocks:
            raise UnsupportedError(f"strides {self.strides} of the blocked tag {self.tag} are not supported")
        if self.strides:
            return TensorDesc(dtype, sizes, _numbers("strides", self.strides))
        desc = TensorDesc.from_tag(self.tag, sizes, dtype)
        if "p" in self.flags and not desc.is_padded:
            raise UnsupportedError(
                f"padding (flag p) beyond the blocks of the tag {self.tag} is not supported: the line has no sizes"
            )
        return desc

    def element(self) -> DType:
        """The element type, if the kind of format and its tag say where elements are."""
        if self.kind != "blocked":
            raise UnsupportedError(f"the format kind {self.kind!r} does not say where elements are")
        if self.tag == "*" or "*" in self.strides:
            raise DescriptorError("strides are known at run time alone (*)")
        return _element(_ONEDNN_TYPES.get(self.dtype, self.dtype))


def _is_onednn(line: str) -> bool:
    return any(f":{kind}:" in line for kind in _KINDS) or line.lstrip().startswith(
        ("onednn_verbose", "dnnl_verbose", "mkldnn_verbose")
    )


def _of_onednn(line: str) -> Iterator[Found]:
    words = re.split(r"[,\s]+", line.strip())
    places = [at for at, word in enumerate(words) if set(word.split(":")[1:]) & set(_KINDS) and word[:5] != "attr-"]
    _require_few(len(places))
    memories = [memory for at in places if (memory := _Memory.of(words[at])).kind != "undef"]
    if not memories:
        return
    after = words[places[-1] + 1 :]
    problem = next((word for word in after if _PROBLEM.fullmatch(word)), "")
    lists = [word for word in after if _SIZES.fullmatch(word)]
    lists = ":".join(word for place, word in enumerate(lists) if place == 0 or "x" in word).split(":") if lists else []
    for place, memory in enumerate(memories):
        with prefixed(f"{memory.name} of the line"):
            sizes = _sizes_of_problem(memory, problem) if problem else _sizes_of(memories, place, lists)
            role: Role = "source" if memory.name in ("src", "data") else "destination" if memory.name == "dst" else ""
            yield Found(memory.name, memory.desc(sizes), role)


def _sizes_of(memories: Sequence[_Memory], place: int, lists: Sequence[str]) -> tuple[int, ...]:
    """The sizes of a memory by the ``lists`` in a line: one for all memories, one for each, or those of two factors.

    The sizes of a matrix product follow from those of its factors.
    """
    if len(lists) == 1:
        return _numbers("sizes", lists[0])
    if len(lists) == len(memories):
        return _numbers("sizes", lists[place])
    names = [memory.name for memory in memories if memory.name != "bia"]  # of a product
    if len(lists) == 2 and names == ["src", "wei", "dst"] and memories[place].name in names:
        src, wei = (_numbers("sizes", each) for each in lists)
        product = (*map(max, src[:-2], wei[:-2]), *src[-2:-1], *wei[-1:])
        return (src, wei, product)[names.index(memories[place].name)]
    raise DescriptorError(
        f"its sizes are not in the line, which has {len(lists)} lists of sizes for {len(memories)} memories: put "
        f"them behind, as in 'src:f32:blocked:aBcd16b::f0 2x16x4x4'"
    )


def _sizes_of_problem(memory: _Memory, problem: str) -> tuple[int, ...]:
    """The sizes of a memory of a convolution, pooling or inner product in benchdnn's words."""
    numbers = {name: int(number) for name, number in reversed(_SIZE.findall(problem))}
    rank = parse_tag(memory.tag).rank if memory.kind == "blocked" else 0
    axes = [axis for axis in "dhw" if f"i{axis}" in numbers]
    name = memory.name.removeprefix("diff_")
    channels, outputs = numbers.get("ic"), numbers.get("oc", numbers.get("ic"))
    groups = numbers.get("g", 1)
    sizes: list[int | None]
    if name == "wei" and channels and outputs and groups:
        grouped = [groups] if rank == len(axes) + 3 else []
        kernel = [numbers.get(f"k{axis}", numbers[f"i{axis}"]) for axis in axes]
        sizes = [*grouped, outputs // groups, channels // groups, *kernel]
    elif name == "bia":
        sizes = [outputs]
    else:
        is_result = name == "dst"
        spatial = [numbers.get(f"{'o' if is_result else 'i'}{axis}", numbers[f"i{axis}"]) for axis in axes]
        sizes = [numbers.get("mb"), outputs if is_result else channels, *spatial]
        sizes = sizes[:2] if is_result and rank == 2 else sizes
    known = tuple(size for size in sizes if size is not None)
    if len(known) != rank:
        raise DescriptorError(
            f"its sizes do not follow from {cut(problem)}: put them behind, as in "
            f"'src:f32:blocked:aBcd16b::f0 2x16x4x4'"
        )
    return known


def _numbers(what: str, text: str) -> tuple[int, ...]:
    if "*" in text:
        raise DescriptorError(f"{what} {text} are known at run time alone (*)")
    return tuple(int(number) for number in text.removeprefix("x").split("x"))


# MLIR's types.

_MLIR_TYPES: dict[str, str] = {name: row.name for row in ELEMENT_TYPES.values() for name in row.mlir}
"""MLIR's names of types that differ from ours; ``i8``, an integer without a sign, is read as a signed one."""

_TYPE = re.compile(r"\b(memref|tensor)<")
_DIMENSION = re.compile(r"(\d{1,155}|\?)x")
_ELEMENT = re.compile(r"[A-Za-z]\w*")
_DIM = re.compile(r"[ds]\d{1,3}")


def _is_mlir(line: str) -> bool:
    return "memref<" in line or "tensor<" in line


def _of_mlir(line: str) -> Iterator[Found]:
    starts = [*_TYPE.finditer(line)]
    _require_few(len(starts))
    for place, start in enumerate(starts):
        role: Role = "source" if place == 0 else "destination" if place == len(starts) - 1 else ""
        scanner = Scanner(line)
        scanner.position = start.end()
        with prefixed(f"{start[1]} of the line"):
            yield Found(start[1], _type_of_mlir(scanner, start[1]), role)


def _type_of_mlir(scanner: Scanner, kind: str) -> TensorDesc:
    """The layout of a type, from behind its ``<`` to its ``>``."""
    sizes: list[int] = []
    if scanner.accept("*"):
        raise DescriptorError("a type without a rank (*) has no sizes")
    while size := scanner.match(_DIMENSION):
        if size == "?x":
            raise DescriptorError(f"the size of axis {len(sizes)} is known at run time alone (?)")
        sizes.append(int(size[:-1]))
    element = scanner.match(_ELEMENT) or scanner.fail("expected sizes and an element type, as in '3x5xf32'")
    if scanner.comes("<"):
        raise UnsupportedError(f"elements of type {element}<...> are not supported")
    dtype = _element(_MLIR_TYPES.get(element, element))
    strides: tuple[tuple[int, ...], int] | None = None
    order: tuple[int, ...] | None = None
    space = 0
    while scanner.accept(","):
        if kind == "tensor":
            raise UnsupportedError(f"an encoding of a tensor is not supported: {cut(scanner.text[scanner.here() :])}")
        if strides is not None or order is not None:
            space = _space(scanner)
        elif scanner.accept("strided<"):
            strides = _strided(scanner)
        elif scanner.accept("affine_map<"):
            order = _permuted(scanner, len(sizes))
        elif scanner.comes('0123456789"#'):
            space = _space(scanner)
        else:
            raise UnsupportedError(f"the layout {cut(scanner.text[scanner.here() :])} is not supported")
    scanner.expect(">", f"at the end of the {kind}")
    if strides is not None:
        return TensorDesc(dtype, sizes, *strides, memory_space=space)
    return TensorDesc.xla(dtype, sizes, None if order is None else order[::-1], memory_space=space)


def _strided(scanner: Scanner) -> tuple[tuple[int, ...], int]:
    """Strides and offset, from behind ``strided<`` to its ``>``."""

    def number(what: str) -> int:
        if scanner.accept("?"):
            raise DescriptorError(f"{what} is known at run time alone (?)")
        return scanner.number(what)

    strides = scanner.enclosed("[]", lambda: number("a stride"), "a stride", "the strides")
    offset = 0
    if scanner.accept(","):
        scanner.expect("offset", "after the strides")
        scanner.expect(":", "after 'offset'")
        offset = number("the offset")
    scanner.expect(">", "after the strides")
    return strides, offset


def _permuted(scanner: Scanner, rank: int) -> tuple[int, ...]:
    """The axes from the slowest to the fastest, from behind ``affine_map<`` to its ``>``: a permutation."""
    at = scanner.here()

    def dims() -> list[str]:
        return [*scanner.enclosed("()", lambda: scanner.match(_DIM) or scanner.fail("expected d0"), "a d0", "the dims")]

    try:
        names = dims()
        scanner.expect("->", "after the dims")
        results = dims()
        scanner.expect(">", "after the map")
    except DescriptorError:
        names, results = [], [""]
    if sorted(results) != sorted(names) or len(set(names)) != rank or len(names) != rank:
        raise UnsupportedError(f"a map must permute {rank} axes, got {cut('affine_map<' + scanner.text[at:])}")
    return tuple(names.index(name) for name in results)


def _space(scanner: Scanner) -> int:
    """The number of a memory space; 0 for one that is another attribute, because nothing here depends on it."""
    at = scanner.here()
    if scanner.comes("0123456789"):
        number = scanner.number("a memory space")
        if scanner.accept(":"):  # the number has a type, as in ``1 : i32``
            scanner.name("a type")
        return number
    depth = 0
    for place in range(at, len(scanner.text)):
        depth += (scanner.text[place] == "<") - (scanner.text[place] == ">")
        if depth < 0 or (depth == 0 and scanner.text[place] == ","):
            scanner.position = place
            break
    attribute = scanner.text[at : scanner.position]
    if not attribute.startswith('"') and "space" not in attribute.partition("<")[0]:
        raise UnsupportedError(f"the attribute {cut(attribute or scanner.text[at:])} may be a layout: not supported")
    return 0


# HLO's instructions.

_INSTRUCTION = re.compile(
    r"\s{0,99}(?:ROOT\s{1,9})?(%?[A-Za-z_][\w.\-]{0,255})\s{0,9}=\s{0,9}(?=\(|[a-z]\w{0,15}\[)"
    r"|\s{0,99}(?=\({1,9}[a-z]\w{0,15}\[)"  # a tuple alone
)
_SHAPE = re.compile(r"([a-z]\w{0,15})\[([^\[\]]{0,999})\](\{[^{}]{0,999}\})?")
_OPERAND = re.compile(r"\s{0,9}(%?[A-Za-z_][\w.\-]{0,255})?")


def _of_hlo(line: str) -> Iterator[Found]:
    text = _without_comments(line)
    start = _INSTRUCTION.match(text)
    if start is None:
        return
    opened = _closing(text, start.end()) if text[start.end()] == "(" else -1
    results = [*_SHAPE.finditer(text, start.end(), opened)] if opened >= 0 else [_SHAPE.match(text, start.end())]
    behind = opened if opened >= 0 else results[0].end() if results[0] else start.end()
    operands_at = text.find("(", behind + 1)
    operands = [*_SHAPE.finditer(text, operands_at, _closing(text, operands_at))] if operands_at >= 0 else []
    _require_few(len(results) + len(operands))
    for shape in results:
        if shape is not None:
            yield _shape_of_hlo(shape, start[1] or "element", "destination")
    for shape in operands:
        named = _OPERAND.match(text, shape.end())
        yield _shape_of_hlo(shape, (named and named[1]) or "operand", "source")


def _shape_of_hlo(shape: re.Match[str], name: str, role: Role) -> Found:
    with prefixed(f"{name} of the line"):
        if shape[1] not in BY_NAME:
            _element(shape[1])
        if "<=" in shape[2] or "?" in shape[2]:
            raise DescriptorError(f"sizes [{shape[2]}] are known at run time alone")
        return Found(name, TensorDesc.parse(shape[0]), role)


def _without_comments(text: str) -> str:
    """``text`` without comments ``/* ... */``, which XLA writes into long tuples."""
    kept, at = [], 0
    while (start := text.find("/*", at)) >= 0 and (end := text.find("*/", start)) >= 0:
        kept.append(text[at:start])
        at = end + 2
    return "".join((*kept, text[at:]))


def _closing(text: str, start: int) -> int:
    """The position of the parenthesis that closes the one at ``start``; the end of ``text`` if none does."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    return len(text)
