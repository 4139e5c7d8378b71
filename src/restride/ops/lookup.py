"""lookup: replaces bytes by their entries in a table, such as colours or exactly normalised numbers, in any layout."""

from __future__ import annotations

from typing import Any, NamedTuple, SupportsIndex

from restride.arguments import check_keywords, integer
from restride.dtypes import DTypeLike, as_dtype, cast
from restride.errors import DescriptorError, ErrorContext, prefixed
from restride.kernel import Limits
from restride.layout import TensorDesc
from restride.layout.argument import Layout
from restride.ops.operation import Operation, Window
from restride.ops.perform import Plan, perform, source_beside
from restride.ops.target import Out, destination, read_layout
from restride.plan.lookup import ENTRIES, INDEXED, LookupTable
from restride.plan.steps import SOURCE, Site, Steps
from restride.tensor.arrays import host_array
from restride.tensor.tensor import Tensor


@check_keywords
def lookup(
    x: Any,
    table: Any,
    *,
    axis: SupportsIndex | None = None,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The entry of a table for each element: ``table[x]``, or ``table[i, x]`` at index i of ``axis``, in one dispatch.

    The result has the bits of the table's entries, NaN and its payload included, on every device: no arithmetic is
    done there. So a table that the host computes in a library's own order of operations gives that library's bits.
    Another table of the same type and rows compiles nothing.

    Args:
        x: u8 or s8, a Tensor or what ``rs.asarray`` takes. An element of s8 has the entry number element + 128, so a
            table is in the order of its arguments.
        table: [256], or with ``axis`` [sizes[axis], 256], an array of any element type on the host.
        axis: the axis of ``x`` whose indices choose the row of the table, even if ``layout`` permutes axes; negative
            ones count from the end. None: all elements share one row.
        layout: of the result, as in ``reorder``.
        dtype: element type of the result; default: that of the table. A table of another type is cast on the host, as
            numpy casts.
        out: where to write instead, as in ``reorder``, but not ``x`` itself.

    Example: as torchvision does it, divided by 255, the mean subtracted and then divided by the deviation.

    >>> table = (np.arange(256, dtype=np.float32) / np.float32(255) - np.float32(0.5)) / np.float32(0.25)
    >>> rs.lookup(np.array([[0, 51], [204, 255]], np.uint8), table).numpy().tolist()
    [[-2.0, -1.2000000476837158], [1.2000000476837158, 2.0]]
    >>> colours = np.stack([np.arange(256), 255 - np.arange(256)]).astype(np.uint8)
    >>> rs.lookup(np.array([[7, 7]], np.uint8), colours, axis=1).numpy().tolist()
    [[7, 248]]

    Raises:
        DescriptorError: ``x`` is neither u8 nor s8, the table has other sizes, the axis is wrong, or what ``reorder``
            refuses of ``layout``, ``dtype`` and ``out``.
        OutOfDeviceMemory: the device has no room for the result.

    Source: ONNX operators, Gather; OpenCV, LUT.
    """
    src = source_beside(x, out)
    return looking_up(src.desc, table, axis, layout, dtype).perform(src, out)


class LookingUp(NamedTuple):
    """An operation as a look-up: its table, and the layout of the result."""

    table: LookupTable
    layout: Layout

    def perform(self, x: object, out: Tensor | None) -> Tensor:
        """The result for ``x``."""
        return perform(lookup_plan, x, out, *self)

    def operation(self, src: TensorDesc) -> Lookup:
        """The operation for a source."""
        return Lookup(src, *self)


def looking_up(
    desc: TensorDesc,
    table: object,
    axis: SupportsIndex | None = None,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
) -> LookingUp:
    """``lookup`` for a source with the element type and sizes of ``desc``."""
    return LookingUp(read_table(desc, table, axis, dtype), layout)


def read_table(src: TensorDesc, table: object, axis: SupportsIndex | None, dtype: DTypeLike | None) -> LookupTable:
    """The table for a source, checked.

    Raises:
        DescriptorError: the source has no elements of 8 bits, or the table has other sizes than it needs.
    """
    with ErrorContext(src):
        if src.dtype.name not in INDEXED:
            raise DescriptorError(f"the source of lookup must be of {' or '.join(INDEXED)}, got {src.dtype}")
        place = None if axis is None else _axis(axis, src)
        with prefixed("table"):
            entries = host_array(table)
            element = as_dtype(entries.dtype) if dtype is None else as_dtype(dtype)
        wanted = (ENTRIES,) if place is None else (src.sizes[place], ENTRIES)
        if entries.shape != wanted:
            along = "" if place is None else f", a row for each index of axis {place}"
            hint = "; axis= says which axis has the rows" if place is None and entries.ndim == 2 else ""
            raise DescriptorError(f"table must have sizes {list(wanted)}{along}, got {list(entries.shape)}{hint}")
        if entries.dtype != element.dtype:
            entries = cast("table", entries, element)
        return LookupTable(element, place, entries.tobytes())


def _axis(axis: SupportsIndex, src: TensorDesc) -> int:
    place = integer("axis", axis)
    if not -src.rank <= place < src.rank:
        raise DescriptorError(f"axis {place} is outside [-{src.rank}, {src.rank})")
    return place % src.rank


def lookup_plan(src: TensorDesc, out: Out | None, limits: Limits, table: LookupTable, layout: Layout = None) -> Plan:
    """The plan of ``lookup``; if no strided walks describe both sides, the side without them is copied."""
    dst, site = destination(read_layout(src, layout, table.dtype), src, out)
    steps = Steps(limits)
    steps.look_up(Site(SOURCE, src), site, dst, table)
    return Plan(src, dst, steps)


class Lookup(Operation):
    """``lookup``; ``layout`` is None or a permutation "A->B"."""

    def __init__(self, src: TensorDesc, table: LookupTable, layout: Layout = None) -> None:
        asked = read_layout(src, layout, table.dtype)
        dst, _ = destination(asked, src, None)
        super().__init__(src, dst, asked.order)
        self._table, self._layout = table, layout

    def run(self, x: Tensor, window: Window) -> Tensor:
        axis = self._table.axis
        table = self._table if axis is None else self._table.window(self.reads(window)[axis])
        return perform(lookup_plan, x, None, table, self._layout)
