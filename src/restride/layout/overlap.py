"""Which layouts may be written: matching sizes and type, no element reached twice, and views that do not overlap.

Nested strides are proven at once, the rest by an exact search with a fixed number of steps. If they do not suffice, a
destination is refused, and two views count as overlapping.
"""

from __future__ import annotations

from restride.dtypes import DType
from restride.errors import DescriptorError, UnsupportedError
from restride.layout import TensorDesc
from restride.layout.equation import STEPS, Budget, SearchTooLongError, shared_offset, solve
from restride.layout.tensor_desc import packed

_OVERLAP_STEPS = 2_000


def require_injective(desc: TensorDesc, argument: str) -> None:
    """Refuse ``desc`` as a destination unless its elements are proven distinct.

    Raises:
        DescriptorError: two indices share an element (the message shows such a pair), or no proof within STEPS steps.
    """
    starts, steps = desc.walk
    difference = [0] * desc.rank
    try:
        # No axis of a view of tiles moves along two coordinates, so each coordinate has an equation of its own.
        for coordinate in range(len(starts)):
            axes = [axis for axis in range(desc.rank) if steps[axis][coordinate] or not any(steps[axis])]
            shared = shared_offset(
                tuple(desc.sizes[axis] for axis in axes), tuple(steps[axis][coordinate] for axis in axes)
            )
            if shared is not None:
                for axis, value in zip(axes, shared, strict=True):
                    difference[axis] = value
                break
    except SearchTooLongError:
        raise DescriptorError(
            f"{argument} could not be proven free of overlap within {STEPS} steps: {desc}; simplify its strides"
        ) from None
    if not any(difference) or not desc.numel:
        return
    # One index takes the positive part of the difference, the other the negative one.
    one = tuple(max(value, 0) for value in difference)
    other = tuple(max(-value, 0) for value in difference)
    raise DescriptorError(
        f"{argument} must not overlap itself: indices {min(one, other)} and {max(one, other)} share element "
        f"{desc.offset_of(one)} in {desc}"
    )


def require_like(desc: TensorDesc, argument: str, like: TensorDesc, dtype: DType | None = None) -> None:
    """Check that ``desc`` has the sizes of ``like``, and the element type ``dtype`` or that of ``like``.

    Raises:
        DescriptorError: the sizes or the type differ.
    """
    if desc.sizes != like.sizes:
        raise DescriptorError(f"{argument} {desc} must have the sizes of {like}")
    if dtype is None and desc.dtype != like.dtype:
        raise DescriptorError(f"{argument} {desc} must have the element type of {like}; rs.reorder converts elements")
    if dtype is not None and desc.dtype != dtype:
        raise DescriptorError(f"{argument} {desc} must have the element type {dtype} that is asked for, from {like}")


def require_whole_elements(*descs: TensorDesc) -> None:
    """Check that an element has as many bits as its type.

    Raises:
        UnsupportedError: it has another number of bits, by XLA's ``E(n)``.
    """
    for desc in descs:
        if not desc.has_whole_elements:
            raise UnsupportedError(
                f"elements of {desc.element_size_in_bits} bits are described and drawn, but not read or written: "
                f"{desc} needs E({8 * desc.dtype.itemsize}), or no E(..)"
            )


def written_by(desc: TensorDesc) -> TensorDesc:
    """The layout that an operation into ``desc`` writes: its elements, or all of the buffer if it writes padding."""
    return packed(desc.dtype, (desc.extent,)) if desc.is_whole and desc.is_padded else desc


def may_overlap(a: TensorDesc, b: TensorDesc) -> bool:
    """False if two descriptors over one buffer are proven to share no byte; True if they do, or might.

    Even and odd rows, or the left and the right half of an image, do not overlap although their byte ranges do.
    """
    if not a.numel or not b.numel:
        return False
    a_width, b_width = a.dtype.itemsize, b.dtype.itemsize
    if (a.highest + 1) * a_width <= b.lowest * b_width or (b.highest + 1) * b_width <= a.lowest * a_width:
        return False
    if a.strides is None or b.strides is None:
        return not _apart_in_tiles(a, b)
    # An element of a at byte p and one of b at byte q share a byte if p + i = q + j for bytes i, j inside them: one
    # bounded equation over both indices, with i - j as one more axis. Axes of equal stride, as in two views of one
    # tensor, are joined to one axis of all their differences.
    bounds: dict[int, tuple[int, int]] = {1: (1 - b_width, a_width - 1)}
    for sizes, strides, sign in ((a.sizes, a.strides, a_width), (b.sizes, b.strides, -b_width)):
        for size, stride in zip(sizes, strides, strict=True):
            step = stride * sign
            low, high = bounds.get(abs(step), (0, 0))
            reach = (size - 1) * (1 if step > 0 else -1)
            bounds[abs(step)] = (low + min(reach, 0), high + max(reach, 0))
    slow_first = sorted(bounds, reverse=True)
    lows, highs = [bounds[step][0] for step in slow_first], [bounds[step][1] for step in slow_first]
    try:
        return (
            solve(lows, highs, slow_first, b.offset * b_width - a.offset * a_width, Budget(_OVERLAP_STEPS)) is not None
        )
    except SearchTooLongError:
        return True


def _apart_in_tiles(a: TensorDesc, b: TensorDesc) -> bool:
    """True if two views of one tiled layout provably share no element: along some coordinate they never meet."""
    if (a.inner or a) != (b.inner or b) or a.blocking is None:
        return False
    (a_starts, a_steps), (b_starts, b_steps) = a.coordinate_walk, b.coordinate_walk
    for coordinate, (a_start, b_start) in enumerate(zip(a_starts, b_starts, strict=True)):
        strides = [step[coordinate] for step in a_steps] + [-step[coordinate] for step in b_steps]
        highs = [size - 1 for size in (*a.sizes, *b.sizes)]
        try:
            if solve([0] * len(highs), highs, strides, b_start - a_start, Budget(_OVERLAP_STEPS)) is None:
                return True
        except SearchTooLongError:
            continue
    return False
