"""Arguments as callers write them: exact Python ints, known words and names, arrays without a mask; or a refusal.

The errors name the argument, its value and the rule; the public function adds the descriptor (``restride.errors``).
"""

from __future__ import annotations

import math
import numbers
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from functools import cache, wraps
from inspect import Parameter, signature
from itertools import islice
from typing import Any, SupportsIndex, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from restride.arguments.pillow import pixels_of
from restride.errors import DescriptorError, RestrideError, did_you_mean, shown
from restride.words import argument_here

RealNumber: TypeAlias = float | np.integer[Any] | np.floating[Any] | Fraction
"""A real number of Python or numpy, or a fraction."""

LIMIT = 1 << 512
"""Sizes, strides and offsets are below this in magnitude; 8 axes of 2^62, packed in any order, stay below it."""

MAX_MEMBERS = 1 << 22
"""Maximum number of integers in an argument: ``range(10**12)`` and endless iterators are refused."""

MAX_RANK = 8
"""Maximum number of axes that a descriptor can have, as in DirectML."""

ExactNumber: TypeAlias = int | Fraction | float
"""A finite number of Python's; a float stands for the decimal number that prints it."""

_BOOLEANS = bool, np.bool_
_REAL_NUMBERS = float, numbers.Real, np.floating


def integer(argument: str, value: Any) -> int:
    """``value`` as a Python int; numpy integers are accepted, booleans, floats and texts are not.

    Args:
        argument: name of the argument in error messages.
        value: anything with ``__index__`` that is not a boolean.

    Raises:
        DescriptorError: not an integer, or at least 2^512 in magnitude.
    """
    if type(value) is int and -LIMIT < value < LIMIT:
        return value
    if isinstance(value, bool | np.bool_):
        raise DescriptorError(f"{argument} must be an integer, got the boolean {value}")
    try:
        number = operator.index(value)
    except TypeError:
        raise DescriptorError(f"{argument} must be an integer, got {shown(value)} ({type(value).__name__})") from None
    if not -LIMIT < number < LIMIT:
        raise DescriptorError(f"{argument} must be below 2^512 in magnitude, got {number.bit_length()} bits")
    return number


def integers(argument: str, values: Any, *, or_one: bool = False) -> tuple[int, ...]:
    """``values`` as a tuple of Python ints: any iterable of integers, a numpy vector included.

    or_one: a bare integer is accepted too, as a sequence of one.

    Raises:
        DescriptorError: not an iterable, too many members, or one that is no integer, which the message names.
    """
    if or_one and type(values) is int:  # checking the protocol SupportsIndex, below, takes 10 us
        return (integer(argument, values),)
    try:
        members = tuple(islice(values, MAX_MEMBERS + 1))
    except TypeError:
        if or_one and isinstance(values, SupportsIndex):
            return (integer(argument, values),)
        raise _no_integers(argument, values, or_one) from None
    if len(members) > MAX_MEMBERS:
        raise DescriptorError(f"{argument} must be at most {MAX_MEMBERS} integers, got more: {shown(values)}")
    for value in members:
        if type(value) is not int or not -LIMIT < value < LIMIT:
            if isinstance(values, str):  # such as '224x224', of which the first letter says nothing
                raise _no_integers(argument, values, or_one)
            return tuple([integer(f"{argument}[{place}]", member) for place, member in enumerate(members)])
    return members


def _no_integers(argument: str, values: object, or_one: bool) -> DescriptorError:
    rule = f"must be {'an integer or ' if or_one else ''}a sequence of integers"
    return DescriptorError(f"{argument} {rule}, got {shown(values)} ({type(values).__name__})")


def counts(argument: str, values: object, *, or_one: bool = False) -> tuple[int, ...]:
    """``integers`` that are all 0 or more.

    Raises:
        DescriptorError: as ``integers`` does, or one is negative.
    """
    numbers = integers(argument, values, or_one=or_one)
    if min(numbers, default=0) < 0:
        raise DescriptorError(f"{argument} {numbers} must each be 0 or more")
    return numbers


BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12} | {
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": 1 << 30,
    "TIB": 1 << 40,
}
"""The number of bytes of each unit that ``as_bytes`` reads, in upper case."""


def as_bytes(argument: str, value: str | float) -> int:
    """A number of bytes from a text such as ``"512MiB"`` or a number such as 16e6.

    Raises:
        DescriptorError: the text is not understood, or the number is not above 0.
    """
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
        if match is None or match[2].upper() not in BYTES:
            raise DescriptorError(f"{argument} must be bytes such as 1000000, '512MiB' or '2 GB', got {value!r}")
        value = int(float(match[1]) * BYTES[match[2].upper()])
    number = integer(argument, int(value) if isinstance(value, float) and value.is_integer() else value)
    if number <= 0:
        raise DescriptorError(f"{argument} must be above 0 bytes, got {number}")
    return number


def one_per_axis(argument: str, values: object, rank: int) -> tuple[int, ...]:
    """``integers``, as many as there are axes.

    Raises:
        DescriptorError: as ``integers`` does, or there are more or fewer.
    """
    numbers = integers(argument, values)
    if len(numbers) != rank:
        raise DescriptorError(f"{argument} must have one value per axis: got {numbers} for {rank} axes")
    return numbers


def permutation(argument: str, axes: object, rank: int) -> tuple[int, ...]:
    """``axes`` as a permutation of 0 .. rank-1; negative ones count from the end.

    Raises:
        DescriptorError: an axis is missing, repeated or out of range.
    """
    values = integers(argument, axes)
    positive = tuple(axis + rank if axis < 0 else axis for axis in values)
    if sorted(positive) != list(range(rank)):
        raise DescriptorError(f"{argument} {values} must name each of the {rank} axes once")
    return positive


def flag(argument: str, value: object) -> bool:
    """``value`` as a Python bool; numpy's are accepted, numbers and texts are not: ``"no"`` would be true.

    Raises:
        DescriptorError: not a boolean.
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise DescriptorError(f"{argument} must be True or False, got {shown(value)} ({type(value).__name__})")


def require_word(argument: str, value: object, known: Sequence[str | bool | None]) -> None:
    """Check that ``value`` is one of ``known``.

    What is no word, boolean or None is refused without a comparison, because comparing an array gives an array.

    Raises:
        DescriptorError: another word, or no word at all.
    """
    is_word = value is None or isinstance(value, str | bool | np.bool_)
    if not is_word or value not in known:
        hint = did_you_mean(value, [word for word in known if isinstance(word, str)])
        raise DescriptorError(f"{argument} must be one of {', '.join(map(repr, known))}, not {value!r}{hint}")


# Checks arguments that a function passes on: a typed dictionary lists them for type checkers, a signature for readers.

_Function = TypeVar("_Function", bound=Callable[..., object])

Elsewhere: TypeAlias = Mapping[str, Collection[str]]
"""Names that a function does not take, listed under the end of the message that says where they belong."""

_NOWHERE: Elsewhere = {}
_OF_ARRAYS: Elsewhere = {"rs.asarray(array, device=...) puts an array on a device": ("device",)}


def list_arguments(kind: object, defaults: Mapping[str, object]) -> Callable[[_Function], _Function]:
    """Decorate a function that takes ``**arguments: Unpack[kind]``: ``help`` and ``inspect.signature`` list them too.

    They are shown as keywords, before the keywords of the def. The function itself calls ``require_listed``. If it has
    several required arguments, ``check_keywords`` refuses unknown names before the call: otherwise Python would only
    name the required arguments that are missing.

    Args:
        kind: the typed dictionary.
        defaults: the default of each argument; None for an argument that is not in it.
    """

    def decorate(function: _Function) -> _Function:
        own = signature(function)
        *others, _ = own.parameters.values()
        listed = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=hint.__forward_arg__)
            for name, hint in kind.__annotations__.items()
        ]
        named = [parameter for parameter in others if parameter.kind is Parameter.KEYWORD_ONLY]
        parameters = [*others[: len(others) - len(named)], *listed, *named]
        function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined] # inspect reads it
        needed = [each for each in others if each.default is each.empty and each.kind is not Parameter.VAR_POSITIONAL]
        return function if len(needed) < 2 else check_keywords(function)

    return decorate


def check_keywords(function: _Function, elsewhere: Elsewhere = _NOWHERE) -> _Function:
    """Decorate a function: a keyword that its signature does not list is refused as by ``require_listed``."""

    @wraps(function)
    def checked(*values: object, **arguments: object) -> object:
        if arguments:
            require_listed(function, arguments, elsewhere)
        return function(*values, **arguments)

    return checked  # type: ignore[return-value] # it has the same signature


def require_listed(
    function: Callable[..., object], arguments: Mapping[str, object], elsewhere: Elsewhere = _NOWHERE
) -> None:
    """Refuse names that the signature of ``function`` does not list, as Python refuses unexpected keyword arguments.

    Raises:
        TypeError: there is such a name; the message suggests restride's word for another library's, or the nearest one.
    """
    listed = _listed(function)
    if not listed.issuperset(arguments):
        raise unexpected(function, arguments, listed, elsewhere)


@cache
def _listed(function: Callable[..., object]) -> frozenset[str]:
    """The names of the arguments in the signature of a function."""
    parameters = signature(function).parameters
    return frozenset([name for name, each in parameters.items() if each.kind is not Parameter.VAR_POSITIONAL])


def unexpected(
    function: Callable[..., object],
    arguments: Mapping[str, object],
    listed: Collection[str],
    elsewhere: Elsewhere = _NOWHERE,
) -> TypeError:
    """The error about the first of ``arguments`` that is not ``listed``."""
    unknown = next(name for name in arguments if name not in listed)
    name = function.__qualname__.removesuffix(".__init__").removesuffix(".__call__")
    of_arrays = _NOWHERE if "devices" in listed else _OF_ARRAYS
    places = [f"; {place}" for place, names in {**elsewhere, **of_arrays}.items() if unknown in names]
    hint = places[0] if places else argument_here(unknown, listed)
    return TypeError(f"{name}() got an unexpected keyword argument {unknown!r}{hint}")


# Real numbers, kept exactly.


def members(argument: str, values: Any) -> tuple[Any, ...]:
    """``values`` as a tuple.

    Raises:
        DescriptorError: not a sequence.
    """
    try:
        return tuple(values)
    except TypeError:
        raise DescriptorError(f"{argument} must be a sequence of numbers, got {values!r}") from None


def reals(argument: str, values: object) -> tuple[ExactNumber, ...]:
    """``values`` as finite numbers of Python's own, each an integer, a ``Fraction`` or an f64.

    Raises:
        DescriptorError: not a sequence of finite numbers.
    """
    return tuple([exact(f"{argument}[{place}]", value) for place, value in enumerate(members(argument, values))])


def exact(argument: str, value: object) -> ExactNumber:
    """One finite number of Python's own.

    Raises:
        DescriptorError: not a finite number.
    """
    number = finite(argument, value)
    if isinstance(value, numbers.Integral):
        return int(value)
    # An exact fraction of Python integers: numpy's may be too narrow.
    return Fraction(int(value.numerator), int(value.denominator)) if isinstance(value, numbers.Rational) else number


def fraction(argument: str, value: object) -> Fraction:
    """One number as an exact fraction; a float stands for the decimal number that prints it.

    Raises:
        DescriptorError: not a finite number.
    """
    number = exact(argument, value)
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def finite(argument: str, value: object) -> float:
    """One finite number.

    Raises:
        DescriptorError: not a finite number.
    """
    number = real(argument, value)
    if not math.isfinite(number):
        raise DescriptorError(f"{argument} must be finite, got {number}")
    return number


def real(argument: str, value: object) -> float:
    """One number, which may be an infinity or NaN.

    Raises:
        DescriptorError: not a number.
    """
    if isinstance(value, _BOOLEANS) or not isinstance(value, _REAL_NUMBERS):
        raise DescriptorError(f"{argument} must be a number, got {shown(value)} ({type(value).__name__})")
    try:
        return float(value)
    except OverflowError:
        raise DescriptorError(f"{argument} must be in the range of f64, got {shown(value)}") from None


# Numpy arrays from arrays and lists of numbers.


def as_numpy(argument: str, value: object, dtype: np.dtype[np.generic] | None = None) -> npt.NDArray[Any]:
    """``value`` as a plain numpy array, over its own memory if it has any. Every array from outside passes here.

    numpy makes f64 of a list with an integer of 2^63 or more and a smaller one. Here integers in a list stay exact:
    [2^64 - 12, 5] is u64.

    Args:
        argument: name of the argument in error messages.
        value: an array, an image of Pillow, a number or nested sequences of numbers.
        dtype: the type that the elements are to become. Only if it is given may a list mix integers that only u64
            holds with negative ones: for an integer type each keeps its low 64 bits, for any other type they become
            f64.

    Raises:
        DescriptorError: a mask would be lost, numpy cannot convert ``value``, or it is a list of integers that no type
            holds together.
    """
    try:
        require_unmasked(argument, value)
        value = pixels_of(value)
        array = np.asanyarray(value)
    except (RestrideError, UserWarning, MemoryError):
        raise
    except Exception as error:  # the __array__ of another library raises what it likes
        shapes = {getattr(member, "shape", None) for member in value} if isinstance(value, list | tuple) else {None}
        why = str(error)
        if None not in shapes:
            why = "its arrays have several shapes: pass them one by one, or to rs.Preprocess, which makes them a batch"
        raise DescriptorError(
            f"{argument} of type {type(value).__name__} is not one that numpy takes: {why}"
        ) from error
    require_unmasked(argument, array)  # the result of an __array__ may be masked too
    array = np.asarray(array)
    numbers = exact_members(value, array)
    if numbers is None:
        return array
    are_integers = all(isinstance(number, int) for number in numbers)
    if are_integers and min(numbers) >= 0 and max(numbers) < 1 << 64:
        return np.array(numbers, np.uint64).reshape(array.shape)
    if are_integers and dtype is None:
        raise DescriptorError(
            f"{argument} has integers from {shown(min(numbers))} to {shown(max(numbers))}, and neither s64 nor u64 has "
            f"them all"
        )
    if dtype is None or dtype.kind not in "iu":
        return array
    return np.array([_low_bits(argument, number) for number in numbers], np.uint64).reshape(array.shape)


def require_unmasked(argument: str, value: Any) -> None:
    """Refuse a masked array, and a list that has one: a tensor has no mask.

    Raises:
        DescriptorError: ``value`` is masked.
    """
    if isinstance(getattr(value, "_meta", value), np.ma.MaskedArray):  # dask's ``_meta`` says which arrays it computes
        raise DescriptorError(
            f"{argument} is masked, and a tensor has no mask: pass {argument}.filled(...), for sizes {value.shape}"
        )
    if isinstance(value, list | tuple) and any(
        issubclass(kind, list | tuple | np.ma.MaskedArray) for kind in set(map(type, value))
    ):
        for place, member in enumerate(value):
            require_unmasked(f"{argument}[{place}]", member)


def exact_members(value: object, array: npt.NDArray[Any]) -> list[int | float] | None:
    """The numbers of a list in order, or a single integer, as Python's, if numpy may have rounded them in ``array``.

    None: ``value`` is neither, or ``array`` holds it exactly, as integers or as f64.
    """
    if not isinstance(value, list | tuple | int) or array.dtype not in (np.float64, np.dtype(object)):
        return None
    if array.dtype == np.float64 and not ((np.abs(array) >= 2.0**53) & np.isfinite(array)).any():
        return None
    members = np.asarray(value, object)
    numbers = [number.item() if isinstance(number, np.generic) else number for number in members.ravel()]
    are_numbers = all(isinstance(number, int | float) for number in numbers)
    return numbers if are_numbers and any(isinstance(number, int) for number in numbers) else None


def _low_bits(argument: str, number: float) -> int:
    """The low 64 bits of a number cut to an integer, as if numpy cast this number alone; 0 for infinities and NaN."""
    if isinstance(number, int) and not -(1 << 63) <= number < 1 << 64:
        raise DescriptorError(f"{argument} has {shown(number)}, an integer of more than 64 bits")
    return int(number) % (1 << 64) if math.isfinite(number) else 0
