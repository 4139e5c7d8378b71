"""Case: one conformance problem as a frozen value with one line of text.

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
(``restride_conformance.scale_values``).
Every operation takes ``view=``, what is done to the source first (``restride_conformance.view_steps``); ``data=``,
what the source holds: any bits where they are copied, numbers aimed at the conversion where there is one, numbers
elsewhere; or ``bits``, ``index``, ``image`` or ``edges``;
and ``out=``, where the answer goes instead of to a destination of its own (``restride_conformance.spelling.read_out``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from restride.arguments import integer
from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride_conformance.parameters import PARAMETERS, require_mode
from restride_conformance.spelling import Value, write
from restride_conformance.view_steps import View

LONGEST_LINE = 4096
"""Characters of a case."""


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
        given = dict(self.parameters)
        if len(given) != len(self.parameters):
            raise DescriptorError(f"a parameter is given twice: {', '.join(name for name, _ in self.parameters)}")
        view = View.read(write(given["view"])) if "view" in given else None
        object.__setattr__(self, "viewed", self.src.sizes if view is None else view.sizes(self.src.sizes))
        written: list[tuple[str, Value]] = []
        for parameter in PARAMETERS[self.op]:
            default = parameter.default(self.viewed, self.dst.sizes)
            if parameter.name in given:
                value = parameter.canonical(parameter.read(write(given.pop(parameter.name))), len(self.viewed))
                if value != default:
                    written.append((parameter.name, value))
            elif default is None and not parameter.optional:
                raise DescriptorError(f"{self.op} needs {parameter.name}=...")
        if given:
            known = ", ".join([*(parameter.name for parameter in PARAMETERS[self.op]), "seed"])
            raise DescriptorError(f"{self.op} has no parameter {', '.join(given)}; it has {known}")
        object.__setattr__(self, "parameters", tuple(written))
        if self.op in ("resample", "resample_backward", "crop_resize"):
            require_mode(self.word("mode"), self["like"])

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

    def number(self, name: str) -> float | None:
        """The value of a parameter that is a number; None where it is absent."""
        value = self[name]
        if value is not None and not isinstance(value, float):
            raise DescriptorError(f"{name} of {self.op} is no number: {value!r}")
        return value

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
