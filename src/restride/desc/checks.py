"""The rules that a descriptor's arguments keep, and what an error calls the descriptor before there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from restride.desc.digits import Linear, affine
from restride.desc.facts import DescFacts
from restride.desc.scanner import cut
from restride.desc.text import DescParts, format_parts
from restride.dtypes import DType
from restride.errors import DescriptorError, UnsupportedError
from restride.integers import MAX_RANK, integers


def packed_strides(sizes: Sequence[int], minor_to_major: Sequence[int]) -> tuple[int, ...]:
    """Strides without gaps, the axes in this order from the fastest on; a size of 0 counts as 1, as in numpy."""
    strides, step = [0] * len(sizes), 1
    for axis in minor_to_major:
        strides[axis] = step
        step *= max(sizes[axis], 1)
    return tuple(strides)


def where_of(dtype: DType, sizes: tuple[int, ...]) -> Callable[[], str]:
    """The beginning of a descriptor for messages, when its layout is not known yet."""
    return lambda: f"{dtype.name}[{','.join(map(str, sizes))}]"


def checked_sizes(dtype: DType, sizes: Any) -> tuple[int, ...]:
    """Up to 8 sizes, each 0 or more."""
    values = integers("sizes", sizes)
    if len(values) > MAX_RANK:
        raise DescriptorError(f"rank {len(values)} exceeds {MAX_RANK}: sizes {values} of {dtype.name}")
    for axis, size in enumerate(values):
        if size < 0:
            raise DescriptorError(f"size {size} of axis {axis} must be 0 or more in {dtype.name}{list(values)}")
    return values


@contextmanager
def naming(parts: DescParts) -> Iterator[None]:
    """Say in an error which layout it is about."""
    try:
        yield
    except UnsupportedError as error:
        raise UnsupportedError(f"{error}, in {cut(format_parts(parts))}") from None


def checked_tiles(tiles: Any, where: Callable[[], str]) -> tuple[tuple[int, ...], ...]:
    """XLA's tiles: of each the sizes, 1 or more, or -1 for a dimension that is joined with the next faster one."""
    return tuple(_checked_tile(tile, where) for tile in _members("tiles", tiles, where))


def checked_steps(steps: Any, inner: DescFacts) -> tuple[tuple[int, ...], ...]:
    """Of each axis of a view, how far a step of it moves along each axis of ``inner``."""
    members = _members("steps", steps, inner.__str__)
    return tuple(integers(f"steps[{axis}]", step, inner.__str__) for axis, step in enumerate(members))


def _members(argument: str, values: Any, where: Callable[[], str]) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise DescriptorError(f"{argument} must be a sequence of sequences, got {values!r} in {where()}") from None


def _checked_tile(tile: Any, where: Callable[[], str]) -> tuple[int, ...]:
    sizes = integers("tile", tile, where)
    if not sizes:
        raise DescriptorError(f"a tile needs a size, got {sizes} for {where()}")
    for size in sizes:
        if size < 1 and size != -1:
            raise DescriptorError(
                f"tile sizes are 1 or more, or -1 to join dimensions: {size} of {sizes} for {where()}"
            )
    if sizes[-1] == -1:
        raise DescriptorError(
            f"the last size of a tile has no faster dimension to be joined with: {sizes} for {where()}"
        )
    return sizes


def checked_padding(padded_sizes: Any, sizes: tuple[int, ...], where: Callable[[], str]) -> tuple[int, ...]:
    """One padded size an axis, none below its size."""
    padded = integers("padded_sizes", padded_sizes, where)
    if len(padded) != len(sizes):
        raise DescriptorError(f"padded_sizes need one value per axis: got {padded} for {where()}")
    for axis, (size, wide) in enumerate(zip(sizes, padded, strict=True)):
        if wide < size:
            raise DescriptorError(f"padded size {wide} of axis {axis} is below its size {size} in {where()}")
    return padded


def coordinates_of_view(
    inner: DescFacts, sizes: tuple[int, ...], starts: tuple[int, ...], steps: tuple[tuple[int, ...], ...]
) -> list[Linear]:
    """Where an index of a view lies along each axis of ``inner``.

    A view reaches no index outside what it looks at, and no axis of it moves along two axes there.
    """
    if len(steps) != len(sizes) or any(len(given) != inner.rank for given in (starts, *steps)):
        raise DescriptorError(
            f"a view of sizes {sizes} of {inner} needs one step per axis, and starts and steps of {inner.rank} "
            f"numbers each: got starts {starts}, steps {steps}"
        )
    coordinates = []
    for axis, (start, size) in enumerate(zip(starts, inner.sizes, strict=True)):
        coordinate = affine(start, [(k, sizes[k], step[axis]) for k, step in enumerate(steps)])
        low, high = coordinate.span if 0 not in sizes else (start, start - 1)
        if low < 0 or high >= size:
            raise DescriptorError(f"a view reaches [{low}, {high}] along axis {axis} of size {size} in {inner}")
        coordinates.append(coordinate)
    for axis, (count, moves) in enumerate(zip(sizes, steps, strict=True)):
        if count > 1 and sum(move != 0 for move in moves) > 1:
            raise DescriptorError(f"axis {axis} of a view moves along several axes of {inner}: steps {moves}")
    return coordinates
