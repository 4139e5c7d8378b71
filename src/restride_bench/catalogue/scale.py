"""Two sizes for everything: the one to measure, and one so small that every workload runs in a moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True)
class Scale:
    """Which of the two is meant."""

    is_small: bool

    def __call__(self, measured: _T, small: _T) -> _T:
        """``small`` stands in for ``measured``; what divides one must divide the other."""
        return small if self.is_small else measured

    @property
    def photo(self) -> str:
        """Height and width of a photograph, as a descriptor has them."""
        return self("1080,1920", "24,32")

    @property
    def photo_sizes(self) -> tuple[int, int]:
        """The same as numbers."""
        return self((1080, 1920), (24, 32))

    @property
    def thumbnail(self) -> str:
        """Height and width of what networks take, as a descriptor has them."""
        return self("224,224", "8,8")

    @property
    def thumbnail_sizes(self) -> tuple[int, int]:
        """The same as numbers."""
        return self((224, 224), (8, 8))

    @property
    def square(self) -> str:
        """Sizes of a matrix of 64 MiB in f32."""
        return self("4096,4096", "64,64")
