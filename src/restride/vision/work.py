"""Work: which pictures are uploaded, which are computed and which are written together, without a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from restride.vision.picture import Cropped, Padded, Picture, Resized, Source
from restride.vision.recipe import Order, Pixels, Put

MAX_AXES = 8
"""Axes of one dispatch."""


def parent(picture: Picture) -> Picture | None:
    """The picture that this one comes from; None: it is an image of the caller's."""
    return picture.of if isinstance(picture, Resized | Cropped | Padded) else None


def source_of(picture: Picture) -> Source:
    """The image that a picture comes from."""
    while not isinstance(picture, Source):
        before = parent(picture)
        assert before is not None
        picture = before
    return picture


def is_uploaded(picture: Picture) -> bool:
    """True for an image of the host, and for one that the host pads while it is copied."""
    image = picture.of if isinstance(picture, Padded) else picture
    return isinstance(image, Source) and image.place == 0


def needed(results: Mapping[str, Any]) -> list[Picture]:
    """Every picture that the results need, each after the one that it comes from."""
    found: dict[Picture, None] = {}

    def add(picture: Picture) -> None:
        before = parent(picture)
        if picture not in found:
            if before is not None and not is_uploaded(picture):
                add(before)
            found[picture] = None

    for result in results.values():
        for put in result.puts if isinstance(result, Pixels) else ():
            add(put.picture)
    return list(found)


@dataclass(frozen=True)
class Run:
    """Puts that one dispatch writes: of ``images`` neighbours among the images of equal sizes, ``spacing`` places apart.

    place: of the first one among those images. is_tall: they are one picture, below each other.
    """

    put: Put
    place: int
    images: int
    spacing: int
    is_tall: bool


def runs(result: Pixels, places: Sequence[int]) -> Iterator[Run]:
    """The puts of a result, joined where one dispatch can write several.

    places: of each image of the call among those of equal sizes.
    """
    groups: dict[tuple[Any, ...], list[Put]] = {}
    for put in result.puts:
        groups.setdefault((put.picture, put.order, put.count, put.corner, put.extent), []).append(put)
    for puts in groups.values():
        begin = 0
        while begin < len(puts):
            end = _end_of_run(puts, begin, places)
            yield _run(puts[begin:end], places)
            begin = end


def _end_of_run(puts: Sequence[Put], begin: int, places: Sequence[int]) -> int:
    """Where the puts end that follow each other in both the images and the result, at one distance."""
    end = begin + 1
    while end < len(puts):
        before, put = puts[end - 1], puts[end]
        spacing = put.start - before.start
        if places[put.image] != places[before.image] + 1 or spacing != puts[begin + 1].start - puts[begin].start:
            break
        if spacing < put.count or not _fits(put.order, spacing == put.count):
            break
        end += 1
    return end


def _fits(order: Order, is_dense: bool) -> bool:
    """True if several pictures in this order can be written by one dispatch."""
    return len(order.axes) < MAX_AXES or (is_dense and grows_down(order))


def grows_down(order: Order) -> bool:
    """True if places follow the rows of a picture first, so that pictures below each other are one."""
    return order.pattern.startswith(f"({order.axes[0]} ")


def _run(puts: Sequence[Put], places: Sequence[int]) -> Run:
    first = puts[0]
    spacing = puts[1].start - first.start if len(puts) > 1 else first.count
    is_tall = len(puts) > 1 and len(first.order.axes) >= MAX_AXES
    return Run(first, places[first.image], len(puts), spacing, is_tall)


def dispatches(results: Mapping[str, Any], places: Sequence[int]) -> int:
    """How many dispatches make the results: of a resize one for each side that changes, of a pad its fill and a copy."""
    pictures = needed(results)
    count = 0
    for picture in pictures:
        if isinstance(picture, Resized):
            count += (picture.height != picture.of.height) + (picture.width != picture.of.width)
        elif isinstance(picture, Padded) and not is_uploaded(picture):
            count += 1 if is_resized_into(picture, pictures, results) else 2
    for result in results.values():
        if isinstance(result, Pixels):
            count += result.zeros + sum(1 for _ in runs(result, places))
    return count


def is_resized_into(picture: Padded, pictures: Sequence[Picture], results: Mapping[str, Any]) -> bool:
    """True if what is padded is resized for this alone, and so is written where it lies."""
    inner = picture.of
    if not isinstance(inner, Resized) or (inner.height, inner.width) == (inner.of.height, inner.of.width):
        return False
    written = {put.picture for result in results.values() if isinstance(result, Pixels) for put in result.puts}
    return inner not in written and sum(parent(other) == inner for other in pictures) == 1
