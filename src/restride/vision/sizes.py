"""Rules that give the size of a resized image: pure functions of its height, its width and a few numbers.

``round`` is Python's, half to even; ``int`` cuts the fraction off. Both are the models' own, and no other rounding gives
their bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from restride.errors import DescriptorError

HeightWidth = tuple[int, int]

MAX_RATIO = 200
"""The longest image that the families of Qwen take: its longer side, in units of the shorter one."""


@dataclass(frozen=True)
class Size:
    """The ``size`` of a configuration; a member that is not given is None."""

    height: int | None = None
    width: int | None = None
    shortest_edge: int | None = None
    longest_edge: int | None = None
    max_height: int | None = None
    max_width: int | None = None

    def __str__(self) -> str:
        if self.height is not None:
            return f"{self.height} x {self.width}"
        if self.max_height is not None:
            return f"into {self.max_height} x {self.max_width}"
        edges = [("shorter side", self.shortest_edge), ("longer side at most", self.longest_edge)]
        return ", ".join(f"{name} {edge}" for name, edge in edges if edge is not None)

    def sides(self, argument: str) -> HeightWidth:
        """Height and width.

        Raises:
            DescriptorError: they are not given.
        """
        if not self.height or not self.width:
            raise DescriptorError(f"{argument} must have height and width, got {self}")
        return self.height, self.width

    def edges(self, argument: str) -> tuple[int, int]:
        """Shortest and longest edge, which some families take as numbers of pixels.

        Raises:
            DescriptorError: they are not given.
        """
        if not self.shortest_edge or not self.longest_edge:
            raise DescriptorError(f"{argument} must have shortest_edge and longest_edge, got {self}")
        return self.shortest_edge, self.longest_edge


def resized(height: int, width: int, size: Size) -> HeightWidth:
    """The size that ``size`` asks for, by which of its members are given.

    Source: transformers, PilBackend.resize.

    Raises:
        DescriptorError: ``size`` has no such members.
    """
    if size.shortest_edge and size.longest_edge:
        return between_edges(height, width, size.shortest_edge, size.longest_edge)
    if size.shortest_edge:
        return shorter_side(height, width, size.shortest_edge)
    if size.max_height and size.max_width:
        return inside(height, width, size.max_height, size.max_width)
    if size.height and size.width:
        return size.height, size.width
    raise DescriptorError(
        "size must have height and width, max_height and max_width, or shortest_edge, none of them 0, "
        f"got {str(size) or None}"
    )


def shorter_side(height: int, width: int, edge: int) -> HeightWidth:
    """The shorter side becomes ``edge``, the longer one ``int(edge * longer / shorter)``.

    Source: transformers, get_resize_output_image_size.

    >>> shorter_side(333, 500, 224)
    (224, 336)
    """
    if width <= height:
        return int(edge * height / width), edge
    return edge, int(edge * width / height)


def between_edges(height: int, width: int, shortest: int, longest: int) -> HeightWidth:
    """The shorter side becomes ``shortest``, or less, so that the longer one is at most about ``longest``.

    The shorter side is rounded, half to even; the longer one follows from the side before it was rounded.

    Source: transformers, get_size_with_aspect_ratio.

    >>> between_edges(480, 640, 800, 1333), between_edges(100, 1000, 800, 1333)
    ((800, 1066), (133, 1333))
    """
    low, high = float(min(height, width)), float(max(height, width))
    edge: float = shortest
    if high / low * shortest > longest:
        edge = longest * low / high
        shortest = round(edge)
    if min(height, width) == shortest:
        return height, width
    if width < height:
        return int(edge * height / width), shortest
    return shortest, int(edge * width / height)


def inside(height: int, width: int, max_height: int, max_width: int) -> HeightWidth:
    """The largest size of the same ratio in ``max_height`` x ``max_width``, both sides cut to integers.

    Source: transformers, get_image_size_for_max_height_width.

    >>> inside(100, 200, 50, 50)
    (25, 50)
    """
    scale = min(max_height / height, max_width / width)
    return int(height * scale), int(width * scale)


def multiples(height: int, width: int, factor: int, fewest: int, most: int, frames: int = 1) -> HeightWidth:
    """Both sides become multiples of ``factor``, with ``fewest`` to ``most`` pixels, all ``frames`` together.

    Each side is rounded to a multiple, half to even. Above ``most`` pixels both are scaled down and cut to multiples,
    of at least ``factor``; below ``fewest`` they are scaled up to the next ones.

    Source: transformers, smart_resize of Qwen2-VL; with ``frames`` of GLM-4V.

    >>> multiples(720, 32, 28, 3136, 1003520), multiples(1080, 1920, 28, 3136, 1003520)
    ((728, 28), (728, 1316))

    Raises:
        DescriptorError: one side is more than 200 times as long as the other.
    """
    require_ratio(height, width)
    tall, wide = (round(side / factor) * factor for side in (height, width))
    pixels = frames * tall * wide
    if pixels > most:
        shrink = math.sqrt(frames * height * width / most)
        tall, wide = (max(factor, math.floor(side / shrink / factor) * factor) for side in (height, width))
    elif pixels < fewest:
        grow = math.sqrt(fewest / (frames * height * width))
        tall, wide = (math.ceil(side * grow / factor) * factor for side in (height, width))
    return tall, wide


def require_ratio(height: int, width: int) -> None:
    """Refuse an image whose one side is more than 200 times as long as the other.

    Raises:
        DescriptorError: it is.
    """
    if max(height, width) / min(height, width) > MAX_RATIO:
        raise DescriptorError(
            f"an image's longer side must be at most {MAX_RATIO} times its shorter one, got {height} x {width}"
        )


def at_least_by_cut(height: int, width: int, factor: int) -> HeightWidth:
    """An image with a side below ``factor`` is scaled up, both sides cut to integers.

    Source: transformers, smart_resize of GLM-4V.

    >>> at_least_by_cut(10, 15, 28), at_least_by_cut(30, 40, 28)
    ((28, 42), (30, 40))
    """
    if height >= factor and width >= factor:
        return height, width
    scale = max(factor / height, factor / width)
    return int(height * scale), int(width * scale)


def at_least_by_rounding(height: int, width: int, factor: int) -> HeightWidth:
    """A side below ``factor`` becomes that, and the other one follows, rounded half to even; rows first.

    Source: transformers, smart_resize of PaddleOCR-VL.

    >>> at_least_by_rounding(10, 15, 28)
    (28, 42)
    """
    if height < factor:
        height, width = factor, round(width * factor / height)
    if width < factor:
        height, width = round(height * factor / width), factor
    return height, width
