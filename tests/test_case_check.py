"""Judging a run: what is right passes, and each single fault is found and named."""

from __future__ import annotations

import numpy as np
import pytest

from restride.conformance import Case, Verdict
from restride.conformance.check import GUARD_BYTES, Setting, judge, prepare
from restride.conformance.fill import bits, numbers, poison
from restride.dtypes import DTYPES, as_dtype
from restride.reference import to_buffer

PADDED = "reorder u16[3,4]{1,0} -> u16[3,4]{strides=(-1,7),offset=5}"
LINEAR = "resample f16[3,9]{1,0} -> f16[3,4]{strides=(5,1)} mode=linear"


def after_a_right_run(setting: Setting) -> np.ndarray:
    return to_buffer(setting.lowest, setting.dst, setting.destination.copy())


@pytest.mark.parametrize("line", [PADDED, LINEAR, "reorder u8[0,3] -> u8[0,3]", "reorder f64[] -> f64[]"])
def test_a_right_run_passes(line: str) -> None:
    case = Case.parse(line)
    setting = prepare(case)
    outcome = judge(case, setting, setting.source.copy(), after_a_right_run(setting))
    assert outcome.verdict is Verdict.PASSED
    assert outcome.message == ""


@pytest.mark.parametrize("line", [PADDED, LINEAR])
def test_every_flipped_byte_of_the_destination_is_found(line: str) -> None:
    case = Case.parse(line)
    setting = prepare(case)
    right = after_a_right_run(setting)
    for place in range(right.size):
        # 0x40 also lies outside a linear answer's limits: it changes a sign, an exponent or a high bit of the fraction.
        wrong = right.copy()
        wrong[place] ^= 0x40
        outcome = judge(case, setting, setting.source.copy(), wrong)
        assert outcome.verdict is Verdict.FAILED, place
        if place < GUARD_BYTES or place >= right.size - GUARD_BYTES:
            assert f"byte {place - GUARD_BYTES} of the destination (guard) must not change" in outcome.message


def test_a_changed_source_is_found() -> None:
    case = Case.parse(PADDED)
    setting = prepare(case)
    source = setting.source.copy()
    source[GUARD_BYTES + 3] ^= 1
    message = judge(case, setting, source, after_a_right_run(setting)).message
    assert (
        f"1 of {source.size} bytes of the source changed\nbyte 3 of the source (element or padding) must not" in message
    )


def test_mismatches_show_index_values_and_bits() -> None:
    case = Case.parse("reorder f32[2,3]{1,0} -> f32[2,3]{0,1}")
    setting = prepare(case)
    wrong = setting.lowest.copy()
    setting.lowest[1, 2], wrong[1, 2] = 1.5, -0.0
    message = judge(case, setting, setting.source, to_buffer(wrong, setting.dst, setting.destination.copy())).message
    assert message.splitlines() == [
        "1 of 6 elements are wrong",
        "element (1, 2) is -0.0 (0x80000000), expected 1.5 (0x3fc00000)",
    ]


def test_a_linear_answer_may_lie_anywhere_within_its_limits_and_not_beyond() -> None:
    case = Case.parse("resample f32[9]{0} -> f32[4]{0} mode=linear")
    setting = prepare(case)
    for values, verdict in [
        (setting.lowest, Verdict.PASSED),
        (setting.highest, Verdict.PASSED),
        (np.nextafter(setting.highest, np.float32(np.inf)), Verdict.FAILED),
        (np.nextafter(setting.lowest, np.float32(-np.inf)), Verdict.FAILED),
        (np.full(4, np.nan, np.float32), Verdict.FAILED),
    ]:
        raw = to_buffer(values, setting.dst, setting.destination.copy())
        assert judge(case, setting, setting.source, raw).verdict is verdict


def test_a_signalling_nan_that_turned_quiet_is_found() -> None:
    case = Case.parse("reorder f32[256]{0} -> f32[256]{0}")
    setting = prepare(case)
    right = after_a_right_run(setting)
    words = right.view(np.uint32)
    signalling = (words & 0x7FC00000 == 0x7F800000) & (words & 0x3FFFFF != 0)
    signalling[: GUARD_BYTES // 4] = signalling[-GUARD_BYTES // 4 :] = False
    assert signalling.any()
    words[signalling] |= 0x00400000
    assert judge(case, setting, setting.source, right).verdict is Verdict.FAILED


def test_a_lost_buffer_end_is_found() -> None:
    case = Case.parse(PADDED)
    setting = prepare(case)
    message = judge(case, setting, setting.source, after_a_right_run(setting)[:-8]).message
    assert "the destination buffer has" in message


class TestFill:
    @pytest.mark.parametrize("name", [name for name, dtype in DTYPES.items() if dtype.itemsize <= 2 and name != "pred"])
    def test_narrow_types_show_every_pattern(self, name: str) -> None:
        dtype = as_dtype(name)
        count = 1 << 8 * dtype.itemsize
        filled = bits(dtype, 2 * count, seed=5).view(f"u{dtype.itemsize}")
        for run in (filled[:count], filled[count:]):
            assert len(np.unique(run)) == count
        assert (filled[:count] != filled[count:]).any()

    @pytest.mark.parametrize("name", ["f32", "f64"])
    def test_wide_floats_show_edge_values(self, name: str) -> None:
        filled = bits(as_dtype(name), 4096)
        assert np.isnan(filled).any()
        assert np.isinf(filled).any()
        assert (np.signbit(filled) & (filled == 0)).any()
        assert ((filled != 0) & (np.abs(filled) < np.finfo(filled.dtype).smallest_normal)).any()
        # Few elements repeat, so a wrong index shows.
        assert len(np.unique(filled.view(f"u{filled.itemsize}"))) > 3000

    @pytest.mark.parametrize("name", list(DTYPES))
    def test_values_are_functions_of_index_type_and_seed(self, name: str) -> None:
        dtype = as_dtype(name)
        assert bits(dtype, 100, 3).tobytes() == bits(dtype, 200, 3)[:100].tobytes()
        assert bits(dtype, 100, 3).tobytes() != bits(dtype, 100, 4).tobytes()
        assert bits(dtype, 0).shape == (0,)
        assert set(np.unique(bits(dtype, 100).view(np.uint8))) <= {0, 1} or name != "pred"

    @pytest.mark.parametrize("name", ["f32", "f16", "bf16", "u8", "s8", "s32"])
    @pytest.mark.parametrize("seed", [0, 3])
    def test_numbers_are_finite_and_not_all_alike(self, name: str, seed: int) -> None:
        values = numbers(as_dtype(name), 1000, seed).astype(np.float64)
        assert np.isfinite(values).all()
        assert len(np.unique(values)) > 200
        assert name == "u8" or (values < 0).any()
        assert name != "s32" or (np.abs(values).max() > 1000) == (seed == 3)

    def test_poison_is_a_function_of_the_position(self) -> None:
        assert poison(13).tobytes() == poison(4096)[:13].tobytes()
        assert len(np.unique(poison(4096))) == 256
        assert poison(0).size == 0
