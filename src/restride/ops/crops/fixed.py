"""Fixed: boxes summed in a library's integers, in one dispatch, or along one axis and then along the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from restride.arithmetic import NO_ARITHMETIC, Arithmetic
from restride.errors import UnsupportedError
from restride.layout import TensorDesc
from restride.ops.crops import passes
from restride.ops.crops.ruled import Way
from restride.plan import Conversion, Crops, boxes_of, fixed_crop_kernels, pixels_of_bytes, require_boxes
from restride.plan.steps import Site, Steps
from restride.weights import Shifts, ones


def add_fixed(steps: Steps, src: Site, dst: Site, crops: Crops, way: Way, done: Arithmetic, first: int = 0) -> None:
    """Steps that make ``dst``, of elements of 32 bits or ``pixels_of_bytes``, of the boxes of ``src``, strided too.

    first: the box that is index 0 of the scales.

    Raises:
        UnsupportedError: one box has too much between both axes.
    """
    if crops.few_taps:
        _add(steps, src, dst, crops, done, first)
        return
    count, front = crops.count, dst.desc.rank - src.desc.rank  # 1 where the source is one image
    rows, columns = (axis + front for axis in crops.axes)
    along, across = (rows, columns) if way.rows_first else (columns, rows)
    summed, other = (crops.rows, crops.columns) if way.rows_first else (crops.columns, crops.rows)
    low, many = other.span
    sizes = list(dst.desc.sizes)
    sizes[across] = many
    others = [axis for axis in range(1, len(sizes)) if axis not in (rows, columns)]
    pixels = pixels_of_bytes(tuple(sizes), others[-1] if others else None)
    between = pixels if way.rounds else TensorDesc("s32", sizes)
    if between.nbytes > passes.MOST_BETWEEN and count > 1:
        for part in (slice(0, count // 2), slice(count // 2, count)):
            its_dst = Site(dst.buffer, boxes_of(dst.desc, part))
            add_fixed(steps, src, its_dst, crops.part(part), way, done, first + part.start)
        return
    if between.nbytes > steps.limits.max_buffer_range:
        raise UnsupportedError(f"one box needs {between.nbytes} bytes between its two axes, for {src.desc}")
    kept = ones(low[:, np.newaxis] + np.arange(many), np.zeros((count, many), np.bool_), other.extent)
    shifts = crops.shifts if way.rounds else Shifts()
    one = replace(crops, rows=kept, columns=summed, axes=(across - front, along - front), shifts=shifts)
    size = summed.first.shape[1]
    kept = ones(np.tile(np.arange(size), (count, 1)), summed.is_fill, np.full((count, 1), size))
    fill = crops.fill if way.rounds else crops.fill.astype(np.int32)
    other = other.within(low, many)
    two = replace(crops, rows=kept, columns=other, axes=(along, across), images=np.arange(count), fill=fill)
    site = steps.new(between)
    _add(steps, src, site, one, NO_ARITHMETIC, first)
    _add(steps, site, dst, two, done, first)


def _add(steps: Steps, src: Site, dst: Site, crops: Crops, done: Arithmetic, first: int) -> None:
    conversion = Conversion(src.desc.dtype, dst.desc.dtype, done)
    require_boxes(src.desc, dst.desc, crops, conversion, steps.limits)
    steps.add(src, dst, lambda: tuple(fixed_crop_kernels(src.desc, dst.desc, crops, conversion, steps.limits, first)))
