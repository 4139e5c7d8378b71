"""A conformance case, one problem on one line of text, and the parameters that each operation takes.

    slice f32[1,1,4,4]{3,2,1,0} -> f32[1,1,2,2]{3,2,1,0} offsets=(0,0,0,1) sizes=(1,1,4,3) strides=(1,1,-2,2)
    reorder u8[1,3,5,7]{3,2,1,0} -> u8[1,5,7,3]{3,2,1,0} permute=NCHW->NHWC
    resample u8[2,19,30]{2,1,0} -> u8[2,45,60]{2,1,0} mode=linear seed=3
    reorder f32[8,6]{1,0} -> f32[6,2]{0,1} view=[::-4].permute(1,0) data=index
    reorder u8[1,3,5,7]{1,3,2,0} -> f16[1,3,5,7]{3,2,1,0} src_scale=(1) src_zero_point=(1)
    resample u8[9,30]{1,0} -> f32[9,11]{1,0} mode=cubic sizes=(20) antialias=yes window=(5:16) src_scale=0.5
    resample_backward f32[8,8]{1,0} -> f32[4,3]{1,0} mode=area
    yuv_to_rgb u8[9,8]{1,0} -> u8[6,8,3]{2,1,0} format=i420 matrix=bt709

An operation, a source descriptor, a destination descriptor, the parameters that differ from their defaults, and the
seed of the source's values unless it is 0. The destination says a slice's ``output_sizes``, a resample's ``sizes``,
unless they are written or ``scales`` give them, and its element type, a reorder's too, and the sizes that
``resample_backward`` goes back to. Where a scale or a zero point varies, its entries follow from the seed
(``restride_conformance.operations``).
Every operation takes ``view=``, what is done to the source first (``restride_conformance.spelling``); ``data=``,
what the source holds: any bits where they are copied, numbers aimed at the conversion where there is one, numbers
elsewhere; or ``bits``, ``index``, ``image`` or ``edges``;
and ``out=``, where the answer goes instead of to a destination of its own (``restride_conformance.spelling.read_out``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from restride.arguments import integer
from restride.arithmetic import ROUNDINGS
from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.ops.crop_resize import UNITS
from restride.ops.letterbox import PLACES
from restride.plan.yuv import FORMATS, MATRICES
from restride.weights import COORDINATES, MODES, NEAREST_RULES, POLICIES
from restride.weights.like import LIBRARIES
from restride_conformance.spelling import (
    Parameter,
    Value,
    View,
    Window,
    changed_axes,
    from_0,
    in_order,
    one_of,
    read_boxes,
    read_group_sizes,
    read_integers,
    read_number,
    read_numbers,
    read_out,
    read_permutation,
    read_post_ops,
    read_scale,
    write,
)

LONGEST_LINE = 4096
"""Characters of a case."""

_EVERYWHERE = (
    Parameter("view", View.read, optional=True),
    Parameter("data", one_of("data", "index", "image", "edges", "bits"), optional=True),
    Parameter("out", read_out, optional=True),
)

SCALES = ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point")
"""Parameters that are a number, or the axes along which an array varies."""


def _word(name: str, default: str, *others: str) -> Parameter:
    return Parameter(name, one_of(name, default, *others), lambda _src, _dst: default)


_EVERY_SCALE = tuple(Parameter(name, read_scale, optional=True, canonical=in_order) for name in SCALES)
_AFTER_SUM = (
    Parameter("post_ops", read_post_ops, optional=True),
    _word("rounding", *ROUNDINGS),
    _word("saturate", "yes", "no"),
)
_AFTER_SCALE = (Parameter("sum_scale", read_number, optional=True), *_AFTER_SUM)

ARITHMETIC = (
    *_EVERY_SCALE,
    Parameter("group_sizes", read_group_sizes, optional=True),
    *_AFTER_SCALE,
    _word("rounds_first", "no", "yes"),
)
"""Parameters that change values, not places. A resample has neither ``group_sizes`` nor ``rounds_first``."""

_RULES = (
    _word("coordinates", *COORDINATES),
    _word("nearest", *NEAREST_RULES),
    Parameter("cubic_a", read_number, lambda _src, _dst: -0.75),
    _word("antialias", "no", "yes"),
    _word("exclude_outside", "no", "yes"),
)

_SAMPLING = (
    Parameter("scales", read_numbers, optional=True),
    *_RULES,
    Parameter("roi", read_numbers, optional=True),
    Parameter("input_offsets", read_numbers, optional=True),
    Parameter("output_offsets", read_numbers, optional=True),
    _word("recompute_scale_factor", "no", "yes"),
)
"""What a resampling and its transpose share: the arguments of ``rs.resample`` of these names."""

_AXES = Parameter("axes", read_integers, changed_axes, canonical=from_0)
_LIKE = Parameter("like", one_of("like", *LIBRARIES), optional=True)


PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    "slice": (
        Parameter("offsets", read_integers),
        Parameter("sizes", read_integers),
        Parameter("strides", read_integers),
        *_EVERYWHERE,
    ),
    "reorder": (Parameter("permute", read_permutation, optional=True), *ARITHMETIC, *_EVERYWHERE),
    "resample": (
        Parameter("mode", str),
        _AXES,
        _LIKE,
        Parameter("sizes", read_integers, optional=True),
        *_SAMPLING,
        Parameter("extrapolation_value", read_number, lambda _src, _dst: 0.0),
        _word("keep_aspect_ratio_policy", *POLICIES),
        Parameter("window", Window.read, optional=True),
        *_EVERY_SCALE,
        *_AFTER_SCALE,
        *_EVERYWHERE,
    ),
    "resample_backward": (Parameter("mode", str), _AXES, _LIKE, *_SAMPLING, *_EVERYWHERE),
    "yuv_to_rgb": (
        _word("format", *FORMATS),
        _word("matrix", *MATRICES),
        _word("full_range", "no", "yes"),
        Parameter("like", one_of("like", "opencv"), optional=True),
        *_EVERYWHERE,
    ),
    "crop_resize": (
        Parameter("boxes", read_boxes),
        Parameter("axes", read_integers, canonical=from_0),
        Parameter("images", read_integers, optional=True),
        Parameter("mode", str),
        _LIKE,
        _word("units", *UNITS),
        Parameter("letterbox", one_of("letterbox", *PLACES), optional=True),
        Parameter("flip", str, lambda _src, _dst: "none"),
        Parameter("fill", read_numbers, lambda _src, _dst: (0,)),
        *_RULES,
        *_EVERY_SCALE,
        *_AFTER_SUM,
        *_EVERYWHERE,
    ),
}
"""The parameters of every operation, in the order in which they are written."""


@dataclass(frozen=True)
class Case:
    """One problem. ``==`` compares the canonical layouts; ``str`` gives what was written, defaults left out.

    Args:
        op: one of ``PARAMETERS``: ``"slice"``, ``"reorder"``, ``"resample"``, ...
        src: where the source's elements lie.
        dst: where the destination's elements lie; bytes between them must stay as they are.
        parameters: pairs of name and value, as in ``restride_conformance.spelling``, in any order; a value may be its
            text.
        seed: 0 to 2^64 - 1; the source's values are a function of index, element type and seed, or of a later seed
            where those would prove nothing (``restride_conformance.setting.prepare``).

    Raises:
        DescriptorError: unknown operation, or a parameter that is unknown, missing or not well formed.
    """

    op: str
    src: TensorDesc
    dst: TensorDesc
    parameters: tuple[tuple[str, Value], ...] = ()
    seed: int = 0
    viewed: tuple[int, ...] = field(init=False, compare=False, repr=False)  # the source's sizes behind the view

    def __post_init__(self) -> None:
        """Read the parameters, bring them into their written order and drop those that say the default."""
        if self.op not in PARAMETERS:
            raise DescriptorError(f"operation {self.op!r} is unknown; known: {', '.join(PARAMETERS)}")
        if self.src.dtype != self.dst.dtype and self.op == "slice":
            raise DescriptorError(
                f"source {self.src} and destination {self.dst} of a slice must have the same element type"
            )
        if not 0 <= integer("seed", self.seed) < 1 << 64:
            raise DescriptorError(f"seed {self.seed} is outside [0, 2^64)")
        unread = dict(self.parameters)
        if len(unread) != len(self.parameters):
            raise DescriptorError(f"a parameter is given twice: {', '.join(name for name, _ in self.parameters)}")
        view = View.read(write(unread["view"])) if "view" in unread else None
        object.__setattr__(self, "viewed", self.src.sizes if view is None else view.sizes(self.src.sizes))
        written: list[tuple[str, Value]] = []
        for parameter in PARAMETERS[self.op]:
            default = parameter.default(self.viewed, self.dst.sizes)
            if parameter.name in unread:
                value = parameter.canonical(parameter.read(write(unread.pop(parameter.name))), len(self.viewed))
                if value != default:
                    written.append((parameter.name, value))
            elif default is None and not parameter.optional:
                raise DescriptorError(f"{self.op} needs {parameter.name}=...")
        if unread:
            known = ", ".join([*(parameter.name for parameter in PARAMETERS[self.op]), "seed"])
            raise DescriptorError(f"{self.op} has no parameter {', '.join(unread)}; it has {known}")
        object.__setattr__(self, "parameters", tuple(written))
        if self.op in ("resample", "resample_backward", "crop_resize"):
            one_of("mode", *(MODES if self["like"] is None else LIBRARIES[self.word("like")].modes))(self.word("mode"))

    def __getitem__(self, name: str) -> Value | None:
        """The value of a parameter, written or by default; None where it is absent."""
        for parameter in PARAMETERS[self.op]:
            if parameter.name == name:
                return dict(self.parameters).get(name, parameter.default(self.viewed, self.dst.sizes))
        raise DescriptorError(f"{self.op} has no parameter {name}")

    def get(self, name: str) -> Value | None:
        """The same; None where the operation has no such parameter too."""
        return self[name] if any(parameter.name == name for parameter in PARAMETERS[self.op]) else None

    def integers(self, name: str) -> tuple[int, ...]:
        """The value of a parameter that is a list of integers."""
        value = self[name]
        integers = value if isinstance(value, tuple) else ()
        whole = tuple(number for number in integers if isinstance(number, int))
        if not isinstance(value, tuple) or len(whole) != len(value):
            raise DescriptorError(f"{name} of {self.op} is no list of integers: {value!r}")
        return whole

    def word(self, name: str) -> str:
        """The value of a parameter that is a word."""
        value = self[name]
        if not isinstance(value, str):
            raise DescriptorError(f"{name} of {self.op} is no word: {value!r}")
        return value

    def written(self, *names: str) -> dict[str, Any]:
        """The parameters among ``names`` that differ from their defaults; yes and no as truth values."""
        truths = {"yes": True, "no": False}
        chosen = ((name, value) for name, value in self.parameters if name in names)
        return {name: truths.get(value, value) if isinstance(value, str) else value for name, value in chosen}

    @property
    def view(self) -> View | None:
        """What is done to the source before the operation."""
        value = self["view"]
        return value if isinstance(value, View) else None

    @classmethod
    def parse(cls, line: str) -> Case:
        """The case that ``line`` writes; ``parse(str(case)) == case``. Words are separated by blanks.

        Raises:
            DescriptorError: the line does not follow the syntax; the message holds the line.
            UnsupportedError: a descriptor that this version does not read.
        """
        if len(line) > LONGEST_LINE:
            raise DescriptorError(f"a case has at most {LONGEST_LINE} characters, not {len(line)}: {line[:80]!r}...")
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
    """The seed from what stood behind each ``seed=``; 0 if none did."""
    if len(values) > 1:
        raise DescriptorError(f"seed is given twice: {', '.join(values)}")
    if values and not re.fullmatch("[0-9]{1,20}", values[0]):
        raise DescriptorError(f"seed {values[0]!r} is not a number in [0, 2^64)")
    return int(values[0]) if values else 0
