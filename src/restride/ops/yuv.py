"""yuv_to_rgb: converts frames of cameras and decoders to RGB, which the other operations accept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from restride.arguments import check_keywords
from restride.dtypes import DTYPES
from restride.errors import DescriptorError
from restride.kernel import Limits
from restride.layout import TensorDesc
from restride.layout.argument import Layout
from restride.layout.tensor_desc import packed
from restride.layout.views import index
from restride.ops.perform import Plan, perform
from restride.ops.pieces import concatenated, reshaped
from restride.ops.target import Out, destination, read_layout
from restride.plan.steps import SOURCE, Site, Steps
from restride.plan.yuv import (
    CHANNELS,
    COLUMNS,
    Format,
    YuvFactors,
    checked,
    reads_frames,
    writes_frames,
    yuv_kernels,
)
from restride.request.yuv import FormatName, MatrixName, sizes_of_rgb
from restride.tensor.arrays import asarray
from restride.tensor.tensor import Tensor


@check_keywords
def yuv_to_rgb(
    frame: Any,
    format: FormatName = "nv12",  # noqa: A002 - the word that video uses
    matrix: MatrixName = "bt601",
    full_range: bool = False,
    *,
    like: Literal["opencv"] | None = None,
    layout: Layout = None,
    out: Tensor | None = None,
) -> Tensor:
    """Convert YUV frames, with chroma at half of the rows and columns, to RGB, u8[..., rows, columns, 3].

    A sample of chroma applies to the four pixels it covers. Each colour is rounded once, halves up, and clamped. The
    factors are those of ``like``, or those of the matrix to within 2^-21: a colour can be off only next to a half.

    Args:
        frame: u8[..., 3/2 rows, columns], a Tensor or what ``rs.asarray`` takes: luma, and below it the chroma, as in
            OpenCV and decoders. Or its parts, which are joined first: (luma, chroma) with chroma
            [rows / 2, columns / 2, 2] or [rows / 2, columns], and (luma, first, second) of a planar format.
        format: "nv12", rows that alternate U and V; "nv21", V and U; "i420", a plane of U, then one of V; "yv12", V,
            then U.
        matrix: "bt601" or "bt709".
        full_range: luma is 0 to 255, as in JPEG, and not 16 to 235.
        like: "opencv": factors of three decimals, as ``cv2.cvtColor`` has them, bit for bit.
        layout: of the result, as in ``reorder``: "HWC->CHW" gives planes.
        out: where to write instead, as in ``reorder``.

    Raises:
        DescriptorError: an unknown name, a frame of another type or with sizes that no frame has, parts that do not
            fit, or ``out`` does not fit.
        UnsupportedError: a frame is larger than a binding.

    Examples:
        >>> frame = np.full((6, 4), 128, np.uint8)  # 4 rows of luma, 2 of chroma: grey
        >>> rs.yuv_to_rgb(frame, "nv12").numpy()[0, 0].tolist()
        [130, 130, 130]

    Source: ITU-R BT.601-7 and BT.709-6; OpenCV, cvtColor.
    """
    form, colors = checked(format, matrix, full_range, like)
    whole = _joined(frame, form, format, out) if isinstance(frame, tuple | list) else frame
    return perform(yuv_plan, whole, out, form=form, colors=colors, layout=layout)


def yuv_plan(
    src: TensorDesc, out: Out | None, limits: Limits, *, form: Format, colors: YuvFactors, layout: Layout
) -> Plan:
    """The plan of ``yuv_to_rgb``. Frames that cannot be read in place are copied first, and RGB is copied last."""
    rgb = packed(DTYPES["u8"], sizes_of_rgb(src))
    dst, site = destination(read_layout(rgb, layout, converts=False), src, out)
    steps = Steps(limits)
    if not rgb.numel:
        steps.copy(Site(SOURCE, rgb), site, dst)
        return Plan(src, dst, steps)
    source = Site(SOURCE, src)
    if not reads_frames(src, form):
        source = steps.copied(source)
    if writes_frames(site.desc):
        steps.add(source, site, lambda: tuple(yuv_kernels(source.desc, site.desc, form, colors, limits)))
        return Plan(src, dst, steps)
    *frames, rows, columns, _ = rgb.sizes
    between = steps.new(packed(src.dtype, (*frames, rows, COLUMNS * -(-columns // COLUMNS), CHANNELS)))
    steps.add(source, between, lambda: tuple(yuv_kernels(source.desc, between.desc, form, colors, limits)))
    steps.copy(between._replace(desc=index(between.desc, (..., slice(columns), slice(None)))), site, dst)
    return Plan(src, dst, steps)


def _joined(parts: Sequence[object], form: Format, name: str, out: Tensor | None) -> Tensor:
    """One frame joined from its parts, on the device of ``out`` or of the parts."""
    device = out.device if out is not None else next((each.device for each in parts if isinstance(each, Tensor)), None)
    tensors = [asarray(part, device=device) for part in parts]
    sizes = [tensor.sizes for tensor in tensors]
    rows, columns = sizes[0] if sizes and len(sizes[0]) == 2 else (1, 1)
    half = (rows // 2, columns // 2)
    fitting: list[list[tuple[int, ...]]] = [[half, half]] if form.planar else [[(*half, 2)], [(rows // 2, columns)]]
    if sizes[1:] not in fitting or rows % 2 or columns % 2 or any(tensor.dtype != "u8" for tensor in tensors):
        chroma = ", ".join(str(list(each)) for each in fitting[0])
        raise DescriptorError(
            f"the parts of a frame of format {name!r} must be u8, luma [rows, columns], both even, and chroma {chroma} "
            f"beside such luma, not {', '.join(str(tensor.desc) for tensor in tensors)}"
        )
    flat = [reshaped(tensor, (tensor.size,)) for tensor in tensors]
    return concatenated(flat, 0).reshape(rows // 2 * 3, columns)
