"""Work: decide, without a device, which pictures are uploaded, computed, and written together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile

from restride.vision.picture import Cropped, Padded, Picture, Resized, SourceImage, source_of
from restride.vision.recipe import Key, OutputValue, Pixels, Put

MAX_AXES = 8
"""Maximum number of axes of one dispatch."""

ALIGNMENT = 16
"""Images of one buffer begin at multiples of this many bytes, so that kernels can load vectors."""


def parent(picture: Picture) -> Picture | None:
    """The picture that this one is computed from; None for the caller's image."""
    return picture.of if isinstance(picture, Resized | Cropped | Padded) else None


def is_uploaded(picture: Picture) -> bool:
    """True for an image of the host, and for one that the host pads while it is copied."""
    image = picture.of if isinstance(picture, Padded) else picture
    return isinstance(image, SourceImage) and image.place == 0


def needed(results: Mapping[Key, OutputValue]) -> list[Picture]:
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
class PictureRun:
    """Pictures that one dispatch writes: one of each of ``images`` images, ``spacing`` places apart in the result.

    selected: the range of the run among the images of equal sizes.
    is_tall: the pictures are below each other, and are written as one picture.
    """

    put: Put
    selected: slice
    images: int
    spacing: int
    is_tall: bool


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
    def of(cls, results: Mapping[Key, OutputValue]) -> Uses:
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


@dataclass(frozen=True, eq=False)
class Stack:
    """Computed pictures of equal sizes in one tensor, one after the other, so that one dispatch can write them.

    starts: each picture, and the place of the first image that has it. count: the number of places.
    """

    starts: Mapping[Picture, int]
    count: int


class Places:
    """Where the pictures of a call are: a picture has a tensor for all images of its source, or a part of a stack.

    uses: the uses of the pictures. members: the images that have each source. stacks: the pictures that are in stacks.
    """

    def __init__(self, results: Mapping[Key, OutputValue], sources: Sequence[SourceImage]) -> None:
        """sources: the source of each image of the call."""
        self.uses = Uses.of(results)
        self.members: dict[Picture, list[int]] = {}
        self.stacks: dict[Picture, Stack] = {}
        self._among: list[int] = []
        for image, source in enumerate(sources):
            images = self.members.setdefault(source, [])
            self._among.append(len(images))
            images.append(image)
        alike: dict[tuple[int, ...], dict[Picture, None]] = {}
        for put in puts_of(results):
            if self._can_stack(picture := put.picture):
                key = picture.height, picture.width, picture.channels, picture.floats
                alike.setdefault(key, {})[picture] = None
        for pictures in alike.values():
            if len(pictures) > 1:
                *starts, count = accumulate(map(self.images, pictures), initial=0)
                stack = Stack(dict(zip(pictures, starts, strict=True)), count)
                self.stacks |= dict.fromkeys(pictures, stack)

    def images(self, picture: Picture) -> int:
        """The number of images that have the picture."""
        return len(self.members[source_of(picture)])

    def of(self, put: Put) -> int:
        """The place of a put's picture in the tensor that has it."""
        stack = self.stacks.get(put.picture)
        return self._among[put.image] + (0 if stack is None else stack.starts[put.picture])

    def _can_stack(self, picture: Picture) -> bool:
        """True for a resized image of the host, or the one crop of it that is computed, if nothing resizes it again.

        The number of its elements must be a multiple of ``ALIGNMENT``.
        """
        resized = picture.of if isinstance(picture, Cropped) and picture.of in self.uses.alone else picture
        if not isinstance(resized, Resized) or not changes(resized) or picture in self.uses.resized_again:
            return False
        source, elements = source_of(picture), picture.height * picture.width * picture.channels
        return isinstance(source, SourceImage) and source.place == 0 and elements % ALIGNMENT == 0

    def runs(self, result: Pixels) -> Iterator[PictureRun]:
        """The pictures of a result as they are written; several are one run where one dispatch can write them."""
        groups: dict[tuple[object, ...], list[Put]] = {}
        for put in result.puts:
            tensor = self.stacks.get(put.picture, put.picture)
            groups.setdefault((tensor, put.order, put.count, put.corner, put.extent), []).append(put)
        for puts in groups.values():
            places = [self.of(put) for put in puts]
            while puts:
                yield (run := _first_run(puts, places))
                del puts[: run.images], places[: run.images]


def _first_run(puts: Sequence[Put], places: Sequence[int]) -> PictureRun:
    """The first of these puts, and those after it that are equally spaced, in their tensor and in the result.

    places: the place of each put in the tensor.

    A dispatch of several pictures has one axis more. If the order of one picture has ``MAX_AXES`` already, several can
    be written only as one tall picture: they must follow each other without gaps, and the outermost axis of the order
    must cut the rows.
    """
    first = puts[0]
    axes = first.order.axes
    dense = 1, first.count
    is_full = len(axes) >= MAX_AXES
    distances = (
        (after - place, b.start - a.start)
        for (place, after), (a, b) in zip(pairwise(places), pairwise(puts), strict=True)
    )
    step, spacing = found = next(distances, (0, 0))
    if is_full:
        fits = found == dense and first.order.pattern.startswith(f"({axes[0]} ")
    else:
        fits = step >= 1 and spacing >= first.count
    place = places[0]
    if not fits:
        return PictureRun(first, slice(place, place + 1), 1, first.count, is_tall=False)
    images = 2 + sum(1 for _ in takewhile(lambda each: each == found, distances))
    return PictureRun(first, slice(place, place + step * images, step), images, spacing, is_full)


def puts_of(results: Mapping[Key, OutputValue]) -> Iterator[Put]:
    """Yield the pictures that all results write, as values of ``Put``."""
    for result in results.values():
        if isinstance(result, Pixels):
            yield from result.puts


def changes(picture: Resized) -> int:
    """The number of sides that change."""
    return (picture.height != picture.of.height) + (picture.width != picture.of.width)


def passes(picture: Resized) -> int:
    """The number of dispatches of a resize: one for each side that changes, but mode nearest takes one for both."""
    return min(changes(picture), 1 if picture.mode == "nearest" else 2)


def nbytes(results: Mapping[Key, OutputValue]) -> int:
    """Bytes that the pictures and the results of one image take on the device, before memory is rounded.

    A resize of both sides keeps the rows that are resized along one axis, of which a crop needs only its own columns,
    as words. A computed picture counts as words and as bytes, because its last pass may write words.
    """
    uses = Uses.of(results)
    total = sum(4 * math.prod(result.sizes) for result in results.values() if isinstance(result, Pixels))
    for picture in uses.pictures:
        elements, before = picture.height * picture.width * picture.channels, parent(picture)
        if is_uploaded(picture):
            total += elements
        elif picture not in uses.alone:
            resized = before if before in uses.alone else picture
            if isinstance(picture, Resized | Padded) or resized is before:  # other crops are views
                total += 5 * elements
            if isinstance(resized, Resized) and passes(resized) == 2:
                total += 4 * resized.of.height * min(resized.width, picture.width) * picture.channels
    return total


def dispatches(results: Mapping[Key, OutputValue], sources: Sequence[SourceImage]) -> int:
    """The number of dispatches that the results need.

    A resize whose result is resized again may take one more than its passes. A pad takes one for its colour, and one
    for a copy if its picture is needed elsewhere too.
    """
    places = Places(results, sources)
    uses = places.uses
    count = 0
    for picture in uses.pictures:
        if isinstance(picture, Resized):
            count += passes(picture)
        elif isinstance(picture, Padded) and not is_uploaded(picture):
            count += 2 - (picture.of in uses.alone)
    for result in results.values():
        if isinstance(result, Pixels):
            count += result.zeros + sum(1 for _ in places.runs(result))
    return count
