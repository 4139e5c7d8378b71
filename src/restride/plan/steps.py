"""Steps: an operation as kernels from buffer to buffer, planned from descriptors alone. Pure: no device is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import NamedTuple

from restride.kernel import ByteRange, KernelSpec, Limits
from restride.layout import TensorDesc
from restride.layout.tensor_desc import packed
from restride.layout.views import broadcast_to
from restride.plan.convert import convert_kernels
from restride.plan.copy import copy_kernels, run_copied
from restride.plan.fill import pad_kernels, padding_copy_kernels, padding_kernels
from restride.plan.lookup import LookupTable, lookup_kernels, lookup_walks
from restride.request.arithmetic import NO_ARITHMETIC, Arithmetic

SOURCE = 0
RESULT = 1
"""An operation's buffers have numbers: 0 its source, 1 its result, 2, 3, ... those between its steps."""

_MAX_KEPT_BYTES = 1 << 18
"""Maximum bytes of parameters for which a step keeps its kernels; building them again takes a quarter of a millisecond.

The tables of a cubic resize to 1080p have 96 KB, those of 16 boxes of 224 x 224 have 112 KB."""

_MOST_ELSEWHERE = 64
"""Maximum number of starts for which ``Step.at`` keeps a step; the kernels of these steps share their parameters."""


class Site(NamedTuple):
    """Elements in one of the buffers of an operation."""

    buffer: int
    desc: TensorDesc


@dataclass(slots=True, eq=False)
class Step:
    """One submission: its kernels, which ``make`` builds, read the buffer of ``src`` and write that of ``dst``.

    run: bytes to copy after the kernels; None: there are none to copy.
    held: the kernels, once ``kernels`` has built them, if their parameters are small.
    elsewhere: the steps that ``at`` keeps, by their starts.
    """

    src: Site
    dst: Site
    make: Callable[[], Iterable[KernelSpec]]
    run: ByteRange | None = None
    held: tuple[KernelSpec, ...] | None = None
    elsewhere: dict[tuple[int, int], Step] = field(default_factory=dict)

    def kernels(self) -> Iterable[KernelSpec]:
        """The kernels: held from the first call on if their parameters are small, else built on each call."""
        make = self.make  # read before ``held``: another thread may set both
        if self.held is not None:
            return self.held
        specs = make()
        if isinstance(specs, tuple) and sum(len(kernel.parameters) for kernel in specs) <= _MAX_KEPT_BYTES:
            self.held, self.make = specs, tuple
        return specs

    def at(self, starts: tuple[int, int]) -> Step:
        """This step for buffers of source and result that begin ``starts`` bytes later in their memories.

        A few such steps are kept: calls for the images of a batch, over and over, then use the same kernels, which a
        runtime keeps prepared.
        """
        step = self.elsewhere.get(starts)
        if step is None:
            of_src, of_dst = (starts[site.buffer] if site.buffer <= RESULT else 0 for site in (self.src, self.dst))

            def make() -> Iterable[KernelSpec]:
                specs = self.kernels()
                moved = (kernel.at((of_src, of_dst)) for kernel in specs)
                return tuple(moved) if isinstance(specs, tuple) else moved

            run = self.run and ByteRange(self.run.src_offset + of_src, self.run.dst_offset + of_dst, self.run.nbytes)
            step = Step(self.src, self.dst, make, run)
            if len(self.elsewhere) >= _MOST_ELSEWHERE:
                self.elsewhere.clear()
            self.elsewhere[starts] = step
        return step


class Between(NamedTuple):
    """A buffer that an operation allocates for itself, and the bytes uploaded into it first; None: no upload."""

    desc: TensorDesc
    contents: bytes | None


class Steps:
    """The steps of an operation on devices of these limits, in order, and the buffers 2, 3, ... between them."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.steps: list[Step] = []
        self.between: list[Between] = []

    def new(self, desc: TensorDesc, contents: bytes | None = None) -> Site:
        """Add a buffer between steps; returns a site that covers all of it."""
        self.between.append(Between(desc, contents))
        return Site(RESULT + len(self.between), desc)

    def add(self, src: Site, dst: Site, make: Callable[[], Iterable[KernelSpec]]) -> None:
        """Append a step whose kernels ``make`` builds."""
        self.steps.append(Step(src, dst, make))

    def copy(
        self, src: Site, dst: Site, whole: TensorDesc | None = None, arithmetic: Arithmetic = NO_ARITHMETIC
    ) -> None:
        """Append a step that copies every element of ``src`` to the same index of ``dst``; their sizes match.

        whole: the layout of the whole buffer of ``dst``, whose padding is written; None: the layout of ``dst``.
            Padding is written first, which also overwrites elements; so it is not written if a sum reads the old
            elements, or if ``dst`` is ``src``.
        arithmetic: applied to the elements, with scales in the axes of ``src`` and ``dst``.
        """
        padded = dst.desc if whole is None else whole
        in_place = dst == src and dst.desc.numel > 0
        is_copy = arithmetic.is_conversion and src.desc.dtype == dst.desc.dtype
        if (not src.desc.numel and not padded.is_whole) or (in_place and is_copy):
            return
        keeps_padding = in_place or arithmetic.sum_scale is not None
        may_run = is_copy and src.buffer != dst.buffer and self.limits.copies_runs
        run = run_copied(src.desc, dst.desc) if may_run else None

        def make() -> Iterable[KernelSpec]:
            if is_copy and run is None and padded == dst.desc:
                both = padding_copy_kernels(src.desc, dst.desc, self.limits)
                if both:
                    return both
            padding = () if keeps_padding else padding_kernels(padded, self.limits)
            if run is not None:
                return padding
            if is_copy:
                return together(padding, copy_kernels(src.desc, dst.desc, self.limits))
            return together(padding, convert_kernels(src.desc, dst.desc, arithmetic, self.limits))

        self.steps.append(Step(src, dst, make, run))

    def look_up(self, src: Site, dst: Site, whole: TensorDesc, table: LookupTable) -> None:
        """Append steps that write the entry of ``table`` for every element of ``src`` to the same index of ``dst``.

        If there are no strided walks from one to the other, the side that is not strided is copied.

        whole: the layout of the whole buffer of ``dst``, whose padding is written.
        """
        if not src.desc.numel:
            self.copy(src._replace(desc=packed(table.dtype, src.desc.sizes)), dst, whole)
            return
        cut_walks = lookup_walks(src.desc, dst.desc, table, self.limits)
        if cut_walks is None:
            between = dst if dst.desc.strides is not None else self.new(packed(table.dtype, dst.desc.sizes))
            self.look_up(src if src.desc.strides is not None else self.copied(src), between, between.desc, table)
            if between is not dst:
                self.copy(between, dst, whole)
            return
        kernels = partial(lookup_kernels, cut_walks, src.desc.dtype, table, self.limits)
        self.add(src, dst, lambda: together(padding_kernels(whole, self.limits), kernels()))

    def copied(self, src: Site, desc: TensorDesc | None = None) -> Site:
        """Append a copy of ``src`` into a new buffer that is laid out as ``desc``; None: packed."""
        copy = self.new(desc or packed(src.desc.dtype, src.desc.sizes))
        self.copy(src, copy)
        return copy

    def pad(self, src: Site, dst: Site, starts: Sequence[int], fill: bytes) -> None:
        """Append steps that copy ``src`` to a place inside ``dst``, and write the element ``fill`` everywhere else.

        starts: the index of ``dst`` where ``src`` begins. ``dst`` has strides and no padding of its own; a ``src``
        without strides is copied first.
        """
        if not src.desc.numel:
            value = self.new(packed(dst.desc.dtype, ()), fill)
            self.copy(Site(value.buffer, broadcast_to(value.desc, dst.desc.sizes)), dst)
            return
        if src.desc.strides is None:
            src = self.copied(src)
        bits = int.from_bytes(fill, "little")
        self.add(src, dst, partial(pad_kernels, src.desc, dst.desc, tuple(starts), bits, self.limits))


def together(*parts: Iterable[KernelSpec]) -> Iterable[KernelSpec]:
    """All kernels of the parts: a tuple if every part is a tuple, else an iterator that builds them one by one."""
    return tuple(chain(*parts)) if all(isinstance(part, tuple) for part in parts) else chain(*parts)
