"""Run: a crop_resize from its arguments to its dispatches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt

from restride.arguments import require_word
from restride.arithmetic import NO_ARITHMETIC
from restride.dtypes import as_dtype
from restride.errors import DescriptorError, RestrideError, UnsupportedError
from restride.kernel import Limits
from restride.layout import TensorDesc
from restride.layout.argument import Layout
from restride.lru import Recent
from restride.ops.cache import remembered
from restride.ops.crops.boxes import images_of_boxes, read_boxes, read_fill, read_flips, read_sizes, refuse_floats
from restride.ops.crops.chain import Chain
from restride.ops.crops.letterbox import PLACES, Letterboxed, placed
from restride.ops.crops.passes import Cut, few_taps, rows_and_columns
from restride.ops.crops.ruled import RuledBoxes, ruled_boxes
from restride.ops.crops.source import Layouts, Run, source_of
from restride.ops.crops.target import Target, target_of
from restride.ops.resample import INTERPOLATED_TYPES
from restride.ops.target import Given
from restride.plan.crops import Crops, add_crops, boxes_of
from restride.plan.steps import RESULT, SOURCE, Site, Steps
from restride.tensor.tensor import Tensor, empty
from restride.weights import Choice, Rules
from restride.weights.like import chosen
from restride.weights.request import require_choice

CROPPED_TYPES = tuple(name for name in INTERPOLATED_TYPES if name not in ("s32", "u32"))
"""Element types that can be interpolated: f32 has their numbers, so that a box of the result's sizes stays as it is."""

_MOST_PLANNED = 16
"""Calls whose plans are found again; boxes are mostly others at every call."""

_MOST_KEPT_BYTES = 1 << 18
"""Parameters of a step that is kept: the tables of 16 boxes to 224 x 224 are 112 KB."""

_recent: Recent[_Planned] = Recent(_MOST_PLANNED)


NO_CHOICE: dict[str, Any] = dict.fromkeys(("mode", "coordinates", "nearest", "cubic_a", "antialias", "exclude_outside"))
"""Arguments of a resampling that nobody gave."""

_NUMBERS: dict[str, Any] = {
    **dict.fromkeys(("src_scale", "src_zero_point", "dst_scale", "dst_zero_point", "post_ops")),
    "rounding": "nearest_even",
    "saturate": True,
}


class Asked(NamedTuple):
    """The arguments of ``rs.crop_resize`` besides its source, boxes and sizes.

    choice: those of ``restride.weights.like.chosen``. numbers: those of ``restride.arithmetic.arithmetic``. places:
    where boxes of integers lie in their outputs, y0, x0, y1, x1, beyond which they may go; None: as ``letterbox`` says.
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


class _Planned(NamedTuple):
    """What becomes of images, whatever their elements are.

    chain: the boxes, packed, if a ``Chain`` makes them; else ``starts`` do, each of steps from so many a tensor of
    the source. made: what they are made in, before ``last`` brings them to the result; None: the result.
    """

    cut: Cut
    images: npt.NDArray[np.int64]
    fill: npt.NDArray[Any]
    dst: TensorDesc
    chain: TensorDesc | None
    starts: tuple[tuple[int, Steps], ...]
    made: TensorDesc | None
    last: Steps | None

    @property
    def letterboxed(self) -> Letterboxed:
        """Where boxes lie in the result, in arrays that may be changed."""
        return Letterboxed(self.cut.edges.copy(), self.cut.places.copy(), self.cut.flipped.copy())


def crop(x: Any, boxes: Any, sizes: Any, asked: Asked, out: Tensor | None) -> tuple[Tensor, Letterboxed | None]:
    """The result, and where boxes lie in it if they are letterboxed."""
    source = source_of(x, asked.axes, asked.images is not None, out)
    device = source.tensors[0].device
    arguments = {
        "source": source.layouts,
        "boxes": boxes,
        "sizes": sizes,
        "asked": asked._replace(axes=None),
        "out": None if out is None else Given(out.desc, is_shared=False),
        "limits": device.limits,
    }
    planned: _Planned = remembered(_planned, arguments, _recent)
    result = empty(planned.dst, device) if out is None else out
    if planned.chain is not None:
        chain = Chain(source, planned.cut, planned.images, planned.fill, asked.like, asked.choice)
        made = chain.made(planned.chain.sizes, planned.chain.dtype.name)
    else:
        made = result if planned.made is None else empty(planned.made, device)
    with device.batch() if source.is_list else nullcontext():
        for tensor, steps in planned.starts:
            device.run(steps, source.tensors[tensor].memory, made.memory)
        if planned.last is not None:
            device.run(planned.last, made.memory, result.memory)
    return result, None if asked.letterbox is None else planned.letterboxed


def _planned(source: Layouts, boxes: Any, sizes: Any, asked: Asked, out: Given | None, limits: Limits) -> _Planned:
    form = source.form
    where = form.desc.__str__
    edges = read_boxes(boxes, asked.units, where)
    count, size = len(edges), read_sizes(sizes, where)
    images = images_of_boxes(asked.images, count, source.images, source.is_list, where)
    places = _places(edges, size, asked, where) if asked.places is None else np.array(asked.places, np.int64)
    cut = Cut(edges, asked.units, places, read_flips(asked.flip, count, where))
    choice, rules = _choice(asked, cut, form.desc)
    fill = read_fill(asked.fill, form.desc, form.channels)
    ruled = None if rules is None else ruled_boxes(cut, form, rules, is_moved=choice.mode == "nearest")
    made_type = _made_type(form.desc, choice, None if ruled is None and count else rules)
    made = TensorDesc(as_dtype(made_type), form.result_sizes(count, size))
    its_target = {
        "form": form.resized(size),
        "made": made,
        "out": out,
        "mean": asked.mean,
        "std": asked.std,
        "layout": asked.layout,
        "dtype": asked.dtype,
        **asked.numbers,
    }
    try:
        target: Target = remembered(target_of, its_target)
    except RestrideError:
        target = target_of(**{**its_target, "form": form})  # once more: the message names the image
    planned = _Planned(cut, images, fill, target.dst, None, (), None, None)
    if not target.dst.numel:
        return planned._replace(last=_copied(target.site, target, limits))
    if ruled is not None and ruled.ways is None:
        return planned._replace(chain=made, last=_copied(Site(SOURCE, made), target, limits))
    return _by_boxes(planned, source, size, choice, ruled, target, limits)


def _places(edges: npt.NDArray[Any], size: tuple[int, int], asked: Asked, where: Any) -> npt.NDArray[np.int64]:
    """Where each box lies in its output: y0, x0, y1, x1."""
    letterbox = asked.letterbox
    require_word("letterbox", letterbox, (None, *PLACES), where)
    if letterbox is None:
        return np.tile(np.array((0, 0, *size), np.int64), (len(edges), 1))
    if edges.dtype.kind != "i":
        refuse_floats("letterbox", asked.units, where)
    its_sizes = (edges[:, 2:] - edges[:, :2]).tolist()
    places = [placed((height, width), size, letterbox) for height, width in its_sizes]
    return np.array(places, np.int64).reshape(-1, 4)


def _choice(asked: Asked, cut: Cut, src: TensorDesc) -> tuple[Choice, Rules | None]:
    given = dict(asked.choice)
    if not cut.is_exact:
        if given["antialias"]:
            refuse_floats("antialias", cut.units, src.__str__)
        if given["coordinates"] not in (None, "tf_crop_and_resize"):
            refuse_floats(f"coordinates {given['coordinates']!r}", cut.units, src.__str__)
        if asked.like is not None:
            refuse_floats(f"like {asked.like!r}", cut.units, src.__str__)
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


def _by_boxes(
    planned: _Planned,
    source: Layouts,
    size: tuple[int, int],
    choice: Choice,
    ruled: RuledBoxes | None,
    target: Target,
    limits: Limits,
) -> _Planned:
    """The boxes, by kernels of crops, into the result or into a packed tensor that is copied there.

    Sums of integers become elements of less or more than 32 bits in that copy, and are s32 before.
    """
    form, desc = source.form, target.site.desc
    fills = np.ascontiguousarray(np.broadcast_to(planned.fill.ravel(), (form.last_other,)))
    runs = list(source.runs(planned.images))
    extents = [run.form.extents for run in runs for _ in range(run.boxes.start, run.boxes.stop)]
    if ruled is None:
        rows, columns = rows_and_columns(planned.cut, extents, size, choice, str(form.desc))
        whole_crops = Crops(rows, columns, form.axes, None, fills, few_taps(choice))
        parts = [(slice(0, len(extents)), whole_crops)]
    else:
        parts = list(ruled.parts(planned.cut, extents, size, form.axes, fills))
    is_last = desc.dtype.itemsize == 4 or not any(crops.way.shifts for _, crops in parts)
    done = target.arithmetic if is_last else NO_ARITHMETIC
    made = TensorDesc(desc.dtype if is_last else "s32", desc.sizes)
    last = None
    if not is_last:
        last = _copied(Site(SOURCE, made), target, limits)
    elif not target.is_direct:
        last = Steps(limits)
        last.copy(Site(SOURCE, made), target.site, target.dst)
    whole = desc if last is None else made
    starts = []
    for run in runs:
        steps = Steps(limits, _MOST_KEPT_BYTES)
        src = Site(SOURCE, run.form.desc)
        if src.desc.strides is None:
            tiled, src = src, steps.new(TensorDesc(src.desc.dtype, src.desc.sizes))
            steps.copy(tiled, src)
        for its, crops in _of_run(parts, run):
            dst = Site(RESULT, whole if its == slice(0, len(extents)) else boxes_of(whole, its))
            add_crops(steps, src, dst, crops, done, its.start)
        starts.append((run.tensor, steps))
    return planned._replace(starts=tuple(starts), made=None if last is None else made, last=last)


def _of_run(parts: list[tuple[slice, Crops]], run: Run) -> Iterator[tuple[slice, Crops]]:
    """What of the parts is boxes of a run, and their images."""
    for boxes, crops in parts:
        start, stop = max(boxes.start, run.boxes.start), min(boxes.stop, run.boxes.stop)
        if start < stop:
            images = None if run.images is None else run.images[start - run.boxes.start : stop - run.boxes.start]
            is_whole = (start, stop) == (boxes.start, boxes.stop)
            its = crops if is_whole else crops.part(slice(start - boxes.start, stop - boxes.start))
            yield slice(start, stop), replace(its, images=images)


def _copied(made: Site, target: Target, limits: Limits) -> Steps:
    """All elements of what was made to the result, through the arithmetic."""
    steps = Steps(limits)
    steps.copy(made, target.site, target.dst, target.arithmetic)
    return steps
