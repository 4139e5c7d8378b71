"""Rules that give the size of a resized image: pure functions of its height, its width and a few numbers.

``round`` is Python's, half to even; ``int`` cuts the fraction off. No other rounding gives the models' own sizes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from restride.errors import DescriptorError

HeightWidth = tuple[int, int]

MAX_RATIO = 200
"""Maximum ratio of an image's longer to its shorter side, for the families of Qwen."""


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
    """The size of the resized image, by the members that ``size`` has.

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
    edge, shortest = _shorter_within(height, width, shortest, longest)
    if min(height, width) == shortest:
        return height, width
    if width < height:
        return int(edge * height / width), shortest
    return shortest, int(edge * width / height)


def between_edges_in_multiples(height: int, width: int, shortest: int, longest: int, factor: int = 16) -> HeightWidth:
    """As ``between_edges``, but both sides are then cut to multiples of ``factor``.

    If the image is higher than wide, its height is computed even if the width does not change.

    Source: transformers, get_size_with_aspect_ratio_yolos.

    >>> between_edges_in_multiples(480, 640, 800, 1333)
    (800, 1056)
    """
    edge, shortest = _shorter_within(height, width, shortest, longest)
    if width < height:
        sides = int(edge * height / width), shortest
    elif height == shortest:
        sides = height, width
    else:
        sides = shortest, int(edge * width / height)
    tall, wide = (side - side % factor for side in sides)
    return tall, wide


def _shorter_within(height: int, width: int, shortest: int, longest: int) -> tuple[float, int]:
    """The shorter side before and after it is rounded: ``shortest``, or less where the longer side has no room."""
    low, high = float(min(height, width)), float(max(height, width))
    if high / low * shortest <= longest:
        return shortest, shortest
    edge = longest * low / high
    return edge, round(edge)


def raised(height: float, width: float, factor: int) -> HeightWidth:
    """Both sides are raised to multiples of ``factor``.

    >>> raised(30, 56.5, 28)
    (56, 84)
    """
    return math.ceil(height / factor) * factor, math.ceil(width / factor) * factor


def inside(height: int, width: int, max_height: int, max_width: int) -> HeightWidth:
    """The largest size of the same ratio in ``max_height`` x ``max_width``, both sides cut to integers.

    Source: transformers, get_image_size_for_max_height_width.

    >>> inside(100, 200, 50, 50)
    (25, 50)
    """
    scale = min(max_height / height, max_width / width)
    return int(height * scale), int(width * scale)


def multiples(height: int, width: int, factor: int, fewest: int, most: int, frames: int = 1) -> HeightWidth:
    """Both sides become multiples of ``factor``; all ``frames`` together have ``fewest`` to ``most`` pixels.

    Each side is rounded to a multiple, half to even. Above ``most`` pixels both sides are scaled down and cut to
    multiples of at least ``factor``; below ``fewest`` they are scaled up and raised to multiples.

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
    """A side below ``factor`` becomes ``factor``, and the other one follows, rounded half to even; first the height.

    Source: transformers, smart_resize of PaddleOCR-VL.

    >>> at_least_by_rounding(10, 15, 28)
    (28, 42)
    """
    if height < factor:
        height, width = factor, round(width * factor / height)
    if width < factor:
        height, width = round(height * factor / width), factor
    return height, width


def longest_even(height: int, width: int, longest: int, most: int = 4096) -> HeightWidth:
    """The longer side becomes ``longest``, the other one follows, cut, and is made even; neither is above ``most``.

    Source: transformers, get_resize_output_image_size of Idefics3.

    >>> longest_even(480, 640, 1456), longest_even(1000, 30, 99)
    ((1092, 1456), (99, 2))
    """
    ratio = width / height
    if width >= height:
        wide, tall = longest, int(longest / ratio)
        tall += tall % 2
    else:
        tall, wide = longest, int(longest * ratio)
        wide += wide % 2
    tall, wide = max(tall, 1), max(wide, 1)
    ratio = wide / tall
    if wide >= tall and wide > most:
        wide, tall = most, int(most / ratio)
    elif tall > wide and tall > most:
        tall, wide = most, int(most * ratio)
    return max(tall, 1), max(wide, 1)


def raised_by_ratio(height: int, width: int, factor: int) -> HeightWidth:
    """The longer side is raised to a multiple of ``factor``; the other one follows, cut, and is raised too.

    Source: transformers, Idefics3ImageProcessorPil.resize_for_vision_encoder.

    >>> raised_by_ratio(1092, 1456, 364), raised_by_ratio(100, 200, 364)
    ((1092, 1456), (364, 364))
    """
    ratio = width / height
    if width >= height:
        wide = math.ceil(width / factor) * factor
        return math.ceil(int(wide / ratio) / factor) * factor, wide
    tall = math.ceil(height / factor) * factor
    return tall, math.ceil(int(tall * ratio) / factor) * factor


def longest_within(height: int, width: int, shortest: int, longest: int) -> HeightWidth:
    """A longer side above ``longest`` becomes that, and the other one follows, cut; both are at least ``shortest``.

    Source: transformers, get_resize_output_image_size of Idefics2.

    >>> longest_within(2000, 1000, 378, 980), longest_within(100, 100, 378, 980)
    ((980, 490), (378, 378))
    """
    ratio = width / height
    if width >= height and width > longest:
        height, width = int(longest / ratio), longest
    elif height > width and height > longest:
        height, width = longest, int(longest * ratio)
    return max(height, shortest), max(width, shortest)


def longest_by_half_up(height: int, width: int, longest: int) -> HeightWidth:
    """The longer side becomes ``longest``, the other one follows; both are rounded half up, by ``int(x + 0.5)``.

    Source: transformers, SamImageProcessorPil.

    >>> longest_by_half_up(480, 640, 1024)
    (768, 1024)
    """
    scale = longest / max(height, width)
    return int(height * scale + 0.5), int(width * scale + 0.5)


def in_patches(height: int, width: int, most: HeightWidth, patch: HeightWidth) -> HeightWidth:
    """An image larger than ``most`` is fitted into it, cut; then both sides are raised to multiples of the patch.

    Source: transformers, get_resize_output_image_size of Pixtral.

    >>> in_patches(100, 2000, (1024, 1024), (16, 16))
    (64, 1024)
    """
    ratio = max(height / most[0], width / most[1])
    if ratio > 1:
        height, width = math.floor(height / ratio), math.floor(width / ratio)
    tall, wide = ((side - 1) // step + 1 for side, step in zip((height, width), patch, strict=True))
    return tall * patch[0], wide * patch[1]


def most_patches(height: int, width: int, patch: int, most: int) -> HeightWidth:
    """The largest multiples of ``patch`` that have at most ``most`` patches, by bisection of a scale.

    Sides are raised to multiples of at least one patch. The scale is searched between 1e-6 and 100, to 1e-5.

    Source: transformers, get_image_size_for_max_num_patches of SigLIP2.

    >>> most_patches(480, 640, 16, 256)
    (224, 288)
    """

    def sides(scale: float) -> HeightWidth:
        tall, wide = (max(patch, math.ceil(side * scale / patch) * patch) for side in (height, width))
        return tall, wide

    precision = 1e-5
    low, high = precision / 10, 100.0
    while high - low >= precision:
        scale = (low + high) / 2
        tall, wide = sides(scale)
        if (tall / patch) * (wide / patch) <= most:
            low = scale
        else:
            high = scale
    return sides(low)


def patch_budget(height: int, width: int, patch: int, most: int, pool: int) -> HeightWidth:
    """The largest multiples of ``pool`` patches of about the same ratio that have at most ``most`` patches.

    Source: transformers, get_aspect_ratio_preserving_size of Gemma 4.

    >>> patch_budget(480, 640, 16, 2520, 3), patch_budget(1, 100, 16, 2520, 3)
    ((672, 912), (48, 8016))

    Raises:
        DescriptorError: the budget is below one block, or the sides exceed it.
    """
    budget, block = most * patch**2, pool * patch
    factor = math.sqrt(budget / (height * width))
    tall, wide = (math.floor(factor * side / block) * block for side in (height, width))
    if tall == 0 and wide == 0:
        raise DescriptorError(
            f"max_soft_tokens are too few for one block of {block} x {block} of an image of {height} x {width}"
        )
    longest = most // pool**2 * block
    if tall == 0:
        tall, wide = block, min(math.floor(width / height) * block, longest)
    elif wide == 0:
        tall, wide = min(math.floor(height / width) * block, longest), block
    if tall * wide > budget:
        raise DescriptorError(
            f"an image of {height} x {width} becomes {tall} x {wide}, more than {most} patches of {patch} x {patch}"
        )
    return tall, wide


def nearest_multiples(height: int, width: int, size: HeightWidth, factor: int, *, keeps_ratio: bool) -> HeightWidth:
    """``size`` in multiples of ``factor``; with ``keeps_ratio`` both sides get the scale that is nearer to 1.

    Sides are rounded to multiples, half to even.

    Source: transformers, get_resize_output_image_size of DPT (Depth Anything).

    >>> nearest_multiples(480, 640, (518, 518), 14, keeps_ratio=True)
    (518, 686)
    """
    by_height, by_width = size[0] / height, size[1] / width
    if keeps_ratio:
        by_height = by_width = by_width if abs(1 - by_width) < abs(1 - by_height) else by_height
    return round(by_height * height / factor) * factor, round(by_width * width / factor) * factor


def halved_between(height: int, width: int, factor: int, fewest: int, most: int) -> HeightWidth:
    """Half of each side, scaled and rounded to multiples of ``factor``.

    Before they are halved, the scale makes the shorter side at least ``sqrt(fewest)`` and the longer one at most
    ``sqrt(most)``; if not both are possible, only the latter.

    Source: transformers, smart_resize of GLM-Image.

    >>> halved_between(480, 640, 32, 512 * 512, 2048 * 2048)
    (256, 352)

    Raises:
        DescriptorError: a side is below ``factor``, or one is more than 4 times as long as the other.
    """
    low, high = min(height, width), max(height, width)
    if low < factor or high / low > 4:
        raise DescriptorError(
            f"sides must be {factor} or more, and the longer one at most 4 times the other, got {height} x {width}"
        )
    shortest, longest = round(math.sqrt(fewest)), round(math.sqrt(most))
    scale = shortest / low if low < shortest else 1.0
    if high * scale > longest:
        scale = longest / high
    tall, wide = (max(factor, round(side // 2 * scale / factor) * factor) for side in (height, width))
    if max(tall, wide) > longest:
        shrink = max(tall, wide) / longest
        tall, wide = (max(factor, math.floor(side / shrink / factor) * factor) for side in (tall, wide))
    return tall, wide


def raised_within(height: int, width: int, factor: int, fewest: int, most: int, frames: int) -> HeightWidth:
    """Both sides are raised to multiples of ``factor``; all ``frames`` together have ``fewest`` to ``most`` pixels.

    Below ``fewest`` the image is scaled up first; above ``most`` its height is the greatest that fits, by bisection.

    Source: transformers, smart_resize of GLM-5.

    >>> raised_within(480, 640, 28, 25088, 12544000, 2)
    (504, 644)

    Raises:
        DescriptorError: ``most`` is below one block.
    """
    best = raised(height, width, factor)
    if frames * math.prod(best) < fewest:
        scale = math.sqrt(fewest / (frames * height * width))
        best = raised(math.ceil(height * scale), math.ceil(width * scale), factor)
    if frames * math.prod(best) <= most:
        return best
    if most < frames * factor**2:
        raise DescriptorError(f"max_image_tokens allow {most} pixels, fewer than the {frames * factor**2} of one block")
    best, low, high = (factor, factor), 1, height
    while low <= high:
        middle = (low + high) // 2
        sides = raised(middle, max(1, math.floor(width * middle / height)), factor)
        if frames * math.prod(sides) <= most:
            best, low = sides, middle + 1
        else:
            high = middle - 1
    return best
