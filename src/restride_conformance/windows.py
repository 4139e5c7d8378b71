"""Windows of a resample case: the part of each resampled axis that is made, ``window=(5:25,:)``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from restride.errors import DescriptorError

_NUMBER = "[0-9]{1,19}"
_PART = f"(?:{_NUMBER})?:(?:{_NUMBER})?"


@dataclass(frozen=True)
class Window:
    """From where to where along each axis, as Python's slices; None is an end of the axis."""

    parts: tuple[tuple[int | None, int | None], ...]

    @classmethod
    def read(cls, text: str) -> Window:
        """``(5:25,:,3:)``, at most 8 parts, without steps.

        Raises:
            DescriptorError: it is not well formed.
        """
        if not re.fullmatch(rf"\({_PART}(?:,{_PART}){{0,7}}\)", text):
            raise DescriptorError(f"{text!r} is not a window of 1 to 8 parts such as (5:25,:)")
        ends = (part.split(":") for part in text[1:-1].split(","))
        return cls(tuple((int(start) if start else None, int(stop) if stop else None) for start, stop in ends))

    def __str__(self) -> str:
        parts = (":".join("" if end is None else str(end) for end in part) for part in self.parts)
        return f"({','.join(parts)})"

    @property
    def slices(self) -> tuple[slice, ...]:
        """What ``rs.resample`` is given."""
        return tuple(slice(*part) for part in self.parts)
