"""Channels: refuses to resize the last axes unnamed, if the very last one may have the channels of an image."""

from __future__ import annotations

from collections.abc import Sequence

from restride.errors import DescriptorError, Message
from restride.request.libraries import IMAGES_ONLY, Library

_MAX_CHANNELS = 4
"""Maximum number of elements of an axis that is taken for channels."""


def require_no_channels(
    argument: str,
    rank: int,
    old: Sequence[int],
    new: Sequence[int],
    like: Library | None = None,
    *,
    in_chain: bool = False,
) -> None:
    """Refuse to resize the last axes of an array, which are not named, if the very last one may have its channels.

    For u8[480,640,3] and (224, 224) the default axes are columns and channels, and a result of (480, 224, 224) is
    hardly meant. If the last size stays, the call is refused only for an image library, which resizes rows and columns.

    Args:
        argument: name of the array in the message.
        rank: number of its axes.
        old: sizes before, of the axes that are resized.
        new: sizes after.
        like: the library, if any.
        in_chain: the call is one of a chain, which has no ``resize``.

    Raises:
        DescriptorError: the axes must be named.
    """
    if not looks_like_channels(rank, old):
        return
    count = len(old)
    is_image = count == 2
    if old[-1] == new[-1] and not (is_image and like in IMAGES_ONLY and old[0] > _MAX_CHANNELS):
        return
    what, otherwise = "axis of {} looks like channels", "if it is not"
    if is_image:
        what, otherwise = "axes of {} look like columns and channels", "if they are not"
    before, these = tuple(range(rank - count - 1, rank - 1)), tuple(range(rank - count, rank))
    options = [" ".join(map(str, axes)) for axes in (before, these)]
    raise DescriptorError(
        Message.of(
            f"the last {what.format(argument)}, and no axes are named: say ",
            f"axes={before},{' or call rs.resize,' * (is_image and not in_chain)} or axes={these} {otherwise}",
            f"--axes {options[0]},{' or run `restride resize`,' * is_image} or --axes {options[1]} {otherwise}",
        )
    )


def looks_like_channels(rank: int, sizes: Sequence[int]) -> bool:
    """True if the last of at least 3 axes may have channels: 1 to 4 elements, not as many as the axis before it has.

    Args:
        rank: number of all axes.
        sizes: sizes of the last axes that are resized; if these are all axes, none has channels.
    """
    count = len(sizes)
    return 0 < count < rank and rank > 2 and 0 < sizes[-1] <= _MAX_CHANNELS and (count == 1 or sizes[-1] != sizes[-2])
