"""Which layouts are safe to write: proofs that no element is reached twice, and that two views do not touch.

All answers are exact. Nested strides are proven at once, the rest by a search with a fixed number of steps, past which
the question is refused rather than guessed.
"""

from __future__ import annotations

from restride.desc import TensorDesc
from restride.equation import STEPS, SearchTooLongError, Steps, shared_offset, solve
from restride.errors import DescriptorError

_OVERLAP_STEPS = 2_000


def require_injective(desc: TensorDesc, argument: str) -> None:
    """Refuse ``desc`` as a destination unless its elements are proven distinct.

    Raises:
        DescriptorError: two indices share an element (the message shows such a pair), or no proof within STEPS steps.
    """
    try:
        difference = shared_offset(desc.sizes, desc.strides)
    except SearchTooLongError:
        raise DescriptorError(
            f"{argument} could not be proven free of overlap within {STEPS} steps: {desc}; simplify its strides"
        ) from None
    if difference is None:
        return
    # Of the difference, one index takes the positive part and the other the negative one.
    one = tuple(max(value, 0) for value in difference)
    other = tuple(max(-value, 0) for value in difference)
    raise DescriptorError(
        f"{argument} must not overlap itself: indices {min(one, other)} and {max(one, other)} share element "
        f"{desc.offset_of(one)} in {desc}"
    )


def may_overlap(a: TensorDesc, b: TensorDesc) -> bool:
    """False if two descriptors over one buffer are proven to share no byte; True if they do, or might.

    Even and odd rows, or the left and the right half of an image, do not overlap although their byte ranges do.
    """
    if not a.numel or not b.numel:
        return False
    a_width, b_width = a.dtype.itemsize, b.dtype.itemsize
    if a.nbytes <= b.lowest * b_width or b.nbytes <= a.lowest * a_width:
        return False
    # An element of a at byte p and one of b at byte q share a byte if p + i = q + j for bytes i, j inside them: one
    # bounded equation over both indices, with i - j as one more axis. Axes of equal stride, as two views of one tensor
    # have, make one axis of all their differences.
    bounds: dict[int, tuple[int, int]] = {1: (1 - b_width, a_width - 1)}
    for desc, sign in ((a, a_width), (b, -b_width)):
        for size, stride in zip(desc.sizes, desc.strides, strict=True):
            step = stride * sign
            low, high = bounds.get(abs(step), (0, 0))
            reach = (size - 1) * (1 if step > 0 else -1)
            bounds[abs(step)] = (low + min(reach, 0), high + max(reach, 0))
    slow_first = sorted(bounds, reverse=True)
    lows, highs = [bounds[step][0] for step in slow_first], [bounds[step][1] for step in slow_first]
    try:
        return (
            solve(lows, highs, slow_first, b.offset * b_width - a.offset * a_width, Steps(_OVERLAP_STEPS)) is not None
        )
    except SearchTooLongError:
        return True
