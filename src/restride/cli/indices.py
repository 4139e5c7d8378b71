"""numpy's slice syntax as text: ``[..., ::2, ::-1]`` to the key that indexing takes, without evaluating anything."""

from __future__ import annotations

import re
from types import EllipsisType

from restride.cli.exits import UsageError

Item = int | slice | EllipsisType | None

_NUMBER = r"\s*([+-]?\d{1,30})?\s*"
_SLICE = re.compile(rf"{_NUMBER}:{_NUMBER}(?::{_NUMBER})?")
_INTEGER = re.compile(r"[+-]?\d{1,30}")


def parse_index(text: str) -> tuple[Item, ...]:
    """The key that ``text`` writes; the brackets may be left out.

    ``"[..., 1:9:2, -1, None]"`` is ``(..., slice(1, 9, 2), -1, None)``.

    Raises:
        UsageError: something else than integers, slices, ``...`` and ``None``.
    """
    inner = text.strip()
    if inner.startswith("[") != inner.endswith("]"):
        raise UsageError(f"index {text!r} has one bracket of two")
    inner = inner.removeprefix("[").removesuffix("]").strip()
    parts = inner.removesuffix(",").split(",") if inner else []
    return tuple(_item(part.strip(), text) for part in parts)


def _item(part: str, text: str) -> Item:
    if part == "...":
        return Ellipsis
    if part in {"None", "newaxis"}:
        return None
    if _INTEGER.fullmatch(part):
        return int(part)
    match = _SLICE.fullmatch(part)
    if not match:
        raise UsageError(
            f"index {text!r} has the item {part!r}; items are integers, slices such as 1:9:2 or ::-1, '...' and None"
        )
    start, stop, step = (None if number is None else int(number) for number in match.groups())
    return slice(start, stop, step)
