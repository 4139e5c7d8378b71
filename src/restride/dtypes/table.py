"""The table of element types: what each one is, and what other libraries call it.

Everything that depends on a type is made from its row, shaders/include/element_types.glsl too. This module imports
no package, because tools/element_include.py reads it where numpy is not installed.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

DTypeName = Literal[
    "pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64",
    "f16", "bf16", "f32", "f64", "f8e4m3fn", "f8e5m2",
]  # fmt: skip
"""XLA's names, in the order in which the types are listed."""

NumpyName = Literal[
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2",
]  # fmt: skip
"""numpy's full names of the same types, some of which ml_dtypes adds."""

ElementKind = Literal["bool", "signed integer", "unsigned integer", "real floating"]
"""The kinds of types, in the words of the array API."""


class ElementType(NamedTuple):
    """One element type.

    A float has a sign, an exponent and ``fraction`` bits; its number is ``1.fraction * 2^(exponent - bias)``, or
    ``0.fraction * 2^(1 - bias)`` for exponent 0. ``largest``, ``infinity`` and ``nan`` are the bits of its largest
    finite number, of infinity (None: it has none) and of the quiet NaN without a payload.
    """

    name: DTypeName
    numpy: NumpyName
    kind: ElementKind
    bits: int
    dlpack: int
    """The code of the type in dlpack.h, where the number of bits is a field of its own."""
    fraction: int = 0
    bias: int = 0
    largest: int = 0
    infinity: int | None = None
    nan: int = 0
    onednn: str = ""
    """oneDNN's name, if it differs from ``name``; else empty."""
    mlir: tuple[str, ...] = ()
    """MLIR's names, without ``name`` itself."""
    others: tuple[str, ...] = ()
    """Names of other libraries, such as safetensors, for which an error suggests ours."""

    @property
    def is_float(self) -> bool:
        """True for the floating types, the narrow ones included."""
        return self.kind == "real floating"

    @property
    def exponents(self) -> int:
        """The number of exponents of a float: 32 in f16, 256 in f32."""
        return 1 << (self.bits - 1 - self.fraction)

    @property
    def saturates(self) -> bool:
        """True for floats of a smaller range than f32: overflow gives the largest number, unless that is switched off.

        Overflow of the other floats gives infinity.
        """
        return self.is_float and self.exponents < 256

    @property
    def digits(self) -> int:
        """The number n of significant binary digits: the type holds every integer in its range below 2^n exactly."""
        return self.fraction + 1 if self.is_float else self.whole_digits

    @property
    def whole_digits(self) -> int:
        """The number of binary digits before the point of the largest number: 31 in s32, 16 in f16, 128 in f32."""
        return int(self.range[1]).bit_length()

    @property
    def range(self) -> tuple[int, int] | tuple[float, float]:
        """The lowest and the highest finite value: integers, or floats for a float type."""
        if self.is_float:
            exponent, fraction = divmod(self.largest, 1 << self.fraction)
            highest = (1 << self.fraction | fraction) * 2.0 ** (exponent - self.bias - self.fraction)
            return -highest, highest
        if self.kind == "signed integer":
            return -(1 << self.bits - 1), (1 << self.bits - 1) - 1
        return 0, 1 if self.kind == "bool" else (1 << self.bits) - 1


_ROWS = (
    ElementType(
        "f32", "float32", "real floating", 32, dlpack=2,
        fraction=23, bias=127, largest=0x7F7F_FFFF, infinity=0x7F80_0000, nan=0x7FC0_0000, others=("fp32",),
    ),
    ElementType(
        "f16", "float16", "real floating", 16, dlpack=2,
        fraction=10, bias=15, largest=0x7BFF, infinity=0x7C00, nan=0x7E00, others=("fp16", "half"),
    ),
    ElementType(
        "bf16", "bfloat16", "real floating", 16, dlpack=4,
        fraction=7, bias=127, largest=0x7F7F, infinity=0x7F80, nan=0x7FC0, others=("bfp16",),
    ),
    ElementType("u8", "uint8", "unsigned integer", 8, dlpack=1, mlir=("ui8",)),
    ElementType("s8", "int8", "signed integer", 8, dlpack=0, mlir=("i8", "si8"), others=("I8",)),
    ElementType("s32", "int32", "signed integer", 32, dlpack=0, mlir=("i32", "si32"), others=("I32",)),
    ElementType("pred", "bool", "bool", 8, dlpack=6, onednn="boolean", mlir=("i1",)),
    ElementType("s16", "int16", "signed integer", 16, dlpack=0, mlir=("i16", "si16"), others=("I16",)),
    ElementType("u16", "uint16", "unsigned integer", 16, dlpack=1, mlir=("ui16",)),
    ElementType("u32", "uint32", "unsigned integer", 32, dlpack=1, mlir=("ui32",)),
    ElementType("s64", "int64", "signed integer", 64, dlpack=0, mlir=("i64", "si64"), others=("I64",)),
    ElementType("u64", "uint64", "unsigned integer", 64, dlpack=1, mlir=("ui64",)),
    ElementType(
        "f64", "float64", "real floating", 64, dlpack=2,
        fraction=52, bias=1023, largest=0x7FEF << 48 | (1 << 48) - 1, infinity=0x7FF0 << 48, nan=0x7FF8 << 48,
        others=("fp64",),
    ),
    ElementType(
        "f8e4m3fn", "float8_e4m3fn", "real floating", 8, dlpack=10,
        fraction=3, bias=7, largest=0x7E, infinity=None, nan=0x7F, onednn="f8_e4m3", mlir=("f8E4M3FN",),
        others=("fp8", "float8", "f8", "e4m3", "fp8_e4m3", "f8_e4m3", "float8_e4m3"),
    ),
    ElementType(
        "f8e5m2", "float8_e5m2", "real floating", 8, dlpack=12,
        fraction=2, bias=15, largest=0x7B, infinity=0x7C, nan=0x7E, onednn="f8_e5m2", mlir=("f8E5M2",),
        others=("e5m2", "fp8_e5m2", "f8_e5m2"),
    ),
)  # fmt: skip

ELEMENT_TYPES: dict[str, ElementType] = {row.name: row for row in _ROWS}
"""The types by name, in the order of their numbers in kernels, so that new ones come last.

Sources: XLA, ``xla_data.proto``; IEEE 754-2019, 3.4; bfloat16 is the upper half of binary32; OCP 8-bit Floating Point,
5; dlpack.h 1.1.
"""
