"""YUV frames as callers describe them, checked: the names of formats and matrices, and the sizes of frames."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from restride.arguments import require_word
from restride.errors import DescriptorError
from restride.layout import TensorDesc

FormatName: TypeAlias = Literal["nv12", "nv21", "i420", "yv12"]

MatrixName: TypeAlias = Literal["bt601", "bt709"]


def require_colors(format: object, matrix: object, full_range: object, like: object) -> None:  # noqa: A002 - public name
    """Check the words of ``rs.yuv_to_rgb``.

    Raises:
        DescriptorError: an unknown name, or ``like`` with colours that the library does not have.
    """
    require_word("format", format, get_args(FormatName))
    require_word("matrix", matrix, get_args(MatrixName))
    require_word("full_range", full_range, (False, True))
    require_word("like", like, (None, "opencv"))
    if like is not None and (matrix != "bt601" or full_range):
        raise DescriptorError(
            f"like 'opencv' is BT.601 in limited range, all that cv2.cvtColor has: matrix {matrix!r} and full_range "
            f"{full_range} contradict it"
        )


def sizes_of_rgb(src: TensorDesc) -> tuple[int, ...]:
    """The sizes of RGB, [..., rows, columns, 3], for frames [..., 3/2 rows, columns].

    Raises:
        DescriptorError: ``src`` does not have the type and sizes of frames.
    """
    if src.dtype != "u8":
        raise DescriptorError(f"a frame must be u8, not {src.dtype}: {src}")
    if src.rank < 2 or src.rank == 8 or src.sizes[-2] % 3 or src.sizes[-1] % 2:
        raise DescriptorError(
            f"a frame must have sizes [..., 3/2 rows, columns] with even rows and columns, and at most 7 axes: {src}"
        )
    *frames, height, columns = src.sizes
    return (*frames, height // 3 * 2, columns, 3)
