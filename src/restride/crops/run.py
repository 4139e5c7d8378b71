"""Run: a crop_resize from its arguments to its dispatches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt

from restride.arithmetic import NO_ARITHMETIC, Arithmetic
from restride.crops.arithmetic import numbers_of
from restride.crops.boxes import images_of_boxes, read_boxes, read_fill, read_flips
from restride.crops.chain import Chain
from restride.crops.fixed import add_fixed
from restride.crops.letterbox import PLACES, Letterboxed, placed
from restride.crops.passes import Cut, add_crops, few_taps, rows_and_columns
from restride.crops.ruled import RuledBoxes, Way, ruled_boxes
from restride.crops.source import Form, Run, Source, source_of
from restride.desc import TensorDesc
from restride.destination import Given, arithmetic_of_result, destination, element_type
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError, UnsupportedError
from restride.integers import counts
from restride.interpolation import INTERPOLATED_TYPES
from restride.layout import Layout, family
from restride.plan import Crops, boxes_of
from restride.profiles import chosen
from restride.remembered import remembered
from restride.sampling import Choice, Rules
from restride.sampling.choice import require_choice
from restride.steps import RESULT, SOURCE, Site, Steps
from restride.tensor import Tensor, empty

CROPPED_TYPES = tuple(name for name in INTERPOLATED_TYPES if name not in ("s32", "u32"))
"""Element types that can be interpolated: f32 has their numbers, so that a box of the result's sizes stays as it is."""


NO_CHOICE: dict[str, Any] = dict.fromkeys(("mode", "coordinates", "nearest", "cubic_a", "antialias", "exclude_outside"))

_NUMBERS: dict[str, Any] = {
    **dict.fromkeys(("src_scale", "src_zero_point", "dst_scale", "dst_zero_point", "post_ops")),
    "rounding": "nearest_even",
    "saturate": True,
}


class Asked(NamedTuple):
    """The arguments of ``rs.crop_resize`` besides its source, boxes and sizes.

    choice: those of ``restride.profiles.chosen``. numbers: those of ``restride.arithmetic.arithmetic``. places: where
    boxes of integers lie in their outputs, y0, x0, y1, x1, beyond which they may go; None: as ``letterbox`` says.
    """

    axes: Iterable[SupportsIndex] | None
    images: Iterable[SupportsIndex] | None = None
    units: str = "pixels"
    flip: Any = None
    fill: Any = 0
    letterbox: str | None = None
    like: str | None = None
    choice: dict[str, Any] = NO_CHOICE
    mean: Any = None
    std: Any = None
    layout: Layout = None
    dtype: Any = None
    numbers: dict[str, Any] = _NUMBERS
    places: list[tuple[int, int, int, int]] | None = None


class _Target(NamedTuple):
    """Where the result goes: its layout, its elements in the axes of boxes and image, and what is done to them."""

    dst: TensorDesc
    site: Site
    arithmetic: Arithmetic

    @property
    def is_direct(self) -> bool:
        """True where a kernel of crops can write it: by strides above 0, without padding."""
        strides = self.site.desc.strides
        is_strided = strides is not None and all(
            stride > 0 for stride, size in zip(strides, self.site.desc.sizes, strict=True) if size > 1
        )
        return is_strided and not self.dst.is_padded


def crop(x: Any, boxes: Any, sizes: Any, asked: Asked, out: Tensor | None) -> tuple[Tensor, Letterboxed | None]:
    """The result, and where boxes lie in it if they are letterboxed."""
    source = source_of(x, asked.axes, asked.images is not None, out)
    form = source.form
    where = form.desc.__str__
    edges = read_boxes(boxes, asked.units, where)
    count, size = len(edges), _sizes(sizes, form.desc)
    images = images_of_boxes(asked.images, count, source.images, source.is_list, where)
    places = _places(edges, size, asked.letterbox, where) if asked.places is None else np.array(asked.places, np.int64)
    cut = Cut(edges, asked.units, places, read_flips(asked.flip, count, where))
    choice, rules = _choice(asked, cut, form.desc)
    fill = read_fill(asked.fill, form.desc, form.channels)
    ruled = None if rules is None else ruled_boxes(cut, form, rules, is_moved=choice.mode == "nearest")
    made_type = _made_type(form.desc, choice, None if ruled is None else rules)
    planned = {
        "form": form,
        "made": TensorDesc(made_type, form.result_sizes(count, size)),
        "out": None if out is None else Given(out.desc, is_shared=False),
        "mean": asked.mean,
        "std": asked.std,
        "layout": asked.layout,
        "dtype": asked.dtype,
        **asked.numbers,
    }
    target: _Target = remembered(_target, planned)
    result = empty(target.dst, source.tensors[0].device) if out is None else out
    if not target.dst.numel:
        _copy(result, target.site, result, target)
    elif ruled is not None and ruled.ways is None:
        chain = Chain(source, cut, images, fill, asked.like, asked.choice)
        _copy(chain.made(form.result_sizes(count, size), made_type), target.site, result, target)
    else:
        _by_boxes(source, cut, images, size, choice, ruled, fill, target, result)
    return result, Letterboxed(edges, cut.places, cut.flipped) if asked.letterbox is not None else None


def _sizes(sizes: Any, src: TensorDesc) -> tuple[int, int]:
    given = counts("sizes", sizes, src.__str__)
    if len(given) != 2 or 0 in given:
        raise DescriptorError(f"sizes must be a height and a width of 1 or more, got {given}, for {src}")
    return given[0], given[1]


def _places(edges: npt.NDArray[Any], size: tuple[int, int], letterbox: str | None, where: Any) -> npt.NDArray[np.int64]:
    """Where each box lies in its output: y0, x0, y1, x1."""
    if letterbox is None:
        return np.tile(np.array((0, 0, *size), np.int64), (len(edges), 1))
    if letterbox not in PLACES:
        raise UnsupportedError(f"letterbox {letterbox!r} is not one of {', '.join(map(repr, PLACES))}, for {where()}")
    if edges.dtype.kind != "i":
        raise DescriptorError(f"letterbox goes with boxes of integers in pixels, not of floats, for {where()}")
    its_sizes = (edges[:, 2:] - edges[:, :2]).tolist()
    places = [placed((height, width), size, letterbox) for height, width in its_sizes]
    return np.array(places, np.int64).reshape(-1, 4)


def _choice(asked: Asked, cut: Cut, src: TensorDesc) -> tuple[Choice, Rules | None]:
    given = dict(asked.choice)
    if not cut.is_exact:
        if given["antialias"] or given["coordinates"] not in (None, "tf_crop_and_resize"):
            raise DescriptorError(
                f"boxes of floats have coordinates 'tf_crop_and_resize' and no antialias, not "
                f"{given['coordinates']!r} and {given['antialias']!r}, for {src}"
            )
        if asked.like is not None:
            raise DescriptorError(
                f"like {asked.like!r} goes with boxes of integers in pixels, not of floats, for {src}"
            )
        return Choice(**{name: value for name, value in given.items() if value is not None}), None
    if given["coordinates"] == "tf_crop_and_resize":
        raise DescriptorError(f"coordinates 'tf_crop_and_resize' goes with boxes of floats, for {src}")
    choice, rules = chosen(asked.like, given, src.dtype.name, src.__str__)
    if rules is None:
        require_choice(choice, src.__str__)  # here, for there may be no box to be resampled
    return choice, rules


def _made_type(src: TensorDesc, choice: Choice, rules: Rules | None) -> str:
    """The type in which the boxes are made, before the arithmetic. rules: a library's, if these make them."""
    if choice.mode == "nearest" or (rules is not None and rules.keeps_type):
        return src.dtype.name
    if src.dtype.name not in CROPPED_TYPES:
        raise UnsupportedError(
            f"mode {choice.mode!r} of crop_resize has the element types {', '.join(CROPPED_TYPES)}, not {src.dtype} of "
            f"{src}; rs.reorder converts: dtype='f32'"
        )
    return "f32"


def _target(
    form: Form,
    made: TensorDesc,
    out: Given | None,
    mean: Any,
    std: Any,
    layout: Layout,
    dtype: Any,
    **numbers: Any,
) -> _Target:
    """Where boxes go that are made as ``made`` says. numbers: of ``restride.arithmetic.arithmetic``."""
    src = form.desc
    is_normalized = mean is not None or std is not None
    says_type = dtype is not None or out is not None or "[" in str(layout)
    result = TensorDesc(src.dtype, made.sizes)
    its_type = as_dtype("f32") if is_normalized and not says_type else element_type(result, layout, dtype, out)
    default = _family(form, made.sizes, its_type)
    dst, site = destination(default, layout, result, out, default, its_type)
    if is_normalized:
        numbers = numbers_of(mean, std, form, its_type, layout, numbers)
    done = arithmetic_of_result(made, dst, layout, numbers)
    if made.dtype != src.dtype and done.is_conversion and src.dtype == its_type and its_type.name in ("f16", "f8e5m2"):
        done = replace(done, saturate=False)
    return _Target(dst, Site(RESULT, site.desc), done)


def _family(form: Form, sizes: tuple[int, ...], dtype: DType) -> TensorDesc:
    """The layout of the source for a result: its order of axes, boxes outermost where it is one image."""
    src = form.desc
    if form.first:
        return family(src, sizes, dtype)
    order = src.minor_to_major if src.strides is not None else None
    outward = range(src.rank)[::-1] if order is None else order
    return TensorDesc.xla(dtype, sizes, [*(axis + 1 for axis in outward), 0])


def _by_boxes(
    source: Source,
    cut: Cut,
    images: npt.NDArray[np.int64],
    size: tuple[int, int],
    choice: Choice,
    ruled: RuledBoxes | None,
    fill: npt.NDArray[Any],
    target: _Target,
    result: Tensor,
) -> None:
    """The boxes, by kernels of crops, into the result or into a packed tensor that is copied there.

    Sums of integers become elements of less or more than 32 bits in that copy, and are s32 before.
    """
    device, desc, form = result.device, target.site.desc, source.form
    fills = np.ascontiguousarray(np.broadcast_to(fill.ravel(), (form.last_other,)))
    runs = list(source.runs(images))
    extents = [run.form.extents for run in runs for _ in range(run.boxes.start, run.boxes.stop)]
    if ruled is None:
        rows, columns = rows_and_columns(cut, extents, size, choice, str(form.desc))
        whole_crops = Crops(rows, columns, form.axes, None, fills, few_taps(choice))
        parts = [(slice(0, len(images)), whole_crops, Way())]
    else:
        parts = list(ruled.parts(cut, extents, size, form.axes, fills))
    is_last = desc.dtype.itemsize == 4 or not any(way.shifts for _, _, way in parts)
    made, done = result, target.arithmetic
    if not is_last:
        made, done = empty(TensorDesc("s32", desc.sizes), device), NO_ARITHMETIC
    elif not target.is_direct:
        made = empty(TensorDesc(desc.dtype, desc.sizes), device)
    whole = made.desc if made is not result else desc
    with device.batch() if source.is_list else nullcontext():
        for run in runs:
            steps = Steps(device.limits)
            src = Site(SOURCE, run.image.desc)
            if src.desc.strides is None:
                tiled, src = src, steps.new(TensorDesc(src.desc.dtype, src.desc.sizes))
                steps.copy(tiled, src)
            for its, crops, way in _of_run(parts, run):
                dst = Site(RESULT, boxes_of(whole, its))
                if way.shifts is None:
                    add_crops(steps, src, dst, crops, done, its.start)
                else:
                    add_fixed(steps, src, dst, crops, way, done, its.start)
            device.run(steps, run.image.memory, made.memory)
        if not is_last:
            _copy(made, target.site, result, target)
        elif made is not result:
            steps = Steps(device.limits)
            steps.copy(Site(SOURCE, made.desc), target.site, target.dst)
            device.run(steps, made.memory, result.memory)


def _of_run(parts: list[tuple[slice, Crops, Way]], run: Run) -> Iterator[tuple[slice, Crops, Way]]:
    """What of the parts is boxes of a run, and their images."""
    for boxes, crops, way in parts:
        start, stop = max(boxes.start, run.boxes.start), min(boxes.stop, run.boxes.stop)
        if start < stop:
            images = None if run.images is None else run.images[start - run.boxes.start : stop - run.boxes.start]
            its = crops.part(slice(start - boxes.start, stop - boxes.start))
            yield slice(start, stop), replace(its, images=images), way


def _copy(made: Tensor, site: Site, result: Tensor, target: _Target) -> None:
    """All elements of ``made`` to the result, through the arithmetic."""
    steps = Steps(result.device.limits)
    steps.copy(Site(SOURCE, made.desc) if made is not result else site, site, target.dst, target.arithmetic)
    result.device.run(steps, made.memory, result.memory)
