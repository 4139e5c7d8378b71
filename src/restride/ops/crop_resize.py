"""crop_resize: many boxes of images, each resized to the same sizes, flipped, converted and laid out.

``Images`` has the layouts of a call's images, and ``Boxes`` has its boxes, each with a place in its output.
The plan has the weights of both axes of every box (rows of a filter or of a library), the kernels of
``restride.plan.boxes`` that sum with them, and the copy that the destination may need after them. If a library sums in
a way that no kernel of crops supports, boxes are resized by single operations, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple, SupportsIndex, TypedDict, Unpack

import numpy as np

from restride.arguments import list_arguments
from restride.dtypes import Array, DType, DTypeLike, as_dtype
from restride.errors import FEWER_IMAGES, DescriptorError, UnsupportedError, advised, warn_caller
from restride.kernel import Limits
from restride.layout import TensorDesc
from restride.layout.argument import Layout, family
from restride.layout.tensor_desc import packed
from restride.ops.images import BoxRun, Images, image_indices, images_of, per_channel, read_fill
from restride.ops.letterbox import places_of
from restride.ops.one_by_one import OneByOne
from restride.ops.perform import cached, out_from_start, plan_near
from restride.ops.quantize import in_axes_of_result, normalizing_scales, warn_of_unit
from restride.ops.resample import INTERPOLATED_TYPES, in_f32, is_narrowed, split_arguments
from restride.ops.target import Asked, Out, ResultTarget, read_layout, require_room, target_of_sums, type_asked
from restride.plan.boxes import add_crops, boxes_of, table_bytes
from restride.plan.steps import RESULT, SOURCE, Site, Steps
from restride.request import ModeName, Request
from restride.request.arithmetic import NO_ARITHMETIC, NumberArguments, Numbers
from restride.request.boxes import (
    Flip,
    Indices,
    LetterboxPlace,
    Units,
    about_pixels,
    read_boxes,
    read_flips,
    read_sizes,
    read_words_of_boxes,
)
from restride.request.libraries import LibraryRequest
from restride.request.resampling import FilterArguments
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor, empty
from restride.weights import Boxes, Crops
from restride.weights.boxes import crops_of, require_few_weights, summed_by_filters, summed_by_library

CROPPED_TYPES = tuple(name for name in INTERPOLATED_TYPES if name not in ("s32", "u32"))
"""Element types that can be interpolated: f32 has all their numbers, so a box of the result's sizes is unchanged."""


class _BoxArguments(TypedDict, total=False):
    letterbox: LetterboxPlace | None
    images: Indices
    units: Units
    axes: Iterable[SupportsIndex] | None
    mode: ModeName | int | Enum | None


class _PixelArguments(TypedDict, total=False):
    flip: Flip
    fill: Any
    mean: Any
    std: Any
    layout: Layout
    dtype: DTypeLike | None


class CropArguments(_BoxArguments, FilterArguments, _PixelArguments, NumberArguments, total=False):
    """The keywords of ``rs.crop_resize``, except ``out``."""


class Cut(NamedTuple):
    """The arguments of ``rs.crop_resize`` that neither ``Request`` nor ``Numbers`` has, under the same names.

    places: y0, x0, y1, x1 of each box of integers in its output, also beyond the output; None: as ``letterbox`` says.
    """

    boxes: object
    sizes: Iterable[SupportsIndex]
    images: Indices = None
    units: Units = "pixels"
    letterbox: LetterboxPlace | None = None
    places: Sequence[Sequence[int]] | None = None
    flip: Flip = None
    fill: object = 0
    mean: object = None
    std: object = None
    layout: Layout = None
    dtype: DTypeLike | None = None


@list_arguments(CropArguments, {**Cut._field_defaults, **Numbers._field_defaults})
def crop_resize(
    x: Any,
    boxes: Any,
    sizes: Iterable[SupportsIndex],
    *,
    out: Tensor | None = None,
    **arguments: Unpack[CropArguments],
) -> Tensor:
    """Cut out many boxes; resize each to ``sizes``, flip, convert and lay it out. docs/crop_resize.md draws it.

    The result of a box is bit for bit that of single operations: pad the image with ``fill``, slice the box out,
    ``resample`` it, flip it, pad it again where it is letterboxed, then the arithmetic, type and layout of ``reorder``.
    Boxes, sizes and images may change at every call: nothing is compiled again, except for boxes that are resized one
    by one.

    Args:
        x: one image, a batch with the images along axis 0 and ``images`` given, or a list of images of one type that
            may differ in rows and columns; each a Tensor or what ``rs.asarray`` takes. f64 is taken if the result is to
            be f32, as in ``resample``.
        boxes: (boxes, 4) numbers y0, x0, y1, x1, an array or a Tensor, which is read back. Integers in pixels are the
            slice ``[y0:y1, x0:x1]``, also where it leaves the image. Floats, and normalized boxes, are read as in
            "tf_crop_and_resize": the first output reads at y0 and the last at y1, in pixels from centre to centre;
            what is beyond the first or last centre is ``fill``, and a box may be inverted. For floats x0, y0, x1, y1 of
            a detector give ``np.rint(boxes[:, [1, 0, 3, 2]]).astype(np.int64)``. There is a warning if a box is outside
            its image, but all boxes would be inside with x and y swapped.
        sizes: height and width of every result.
        letterbox: for boxes of integers: keep each box's aspect and make it as large as fits, at the "center" or
            "top_left"; the rest is ``fill``. ``Letterboxed.of`` maps points of the result back to the images.
        images: index of the image of each box, along axis 0 of a batch or in a list; default: ``x`` is one image, or
            box i is of image i of a list.
        units: "pixels", or "normalized": 0 is the first centre, 1 the last. Without it normalized boxes are taken as
            pixels, between the first two centres; where all boxes are such floats, a warning says so.
        axes: rows and columns, as axes of ``x``, or of each image of a list; default: the last two.
        mode: as in ``resample``, for each box; what is outside the box counts as outside.
        coordinates: as in ``resample``; this and ``antialias`` are for boxes of integers only.
        like: as in ``resample``; docs/crop_resize.md says for which libraries and modes boxes go one by one.
        flip: "none", "horizontal", "vertical" or "both", one word or one for each box. A letterboxed box is flipped in
            its place.
        fill: the value outside the image and beside a letterboxed box: an element of the type of ``x``, or one for each
            channel if an image has exactly one axis beside rows and columns.
        mean: one number or one for each channel, with the arithmetic of ``normalize``: floats become
            ``(v - mean) / std``, integers ``v / (255 * std) + -mean / std``, where 255 stands for their largest value;
            for integers neither may be above 1. The result is f32 unless ``dtype`` says otherwise.
        std: see ``mean``.
        layout: of the result, as in ``reorder``; its axes are the boxes, then those of an image. "NHWC->NCHW" puts
            channels before rows and columns; "NCHW" alone changes memory only, and the axes stay as they are. (In
            ``Preprocess`` the word "NCHW" gives the order of the axes.)
        dtype: element type of the result; default: that of ``out``, of ``layout`` where it says one, or of ``x``.
        out: the tensor to write to instead, which must not share a buffer with an image.
        arguments: the others as in ``resample``; scales and zero points broadcast against the sizes of the result.

    Raises:
        DescriptorError: a box is not finite, too far out or of no pixel; an unknown mode, ``coordinates``, ``nearest``
            or library; arguments do not fit each other or ``x``.
        UnsupportedError: an element type that cannot be interpolated, or one box with its result is more than a
            dispatch can do.
        OutOfDeviceMemory: the device has no room for the result.

    Examples:
        >>> photo = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
        >>> boxes = [(0, 0, 2, 4), (1, 2, 4, 6)]  # y0, x0, y1, x1
        >>> rs.crop_resize(photo, boxes, (2, 2), axes=(0, 1), layout="NHWC->NCHW").sizes
        (2, 3, 2, 2)
        >>> whole = rs.crop_resize(photo, [(0, 0, 4, 6)], (2, 3), axes=(0, 1)).numpy()
        >>> np.array_equal(whole[0], rs.resample(photo, (2, 3), axes=(0, 1)).numpy())
        True

    Source: ONNX operators, Resize, and TensorFlow, tf.image.crop_and_resize, for boxes of floats.
    """
    axes = arguments.pop("axes", None)  # numbers of axes of x, while a Request has numbers of axes of one image
    request, numbers, others = split_arguments(arguments)
    cut = Cut(np.asarray(boxes) if isinstance(boxes, Tensor) else boxes, sizes, **others)
    with advised(FEWER_IMAGES) if isinstance(x, list | tuple) else nullcontext():
        result = cropped(x, out, axes, cut, request, numbers)
    if cut.mean is not None or cut.std is not None:
        for image in x if isinstance(x, list | tuple) else [x]:
            warn_of_unit(image, cut.mean, cut.std)
    return result


def cropped(
    x: object, out: Tensor | None, axes: Indices, cut: Cut, request: Request, numbers: Numbers | None = None
) -> Tensor:
    """The result of ``crop_resize``."""
    tensors, source = images_of(x, axes, cut.images is not None, out)
    device, limits = tensors[0].device, tensors[0].device.limits
    place = None if out is None else Out(out.desc, is_shared=False)
    near, starts = source.from_starts(limits.window_alignment)
    near_place, start = out_from_start(place, limits.window_alignment)
    try:
        plan, is_near = plan_near(
            device, _crop_plan, (near, near_place), (source, place), limits, cut, request, numbers
        )
    except (DescriptorError, UnsupportedError) as error:
        error.add_descriptor(source.desc)
        raise
    if plan.warning:
        warn_caller(plan.warning)
    if not is_near:
        starts, start = [0] * len(tensors), 0
    return plan.run(tensors, starts, device, out, start)


# Checks the arguments, and finds the target: where the result is written, and with which arithmetic.


def _target(
    source: Images, cropped: TensorDesc, out: Out | None, asked: Asked, mean: Any, std: Any, numbers: Numbers | None
) -> ResultTarget:
    """The target of resized boxes that are ``cropped``."""
    if mean is not None or std is not None:
        numbers = normalized(mean, std, source, asked.dtype, asked.order, numbers)
    return target_of_sums(source.desc, cropped, out, asked._replace(numbers=numbers))


def _family(source: Images, sizes: tuple[int, ...], dtype: DType) -> TensorDesc:
    """The layout of a result, with its axes in the images' order. Without an axis of images, boxes are outermost."""
    src = source.desc
    if source.first:
        return family(src, sizes, dtype)
    order = src.minor_to_major if src.strides is not None else None
    outward = range(src.rank)[::-1] if order is None else order
    return packed(dtype, sizes, [*(axis + 1 for axis in outward), 0])


def normalized(
    mean: Any, std: Any, source: Images, dtype: DType, order: Sequence[int] | None, numbers: Numbers | None
) -> Numbers:
    """``numbers`` with the scales and zero points that ``mean`` and ``std`` mean.

    order: the axes of the result, as axes of the resized boxes; None: the result has the same order.

    Raises:
        DescriptorError: a result of integers, other scales or zero points beside them, or what ``normalizing_scales``
            refuses.
    """
    src, asked = source.desc, numbers or Numbers()
    for name, value in zip(Numbers._fields[:4], asked, strict=False):
        if value is not None:
            raise DescriptorError(f"mean and std set the scales and zero points: leave {name} out")
    if not dtype.is_float:
        raise DescriptorError(f"mean and std make floats: dtype must be a float, got {dtype}")

    def read(argument: str, value: object) -> Array:
        values = per_channel(argument, value, source)
        if values.size == 1 or source.channel is None:
            return values.reshape(())
        return values.reshape([-1, *[1] * (src.rank - 1 - source.channel)])

    scales = normalizing_scales(0.0 if mean is None else mean, 1.0 if std is None else std, src.dtype, read)
    if order is not None:
        scales = in_axes_of_result(scales, order)
    return Numbers(*scales[:4], *asked[4:])


# The plan depends on layouts and arguments, not on elements.


class _CropPlan(NamedTuple):
    """The plan of a call for images of certain layouts.

    dst: the layout of the result.
    starts: the steps that run first, with the index of the tensor of images that they read; one pair for each run.
    chain: instead of ``starts``, operations that resize the boxes one by one.
    cropped: the layout of a tensor that ``starts`` or ``chain`` write, and from which ``last`` computes the result;
    None: ``starts`` write the result.
    weight: how much of the plan cache the plan takes: 1, and 1 more for each 8 KiB of tables.
    """

    dst: TensorDesc
    starts: tuple[tuple[int, Steps], ...] = ()
    cropped: TensorDesc | None = None
    last: Steps | None = None
    chain: OneByOne | None = None
    weight: int = 1
    warning: str = ""

    def run(
        self, tensors: tuple[Tensor, ...], of_tensors: Sequence[int], device: Device, out: Tensor | None, of_out: int
    ) -> Tensor:
        """The result, in a new tensor or in ``out``.

        of_tensors, of_out: how many bytes later than planned the tensors and ``out`` begin in their buffers.
        """
        result = empty(self.dst, device) if out is None else out
        cropped = result if self.cropped is None else empty(self.cropped, device)
        if self.chain is not None:
            self.chain.run(tensors, cropped)
        with device.batch() if len(self.starts) > 1 else nullcontext():
            for tensor, steps in self.starts:
                starts = of_tensors[tensor], of_out if self.cropped is None else 0
                device.run(steps, tensors[tensor].memory, cropped.memory, starts)
            if self.last is not None:
                device.run(self.last, cropped.memory, result.memory, (0, of_out))
        return result


def _crop_plan(
    source: Images, out: Out | None, limits: Limits, cut: Cut, asked: Request, numbers: Numbers | None
) -> _CropPlan:
    """The plan of ``crop_resize``."""
    src = source.desc
    edges = read_boxes(cut.boxes, cut.units)
    count, size = len(edges), read_sizes(cut.sizes)
    of_images = image_indices(cut.images, count, source)
    places = places_of(edges, cut.units, size, cut.letterbox) if cut.places is None else np.array(cut.places, np.int64)
    warning = ""
    if cut.units == "pixels" and cut.places is None:
        sides = np.array([source.extents(desc) for desc in source.descs])
        warning = about_pixels(edges, sides[of_images if source.is_list else np.zeros(count, np.int64)])
    boxes = Boxes(edges, cut.units, places, read_flips(cut.flip, count))
    request, library = read_words_of_boxes(asked, edges, cut.units, src.dtype.name)
    elements = read_fill(cut.fill, source)
    result_sizes = source.result_sizes(count, size)
    dtype = type_asked(src, cut.dtype, out)
    is_normalized = cut.mean is not None or cut.std is not None
    becomes_f32 = is_normalized and dtype is None and "[" not in str(cut.layout)
    if becomes_f32:
        dtype = as_dtype("f32")
    resized = source.resized(size)
    like = _family(resized, result_sizes, dtype or src.dtype)
    result = read_layout(like, cut.layout, dtype, like)
    element = src.dtype if becomes_f32 else result.dtype
    require_room(result_sizes, element, limits)
    require_few_weights(count, size)
    summed = None
    if library is not None:
        image, axes = result_sizes[1:], source.axes_of_image
        summed = summed_by_library(boxes, library, image, axes, is_moved=request.mode == "nearest")
    cropped_dtype = _resized_dtype(src.dtype, element, request, None if summed is None and count else library)
    cropped = packed(cropped_dtype, result_sizes)
    target = cached(_target, resized, cropped, out, result, cut.mean, cut.std, numbers)
    if not target.whole.numel:
        return _CropPlan(target.whole, last=_copy_steps(target.site, target, limits), warning=warning)
    if summed is not None and None in summed.sums:
        chain = OneByOne(source, boxes, of_images, elements, asked)
        last = _copy_steps(Site(SOURCE, cropped), target, limits)
        return _CropPlan(target.whole, cropped=cropped, last=last, chain=chain, warning=warning)
    runs = list(source.runs(of_images))
    extents = [source.extents(run.desc) for run in runs for _ in range(run.boxes.start, run.boxes.stop)]
    fills = np.full(source.last_other, elements.ravel(), elements.dtype)
    summed = summed or summed_by_filters(boxes, extents, request)
    parts = list(crops_of(boxes, summed, extents, size, source.axes, fills))
    return _by_kernels(target, runs, parts, limits)._replace(warning=warning)


def _resized_dtype(src: DType, element: DType, request: Request, library: LibraryRequest | None) -> DType:
    """The element type of resized boxes before scales, zero points and post-ops.

    element: the type that the caller asks of the result. library: the request to a library, if any.
    """
    if request.mode == "nearest" or (library is not None and library.keeps_type):
        return src
    if src.name not in CROPPED_TYPES and not is_narrowed(src, element):
        rule = f"mode {request.mode!r} of crop_resize takes the element types {', '.join(CROPPED_TYPES)}, not {src}; "
        raise UnsupportedError(in_f32(rule, src))
    return as_dtype("f32")


def _by_kernels(
    target: ResultTarget, runs: Sequence[BoxRun], parts: Sequence[tuple[slice, Crops]], limits: Limits
) -> _CropPlan:
    """The plan with steps into the result if kernels can write it, else into a packed tensor that is copied there.

    That copy also writes the padding of a whole layout, and converts integer sums, which are s32 first where a result
    has less or more than 32 bits.
    """
    desc = target.site.desc
    is_strided = desc.strides is not None and all(
        stride > 0 for stride, size in zip(desc.strides, desc.sizes, strict=True) if size > 1
    )
    last, cropped, arithmetic = None, desc, target.arithmetic
    if desc.dtype.itemsize != 4 and any(crops.sums.shifts for _, crops in parts):
        cropped, arithmetic = packed(as_dtype("s32"), desc.sizes), NO_ARITHMETIC
        last = _copy_steps(Site(SOURCE, cropped), target, limits)
    elif not is_strided or (target.whole.is_whole and target.whole.is_padded):
        cropped = packed(desc.dtype, desc.sizes)
        last = _copy_steps(Site(SOURCE, cropped), target._replace(arithmetic=NO_ARITHMETIC), limits)
    starts = []
    for run in runs:
        steps = Steps(limits)
        src = Site(SOURCE, run.desc)
        if run.desc.strides is None:
            src = steps.copied(src)
        for boxes, crops in _parts_of_run(parts, run):
            dst = cropped if boxes == slice(0, desc.sizes[0]) else boxes_of(cropped, boxes)
            add_crops(steps, src, Site(RESULT, dst), crops, arithmetic, boxes.start)
        starts.append((run.tensor, steps))
    weight = 1 + sum(table_bytes(crops) for _, crops in parts) // 8192
    return _CropPlan(target.whole, tuple(starts), None if last is None else cropped, last, weight=weight)


def _parts_of_run(parts: Sequence[tuple[slice, Crops]], run: BoxRun) -> Iterator[tuple[slice, Crops]]:
    """Yield the parts that belong to a run's boxes, with their images."""
    for boxes, crops in parts:
        start, stop = max(boxes.start, run.boxes.start), min(boxes.stop, run.boxes.stop)
        if start < stop:
            images = None if run.images is None else run.images[start - run.boxes.start : stop - run.boxes.start]
            is_whole = (start, stop) == (boxes.start, boxes.stop)
            part = crops if is_whole else crops.part(slice(start - boxes.start, stop - boxes.start))
            yield slice(start, stop), part if images is None else replace(part, images=images)


def _copy_steps(cropped: Site, target: ResultTarget, limits: Limits) -> Steps:
    """Steps that copy all elements of ``cropped`` to the target, through its arithmetic."""
    steps = Steps(limits)
    steps.copy(cropped, target.site, target.whole, target.arithmetic)
    return steps
