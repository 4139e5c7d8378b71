"""crop_resize: many boxes of images, each resized to the same sizes, flipped, converted and laid out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, SupportsIndex, TypedDict, Unpack, overload

import numpy as np

from restride.layout.argument import Layout
from restride.ops.crops.letterbox import Letterboxed
from restride.ops.crops.run import Asked, crop
from restride.tensor.tensor import Tensor

_Images = Iterable[SupportsIndex] | None
_Flip = str | Iterable[str] | None


class Options(TypedDict, total=False):
    """Arguments of ``crop_resize`` beside ``letterbox``, which says what a call returns."""

    images: _Images
    units: str
    axes: Iterable[SupportsIndex] | None
    mode: str | None
    coordinates: str | None
    nearest: str | None
    cubic_a: float | None
    antialias: bool | None
    exclude_outside: bool | None
    like: str | None
    flip: _Flip
    fill: Any
    mean: Any
    std: Any
    layout: Layout
    dtype: Any
    src_scale: Any
    src_zero_point: Any
    dst_scale: Any
    dst_zero_point: Any
    post_ops: Iterable[tuple[Any, ...]] | None
    rounding: str
    saturate: bool
    out: Tensor | None


@overload
def crop_resize(
    x: Any, boxes: Any, sizes: Iterable[SupportsIndex], *, letterbox: None = None, **options: Unpack[Options]
) -> Tensor: ...


@overload
def crop_resize(
    x: Any,
    boxes: Any,
    sizes: Iterable[SupportsIndex],
    *,
    letterbox: Literal["center", "top_left"],
    **options: Unpack[Options],
) -> tuple[Tensor, Letterboxed]: ...


def crop_resize(
    x: Any,
    boxes: Any,
    sizes: Iterable[SupportsIndex],
    *,
    letterbox: Literal["center", "top_left"] | None = None,
    images: _Images = None,
    units: str = "pixels",
    axes: Iterable[SupportsIndex] | None = None,
    mode: str | None = None,
    coordinates: str | None = None,
    nearest: str | None = None,
    cubic_a: float | None = None,
    antialias: bool | None = None,
    exclude_outside: bool | None = None,
    like: str | None = None,
    flip: _Flip = None,
    fill: Any = 0,
    mean: Any = None,
    std: Any = None,
    layout: Layout = None,
    dtype: Any = None,
    src_scale: Any = None,
    src_zero_point: Any = None,
    dst_scale: Any = None,
    dst_zero_point: Any = None,
    post_ops: Iterable[tuple[Any, ...]] | None = None,
    rounding: str = "nearest_even",
    saturate: bool = True,
    out: Tensor | None = None,
) -> Tensor | tuple[Tensor, Letterboxed]:
    """Each of many boxes cut out, resized to ``sizes``, flipped, converted and laid out. docs/crop_resize.md draws it.

    Every box goes the way of single operations, bit for bit: pad the image with ``fill``, slice the box out,
    ``resample`` it, flip it, pad it again where it is letterboxed, then the arithmetic, type and layout of ``reorder``.
    Boxes, sizes and images may change at every call: nothing is compiled again, but for what goes box by box.

    Args:
        x: one image, a batch with the images along axis 0 and ``images`` given, or a list of images of one type that
            may differ in rows and columns; each a Tensor or what ``rs.asarray`` takes.
        boxes: (boxes, 4) numbers y0, x0, y1, x1, an array or a Tensor, which is read back. Integers in pixels are the
            slice ``[y0:y1, x0:x1]``, also where it leaves the image. Floats, and normalized ones, are read as
            "tf_crop_and_resize" has it: the first output reads at y0 and the last at y1, pixels counted by their
            centres; what is beyond the first or last centre is ``fill``, and a box may be inverted. Floats x0, y0, x1,
            y1 of a detector are given as ``np.rint(boxes[:, [1, 0, 3, 2]]).astype(np.int64)``.
        sizes: height and width of every result.
        letterbox: of integers: keep the aspect of each box, as large as there is room, "center" or "top_left"; the rest
            is ``fill``. The result is then a pair: the tensor, and a ``Letterboxed`` that brings points back.
        images: index of the image of each box, along axis 0 of a batch or in a list; default: ``x`` is one image, or
            box i is of image i of a list.
        units: "pixels", or "normalized": 0 is the first centre, 1 the last. Normalized boxes without it are pixels, all
            within the first one: no error.
        axes: rows and columns, as axes of ``x``, or of each image of a list; default: the last two.
        mode: this and what follows as in ``resample``, of each box.
        coordinates: as in ``resample``, of boxes of integers.
        nearest: as in ``resample``.
        cubic_a: as in ``resample``.
        antialias: as in ``resample``, of boxes of integers.
        exclude_outside: as in ``resample``; what is outside the box counts as outside.
        like: as in ``resample``; docs/crop_resize.md says which of its ways take a few dispatches a box.
        flip: "none", "horizontal", "vertical" or "both", one word or one for each box. A letterboxed box is flipped in
            its place.
        fill: what lies outside of the image, and beside a letterboxed box: an element of the type of ``x``, or one for
            each channel, where one axis beside rows and columns is all there is.
        mean: one number or one for each channel, with the arithmetic of ``normalize``: floats become
            ``(v - mean) / std``, integers ``v / (255 * std) + -mean / std``, where 255 is their largest value; then
            neither may be above 1. The result is f32 unless ``dtype`` says otherwise.
        std: see ``mean``.
        layout: as in ``reorder``, of the result, whose axes are the boxes and then those of an image. "NHWC->NCHW" puts
            channels before rows and columns; "NCHW" alone changes memory only, and the axes stay as they are.
        dtype: element type of the result; default: that of ``out``, of ``layout`` where it says one, or of ``x``.
        src_scale: this and what follows as in ``resample``, against the sizes of the result.
        src_zero_point: as in ``resample``.
        dst_scale: as in ``resample``.
        dst_zero_point: as in ``resample``.
        post_ops: as in ``resample``.
        rounding: as in ``resample``.
        saturate: as in ``resample``.
        out: where to write instead, in memory of its own.

    Raises:
        DescriptorError: a box is not finite, too far out or of no pixel; arguments do not fit each other or ``x``.
        UnsupportedError: an unknown mode, rule of what an output reads, or library; an element type that cannot be
            interpolated; or one box with its result is more than a dispatch can do.

    Source: ONNX operators, Resize, and TensorFlow, tf.image.crop_and_resize, for boxes of floats.
    """
    asked = Asked(
        axes=axes,
        images=images,
        units=units,
        flip=flip,
        fill=fill,
        letterbox=letterbox,
        like=like,
        choice={
            "mode": mode,
            "coordinates": coordinates,
            "nearest": nearest,
            "cubic_a": cubic_a,
            "antialias": antialias,
            "exclude_outside": exclude_outside,
        },
        mean=mean,
        std=std,
        layout=layout,
        dtype=dtype,
        numbers={
            "src_scale": src_scale,
            "src_zero_point": src_zero_point,
            "dst_scale": dst_scale,
            "dst_zero_point": dst_zero_point,
            "post_ops": post_ops,
            "rounding": rounding,
            "saturate": saturate,
        },
    )
    made, placed = crop(x, np.asarray(boxes) if isinstance(boxes, Tensor) else boxes, sizes, asked, out)
    return made if placed is None else (made, placed)
