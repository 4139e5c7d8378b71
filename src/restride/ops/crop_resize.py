"""crop_resize: many boxes of images, each resized to the same sizes, flipped, converted and laid out.

The images of a call become ``Images``, their layouts, and its boxes become ``Boxes``, each with a place in the outputs.
The plan has the weights of both axes of every box (rows of a filter or of a library), the kernels of
``restride.plan.crops`` that sum with them, and the copy that the destination may need after them. Where a library sums
in a way that no kernel of crops has, boxes go through single operations, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from itertools import groupby, pairwise
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt

from restride.arguments import integers
from restride.arithmetic import NO_ARITHMETIC, Numbers, Rounding, numbers, require_of_type
from restride.dtypes import DType, DTypeLike, as_dtype
from restride.errors import DescriptorError, ErrorContext, UnsupportedError, prefixed
from restride.kernel import Limits
from restride.layout import TensorDesc
from restride.layout.argument import Layout, family
from restride.ops.boxes import Boxes, Flip, read_boxes, read_flips, read_sizes, refuse_floats
from restride.ops.letterbox import Place, places_of
from restride.ops.plan import cached, source_beside
from restride.ops.quantize import in_axes_of_result, normalizing_scales
from restride.ops.reorder import reorder
from restride.ops.resample import INTERPOLATED_TYPES, resample
from restride.ops.target import Out, Target, element_type, element_with_room, target_of_sums
from restride.plan.crops import MOST_TAPS_OF_BOX, Crops, Sums, add_crops, boxes_of
from restride.plan.problem import MOST_CHANNELS
from restride.plan.steps import RESULT, SOURCE, Site, Steps
from restride.tensor.arrays import asarray
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor, empty
from restride.weights import (
    DEFAULTS,
    BoxRows,
    LibraryRows,
    Request,
    Rows,
    Rules,
    Shifts,
    box_rows,
    resizing,
    rows_of_sizes,
)
from restride.weights.coordinates import CoordinatesRule
from restride.weights.filters import NearestRule
from restride.weights.like.libraries import Library, ModeName

CROPPED_TYPES = tuple(name for name in INTERPOLATED_TYPES if name not in ("s32", "u32"))
"""Element types that can be interpolated: f32 has all their numbers, so a box of the result's sizes is unchanged."""

_BATCH_RANK = 4
"""Axes of a batch: images, rows, columns and channels. One image may have as many, but seldom does."""

_PLACES_OF_WEIGHTS = 22
"""Binary places of weights where a library rounds after each axis: one number, so that boxes share dispatches."""

_MOST_WEIGHTS = 1 << 28
"""Most weights of the rows and columns of all boxes of a call, computed at once: they take 1 GB on the host."""

_LEAST_TAPS = 16
"""Fewest weights that a row or a column counts as: its other data take as much memory."""

_MOST_OF_LIBRARY = 1 << 26
"""Most rows and columns, before and after, of all differently sized boxes with a library's weights: 10 s of work."""

_Indices = Iterable[SupportsIndex] | None


def crop_resize(
    x: Any,
    boxes: Any,
    sizes: Iterable[SupportsIndex],
    *,
    letterbox: Place | None = None,
    images: _Indices = None,
    units: str = "pixels",
    axes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    coordinates: CoordinatesRule | None = None,
    nearest: NearestRule | None = None,
    cubic_a: float | None = None,
    antialias: bool | None = None,
    exclude_outside: bool | None = None,
    like: Library | None = None,
    flip: Flip = None,
    fill: Any = 0,
    mean: Any = None,
    std: Any = None,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
    src_scale: Any = None,
    src_zero_point: Any = None,
    dst_scale: Any = None,
    dst_zero_point: Any = None,
    post_ops: Iterable[tuple[Any, ...]] | None = None,
    rounding: Rounding = "nearest_even",
    saturate: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """Cut out many boxes; resize each to ``sizes``, flip, convert and lay it out. docs/crop_resize.md draws it.

    The result of a box is bit for bit that of single operations: pad the image with ``fill``, slice the box out,
    ``resample`` it, flip it, pad it again where it is letterboxed, then the arithmetic, type and layout of ``reorder``.
    Boxes, sizes and images may change at every call: nothing is compiled again, except for boxes that are resized one
    by one.

    Args:
        x: one image, a batch with the images along axis 0 and ``images`` given, or a list of images of one type that
            may differ in rows and columns; each a Tensor or what ``rs.asarray`` takes.
        boxes: (boxes, 4) numbers y0, x0, y1, x1, an array or a Tensor, which is read back. Integers in pixels are the
            slice ``[y0:y1, x0:x1]``, also where it leaves the image. Floats, and normalized boxes, are read as in
            "tf_crop_and_resize": the first output reads at y0 and the last at y1, in pixels from centre to centre;
            what is beyond the first or last centre is ``fill``, and a box may be inverted. For floats x0, y0, x1, y1 of
            a detector give ``np.rint(boxes[:, [1, 0, 3, 2]]).astype(np.int64)``.
        sizes: height and width of every result.
        letterbox: for boxes of integers: keep each box's aspect and make it as large as fits, at the "center" or
            "top_left"; the rest is ``fill``. ``Letterboxed.of`` maps points of the result back to the images.
        images: index of the image of each box, along axis 0 of a batch or in a list; default: ``x`` is one image, or
            box i is of image i of a list.
        units: "pixels", or "normalized": 0 is the first centre, 1 the last. Without it normalized boxes are taken as
            pixels, all within the first one, without an error.
        axes: rows and columns, as axes of ``x``, or of each image of a list; default: the last two.
        mode: this and the following as in ``resample``, for each box.
        coordinates: as in ``resample``, for boxes of integers only.
        nearest: as in ``resample``.
        cubic_a: as in ``resample``.
        antialias: as in ``resample``, for boxes of integers only.
        exclude_outside: as in ``resample``; what is outside the box counts as outside.
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
            channels before rows and columns; "NCHW" alone changes memory only, and the axes stay as they are.
        dtype: element type of the result; default: that of ``out``, of ``layout`` where it says one, or of ``x``.
        src_scale: this and the following as in ``resample``, broadcast against the sizes of the result.
        src_zero_point: as in ``resample``.
        dst_scale: as in ``resample``.
        dst_zero_point: as in ``resample``.
        post_ops: as in ``resample``.
        rounding: as in ``resample``.
        saturate: as in ``resample``.
        out: the tensor to write to instead, which must not share a buffer with an image.

    Raises:
        DescriptorError: a box is not finite, too far out or of no pixel; arguments do not fit each other or ``x``.
        UnsupportedError: an unknown mode, ``coordinates``, ``nearest`` or library; an element type that cannot be
            interpolated; or one box with its result is more than a dispatch can do.
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
    return cropped(
        x,
        out,
        boxes=np.asarray(boxes) if isinstance(boxes, Tensor) else boxes,
        sizes=sizes,
        letterbox=letterbox,
        images=images,
        units=units,
        axes=axes,
        mode=mode,
        coordinates=coordinates,
        nearest=nearest,
        cubic_a=cubic_a,
        antialias=antialias,
        exclude_outside=exclude_outside,
        like=like,
        flip=flip,
        fill=fill,
        mean=mean,
        std=std,
        layout=layout,
        dtype=dtype,
        src_scale=src_scale,
        src_zero_point=src_zero_point,
        dst_scale=dst_scale,
        dst_zero_point=dst_zero_point,
        post_ops=post_ops,
        rounding=rounding,
        saturate=saturate,
    )


def cropped(x: Any, out: Tensor | None, *, axes: _Indices, images: _Indices, **arguments: Any) -> Tensor:
    """The result of ``crop_resize``.

    The argument ``places`` may give y0, x0, y1, x1 of each box of integers in its output, also beyond the output.
    """
    tensors, source = _images_of(x, axes, images is not None, out)
    device = tensors[0].device
    arguments["source"] = source
    arguments["images"] = images
    arguments["out"] = None if out is None else Out(out.desc, is_shared=False)
    arguments["limits"] = device.limits
    try:
        plan = cached(_crop_plan, **arguments)
    except (DescriptorError, UnsupportedError) as error:
        error.add_descriptor(source.desc)
        raise
    return plan.run(tensors, device, out)


# What boxes are cut from: one image, a batch or a list of images, with their axes of rows, columns and channels.


class Images(NamedTuple):
    """The layouts of the images of a call: one image, a batch, or a list of images.

    axes: those of rows and columns. first: the first axis of an image, 1 in a batch, else 0.
    """

    descs: tuple[TensorDesc, ...]
    axes: tuple[int, int]
    first: int = 0
    is_list: bool = False

    @property
    def desc(self) -> TensorDesc:
        """The descriptor of the first tensor."""
        return self.descs[0]

    @property
    def number(self) -> int:
        """Number of images."""
        return self.desc.sizes[0] if self.first else len(self.descs)

    @property
    def others(self) -> tuple[int, ...]:
        """The axes of an image beside rows and columns."""
        return tuple(axis for axis in range(self.first, self.desc.rank) if axis not in self.axes)

    @property
    def channel(self) -> int | None:
        """The axis of the channels, the one beside rows and columns; None: there is none, or there are more."""
        others = self.others
        return others[0] if len(others) == 1 else None

    @property
    def last_other(self) -> int:
        """Elements along the last axis beside rows and columns; 1 if there is none."""
        others = self.others
        return self.desc.sizes[others[-1]] if others else 1

    def extents(self, desc: TensorDesc) -> tuple[int, int]:
        """Rows and columns of an image in one of the tensors."""
        return desc.sizes[self.axes[0]], desc.sizes[self.axes[1]]

    def result_sizes(self, boxes: int, sizes: Sequence[int]) -> tuple[int, ...]:
        """Sizes of the result: the boxes, then an image, its rows and columns resized."""
        image = list(self.desc.sizes)
        for axis, size in zip(self.axes, sizes, strict=True):
            image[axis] = size
        return (boxes, *image[self.first :])

    def resized(self, sizes: tuple[int, int]) -> Images:
        """The first tensor alone; if packed, with images of ``sizes``, so that images of any sizes share a target."""
        desc = self.desc
        if desc.strides is not None and desc.is_packed:
            new = list(desc.sizes)
            new[self.axes[0]], new[self.axes[1]] = sizes
            desc = TensorDesc.xla(desc.dtype, new, desc.minor_to_major)
        return Images((desc,), self.axes, self.first)

    def runs(self, images: npt.NDArray[np.int64]) -> Iterator[_Run]:
        """Yield the boxes in order, those of a list cut where the image changes. images: index of each box's image."""
        if not self.is_list:
            yield _Run(slice(0, len(images)), 0, self.desc, images if self.first else None)
            return
        cuts = [0, *(np.flatnonzero(images[1:] != images[:-1]) + 1).tolist(), len(images)]
        for start, stop in pairwise(cuts):
            if start < stop:
                image = int(images[start])
                yield _Run(slice(start, stop), image, self.descs[image], None)


class _Run(NamedTuple):
    """Neighbouring boxes of one tensor, which may share a dispatch. images: in a batch, index of each box's image."""

    boxes: slice
    tensor: int
    desc: TensorDesc
    images: npt.NDArray[np.int64] | None


def _images_of(x: Any, axes: _Indices, is_batch: bool, out: Tensor | None) -> tuple[tuple[Tensor, ...], Images]:
    """The tensors of ``x``, on the device of ``out`` or of the first one, and how images lie in them.

    Raises:
        DescriptorError: an empty list, or one of several types or ranks; no elements; axes not of rows and columns; or
            ``out`` shares the memory of an image.
    """
    is_list = isinstance(x, list | tuple)
    if is_list and not x:
        raise DescriptorError("x must have an image, got an empty list")
    tensors = tuple(_tensors(x, out)) if is_list else (source_beside(x, out),)
    desc = tensors[0].desc
    for place, tensor in enumerate(tensors):
        name = f"x[{place}]" if is_list else "x"
        if (tensor.dtype, tensor.desc.rank) != (desc.dtype, desc.rank) or tensor.device is not tensors[0].device:
            raise DescriptorError(
                f"{name} {tensor.desc} must have the type, the number of axes and the device of x[0] {desc}"
            )
        if not tensor.desc.numel:
            raise DescriptorError(f"{name} {tensor.desc} has no elements to cut boxes from")
        if out is not None and out.memory is tensor.memory:
            raise DescriptorError(f"out {out.desc} must have another buffer than {name} {tensor.desc}")
    first = int(is_batch and not is_list)
    source = Images(tuple(tensor.desc for tensor in tensors), _axes(axes, desc, first), first, is_list)
    for place, other in enumerate(source.descs):
        if source._replace(descs=(other,)).result_sizes(0, (1, 1)) != source.result_sizes(0, (1, 1)):
            raise DescriptorError(f"x[{place}] {other} may differ from x[0] {desc} in rows and columns alone")
    return tensors, source


def _tensors(images: Sequence[Any], out: Tensor | None) -> Iterator[Tensor]:
    for place, image in enumerate(images):
        with prefixed(f"x[{place}]"):
            yield source_beside(image, out)


def _axes(axes: _Indices, desc: TensorDesc, first: int) -> tuple[int, int]:
    rank = desc.rank
    if rank < first + 2:
        raise DescriptorError(f"x {desc} must have rows and columns{', behind the axis of the images' * first}")
    if axes is None:
        if rank > first + 2 and desc.sizes[-1] <= MOST_CHANNELS < desc.sizes[-2]:
            raise DescriptorError(
                f"the last axes of x {desc} look like columns and channels: say axes=({rank - 3}, {rank - 2}), or "
                f"axes=({rank - 2}, {rank - 1}) if they are not{'' if first else _batch_remedy(desc)}"
            )
        return rank - 2, rank - 1
    with ErrorContext(desc):
        both = integers("axes", axes)
    counted = [axis + rank if axis < 0 else axis for axis in both]
    if len(counted) != 2 or not first <= counted[0] < counted[1] < rank:
        raise DescriptorError(
            f"axes {both} must be two of an image, rows before columns, each in [{first}, {rank}), for {desc}"
        )
    return counted[0], counted[1]


def _batch_remedy(desc: TensorDesc) -> str:
    """The end of an error message if one image seems to be a batch; else empty."""
    return "; a batch needs images=, the image of each box" if desc.rank == _BATCH_RANK else ""


def _image_indices(images: _Indices, boxes: int, source: Images) -> npt.NDArray[np.int64]:
    """The image of each box."""
    if images is None:
        if source.is_list and boxes != source.number:
            raise DescriptorError(f"images must say the image of each of {boxes} boxes, for a list of {source.number}")
        return np.arange(boxes) if source.is_list else np.zeros(boxes, np.int64)
    index = np.array(integers("images", images), np.int64)
    if len(index) != boxes:
        raise DescriptorError(f"images must be one for each of {boxes} boxes, got {len(index)}")
    outside = np.flatnonzero((index < 0) | (index >= source.number))
    if len(outside):
        box = int(outside[0])
        raise DescriptorError(f"images[{box}] = {index[box]} is outside [0, {source.number}) of the images")
    return index


def _per_channel(argument: str, value: Any, source: Images) -> npt.NDArray[Any]:
    """``value`` as one number, or one for each channel of an image.

    Raises:
        DescriptorError: not numbers, or not as many as channels.
    """
    array = numbers(argument, value)
    channels = None if source.channel is None else source.desc.sizes[source.channel]
    if array.ndim > 1 or (array.ndim and array.size not in (1, channels)):
        many = "one number" if channels is None else f"one number, or one for each of {channels} channels"
        remedy = _batch_remedy(source.desc) if channels is None else ""
        raise DescriptorError(f"{argument} must be {many}, got shape {array.shape}{remedy}")
    return array


def _read_fill(fill: Any, source: Images) -> npt.NDArray[Any]:
    """``fill`` as elements of the images' type: one, or one for each channel."""
    dtype = source.desc.dtype
    array = _per_channel("fill", fill, source)
    if not dtype.is_float:
        require_of_type("fill", array, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(dtype.dtype)


# The rows of weights of both axes of every box: those of a filter, or of a library's own rules.


def _settled_request(request: Request, boxes: Boxes, src: TensorDesc) -> tuple[Request, Rules | None]:
    if not boxes.is_exact:
        if request.antialias:
            refuse_floats("antialias", boxes.units)
        if request.coordinates not in (None, "tf_crop_and_resize"):
            refuse_floats(f"coordinates {request.coordinates!r}", boxes.units)
        if request.like is not None:
            refuse_floats(f"like {request.like!r}", boxes.units)
        return request._replace(coordinates=None).settled(src.dtype.name)  # each box has its own roi
    if request.coordinates == "tf_crop_and_resize":
        raise DescriptorError("coordinates 'tf_crop_and_resize' goes with boxes of floats")
    return request.settled(src.dtype.name)


def _roi(edges: npt.NDArray[np.float64], extents: tuple[int, int], units: str, box: int) -> tuple[Fraction, ...]:
    """The edges of a box of floats as the ``roi`` of a resample: 0 and 1 are the first and the last element.

    A float counts as the decimal number that prints it.
    """
    exact = [Fraction(repr(edge)) for edge in edges.tolist()]
    if units == "pixels":
        if 1 in extents:
            raise UnsupportedError(
                f"boxes[{box}] {tuple(edges.tolist())} in pixels needs two rows and two columns or more, not {extents}"
            )
        exact = [edge / (extent - 1) for edge, extent in zip(exact, (*extents, *extents), strict=True)]
    return tuple(exact)


def _rows_of_boxes(boxes: Boxes, extents: Sequence[tuple[int, int]], request: Request) -> list[tuple[Rows, ...]]:
    """For each box, the rows of weights along rows and columns. extents: rows and columns of each box's image."""
    if boxes.is_exact:
        return [
            (rows_of_sizes(request, old[0], new[0]), rows_of_sizes(request, old[1], new[1]))
            for old, new in zip(boxes.sizes, boxes.resized, strict=True)
        ]
    request = request._replace(coordinates="tf_crop_and_resize")
    rows = []
    for box, (edges, extent, new) in enumerate(zip(boxes.edges, extents, boxes.resized, strict=True)):
        roi = _roi(edges, extent, boxes.units, box)
        rows.append(resizing(extent, request._replace(sizes=new, roi=roi)).rows)
    return rows


def _by_filters(
    boxes: Boxes,
    source: Images,
    extents: Sequence[tuple[int, int]],
    sizes: tuple[int, int],
    request: Request,
    fill: Any,
) -> Crops:
    """The crops of all boxes by the rows of a filter, without the ``images``.

    Raises:
        UnsupportedError: one output reads more than an invocation sums.
    """
    few_taps = 0 if request.antialias else {"linear": 2, "cubic": 4}.get(request.mode, 0)
    rows = _rows_of_boxes(boxes, extents, request)
    sides = [boxes.sides(rows, axis) for axis in (0, 1)]
    most = [max(side.rows.taps for side in of_axis) for of_axis in sides]
    if max(most) > MOST_TAPS_OF_BOX:
        raise UnsupportedError(f"a box has {max(most)} taps along one axis, more than {MOST_TAPS_OF_BOX}")
    _require_few_weights(len(rows), sizes, most)
    each = [[extent[axis] for extent in extents] for axis in (0, 1)]
    if few_taps and sizes[0] == sizes[1]:  # both axes at once: arrays so small cost by their number
        both = box_rows(sides[0] + sides[1], sizes[0], each[0] + each[1], least=few_taps)
        count = len(rows)
        of_rows, of_columns = both.part(slice(0, count)), both.part(slice(count, 2 * count))
    else:
        of_rows, of_columns = (
            box_rows(sides[axis], sizes[axis], each[axis], least=max(few_taps, 1)) for axis in (0, 1)
        )
    return Crops(of_rows, of_columns, source.axes, None, fill, few_taps)


def _require_few_weights(boxes: int, sizes: tuple[int, int], taps: Sequence[int] = (1, 1)) -> None:
    """Require that boxes resized to ``sizes``, with ``taps`` along rows and columns, have few enough weights.

    Raises:
        UnsupportedError: the weights are more than one call makes.
    """
    weights = boxes * sum(size * max(each, _LEAST_TAPS) for size, each in zip(sizes, taps, strict=True))
    if weights > _MOST_WEIGHTS:
        raise UnsupportedError(
            f"one call makes at most {_MOST_WEIGHTS} weights, of {_LEAST_TAPS} taps or more for each row and column, "
            f"and {boxes} boxes to sizes {sizes} have {weights}: give some of the boxes at a time"
        )


class _LibraryBoxes(NamedTuple):
    """Boxes with rows by a library's rules. sums: how kernels sum each box; None: single operations resize them."""

    libraries: list[LibraryRows]
    sums: list[Sums] | None

    def parts(
        self, boxes: Boxes, extents: list[tuple[int, int]], sizes: tuple[int, int], axes: tuple[int, int], fill: Any
    ) -> Iterator[tuple[slice, Crops]]:
        """Yield neighbouring boxes that are summed alike, and their crops without the ``images``.

        Raises:
            UnsupportedError: they have too many weights.
        """
        both = zip(*(library_rows.rows for library_rows in self.libraries), strict=True)
        _require_few_weights(len(self.libraries), sizes, [max(rows.taps for rows in of_axis) for of_axis in both])
        for summed, members in groupby(enumerate(self.sums or ()), lambda place: place[1]):
            together = [box for box, _ in members]
            part = slice(together[0], together[-1] + 1)
            rows, columns = (self._rows(axis, summed, part, boxes, extents, sizes[axis]) for axis in (0, 1))
            is_fused = summed.shifts is not None and max(rows.taps, columns.taps) <= 2 and not summed.rounds
            yield part, Crops(rows, columns, axes, None, fill, 2 if is_fused else 0, summed)

    def _rows(
        self, axis: int, sums: Sums, part: slice, boxes: Boxes, extents: list[tuple[int, int]], size: int
    ) -> BoxRows:
        sides = boxes.sides([library_rows.rows for library_rows in self.libraries[part]], axis, part)
        least, places = 1 if sums.shifts is None else 2, _PLACES_OF_WEIGHTS if sums.rounds else None
        return box_rows(sides, size, [extent[axis] for extent in extents[part]], least=least, places=places)


def _by_library(boxes: Boxes, source: Images, rules: Rules, *, is_moved: bool) -> _LibraryBoxes | None:
    """The boxes, whose edges are integers, by a library's rules; None: rows of a filter resize them, unrounded.

    is_moved: elements are moved, not summed.
    """
    axes = (source.axes[0] - source.first, source.axes[1] - source.first)
    known: dict[tuple[tuple[int, int], tuple[int, int]], tuple[LibraryRows | None, Sums | None]] = {}
    pairs = list(zip(boxes.sizes, boxes.resized, strict=True))
    different = dict.fromkeys(pairs)
    total = sum(sum(old) + sum(new) for old, new in different)
    if total > _MOST_OF_LIBRARY:
        raise UnsupportedError(
            f"like makes the weights of {len(different)} different boxes with {total} rows and columns before and "
            f"after, more than {_MOST_OF_LIBRARY} of one call: give some of the boxes at a time"
        )
    for old, new in different:
        _, *piece = source.result_sizes(1, old)  # a library may look at channels
        library_rows = rules.rows(rules.request(tuple(piece), axes, old, new, (None, None)))
        known[old, new] = library_rows, None if library_rows is None else _summing_of(library_rows, rules)
    libraries = [library_rows for library_rows, _ in map(known.__getitem__, pairs) if library_rows is not None]
    if not pairs or (not libraries and (is_moved or not rules.keeps_type)):
        return None
    sums = [summed for _, summed in map(known.__getitem__, pairs) if summed is not None]
    return _LibraryBoxes(libraries, sums if len(sums) == len(pairs) else None)


def _summing_of(library_rows: LibraryRows, rules: Rules) -> Sums | None:
    """How kernels of crops sum a box as a library does; None: they cannot.

    Bytes are summed in integers in one of two ways. In OpenCV's, sums along columns are exact and those along rows are
    shifted. In that of Pillow and torch, sums along one axis are rounded to bytes before those along the other.
    """
    rows, columns = library_rows.rows
    if rows.moves and columns.moves:
        return Sums(moves=True)
    rows_first = library_rows.order == (0, 1)
    is_one_kind = rows.moves == columns.moves and (rows.shifts is None) == (columns.shifts is None)
    has_more = library_rows.scale is not None or library_rows.rounding is not None or rules.clips
    if not is_one_kind or has_more or max(rows.taps, columns.taps) > MOST_TAPS_OF_BOX:
        return None
    if rows.shifts is None or columns.shifts is None:
        return None if rules.keeps_type or rows_first else Sums(in_order=rows.in_order)
    if columns.shifts == Shifts():
        return None if rows_first else Sums(shifts=rows.shifts)
    if any(side != Shifts(total=side.total, bits=8) for side in (rows.shifts, columns.shifts)):
        return None
    return Sums(shifts=Shifts(total=_PLACES_OF_WEIGHTS, bits=8), rounds=True, rows_first=rows_first)


# The target: where the result is written, and with which arithmetic.


def _target(
    source: Images, cropped: TensorDesc, out: Out | None, mean: Any, std: Any, layout: Layout, dtype: Any, **others: Any
) -> Target:
    """The target of resized boxes that are ``cropped``. others: arguments of ``restride.arithmetic.arithmetic``."""
    src = source.desc
    is_normalized = mean is not None or std is not None
    says_type = dtype is not None or out is not None or "[" in str(layout)
    result_dtype = as_dtype("f32")
    if says_type or not is_normalized:
        result_dtype = element_type(TensorDesc(src.dtype, cropped.sizes), layout, dtype, out)
    if is_normalized:
        others = normalized(mean, std, source, result_dtype, layout, others)
    result = _family(source, cropped.sizes, result_dtype)
    return target_of_sums(src, cropped, result, layout, out, Numbers(**others), moves=cropped.dtype == src.dtype)


def _family(source: Images, sizes: tuple[int, ...], dtype: DType) -> TensorDesc:
    """The layout of a result in the images' order of axes; without an axis of images, the boxes are outermost."""
    src = source.desc
    if source.first:
        return family(src, sizes, dtype)
    order = src.minor_to_major if src.strides is not None else None
    outward = range(src.rank)[::-1] if order is None else order
    return TensorDesc.xla(dtype, sizes, [*(axis + 1 for axis in outward), 0])


def normalized(
    mean: Any, std: Any, source: Images, dtype: DType, layout: Layout, others: dict[str, Any]
) -> dict[str, Any]:
    """``others``, the arguments of ``reorder``, with the arithmetic of ``mean`` and ``std``.

    Raises:
        DescriptorError: a result of integers, other scales or zero points beside them, or what ``normalizing_scales``
            refuses.
    """
    src = source.desc
    for name in ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point"):
        if others.get(name) is not None:
            raise DescriptorError(f"mean and std say scales and zero points, and so does {name}")
    if not dtype.is_float:
        raise DescriptorError(f"mean and std make floats, and dtype is {dtype}")

    def read(argument: str, value: Any) -> npt.NDArray[Any]:
        values = _per_channel(argument, value, source)
        if values.size == 1 or source.channel is None:
            return values.reshape(())
        return values.reshape([-1, *[1] * (src.rank - 1 - source.channel)])

    arguments = normalizing_scales(0.0 if mean is None else mean, 1.0 if std is None else std, src.dtype, read)
    scales = in_axes_of_result(arguments, TensorDesc(dtype, source.result_sizes(1, (1, 1))), layout)
    return {**others, **dict(zip(Numbers._fields[:4], scales, strict=False))}


# The plan, which depends on layouts and arguments, not on elements.


class _CropPlan(NamedTuple):
    """The plan of a call for images of certain layouts.

    dst: the layout of the result. starts: the index of a tensor of images, and the steps that read it. cropped: the
    layout that these or ``chain`` write, from which ``last`` makes the result; None: they write the result. weight: in
    the cache of plans, 1 and 1 more for each 8 KB of tables.
    """

    boxes: Boxes
    dst: TensorDesc
    starts: tuple[tuple[int, Steps], ...] = ()
    cropped: TensorDesc | None = None
    last: Steps | None = None
    chain: _Chain | None = None
    weight: int = 1

    def run(self, tensors: tuple[Tensor, ...], device: Device, out: Tensor | None) -> Tensor:
        """The result, in a new tensor or in ``out``."""
        result = empty(self.dst, device) if out is None else out
        cropped = result if self.cropped is None else empty(self.cropped, device)
        if self.chain is not None:
            self.chain.run(tensors, cropped)
        with device.batch() if len(self.starts) > 1 else nullcontext():
            for tensor, steps in self.starts:
                device.run(steps, tensors[tensor].memory, cropped.memory)
            if self.last is not None:
                device.run(self.last, cropped.memory, result.memory)
        return result


def _crop_plan(
    source: Images,
    out: Out | None,
    limits: Limits,
    *,
    boxes: Any,
    sizes: Any,
    images: _Indices,
    units: str = "pixels",
    flip: Any = None,
    fill: Any = 0,
    letterbox: Place | None = None,
    places: list[tuple[int, int, int, int]] | None = None,
    like: Library | None = None,
    mean: Any = None,
    std: Any = None,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
    **others: Any,
) -> _CropPlan:
    """The plan of ``crop_resize``. others: fields of ``Request``, and the arguments of ``arithmetic``."""
    src = source.desc
    edges = read_boxes(boxes, units)
    count, size = len(edges), read_sizes(sizes)
    of_images = _image_indices(images, count, source)
    of_outputs = places_of(edges, units, size, letterbox) if places is None else np.array(places, np.int64)
    cut = Boxes(edges, units, of_outputs, read_flips(flip, count))
    options = {name: others.pop(name) for name in DEFAULTS if name in others}
    request, rules = _settled_request(Request(like=like, **options), cut, src)
    elements = _read_fill(fill, source)
    result_sizes = source.result_sizes(count, size)
    element_with_room(src, result_sizes, layout, dtype, out, limits)
    _require_few_weights(count, size)
    library = None if rules is None else _by_library(cut, source, rules, is_moved=request.mode == "nearest")
    cropped_dtype = _resized_dtype(src, request, None if library is None and count else rules)
    cropped = TensorDesc(cropped_dtype, result_sizes)
    of_target = {
        "source": source.resized(size),
        "cropped": cropped,
        "out": out,
        "mean": mean,
        "std": std,
        "layout": layout,
        "dtype": dtype,
        **others,
    }
    target = cached(_target, **of_target)
    if not target.whole.numel:
        return _CropPlan(cut, target.whole, last=_copy_steps(target.site, target, limits))
    if library is not None and library.sums is None:
        chain = _Chain(source, cut, of_images, elements, like, options)
        return _CropPlan(
            cut, target.whole, cropped=cropped, last=_copy_steps(Site(SOURCE, cropped), target, limits), chain=chain
        )
    runs = list(source.runs(of_images))
    extents = [source.extents(run.desc) for run in runs for _ in range(run.boxes.start, run.boxes.stop)]
    fills = np.full(source.last_other, elements.ravel(), elements.dtype)
    if library is None:
        parts = [(slice(0, count), _by_filters(cut, source, extents, size, request, fills))]
    else:
        parts = list(library.parts(cut, extents, size, source.axes, fills))
    return _by_kernels(_CropPlan(cut, target.whole), runs, parts, target, limits)


def _resized_dtype(src: TensorDesc, request: Request, rules: Rules | None) -> DType:
    """The element type of resized boxes before the arithmetic. rules: a library's, if the boxes follow them."""
    if request.mode == "nearest" or (rules is not None and rules.keeps_type):
        return src.dtype
    if src.dtype.name not in CROPPED_TYPES:
        raise UnsupportedError(
            f"mode {request.mode!r} of crop_resize has the element types {', '.join(CROPPED_TYPES)}, not "
            f"{src.dtype}; rs.reorder converts: dtype='f32'"
        )
    return as_dtype("f32")


def _by_kernels(
    plan: _CropPlan, runs: Sequence[_Run], parts: Sequence[tuple[slice, Crops]], target: Target, limits: Limits
) -> _CropPlan:
    """``plan`` with steps into the result if kernels can write it, else into a packed tensor that is copied there.

    That copy also writes the padding of a whole layout, and converts integer sums, which are s32 first where a result
    has less or more than 32 bits.
    """
    desc = target.site.desc
    is_strided = desc.strides is not None and all(
        stride > 0 for stride, size in zip(desc.strides, desc.sizes, strict=True) if size > 1
    )
    last, cropped, arithmetic = None, desc, target.arithmetic
    if desc.dtype.itemsize != 4 and any(crops.sums.shifts for _, crops in parts):
        cropped, arithmetic = TensorDesc(as_dtype("s32"), desc.sizes), NO_ARITHMETIC
        last = _copy_steps(Site(SOURCE, cropped), target, limits)
    elif not is_strided or (target.whole.is_whole and target.whole.is_padded):
        cropped = TensorDesc(desc.dtype, desc.sizes)
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
    weight = 1 + sum(crops.nbytes for _, crops in parts) // 8192
    return plan._replace(starts=tuple(starts), cropped=None if last is None else cropped, last=last, weight=weight)


def _parts_of_run(parts: Sequence[tuple[slice, Crops]], run: _Run) -> Iterator[tuple[slice, Crops]]:
    """Yield the parts that lie in a run's boxes, with their images."""
    for boxes, crops in parts:
        start, stop = max(boxes.start, run.boxes.start), min(boxes.stop, run.boxes.stop)
        if start < stop:
            images = None if run.images is None else run.images[start - run.boxes.start : stop - run.boxes.start]
            is_whole = (start, stop) == (boxes.start, boxes.stop)
            part = crops if is_whole else crops.part(slice(start - boxes.start, stop - boxes.start))
            yield slice(start, stop), part if images is None else replace(part, images=images)


def _copy_steps(cropped: Site, target: Target, limits: Limits) -> Steps:
    """Steps that copy all elements of ``cropped`` to the target, through its arithmetic."""
    steps = Steps(limits)
    steps.copy(cropped, target.site, target.whole, target.arithmetic)
    return steps


# Boxes by single operations, one after the other, where a library sums as no kernel of crops does.


def _visible_part(start: int, stop: int, size: int, flipped: bool) -> tuple[slice, slice]:
    """The part of ``size`` outputs that a box from ``start`` to ``stop`` covers, and the part of the box that is there.

    From -58 to 283 of 224 outputs it covers all, with its own 58 to 282; or 59 to 283 if it is written backwards.
    """
    place = slice(max(start, 0), min(stop, size))
    if flipped:
        return place, slice(stop - place.stop, stop - place.start)
    return place, slice(place.start - start, place.stop - start)


class _Chain(NamedTuple):
    """Boxes, and the arguments of the resampling that each of them goes through."""

    source: Images
    boxes: Boxes
    images: npt.NDArray[np.int64]
    fill: npt.NDArray[Any]
    like: Library | None
    choice: dict[str, Any]

    def run(self, tensors: tuple[Tensor, ...], cropped: Tensor) -> None:
        """Write all boxes, before the arithmetic, to ``cropped``, a packed tensor."""
        first, sizes, places = self.source.first, cropped.sizes, self.boxes.places
        axes = self.source.axes[0] - first, self.source.axes[1] - first
        choice = {name: value for name, value in self.choice.items() if value is not None}
        with cropped.device.batch():
            if (places[:, :2] > 0).any() or (places[:, 2:] < [sizes[axis + 1] for axis in axes]).any():
                reorder(self._filled(sizes, cropped.device), out=cropped)
            for box, place in enumerate(places.tolist()):
                flips = self.boxes.flipped[box].tolist()
                each = zip(place[:2], place[2:], axes, flips, strict=True)
                parts = [_visible_part(start, stop, sizes[axis + 1], flip) for start, stop, axis, flip in each]
                out = cropped[(box, *_image_index(axes, [part for part, _ in parts]))]
                resample(
                    self._piece(tensors, box, axes),
                    [place[2] - place[0], place[3] - place[1]],
                    axes=axes,
                    like=self.like,
                    window=[window for _, window in parts],
                    out=out[_image_index(axes, [slice(None, None, -1 if flip else 1) for flip in flips])],
                    **choice,
                )

    def _piece(self, tensors: tuple[Tensor, ...], box: int, axes: tuple[int, int]) -> Tensor:
        """The elements of a box of its image, with ``fill`` where the box leaves the image."""
        index = int(self.images[box])
        image = tensors[0][index] if self.source.first else tensors[index if self.source.is_list else 0]
        y0, x0, y1, x1 = self.boxes.edges[box].tolist()
        bounds = ((y0, y1), (x0, x1))
        extents = [image.sizes[axis] for axis in axes]
        inside = [(max(low, 0), min(high, extent)) for (low, high), extent in zip(bounds, extents, strict=True)]
        present = image[_image_index(axes, [slice(low, max(low, high)) for low, high in inside])]
        sizes = list(image.sizes)
        for axis, (low, high) in zip(axes, bounds, strict=True):
            sizes[axis] = high - low
        if present.sizes == tuple(sizes):
            return present
        piece = reorder(self._filled(tuple(sizes), image.device))
        if present.desc.numel:
            ranges = [slice(a - low, b - low) for (a, b), (low, _) in zip(inside, bounds, strict=True)]
            reorder(present, out=piece[_image_index(axes, ranges)])
        return piece

    def _filled(self, sizes: tuple[int, ...], device: Device) -> Tensor:
        """``fill`` broadcast to ``sizes``, without memory for each element."""
        fill = self.fill
        if fill.ndim and self.source.channel is not None:
            fill = fill.reshape(-1, *[1] * (self.source.desc.rank - 1 - self.source.channel))
        return asarray(np.ascontiguousarray(fill), device=device).broadcast_to(sizes)


def _image_index(axes: tuple[int, int], slices: list[slice]) -> tuple[slice, ...]:
    """An index of an image that has these slices along rows and columns."""
    index = [slice(None)] * (axes[1] + 1)
    for axis, part in zip(axes, slices, strict=True):
        index[axis] = part
    return tuple(index)
