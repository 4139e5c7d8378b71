"""Legend: what a picture says in words: the layout and its bytes, what the outlines are, what the marks mean."""

from __future__ import annotations

from collections.abc import Iterable

from restride.drawing.map import Kind, LayoutMap
from restride.layout import TensorDesc

MEMORY = "memory, element after element, and the index that lies there"


def memory_text(desc: TensorDesc) -> str:
    """How much memory a layout takes."""
    elements = f"{counted(desc.numel, 'element')} of {counted(desc.dtype.itemsize, 'byte')}"
    if desc.is_packed:
        return f"{elements} in {counted(desc.nbytes, 'byte')}, no padding"
    if not desc.is_whole:
        return f"{elements}; the buffer has {counted(desc.nbytes, 'byte')} or more"
    padding = desc.extent - desc.numel
    return f"{elements} in {counted(desc.nbytes, 'byte')}, {padding * desc.dtype.itemsize} of them padding"


def outlines(its_map: LayoutMap) -> tuple[str, ...]:
    """What each level of outlines encloses, the outermost first."""
    whole = its_map.desc.inner or its_map.desc
    noun = "blocks" if whole.tag is not None else "tiles"
    names = (noun, f"sub-{noun}", *["inside them"] * len(its_map.blocks))
    return tuple(f"{name} of {size} elements" for name, size in zip(names, its_map.blocks, strict=False))


def marks(its_map: LayoutMap, kinds: Iterable[Kind]) -> tuple[str, ...]:
    """What the marks of these kinds of padding mean."""
    meanings = {
        Kind.ZERO: "padding, holds 0",
        Kind.VALUE: f"padding, holds {its_map.desc.padding_value!r}".removesuffix(".0"),
        Kind.UNREACHED: "not reached by any index, never written",
    }
    present = set(kinds)
    return tuple(f"{kind.value} {meaning}" for kind, meaning in meanings.items() if kind in present)


def index_text(index: tuple[int, ...]) -> str:
    """``2,3``; the one index of a scalar is ``()``."""
    return ",".join(map(str, index)) or "()"


def counted(number: int, noun: str) -> str:
    """``1 byte``, ``24 bytes``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
