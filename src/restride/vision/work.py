"""Work: decide, without a device, which pictures are uploaded, computed, and written together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

from restride.vision.picture import Cropped, Padded, Picture, Resized, Source
from restride.vision.recipe import Pixels, Put

MAX_AXES = 8
"""Maximum number of axes of one dispatch."""


def parent(picture: Picture) -> Picture | None:
    """The picture that this one is computed from; None for the caller's image."""
    return picture.of if isinstance(picture, Resized | Cropped | Padded) else None


def is_uploaded(picture: Picture) -> bool:
    """True for an image of the host, and for one that the host pads while it is copied."""
    image = picture.of if isinstance(picture, Padded) else picture
    return isinstance(image, Source) and image.place == 0


def needed(results: Mapping[Any, Any]) -> list[Picture]:
    """Every picture that the results need, each after the picture that it is computed from."""
    found: dict[Picture, None] = {}

    def add(picture: Picture) -> None:
        before = parent(picture)
        if picture not in found:
            if before is not None and not is_uploaded(picture):
                add(before)
            found[picture] = None

    for put in puts_of(results):
        add(put.picture)
    return list(found)


@dataclass(frozen=True)
class Run:
    """Pictures that one dispatch writes: one of each of ``images`` images, ``spacing`` places apart in the result.

    selected: the range of the run among the images of equal sizes.
    is_tall: the pictures are below each other, and are written as one picture.
    """

    put: Put
    selected: slice
    images: int
    spacing: int
    is_tall: bool


def runs(result: Pixels, places: Sequence[int]) -> Iterator[Run]:
    """The pictures of a result as they are written; several are one run where one dispatch can write them.

    places: the number of each image of the call among the images of equal sizes.
    """
    groups: dict[tuple[Any, ...], list[Put]] = {}
    for put in result.puts:
        groups.setdefault((put.picture, put.order, put.count, put.corner, put.extent), []).append(put)
    for puts in groups.values():
        while puts:
            yield (run := _first_run(puts, places))
            del puts[: run.images]


def _first_run(puts: Sequence[Put], places: Sequence[int]) -> Run:
    """The first of these puts, and those after it that are equally spaced, among the images and in the result.

    A dispatch of several pictures has one axis more. If the order of one has all axes already, several can be written
    only as one tall picture: without gaps, and if their places follow the rows of a picture first.
    """
    first = puts[0]
    axes = first.order.axes
    dense = 1, first.count
    is_full = len(axes) >= MAX_AXES
    distances = ((places[b.image] - places[a.image], b.start - a.start) for a, b in pairwise(puts))
    step, spacing = found = next(distances, (0, 0))
    if is_full:
        fits = found == dense and first.order.pattern.startswith(f"({axes[0]} ")
    else:
        fits = step >= 1 and spacing >= first.count
    place = places[first.image]
    if not fits:
        return Run(first, slice(place, place + 1), 1, first.count, is_tall=False)
    images = 2 + sum(1 for _ in takewhile(lambda each: each == found, distances))
    return Run(first, slice(place, place + step * images, step), images, spacing, is_full)


@dataclass(frozen=True)
class Uses:
    """The uses of the pictures of a recipe.

    pictures: all needed pictures, each after the picture that it is computed from.
    alone: resized pictures that only one crop or pad needs, which computes them itself.
    resized_again: pictures that a further resize reads.
    zeros: some results have elements that no picture fills, which are 0.
    """

    pictures: tuple[Picture, ...]
    alone: frozenset[Picture]
    resized_again: frozenset[Picture]
    zeros: bool

    @classmethod
    def of(cls, results: Mapping[Any, Any]) -> Uses:
        """The uses of the pictures of these results."""
        pictures = needed(results)
        users: dict[Picture, list[Picture | None]] = {picture: [] for picture in pictures}
        again = set()
        for picture in pictures:
            before = parent(picture)
            if before is not None and not is_uploaded(picture):
                users[before].append(picture)
            while isinstance(picture, Resized) and before is not None:
                again.add(before)
                before = parent(before)
        for put in puts_of(results):
            users[put.picture].append(None)
        alone = {
            picture
            for picture, (user, *others) in users.items()
            if isinstance(picture, Resized) and isinstance(user, Cropped | Padded) and not others and changes(picture)
        }
        zeros = any(result.zeros for result in results.values() if isinstance(result, Pixels))
        return cls(tuple(pictures), frozenset(alone), frozenset(again), zeros)


def puts_of(results: Mapping[Any, Any]) -> Iterator[Put]:
    """Yield the pictures that all results write, as values of ``Put``."""
    for result in results.values():
        if isinstance(result, Pixels):
            yield from result.puts


def changes(picture: Resized) -> int:
    """The number of sides that change."""
    return (picture.height != picture.of.height) + (picture.width != picture.of.width)


def dispatches(results: Mapping[Any, Any], places: Sequence[int]) -> int:
    """The number of dispatches that the results need.

    A resize takes one for each side that changes, but mode nearest takes one for both; a resize whose result is resized
    again may take one more. A pad takes one for its colour, and one for a copy if its picture is needed elsewhere too.
    """
    uses = Uses.of(results)
    count = 0
    for picture in uses.pictures:
        if isinstance(picture, Resized):
            count += min(changes(picture), 1 if picture.mode == "nearest" else 2)
        elif isinstance(picture, Padded) and not is_uploaded(picture):
            count += 2 - (picture.of in uses.alone)
    for result in results.values():
        if isinstance(result, Pixels):
            count += result.zeros + sum(1 for _ in runs(result, places))
    return count
