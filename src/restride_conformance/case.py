"""A conformance case, which is one problem on one line of text, and the base class of the operations that cases name.

    slice f32[1,1,4,4]{3,2,1,0} -> f32[1,1,2,2]{3,2,1,0} offsets=(0,0,0,1) sizes=(1,1,4,3) strides=(1,1,-2,2)
    reorder u8[1,3,5,7]{3,2,1,0} -> u8[1,5,7,3]{3,2,1,0} permute=NCHW->NHWC
    resample u8[2,19,30]{2,1,0} -> u8[2,45,60]{2,1,0} mode=linear seed=3
    reorder f32[8,6]{1,0} -> f32[6,2]{0,1} view=[::-4].permute(1,0) data=index
    reorder u8[1,3,5,7]{1,3,2,0} -> f16[1,3,5,7]{3,2,1,0} src_scale=(1) src_zero_point=(1)
    resample u8[9,30]{1,0} -> f32[9,11]{1,0} mode=cubic sizes=(20) antialias=yes window=(5:16) src_scale=0.5
    resample_backward f32[8,8]{1,0} -> f32[4,3]{1,0} mode=area
    yuv_to_rgb u8[9,8]{1,0} -> u8[6,8,3]{2,1,0} format=i420 matrix=bt709
    pad f32[4,5]{1,0} -> f32[7,6]{1,0} before=(1,0) behind=(2,1) mode=reflect
    rearrange u8[6,4]{1,0} -> u8[3,8]{1,0} pattern=(h,s),w->h,(s,w) lengths=s=2
    lookup u8[4,6,3]{2,1,0} -> f32[3,4,6]{2,1,0} axes=(2) permute=HWC->CHW
    equal s64[3,5]{1,0} -> pred[3,5]{1,0} other=f64[5]{0} out=new

A line holds an operation, a source descriptor, a destination descriptor, the parameters that differ from their
defaults, and the seed of the source's values unless it is 0. The destination descriptor supplies the ``output_sizes``
of a slice, the ``sizes`` of a resample unless ``sizes=`` or ``scales=`` is written, the element type of a resample or
a reorder, and the input sizes of ``resample_backward``. Where a scale or a zero point is an array, its entries follow
from the seed (``restride_conformance.operations``).
Every operation also takes three parameters:

- ``view=``: steps applied to the source first (``restride_conformance.spelling``).
- ``data=``: the source's values: ``bits``, ``index``, ``image`` or ``edges``. By default, copies read any bit
  patterns, conversions read numbers near the limits and ties of the conversion, other operations read plain numbers.
- ``out=``: where the result goes if not to a separate destination buffer (``restride_conformance.spelling.read_out``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from inspect import signature
from typing import Any, TypeAlias, cast

import numpy as np

import restride as rs
from restride import reference
from restride.arguments import integer
from restride.dtypes import DTYPES, Array, DType
from restride.errors import DescriptorError, did_you_mean
from restride.layout import TensorDesc
from restride.layout.argument import Layout
from restride.request import LIBRARIES, MODES
from restride.tensor.tensor import Tensor
from restride_conformance.spelling import OneOf, Parameter, Sizes, Value, View, read_out, write

MAX_LINE = 4096
"""Maximum number of characters that a case may have."""

MAX_SLUG = 60
"""Maximum number of characters of a case's line that its name has."""


_EVERYWHERE = (
    Parameter("view", View.read),
    Parameter("data", OneOf("data", "index", "image", "edges", "bits"), moves=False),
    Parameter("out", read_out, moves=False),
)


@dataclass(frozen=True)
class Case:
    """One problem. ``==`` compares the canonical layouts; ``str`` gives the line as written, without defaults.

    Args:
        op: one of ``OPERATIONS``: ``"slice"``, ``"reorder"``, ``"resample"``, ...
        src: the layout of the source.
        dst: the layout of the destination; the operation must not change the bytes between its elements.
        parameters: pairs of name and value in any order; a value may also be its text, as in
            ``restride_conformance.spelling``.
        seed: 0 to 2^64 - 1; the source's values are a function of index, element type and seed, or of a later seed if
        the values of this one would prove nothing (``restride_conformance.setting.prepare``).

    Raises:
        DescriptorError: unknown operation, or a parameter that is unknown, missing or not well formed.
    """

    op: str
    src: TensorDesc
    dst: TensorDesc
    parameters: tuple[tuple[str, Value], ...] = ()
    seed: int = 0
    viewed: tuple[int, ...] = field(init=False, compare=False, repr=False)  # sizes of the source after the view

    def __post_init__(self) -> None:
        """Read the parameters, put them into the order of the operation and drop those that equal their defaults."""
        if self.op not in OPERATIONS:
            hint = did_you_mean(self.op, OPERATIONS)
            raise DescriptorError(f"operation {self.op!r} is unknown; known: {', '.join(OPERATIONS)}{hint}")
        if self.operation.keeps_type and self.src.dtype != self.dst.dtype:
            raise DescriptorError(
                f"source {self.src} and destination {self.dst} of a {self.op} must have the same element type"
            )
        if not 0 <= integer("seed", self.seed) < 1 << 64:
            raise DescriptorError(f"seed {self.seed} is outside [0, 2^64)")
        unread = dict(self.parameters)
        if len(unread) != len(self.parameters):
            raise DescriptorError(f"a parameter is given twice: {', '.join(name for name, _ in self.parameters)}")
        if unknown := [name for name in unread if name not in self.operation.named]:
            known = ", ".join([*self.operation.named, "seed"])
            hint = did_you_mean(unknown[0], self.operation.named)
            raise DescriptorError(f"{self.op} has no parameter {', '.join(unknown)}; it has {known}{hint}")
        view = View.read(write(unread["view"])) if "view" in unread else None
        object.__setattr__(self, "viewed", self.src.sizes if view is None else view.sizes(self.src.sizes))
        written: list[tuple[str, Value]] = []
        for name, parameter in self.operation.named.items():
            default = parameter.default_of(self.viewed, self.dst.sizes)
            if name in unread:
                value = parameter.canonical(parameter.read(write(unread.pop(name))), len(self.viewed))
                if value != default:
                    written.append((name, value))
            elif default is None and parameter.required:
                raise DescriptorError(f"{self.op} needs {name}=...")
        object.__setattr__(self, "parameters", tuple(written))
        if self.takes("mode") and self.takes("like"):
            OneOf("mode", *(MODES if self["like"] is None else LIBRARIES[self.word("like")].modes))(self.word("mode"))

    @property
    def operation(self) -> CheckedOperation:
        """The ``CheckedOperation`` that ``op`` names."""
        return OPERATIONS[self.op]

    @property
    def elements(self) -> int:
        """The number of elements of source and destination together; reports order failures by it."""
        return self.src.numel + self.dst.numel

    @property
    def name(self) -> str:
        """A name for files and other test runners, of letters, digits and ``_``: ``op.slug_hash8``.

        The hash tells apart lines whose slugs, cut to ``MAX_SLUG`` characters, are equal:
        ``"slice f32[5]{0} -> f32[2]{0} offsets=(0) sizes=(3) strides=(-2)"`` has the slug
        ``f32_5_0_f32_2_0_offsets_0_sizes_3_strides_2``, as with strides=(2).
        """
        line = str(self)
        slug = re.sub("[^0-9A-Za-z]+", "_", line.removeprefix(self.op)).strip("_")[:MAX_SLUG].strip("_")
        return f"{self.op}.{slug}_{sha256(line.encode()).hexdigest()[:8]}"

    def takes(self, name: str) -> bool:
        """True if the operation has this parameter."""
        return name in self.operation.named

    def __getitem__(self, name: str) -> Value | None:
        """The value of a parameter, or its default; None where it has neither."""
        if not self.takes(name):
            raise DescriptorError(f"{self.op} has no parameter {name}")
        default = self.operation.named[name].default_of(self.viewed, self.dst.sizes)
        return dict(self.parameters).get(name, default)

    def get(self, name: str) -> Value | None:
        """As ``case[name]``, but None where the operation does not have the parameter."""
        return self[name] if self.takes(name) else None

    def integers(self, name: str) -> tuple[int, ...]:
        """The value of a parameter that is a list of integers."""
        return cast("tuple[int, ...]", self[name])

    def word(self, name: str) -> str:
        """The value of a parameter that is a word."""
        return cast("str", self[name])

    def written(self, *names: str) -> dict[str, Any]:
        """The parameters among ``names`` that differ from their defaults; yes and no become True and False."""
        truths = {"yes": True, "no": False}
        chosen = ((name, value) for name, value in self.parameters if name in names)
        return {name: truths.get(value, value) if isinstance(value, str) else value for name, value in chosen}

    @property
    def useful_bytes(self) -> int:
        """Bytes of the elements that must be read and written, each counted once, whatever their layout.

        slice, reorder: one source element per element written, even where zero strides repeat it; with ``sum_scale``
        also one old element of the destination.
        resample: along each axis the elements that the result or its window spans, but at most one per element written
        (nearest), two (linear) or four (cubic): ``u8[100] -> u8[20]`` linear reads 40 and writes 20 bytes,
        ``u8[100] -> u8[400]`` reads 100 and writes 400. Mode area, ``antialias`` and filters of libraries that weigh
        more elements need the whole span. crop_resize: the same for each box.
        resample_backward: the whole gradient; yuv_to_rgb: whole frames.
        """
        passes = 2 if self.get("sum_scale") is not None else 1
        read = self.operation.elements_read(self)
        return read * self.src.dtype.itemsize + passes * self.dst.numel * self.dst.dtype.itemsize

    @property
    def view(self) -> View | None:
        """The view of the source that the operation reads; None for the source itself."""
        return cast("View | None", self["view"])

    def viewed_tensor(self, source: Tensor) -> Tensor:
        """The part of the source that the operation reads, through the public methods of ``Tensor``.

        Raises:
            DescriptorError: the tensor has no such view.
        """
        return source if self.view is None else self.view.of_tensor(source)

    def viewed_array(self, source: Array) -> Array:
        """The part of the source that the operation reads; numpy may copy if the view reshapes."""
        return source if self.view is None else self.view.of_array(source)

    @property
    def layout(self) -> Layout:
        """The ``layout`` argument of a call that allocates its destination."""
        out = self["out"]
        return self.dst if out == "new" else None if out == "default" else self.word("out")

    @classmethod
    def parse(cls, line: str) -> Case:
        """Read a case from a line whose words are separated by blanks; ``parse(str(case)) == case``.

        Raises:
            DescriptorError: the line does not follow the syntax; the message holds the line.
            UnsupportedError: a descriptor that this version does not read.
        """
        if len(line) > MAX_LINE:
            raise DescriptorError(f"a case has at most {MAX_LINE} characters, not {len(line)}: {line[:80]!r}...")
        words = line.split()
        if len(words) < 4 or words[2] != "->":
            raise DescriptorError(f"a case is written OPERATION SOURCE -> DESTINATION NAME=VALUE ..., not {line!r}")
        op, source, _, destination, *options = words
        try:
            parameters = [(name, value) for name, _, value in (option.partition("=") for option in options)]
            seeds = [value for name, value in parameters if name == "seed"]
            return cls(
                op,
                TensorDesc.parse(source),
                TensorDesc.parse(destination),
                tuple((name, value) for name, value in parameters if name != "seed"),
                _read_seed(seeds),
            )
        except DescriptorError as error:
            raise DescriptorError(f"{error}, in case {line!r}") from error

    def __str__(self) -> str:
        words = [self.op, str(self.src), "->", str(self.dst)]
        words += [f"{name}={write(value)}" for name, value in self.parameters]
        if self.seed:
            words.append(f"seed={self.seed}")
        return " ".join(words)


def _read_seed(values: list[str]) -> int:
    """The seed from the texts after each ``seed=``; 0 if there are none."""
    if len(values) > 1:
        raise DescriptorError(f"seed is given twice: {', '.join(values)}")
    if values and not re.fullmatch("[0-9]{1,20}", values[0]):
        raise DescriptorError(f"seed {values[0]!r} is not a number in [0, 2^64)")
    return int(values[0]) if values else 0


@dataclass(frozen=True, eq=False)
class Answer:
    """The permitted values of each element of a destination: ``lowest`` to ``highest``, both inclusive.

    Where both have the same bits, or the operation is exact, the result must have those bits; but where they are NaN
    and the operation is not exact, any NaN is right. Where ``highest`` alone is NaN, NaN and every value from
    ``lowest`` up are right.
    ``flushed``: the elements as a device computes them that flushes f32 denormals to zero; None: the same elements.
    """

    lowest: Array
    highest: Array
    flushed: Array | None = None


OperationCall: TypeAlias = Callable[[Tensor, Tensor | None], Tensor]
"""A function of a source and a destination (None: a new one) that returns the destination."""


class CheckedOperation:
    """An operation that cases can name: its parameters, sizes, numpy answer, tolerance and call on a device.

    Each subclass in ``restride_conformance.operations`` defines ``function``, ``parameters`` and ``sizes``. The other
    methods have a default that suits an operation which moves elements and takes ``out``, and perhaps ``layout`` and
    ``dtype``.
    ``source`` arguments already have the case's view applied.

    function: its name in ``restride`` and in ``restride.reference``, whose functions take the same arguments.
    parameters: in the order in which they are written, before ``view=``, ``data=`` and ``out=``.
    keeps_type: source and destination must have the same element type.
    converts: where the element types differ, elements of the source are converted to the destination's type; False for
        a comparison.
    """

    function: str
    parameters: tuple[Parameter, ...]
    keeps_type = False
    converts = True

    @cached_property
    def named(self) -> dict[str, Parameter]:
        """The parameters by name, including those that every operation has."""
        return {parameter.name: parameter for parameter in (*self.parameters, *_EVERYWHERE)}

    def sizes(self, case: Case) -> Sizes:
        """The sizes of the result; computes no element.

        Raises:
            DescriptorError: the parameters do not fit the source or each other.
        """
        raise NotImplementedError

    def arguments(self, case: Case) -> dict[str, Any]:
        """The arguments of both functions after the source: the parameters that differ from their defaults.

        Scales, zero points and the like (``operations.arguments``) and the arguments in ``destination`` are not
        included.
        """
        return case.written(*(parameter.name for parameter in self.parameters))

    def answer(self, case: Case, source: Array, _old: Array | None) -> Answer:
        """The right elements, by the reference; ``_old``: the destination's previous elements, if they are read."""
        right = getattr(reference, self.function)(source, **self.arguments(case))
        return Answer(right, right)

    def keywords(self, case: Case) -> dict[str, Any]:
        """The arguments of a call on the device after the source, without those of its destination."""
        return self.arguments(case)

    def call(self, case: Case) -> OperationCall:
        """A function of the viewed source that runs the operation on the device; its arguments are computed once."""
        function, named = getattr(rs, self.function), self.keywords(case)
        new = self.new(case) | named
        is_copied = "layout" not in signature(function).parameters

        def call(source: Tensor, out: Tensor | None) -> Tensor:
            result: Tensor = function(source, **new) if out is None else function(source, out=out, **named)
            return copied_to_destination(case, result, None) if out is None and is_copied else result

        return call

    def new(self, case: Case) -> dict[str, Any]:
        """The arguments for a new destination: its layout and type, if the function takes them."""
        known = signature(getattr(rs, self.function)).parameters
        return {name: value for name, value in (("layout", case.layout), ("dtype", case.dst.dtype)) if name in known}

    def moves(self, _case: Case) -> bool:
        """True if each element of the result comes from one element of the source, converted or not; False for sums."""
        return True

    def is_exact(self, _case: Case) -> bool:
        """True if the result must match the answer bit for bit, instead of being within its limits."""
        return True

    def tolerance(self, _case: Case) -> str:
        """One line with the limits and their origin; empty for an exact operation."""
        return ""

    def origins(self, case: Case, places: Array) -> Array:
        """For each element of the result, the entry of ``places`` at the source element that it comes from.

        ``places`` has the sizes of the viewed source. For a sum it is the nearest source element.
        """
        parameters = [(name, value) for name, value in case.parameters if self.named[name].moves]
        parameters += [("mode", "nearest")] if {"mode", "like"} <= self.named.keys() else []
        src, dst = (unplaced(DTYPES["s64"], desc.sizes) for desc in (case.src, case.dst))
        moving = replace(case, parameters=tuple(parameters), src=src, dst=dst)
        return self.answer(moving, places.astype(np.int64), None).lowest

    def elements_read(self, case: Case) -> int:
        """How many source elements it must read: by default one per element written, even if zero strides repeat it."""
        return case.dst.numel


def copied_to_destination(case: Case, result: Tensor, out: Tensor | None) -> Tensor:
    """The result as it is if the case has ``out=default``, else a copy in the destination that the case asks for."""
    if out is None and case["out"] == "default":
        return result
    return rs.reorder(result, None if out is not None else case.layout, out=out)


def unplaced(dtype: DType, sizes: Sizes) -> TensorDesc:
    """A descriptor with all strides 0, for the sizes of a view, which may have too many elements to be packed."""
    return TensorDesc(dtype, sizes, (0,) * len(sizes))


OPERATIONS: dict[str, CheckedOperation] = {}
"""Every operation by the first word of its cases; ``restride_conformance.operations`` fills it."""
