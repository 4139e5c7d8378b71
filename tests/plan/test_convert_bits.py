"""Every element type to every other on the device, bit for bit as the reference has it.

Sources of 8 and 16 bits are tried whole; wider ones with numbers aimed at what a conversion can get wrong. Of the
roundings and saturations that matter to a pair two are drawn, from f16 four. A problem costs a pipeline, a tenth of a
second and more on llvmpipe, so kompute, which runs the same modules, has the default settings only. With
RESTRIDE_TEST_FULL=1: ten million numbers a problem, every rounding with every saturation, on both.

Another driver than the first one: ``VK_DRIVER_FILES=/path/to/its_icd.json pytest tests/plan/test_convert_bits.py``.
"""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from support.devices import open_device
from support.sampled import FULL, sample

import restride as rs
from restride.arithmetic import ROUNDINGS, Numbers, arithmetic
from restride.dtypes import DTYPES
from restride.runtime import RUNTIMES

pytestmark = pytest.mark.slow

COUNT = 10_000_000 if FULL else 100_000
MAX_AT_ONCE = 1_000_000

NARROW = [name for name, dtype in DTYPES.items() if dtype.itemsize <= 2]
WIDE = [name for name in DTYPES if name not in NARROW]


EVERY = tuple(product(ROUNDINGS, (True, False)))
DEFAULT = EVERY[:1]


@pytest.fixture(scope="module", params=RUNTIMES)
def its_device(request):
    """A device of its own: hundreds of pipelines would push those of other tests out of the session's."""
    with open_device(request.param) as opened:
        yield opened


def settings_of(src: str, dst: str, device: rs.Device) -> list[dict[str, object]]:
    """Settings that give a pair of types different results: all, or a sample of them."""
    if src == dst:
        return []
    descs = rs.TensorDesc(src, (8,)), rs.TensorDesc(dst, (8,))
    distinct = {}
    for rounding, saturate in DEFAULT if is_brief(device) else EVERY:
        settings = {"rounding": rounding, "saturate": saturate}
        distinct.setdefault(arithmetic(*descs, (0,), Numbers(**settings)), settings)
    return sample(distinct.values(), 4 if src == "f16" else 2, src, dst)


def difference(device: rs.Device, x: np.ndarray, dst: str, settings: dict[str, object]) -> str | None:
    """The first wrong element of a conversion."""
    result = rs.reorder(rs.asarray(x, device=device), dtype=dst, **settings).numpy()
    expected = rs.reference.convert(x, dst, **settings)
    bits, right = (array.view(f"u{array.dtype.itemsize}") for array in (result, expected))
    if np.array_equal(bits, right):
        return None
    wrong = np.flatnonzero(bits != right)
    first = wrong[0]
    src = x.view(f"u{x.dtype.itemsize}")[first]
    return f"{x.dtype} {src:#x} to {dst} {settings} is {bits[first]:#x}, not {right[first]:#x}; {len(wrong)} are wrong"


def is_brief(device: rs.Device) -> bool:
    return not FULL and "Kompute" in type(device.runtime).__name__


@pytest.mark.parametrize("src", NARROW)
def test_every_pattern_of_8_and_16_bits_to_every_type(src, its_device):
    itemsize = DTYPES[src].itemsize
    x = np.arange(256**itemsize, dtype=f"u{itemsize}").view(DTYPES[src].dtype)
    found = [
        difference(its_device, x, dst, settings) for dst in DTYPES for settings in settings_of(src, dst, its_device)
    ]
    assert [wrong for wrong in found if wrong] == []


@pytest.mark.parametrize("src", WIDE)
def test_wide_numbers_aimed_at_every_type(src, its_device):
    count = 4096 if is_brief(its_device) else COUNT
    found = []
    for dst in DTYPES:
        for seed, start in enumerate(range(0, count if dst != src else 0, MAX_AT_ONCE)):
            x = aimed(src, dst, min(MAX_AT_ONCE, count - start), seed)
            found += [difference(its_device, x, dst, settings) for settings in settings_of(src, dst, its_device)]
    assert [wrong for wrong in found if wrong] == []


@pytest.mark.parametrize(
    ("layout", "widths"),
    [
        ("{strides=(1),offset=3}", ["u16 s8", "s32 f16", "f64 u8", "u8 bf16"]),  # words are owned
        ("{strides=(-5),offset=2000}", ["u16 s8", "s32 f16", "u64 f32", "s8 f64"]),  # words are shared
        ("{0:T(4)(3)}", ["u16 s8", "s32 f16", "u64 f32", "s8 f64"]),  # no strides: the general kernel
    ],
)
def test_elements_of_every_width_are_loaded_and_stored_in_any_layout(layout, widths, its_device):
    """All of the tests above are runs of whole words."""
    for src, dst in (pair.split() for pair in widths):
        x = aimed(src, dst, 257, 1) if src in WIDE else np.arange(257, dtype=DTYPES[src].dtype)
        desc = rs.TensorDesc.parse(f"{dst}[257]{layout}")
        before = np.full(desc.nbytes + 8, 0xA5, np.uint8)
        out = rs.from_buffer(before, desc, its_device)
        rs.reorder(rs.asarray(x, device=its_device), out=out)
        expected = rs.reference.to_buffer(rs.reference.convert(x, dst), desc, before)
        np.testing.assert_array_equal(out.buffer(), expected, f"{src} to {desc}")


# --- numbers that a conversion may get wrong


def aimed(src: str, dst: str, count: int, seed: int) -> np.ndarray:
    """``count`` elements of ``src``, of 32 or 64 bits: about the bounds of ``dst``, ties of any precision, any bits."""
    rng = np.random.default_rng([seed, count, list(DTYPES).index(src), list(DTYPES).index(dst)])
    bounds = about_bounds(src, dst)
    parts = [bounds[: count // 4]]
    rest = count - len(parts[0])
    for share, make in ((4, aimed_numbers), (6, any_numbers), (7, special_numbers), (8, any_bits)):
        size = rest * share // 8 - sum(map(len, parts[1:]))
        parts.append(make(src, dst, size, rng))
    return np.concatenate([part.view(f"u{DTYPES[src].itemsize}") for part in parts]).view(DTYPES[src].dtype)


def fractions(width: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Integers of ``width`` bits: as many as a type may keep, and behind them a tie or what lies beside one.

    Kept are any bits, zeros or ones; then follows 00...0, 00...1, 01...1, 10...0 (the tie), 10...1 or 11...1.
    """
    kept = rng.integers(0, width + 1, count).astype(np.uint64)
    below = np.uint64(width) - kept
    any_word = rng.integers(0, 1 << 64, count, np.uint64)
    leading = np.choose(rng.integers(0, 3, count), [any_word, np.zeros_like(any_word), ~np.zeros_like(any_word)])
    one = np.uint64(1)
    ones = (one << below) - one
    half, last = (one << below) >> one, ones & one
    tails = np.choose(rng.integers(0, 6, count), [ones & ~ones, last, ones >> one, half, half | last, ones])
    return (leading << below & np.uint64((1 << width) - 1)) | tails


def aimed_numbers(src: str, dst: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of any size that ``dst`` has, and a bit beyond it on both ends."""
    if DTYPES[src].is_float:
        low, high = exponents(dst)
        bias = 127 if src == "f32" else 1023
        field = np.clip(rng.integers(low - 4, high + 5, count) + bias, 0, 2 * bias)
        return floats(src, field, count, rng)
    length = rng.integers(0, 8 * DTYPES[src].itemsize, count).astype(np.uint64)
    magnitude = np.uint64(1) << length | fractions(63, count, rng) >> (np.uint64(63) - length)
    return signed(src, magnitude, rng)


def any_numbers(src: str, _dst: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of every size that ``src`` has; integers close to powers of two."""
    if DTYPES[src].is_float:
        return floats(src, rng.integers(0, 255 if src == "f32" else 2047, count), count, rng)
    power = np.uint64(1) << rng.integers(0, 8 * DTYPES[src].itemsize, count).astype(np.uint64)
    return signed(src, power + rng.integers(-3, 4, count).astype(np.uint64), rng)


def special_numbers(src: str, dst: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """NaNs of every payload, quiet and signalling, infinities, denormals and zeros."""
    if not DTYPES[src].is_float:
        return any_bits(src, dst, count, rng)
    return floats(src, rng.choice([0, 255 if src == "f32" else 2047], count), count, rng)


def any_bits(src: str, _dst: str, count: int, rng: np.random.Generator) -> np.ndarray:
    itemsize = DTYPES[src].itemsize
    return np.frombuffer(rng.bytes(count * itemsize), f"u{itemsize}")


def floats(src: str, field: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    width = 23 if src == "f32" else 52
    bits = field.astype(np.uint64) << np.uint64(width) | fractions(width, count, rng)
    sign = rng.integers(0, 2, count).astype(np.uint64) << np.uint64(8 * DTYPES[src].itemsize - 1)
    return (bits | sign).astype(f"u{DTYPES[src].itemsize}")


def signed(src: str, magnitude: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    negative = rng.integers(0, 2, len(magnitude)) & (src[0] == "s")
    return np.where(negative, np.uint64(0) - magnitude, magnitude).astype(f"u{DTYPES[src].itemsize}")


def exponents(dst: str) -> tuple[int, int]:
    """Powers of two of the smallest and the largest numbers of a type; of integers, from a half on."""
    if not DTYPES[dst].is_float:
        return -1, 8 * DTYPES[dst].itemsize
    finfo = ml_dtypes.finfo(DTYPES[dst].dtype)
    return int(finfo.minexp - finfo.nmant), int(finfo.maxexp)


def about_bounds(src: str, dst: str) -> np.ndarray:
    """The largest and the smallest numbers of ``dst``, and where rounding turns to them, with six neighbours each."""
    if DTYPES[dst].is_float:
        finfo = ml_dtypes.finfo(DTYPES[dst].dtype)
        largest, least, normal = (float(number) for number in (finfo.max, finfo.smallest_subnormal, finfo.tiny))
        half_step = 2.0 ** (exponents(dst)[1] - 2 - finfo.nmant)
        centres = [0, 1, largest, largest + half_step, least, least / 2, 1.5 * least, normal, normal - least / 2]
    else:
        info = np.iinfo("u1" if dst == "pred" else DTYPES[dst].dtype)
        bounds = (0, int(info.max), 2 * int(info.max) + 1, -int(info.min))
        centres = [bound + part for bound in bounds for part in (-1, -0.5, 0, 0.5, 1, 1.5)]
        centres += [0.5, 1.5, 2.5]
    integer = np.dtype(f"i{DTYPES[src].itemsize}")
    if DTYPES[src].is_float:
        with np.errstate(all="ignore"):  # f32 of the bounds of f64 are zeros and infinities
            bits = np.array(centres, np.float64).astype(DTYPES[src].dtype).view(integer)
        signs = [0, np.iinfo(integer).min]
        return (bits[:, None, None] + np.arange(-3, 4, dtype=integer)[:, None] ^ np.array(signs, integer)).ravel()
    whole = np.array([int(centre) % (1 << 64) for centre in centres if abs(centre) < 1 << 66], np.uint64)
    near = whole[:, None] + np.arange(-3, 4).astype(np.uint64)
    return np.stack([near, np.uint64(0) - near]).astype(f"u{integer.itemsize}").ravel()
