"""Plan of YUV frames to RGB: the memory layout of frames, the integer factors of the conversion, and the dispatches.

Chroma has half of the rows and columns of luma. An invocation computes 4 columns x 2 rows of pixels from two words of
luma and two samples of each chroma.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from restride.errors import UnsupportedError
from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.dispatches import require_windows, strided_kernel
from restride.plan.problem import Axis, Span
from restride.request.yuv import FormatName, MatrixName, require_colors

FRACTION_BITS = 20
"""Number of fraction bits of a factor: sums stay below 2^30, and a factor is off by at most 2^-21."""

CHANNELS = 3

COLUMNS = 4
_ROWS = 2
"""Number of columns and of rows of pixels that an invocation computes."""

_NO_CHUNK = 0xFFFFFFFF
"""The value of ``last_chunk`` if every chunk of a row is four whole pixels."""


class Format(NamedTuple):
    """How a frame stores its chroma: the first 2/3 of its rows are luma, and the rows after them are chroma.

    planar: U and V are planes, each a quarter of the luma; else they alternate, in rows as wide as luma rows.
    v_first: V comes before U.
    """

    planar: bool
    v_first: bool


FORMATS: dict[FormatName, Format] = {
    "nv12": Format(planar=False, v_first=False),
    "nv21": Format(planar=False, v_first=True),
    "i420": Format(planar=True, v_first=False),
    "yv12": Format(planar=True, v_first=True),
}


class YuvFactors(NamedTuple):
    """Integer factors from YUV to RGB, in units of 1 / f, f = 2^20; results are rounded halves up, clamped to 0..255.

    l = luma * (max(Y, min_luma) - zero), R = (l + v_to_r * (V - 128)) / f, B = (l + u_to_b * (U - 128)) / f, and
    G = (l + u_to_g * (U - 128) + v_to_g * (V - 128)) / f.
    """

    zero: int
    min_luma: int
    luma: int
    v_to_r: int
    u_to_g: int
    v_to_g: int
    u_to_b: int


_SHARES: dict[MatrixName, tuple[Fraction, Fraction]] = {
    "bt601": (Fraction(299, 1000), Fraction(114, 1000)),
    "bt709": (Fraction(2126, 10000), Fraction(722, 10000)),
}
"""The shares of red and of blue in the luma, for each matrix."""

MATRICES = tuple(_SHARES)

OPENCV = YuvFactors(16, 16, 1220542, 1673527, -409993, -852492, 2116026)
"""The factors of OpenCV: BT.601 in limited range, rounded to three decimals, with Y below black taken as black."""


def colors(matrix: MatrixName, full_range: bool) -> YuvFactors:
    """The factors of a matrix and a range, rounded to the nearest integer.

    Source: ITU-R BT.601-7, 2.5.1 to 2.5.3; BT.709-6, 3.2 to 3.5; full range: JFIF 1.02.
    BT.709, limited range: red is 255 / 219 of the luma above 16, plus 2 * (1 - 0.2126) * 255 / 224 = 1.793 times V.
    """
    red, blue = _SHARES[matrix]
    green = 1 - red - blue
    luma, chroma = (Fraction(1), Fraction(1)) if full_range else (Fraction(255, 219), Fraction(255, 224))
    u, v = 2 * (1 - blue) * chroma, 2 * (1 - red) * chroma
    factors = (luma, v, -u * blue / green, -v * red / green, u)
    return YuvFactors(0 if full_range else 16, 0, *(round(factor * (1 << FRACTION_BITS)) for factor in factors))


def checked(format: Any, matrix: Any, full_range: Any, like: Any) -> tuple[Format, YuvFactors]:  # noqa: A002 - public name
    """The format and the factors that the arguments of ``rs.yuv_to_rgb`` name.

    Raises:
        DescriptorError: an unknown name, or ``like`` with colours that the library does not have.
    """
    require_colors(format, matrix, full_range, like)
    return FORMATS[format], colors(matrix, full_range) if like is None else OPENCV


class _Frames(NamedTuple):
    """``number`` frames, ``stride`` bytes apart, each ``reach`` + 1 bytes long with rows ``row`` bytes apart."""

    number: int
    stride: int
    offset: int
    row: int
    reach: int

    def span(self, first: int, number: int) -> Span:
        """The span in bytes of ``number`` frames from frame ``first`` on."""
        begins = self.offset + first * self.stride
        return Span(begins, begins + (number - 1) * self.stride + self.reach)


def _frames(desc: TensorDesc, axes_of_a_frame: int) -> _Frames | None:
    """The frames along the first axes; None if they do not have a single stride, or a stride is below 0."""
    if desc.strides is None or any(stride < 0 for stride in desc.strides):
        return None
    split = desc.rank - axes_of_a_frame
    number, stride = 1, 0
    for size, step in zip(reversed(desc.sizes[:split]), reversed(desc.strides[:split]), strict=True):
        if size == 1:
            continue
        if number > 1 and step != number * stride:
            return None
        number, stride = number * size, stride if number > 1 else step
    reach = sum((size - 1) * step for size, step in zip(desc.sizes[split:], desc.strides[split:], strict=True))
    return _Frames(number, stride, desc.offset, desc.strides[split], reach)


def reads_frames(src: TensorDesc, form: Format) -> bool:
    """True if frames can be read in place: rows are contiguous and, in a planar format, have no gap between them."""
    frames = _frames(src, 2)
    if frames is None or src.strides is None or src.strides[-1] != 1:
        return False
    return frames.row == src.sizes[-1] if form.planar else frames.row >= src.sizes[-1]


def writes_frames(dst: TensorDesc) -> bool:
    """True if every four pixels of a row fill whole words, of interleaved channels or of each plane."""
    frames = _frames(dst, 3)
    if frames is None or dst.strides is None:
        return False
    to_column, to_channel = dst.strides[-2:]
    starts = [dst.offset, dst.sizes[-2], frames.row, frames.stride]
    if (to_column, to_channel) == (CHANNELS, 1):
        return not any(start % 4 for start in starts)
    return to_column == 1 and not any(start % 4 for start in (*starts, to_channel))


def yuv_kernels(
    src: TensorDesc, dst: TensorDesc, form: Format, colors: YuvFactors, limits: Limits
) -> Iterator[KernelSpec]:
    """Dispatches from YUV frames, [..., 3/2 rows, columns], to RGB frames, [..., rows, columns, 3].

    ``reads_frames`` and ``writes_frames`` must accept the layouts. dst has a multiple of four columns: if src has two
    more than a multiple of four, the last two columns of dst are undefined.

    u8[6,6] in NV12: rows of 6 are chunks of four pixels and of two. Luma of rows 2 and 3 begins at 12 and 18, their
    chroma, three pairs of U and V, at 4 * 6 + 1 * 6 = 30.

    Raises:
        UnsupportedError: a frame is larger than a binding.
    """
    frames, rgb = _frames(src, 2), _frames(dst, 3)
    if frames is None or rgb is None or dst.strides is None:
        raise AssertionError(f"frames of {src} and of {dst} must lie at single strides")
    rows, columns = dst.sizes[-3], src.sizes[-1]
    to_column, to_channel = dst.strides[-2:]
    chroma_step, chroma_row = (1, frames.row // 2) if form.planar else (2, frames.row)
    chunks = -(-columns // COLUMNS)
    for first, number in _parts(frames, rgb, limits):
        axes = [
            Axis(chunks, COLUMNS, COLUMNS * to_column, pairs=(COLUMNS // 2 * chroma_step, 1)),
            Axis(rows // _ROWS, _ROWS * frames.row, _ROWS * rgb.row, pairs=(chroma_row, 0)),
            Axis(number, frames.stride, rgb.stride, pairs=(frames.stride, 0)),
        ]
        walked = tuple(axis for axis in axes if axis.size > 1)
        spans = frames.span(first, number), rgb.span(first, number)
        windows = (spans[0].window(1, limits), spans[1].window(1, limits, writes=True))
        src_base, dst_base = (span.lowest - window.offset for span, window in zip(spans, windows, strict=True))
        chroma = src_base + rows * frames.row
        other = chroma + (rows // 2 * chroma_row if form.planar else 1)
        u, v = (other, chroma) if form.v_first else (chroma, other)
        aligned = not any(place % 4 for place in (src_base, frames.row, *(axis.src for axis in walked)))
        pieces = chunks * (rows // _ROWS) * number
        last = chunks - 1 if columns % COLUMNS else _NO_CHUNK
        push = {
            "src_base": src_base,
            "dst_base": dst_base,
            "pieces": pieces,
            "u_base": u,
            "v_base": v,
            "src_row": frames.row,
            "dst_row": rgb.row,
            "dst_plane": to_channel,
            "last_chunk": last,
            **colors._asdict(),
        }
        constants = {"LUMA_ALIGNED": aligned, "INTERLEAVED": to_channel == 1, "CHROMA_STEP": chroma_step}
        yield strided_kernel("yuv_to_rgb", walked, constants, push, windows, limits)


def _parts(frames: _Frames, rgb: _Frames, limits: Limits) -> Iterator[tuple[int, int]]:
    """The first frame and the number of frames of each dispatch: as many as both windows can cover."""
    most = frames.number
    # The window of a later frame may begin before it, at the last offset where a binding may begin.
    slack = limits.window_alignment if most > 1 else 0
    while (
        needed := max(each.span(0, most).window(1, limits).nbytes for each in (frames, rgb)) + slack
    ) > limits.max_buffer_range:
        if most == 1:
            raise UnsupportedError(
                f"a frame of {frames.reach + 1} bytes, {rgb.reach + 1} as RGB, needs a binding of up to {needed} "
                f"bytes with its alignment, and a binding covers at most {limits.max_buffer_range}"
            )
        require_windows(frames.number * max(frames.stride, rgb.stride), limits)
        most = -(-most // 2)
    for first in range(0, frames.number, most):
        yield first, min(most, frames.number - first)
