"""YUV frames with chroma at half of the rows and columns: how they lie, and the numbers that make RGB of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from restride.errors import DescriptorError
from restride.words import require_word

FRACTION_BITS = 20
"""Of the factors: sums stay below 2^30, and a factor is off by 2^-21."""


class Format(NamedTuple):
    """Where the chroma of a frame of rows x columns luma lies, in a frame of rows x 3/2 rows.

    planar: U and V are planes of a quarter of the luma; else they alternate, a row of both is as wide as one of luma.
    v_first: V stands before U.
    """

    planar: bool
    v_first: bool


FORMATS = {
    "nv12": Format(planar=False, v_first=False),
    "nv21": Format(planar=False, v_first=True),
    "i420": Format(planar=True, v_first=False),
    "yv12": Format(planar=True, v_first=True),
}


class Colors(NamedTuple):
    """Integers that make RGB of a pixel, with f = 2^20, halves up, clamped to 0 to 255.

    l = luma * (max(Y, floor) - zero), R = (l + v_to_r * (V - 128)) / f, B = (l + u_to_b * (U - 128)) / f, and
    G = (l + u_to_g * (U - 128) + v_to_g * (V - 128)) / f.
    """

    zero: int
    floor: int
    luma: int
    v_to_r: int
    u_to_g: int
    v_to_g: int
    u_to_b: int


_SHARES = {
    "bt601": (Fraction(299, 1000), Fraction(114, 1000)),
    "bt709": (Fraction(2126, 10000), Fraction(722, 10000)),
}
"""What red and blue have of the luma."""

MATRICES = tuple(_SHARES)

OPENCV = Colors(16, 16, 1220542, 1673527, -409993, -852492, 2116026)
"""BT.601 in limited range, its factors rounded to three decimals and Y below black as black."""


def colors(matrix: str, full_range: bool) -> Colors:
    """The factors of a matrix and a range, to the nearest.

    Source: ITU-R BT.601-7, 2.5.1 to 2.5.3; BT.709-6, 3.2 to 3.5; full range: JFIF 1.02.
    BT.709, limited: 255 / 219 of the luma above 16, 2 * (1 - 0.2126) * 255 / 224 = 1.793 of V for red.
    """
    red, blue = _SHARES[matrix]
    green = 1 - red - blue
    luma, chroma = (Fraction(1), Fraction(1)) if full_range else (Fraction(255, 219), Fraction(255, 224))
    u, v = 2 * (1 - blue) * chroma, 2 * (1 - red) * chroma
    factors = (luma, v, -u * blue / green, -v * red / green, u)
    return Colors(0 if full_range else 16, 0, *(round(factor * (1 << FRACTION_BITS)) for factor in factors))


def checked(format: Any, matrix: Any, full_range: Any, like: Any) -> tuple[Format, Colors]:  # noqa: A002 - its name
    """The format and the factors that the arguments of ``rs.yuv_to_rgb`` name.

    Raises:
        DescriptorError: an unknown name, or ``like`` with colours that the library does not have.
    """
    require_word("format", format, tuple(FORMATS))
    require_word("matrix", matrix, MATRICES)
    require_word("full_range", full_range, (False, True))
    require_word("like", like, (None, "opencv"))
    if like is None:
        return FORMATS[format], colors(matrix, full_range)
    if matrix != "bt601" or full_range:
        raise DescriptorError(
            f"like 'opencv' is BT.601 in limited range, all that cv2.cvtColor has: matrix {matrix!r} and full_range "
            f"{full_range} contradict it"
        )
    return FORMATS[format], OPENCV
