"""Judging a run: what is right passes, and each single fault is found and named."""

from __future__ import annotations

import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import restride as rs
from restride.errors import DescriptorError
from restride.kernel import Limits
from restride.reference import from_buffer, to_buffer
from restride_conformance import Case, Outcome, Verdict, check, run_case
from restride_conformance.case import OPERATIONS, CheckedOperation, OperationCall
from restride_conformance.check import host_bytes, judge, why_not, wrong_elements
from restride_conformance.operations import require_valid
from restride_conformance.run.ways import IN_BATCH
from restride_conformance.setting import (
    GUARD_BYTES,
    Setting,
    buffer_bytes,
    elements_of,
    is_right,
    mistrusted,
    old_values,
    prepare,
)
from restride_conformance.spelling import Parameter

PADDED = "reorder u16[3,4]{1,0} -> u16[3,4]{strides=(-1,7),offset=5}"
LINEAR = "resample f16[3,9]{1,0} -> f16[3,4]{strides=(5,1)} mode=linear"
TILED = "reorder u16[3,5] -> u16[3,5]{1,0:T(2,4)pad(4,6)=7}"
SUM = "reorder u8[3,5] -> s8[3,5]{1,0:T(2,4)pad(4,6)=7} src_scale=0.3 sum_scale=-0.5"
IN_TILES = "reorder u8[3]{at=(2,4-2a),in=[3,5]{1,0:T(2,2)}} -> u8[3]{at=(2-a,1),in=[3,5]{1,0:T(2,2)}}"


def case_and_setting(line: str) -> tuple[Case, Setting]:
    case = Case.parse(line)
    return case, prepare(case)


def outcome_of(case: Case, setting: Setting, elements: np.ndarray) -> Outcome:
    """The outcome of a run that wrote these elements and no padding."""
    return judge(case, setting, setting.source, to_buffer(elements, setting.dst, setting.destination.copy()))


def after_a_right_run(setting: Setting) -> np.ndarray:
    return holding(setting, setting.lowest)


def holding(setting: Setting, elements: np.ndarray) -> np.ndarray:
    """The destination's buffer with these elements and all padding that is to be written."""
    raw = np.where(setting.padding, setting.padded, setting.destination)
    raw[setting.places.reshape(-1)] = np.ascontiguousarray(elements).reshape(-1).view(np.uint8)
    return raw


@pytest.mark.parametrize("line", [PADDED, LINEAR])
def test_every_flipped_byte_of_the_destination_is_found(line: str) -> None:
    case, setting = case_and_setting(line)
    right = after_a_right_run(setting)
    guards = (0, 1, 63, 64, 2048, GUARD_BYTES - 1)
    inside = range(GUARD_BYTES, GUARD_BYTES + case.dst.nbytes)
    for place in (*guards, *inside, *(right.size - 1 - guard for guard in guards)):
        # 0x40 also lies outside a linear answer's limits: it changes a sign, an exponent or a high bit of the fraction.
        wrong = right.copy()
        wrong[place] ^= 0x40
        outcome = judge(case, setting, setting.source.copy(), wrong)
        assert outcome.verdict is Verdict.FAILED, place
        if place not in inside:
            assert f"byte {place - GUARD_BYTES} of the destination (guard) must not change" in outcome.message


@pytest.mark.parametrize("line", [TILED, IN_TILES, "reorder s8[0,3] -> s8[0,3]{1,0:pad(2,4)=-7}"])
def test_every_flipped_byte_of_a_layout_that_begins_with_its_buffer_is_found(line: str) -> None:
    case, setting = case_and_setting(line)
    right = after_a_right_run(setting)
    assert right.size == buffer_bytes(case.dst.nbytes) >= case.dst.nbytes + 2 * GUARD_BYTES
    elements = set(setting.places.reshape(-1).tolist())
    for place in (*range(case.dst.nbytes), case.dst.nbytes, right.size - 1):
        wrong = right.copy()
        wrong[place] ^= 0x40
        message = judge(case, setting, setting.source.copy(), wrong).message
        if place >= case.dst.nbytes:
            assert f"byte {place} of the destination (guard) must not change" in message
        elif place in elements:
            assert message.startswith(f"1 of {case.dst.numel} elements are wrong")
        elif case.dst.is_whole:
            assert message.startswith(f"1 of {case.dst.nbytes - len(elements)} bytes of padding are wrong")
            was, expected = (f"0x{buffer[place]:02x}" for buffer in (wrong, right))
            assert f"\nbyte {place} of the destination (padding) is {was}, expected {expected}" in message
        else:
            assert f"byte {place} of the destination (element or padding) must not change" in message


def test_the_padding_of_a_whole_layout_has_its_value_and_zeros() -> None:
    setting = prepare(Case.parse(TILED))
    held = after_a_right_run(setting)[: setting.dst.nbytes].view(np.uint16)
    padding = held[setting.padding[: setting.dst.nbytes].view(np.uint16) != 0]
    assert sorted(padding.tolist()) == [0] * 8 + [7] * 9, (
        "4 x 6 without 3 x 5 are 9; two tiles of 8 more are cut by half"
    )


def test_a_changed_source_is_found() -> None:
    case, setting = case_and_setting(PADDED)
    source = setting.source.copy()
    source[GUARD_BYTES + 3] ^= 1
    message = judge(case, setting, source, after_a_right_run(setting)).message
    assert (
        f"1 of {source.size} bytes of the source changed\nbyte 3 of the source (element or padding) must not" in message
    )


def test_mismatches_show_index_values_and_bits() -> None:
    case, setting = case_and_setting("reorder f32[2,3]{1,0} -> f32[2,3]{0,1}")
    wrong = setting.lowest.copy()
    setting.lowest[1, 2], wrong[1, 2] = 1.5, -8.5
    message = outcome_of(case, setting, wrong).message
    assert message.splitlines() == [
        "1 of 6 elements are wrong",
        "element (1, 2) is -8.5 (0xc1080000), expected 1.5 (0x3fc00000)",
    ]


def test_mismatches_of_an_inexact_operation_show_the_limits_and_where_they_come_from() -> None:
    case, setting = case_and_setting("resample f32[2]{0} -> f32[3]{0} mode=linear")
    wrong = setting.lowest.copy()
    wrong[1] = setting.highest[1] + np.float32(2)
    message = outcome_of(case, setting, wrong).message
    assert message.startswith(f"1 of 3 elements are wrong\nelement (1,) is {wrong[1]} (0x")
    assert f"expected {setting.lowest[1]} (0x" in message
    assert "), 2 above\n" in message
    assert "the limits are the exact sum +-(3 * 1 axes + 2 taps) * 2^-24 * sum|weight * tap|" in message


def test_a_wrong_picture_is_drawn_and_a_wrong_vector_is_not() -> None:
    for line, is_drawn in [
        ("resample u8[20,30,3] -> u8[40,50,3] mode=linear data=image", True),
        ("resample u8[3] -> u8[40] mode=linear", False),
    ]:
        case, setting = case_and_setting(line)
        outcome = outcome_of(case, setting, setting.lowest[::-1])
        assert outcome.verdict is Verdict.FAILED
        assert (outcome.pictures is not None) == is_drawn
        assert outcome.wrong


def test_a_pred_that_is_neither_0_nor_1_shows_its_bits() -> None:
    case, setting = case_and_setting("reorder pred[9] -> pred[9]")
    raw = after_a_right_run(setting)
    raw[setting.places[4]] = 3
    first, second = judge(case, setting, setting.source, raw).message.splitlines()
    assert first == "1 of 9 elements are wrong"
    assert second.startswith("element (4,) is True (0x03), expected ")


def test_a_wrong_element_tells_where_else_it_lies() -> None:
    case, setting = case_and_setting("reorder s32[2,3]{strides=(4,1)} -> s32[2,3]{0,1}")
    source, before = setting.source.view(np.int32), elements_of(setting, setting.destination)
    wrong, first = setting.lowest.copy(), GUARD_BYTES // 4
    wrong[0] = source[first + 4 + 1], before[0, 1], source[first - 2]
    wrong[1] = source[first + 3], source[first + 7], setting.lowest[1, 2] + 1
    found = [line.partition(": ")[2] for line in wrong_elements(case, setting, wrong, wrong == setting.lowest)[1:]]
    assert found == [
        "what source element (1, 1) holds",
        "its value before the run",
        "what the source's buffer holds before its elements",
        "what the source's buffer holds between its elements",
        "what the source's buffer holds behind its elements",
    ]
    case, setting = case_and_setting("reorder u8[64] -> u8[64] data=index")
    wrong = setting.lowest ^ np.uint8(64)
    assert not any(": what" in line for line in wrong_elements(case, setting, wrong, wrong == setting.lowest))
    case, setting = case_and_setting("reorder s32[9] -> f32[9]")
    wrong = setting.lowest.copy()
    wrong[0] = setting.lowest[1]
    assert wrong_elements(case, setting, wrong, wrong == setting.lowest)[1].count(":") == 0, "another type"


def test_elements_that_were_not_written_are_counted() -> None:
    case, setting = case_and_setting("reorder f32[9] -> f32[9]")
    raw = after_a_right_run(setting)
    raw[setting.places[:3]] = setting.destination[setting.places[:3]]
    raw[setting.places[5]] ^= 1
    message = judge(case, setting, setting.source, raw).message
    assert message.startswith("4 of 9 elements are wrong, 3 of them not written\n")


def test_a_linear_answer_may_lie_anywhere_within_its_limits_and_not_beyond() -> None:
    case, setting = case_and_setting("resample f32[9]{0} -> f32[4]{0} mode=linear")
    for values, verdict in [
        (setting.lowest, Verdict.PASSED),
        (setting.highest, Verdict.PASSED),
        (np.nextafter(setting.highest, np.float32(np.inf)), Verdict.FAILED),
        (np.nextafter(setting.lowest, np.float32(-np.inf)), Verdict.FAILED),
        (np.full(4, np.nan, np.float32), Verdict.FAILED),
    ]:
        assert outcome_of(case, setting, values).verdict is verdict


def test_the_sign_of_zero_counts_where_an_inexact_operation_has_one_answer() -> None:
    case = Case.parse("resample f32[3] -> f32[3] mode=linear axes=(0)")
    for zeros, actual, verdict in [
        ((0.0, 0.0), -0.0, Verdict.FAILED),
        ((-0.0, -0.0), 0.0, Verdict.FAILED),
        ((-0.0, -0.0), -0.0, Verdict.PASSED),
        ((-0.0, 0.0), 0.0, Verdict.PASSED),
    ]:
        setting = prepare(case)
        setting.lowest[1], setting.highest[1] = zeros
        values = setting.lowest.copy()
        values[1] = actual
        assert outcome_of(case, setting, values).verdict is verdict, (zeros, actual)
    setting = prepare(case)
    setting.lowest[1] = setting.highest[1] = np.nan  # any NaN will do
    values = setting.lowest.copy()
    values.view(np.uint32)[1] ^= 0x80000001
    assert outcome_of(case, setting, values).verdict is Verdict.PASSED


def test_a_signalling_nan_that_turned_quiet_is_found() -> None:
    case, setting = case_and_setting("reorder f32[256]{0} -> f32[256]{0}")
    right = after_a_right_run(setting)
    words = right.view(np.uint32)
    signalling = (words & 0x7FC00000 == 0x7F800000) & (words & 0x3FFFFF != 0)
    signalling[: GUARD_BYTES // 4] = signalling[-GUARD_BYTES // 4 :] = False
    assert signalling.any()
    words[signalling] |= 0x00400000
    assert judge(case, setting, setting.source, right).verdict is Verdict.FAILED


def test_a_lost_buffer_end_is_found() -> None:
    case, setting = case_and_setting(PADDED)
    message = judge(case, setting, setting.source, after_a_right_run(setting)[:-8]).message
    assert "the destination buffer has" in message
    message = judge(case, setting, setting.source[:-8], after_a_right_run(setting)).message
    assert "the source buffer has" in message


class TestArithmetic:
    """What a conversion, a scale or a sum makes right, and what not."""

    def verdict(self, line: str, change) -> Outcome:
        """The verdict on right elements that ``change`` changed."""
        setting = prepare(Case.parse(line))
        elements = setting.lowest.copy()
        change(setting, elements)
        return judge(Case.parse(line), setting, setting.source, holding(setting, elements))

    @pytest.mark.parametrize(("arguments", "verdict"), [("", Verdict.FAILED), (" src_scale=-3", Verdict.PASSED)])
    def test_nan_has_its_bits_where_nothing_is_computed_and_any_bits_elsewhere(self, arguments, verdict) -> None:
        def change(_setting: Setting, elements: np.ndarray) -> None:
            places = np.isnan(elements)
            assert places.any()
            elements.view(np.uint32)[places] ^= 0x80000001

        assert self.verdict(f"reorder f64[500] -> f32[500]{arguments}", change).verdict is verdict

    def test_a_number_for_nan_and_nan_for_a_number_are_wrong(self) -> None:
        for is_nan, value in ((True, 0), (False, np.nan)):

            def change(_setting: Setting, elements: np.ndarray, is_nan=is_nan, value=value) -> None:
                elements[np.flatnonzero(np.isnan(elements) == is_nan)[0]] = value

            assert self.verdict("reorder f64[500] -> f32[500] src_scale=3", change).verdict is Verdict.FAILED

    def test_denormals_of_f32_may_be_zeros_or_anything_between_and_are_counted(self) -> None:
        line = "reorder f32[600] -> f32[600] src_scale=0.75"
        setting = prepare(Case.parse(line))
        telling = np.flatnonzero(setting.lowest.view(np.uint32) != setting.highest.view(np.uint32))
        assert len(telling) >= 8
        assert (np.minimum(abs(setting.lowest[telling]), abs(setting.highest[telling])) == 0).all()
        told = f"{len(telling)} of 600 elements are as on a device that takes denormals of f32 for zeros"

        def flushed(setting: Setting, elements: np.ndarray) -> None:
            elements[:] = setting.flushed

        def kept(setting: Setting, elements: np.ndarray) -> None:
            is_flushed = elements.view(np.uint32) == setting.flushed.view(np.uint32)
            elements[is_flushed] = setting.highest[is_flushed]

        def between(_setting: Setting, elements: np.ndarray) -> None:
            elements[telling] = (setting.lowest[telling] + setting.highest[telling]) / 2

        def beyond(_setting: Setting, elements: np.ndarray) -> None:
            elements[telling[0]] = np.nextafter(setting.highest[telling[0]], np.float32(np.inf))

        for change, message in ((flushed, told), (kept, "")):
            outcome = self.verdict(line, change)
            assert (outcome.verdict, outcome.message) == (Verdict.PASSED, message)
        assert self.verdict(line, between).verdict is Verdict.PASSED
        outcome = self.verdict(line, beyond)
        assert outcome.verdict is Verdict.FAILED
        assert "the limits are the answers of f32 with and without its denormals" in outcome.message

    def test_integers_are_what_the_steps_make_and_nothing_beside(self) -> None:
        for line in ("reorder f32[500] -> s8[500] dst_scale=0.3", "reorder s64[500] -> u64[500] src_scale=1.7"):

            def change(_setting: Setting, elements: np.ndarray) -> None:
                elements[np.flatnonzero(elements == np.unique(elements)[20])[0]] += 1

            assert self.verdict(line, change).verdict is Verdict.FAILED

    def test_a_sum_reads_plain_numbers_and_leaves_padding_alone(self) -> None:
        case, setting = case_and_setting(SUM)
        old = old_values(case)
        assert np.array_equal(elements_of(setting, setting.destination), old)
        assert not setting.padding.any()
        source = from_buffer(setting.source, setting.src).astype(np.float32) * np.float32(0.3)
        wanted = source + np.float32(-0.5) * old.astype(np.float32)
        assert np.array_equal(setting.lowest, np.clip(np.rint(wanted), -128, 127))
        message = outcome_of(case, setting, setting.lowest).message
        assert "of the destination (element or padding) must not change" in message

    def test_in_place_the_destination_is_the_source(self) -> None:
        line = "reorder f32[5,13]{1,0:T(4)(3)} -> f32[5,13]{1,0:T(4)(3)} src_scale=0.5 sum_scale=2 out=same seed=1"
        setting = prepare(Case.parse(line))
        assert setting.destination is setting.source
        source = from_buffer(setting.source, setting.src)
        with np.errstate(all="ignore"):
            wanted = source * np.float32(0.5) + source * np.float32(2)
        assert is_right(Case.parse(line), setting, wanted).all()
        outcome = judge(Case.parse(line), setting, setting.source, after_a_right_run(setting))
        assert outcome.verdict is Verdict.PASSED


class TestMistrusted:
    def test_a_broadcast_axis_that_is_interpolated_is_alike_for_a_good_reason(self) -> None:
        # Each sum of one place with two weights differs in its last bits, and is that place.
        line = "resample s8[3,5]{strides=(0,1)} -> s8[8,33]{strides=(33,-1),offset=32} mode=linear seed=10"
        case = Case.parse(line)
        assert not mistrusted(case, prepare(case))

    """The verdict on right results of data that prove nothing."""

    def verdict(self, setting: Setting, line: str) -> Outcome:
        return judge(Case.parse(line), setting, setting.source.copy(), after_a_right_run(setting))

    @pytest.mark.parametrize(
        ("untouched", "count", "verdict"),
        [(1, 1, Verdict.MISTRUSTED), (1, 7, Verdict.MISTRUSTED), (1, 8, Verdict.PASSED), (2, 8, Verdict.MISTRUSTED),
         (8, 64, Verdict.PASSED), (9, 64, Verdict.MISTRUSTED)],
    )  # fmt: skip
    def test_where_nothing_done_would_pass(self, untouched: int, count: int, verdict: Verdict) -> None:
        line = f"reorder u32[{count}] -> u32[{count}] data=index"
        setting = prepare(Case.parse(line))
        right = setting.lowest.view(np.uint8)
        setting.destination[GUARD_BYTES : GUARD_BYTES + 4 * untouched] = right[: 4 * untouched]
        outcome = self.verdict(setting, line)
        assert outcome.verdict is verdict
        assert (f"{untouched} of {count} elements would be right" in outcome.message) == (verdict != Verdict.PASSED)

    @pytest.mark.parametrize("line", ["reorder u8[1] -> u8[1]", "reorder pred[2] -> pred[2]", "reorder u8[9] -> u8[9]",
                                      "resample u8[4] -> u8[2] mode=linear"])  # fmt: skip
    def test_no_seed_brings_a_destination_that_is_right_before_the_run_nor_equal_elements(self, line: str) -> None:
        for seed in range(600):
            case, setting = case_and_setting(f"{line} seed={seed}")
            assert not is_right(case, setting, elements_of(setting, setting.destination)).any(), seed
            assert not mistrusted(case, setting), seed

    def test_limits_that_accept_almost_anything(self) -> None:
        line = "resample f16[16] -> f16[31] mode=linear"
        setting = prepare(Case.parse(line))
        setting.lowest[:5], setting.highest[:5] = -np.inf, np.inf
        assert "5 of 31 elements would be right" in self.verdict(setting, line).message

    def test_where_everything_is_the_same_although_it_comes_from_different_places(self) -> None:
        line = "reorder u8[9] -> u8[4] view=[1:5] seed=3"
        setting = prepare(Case.parse(line))
        assert self.verdict(setting, line).verdict is Verdict.PASSED
        alike = replace(setting, lowest=np.full(4, 7, np.uint8), highest=np.full(4, 7, np.uint8))
        outcome = self.verdict(alike, line)
        assert outcome.verdict is Verdict.MISTRUSTED
        assert "all elements along axis 0 must be the same, wherever they come from" in outcome.message

    @pytest.mark.parametrize(
        ("line", "axis"),
        [("reorder u8[16,256] -> u8[16,256]{0,1} data=index", 0),
         ("reorder u8[256,16]{0,1} -> u8[256,16] view=.permute(1,0)[::-1].permute(1,0) data=index", None),
         ("resample u8[4,256] -> u8[7,256] mode=linear data=index", 0),
         ("slice s8[3,2,64] -> s8[3,2,4] offsets=(0,0,0) sizes=(3,2,64) strides=(-1,1,16) data=index", 0)],
    )  # fmt: skip
    def test_where_a_wrong_index_along_one_axis_would_not_show(self, line: str, axis: int | None) -> None:
        setting = prepare(Case.parse(line))
        outcome = self.verdict(setting, line)
        assert outcome.verdict is (Verdict.PASSED if axis is None else Verdict.MISTRUSTED)
        assert (f"along axis {axis} " in outcome.message) == (axis is not None)

    @pytest.mark.parametrize(
        "line",
        ["reorder u8[5]{strides=(0)} -> u8[5]", "reorder f32[1] -> f32[4,3] view=.broadcast_to(4,3)",
         "resample f32[1] -> f32[9] mode=linear", "slice u8[9] -> u8[1] offsets=(3) sizes=(1) strides=(1)"],
    )  # fmt: skip
    def test_not_where_everything_comes_from_one_place(self, line: str) -> None:
        assert self.verdict(prepare(Case.parse(line)), line).verdict is Verdict.PASSED

    def test_a_wrong_result_is_wrong_all_the_same(self) -> None:
        line = "reorder pred[2] -> pred[2]"
        setting = prepare(Case.parse(line))
        wrong = after_a_right_run(setting)
        wrong[0] ^= 1
        setting.destination[:] = after_a_right_run(setting)
        assert judge(Case.parse(line), setting, setting.source, wrong).verdict is Verdict.FAILED


def device_like(heap: int = 1 << 31, **limits: int) -> SimpleNamespace:
    return SimpleNamespace(info=SimpleNamespace(heap_bytes=heap), limits=Limits(**limits))


class TestRoom:
    """A case that cannot fit is skipped before anything is allocated."""

    @pytest.mark.parametrize(
        ("line", "src", "dst"),
        [
            ("reorder u8[1000] -> u8[1000]{strides=(2)}", 1000, 1999),
            ("reorder u8[3,5] -> u8[3,5]{1,0:T(64,128)}", 15, 64 * 128),
        ],
    )
    def test_buffers_with_their_padding_and_the_device(self, line: str, src: int, dst: int) -> None:
        case, nbytes = Case.parse(line), buffer_bytes(src) + buffer_bytes(dst)
        assert why_not(case, device_like(heap=2 * nbytes)) == ""
        assert f"take {nbytes:,} bytes, more than half" in why_not(case, device_like(heap=2 * nbytes - 1))

    def test_the_copies_of_a_batch(self, vulkan_device: rs.Device, monkeypatch: pytest.MonkeyPatch) -> None:
        case = Case.parse("reorder u8[3,5] -> u8[3,5]{0,1}")
        nbytes, info = (IN_BATCH + 1) * 2 * buffer_bytes(15), vulkan_device.info
        for heap, in_batch, verdict in (
            (2 * nbytes, True, Verdict.PASSED),
            (2 * nbytes - 1, True, Verdict.SKIPPED),
            (2 * nbytes - 1, False, Verdict.PASSED),
        ):
            monkeypatch.setattr(rs.Device, "info", replace(info, heap_bytes=heap))
            outcome = run_case(case, vulkan_device, in_batch=in_batch)
            assert outcome.verdict is verdict
            assert (f"its buffers, 3 times, take {nbytes:,} bytes" in outcome.message) == (verdict is Verdict.SKIPPED)

    def test_whole_buffers_and_a_binding(self) -> None:
        case = Case.parse("reorder u8[1000] -> u8[1000]")
        assert why_not(case, device_like(max_buffer_range=12288, offset_alignment=0)) == ""
        assert "binds whole buffers only" in why_not(case, device_like(max_buffer_range=12287, offset_alignment=0))
        assert why_not(case, device_like(max_buffer_range=9191)) == ""

    @pytest.mark.parametrize(
        "line",
        ["reorder u8[9]{strides=(0)} -> u8[1] view=.broadcast_to(1000000,1000000,9)[0,0,:1]",
         "reorder u8[1000000000000]{strides=(0)} -> u8[1]",
         "resample f32[100000000,1] -> f32[1,100000000] mode=linear",
         "resample u8[1] -> u8[100000000000] mode=nearest"],
    )  # fmt: skip
    def test_the_machine_itself(self, line: str) -> None:
        case = Case.parse(line)
        assert host_bytes(case) > 1 << 42
        assert "of host memory" in why_not(case, device_like(heap=1 << 62))

    def test_the_verdict(self, device: rs.Device) -> None:
        outcome = run_case(Case.parse("reorder u8[1000000000000] -> u8[1000000000000]"), device)
        assert outcome.verdict is Verdict.SKIPPED
        assert "more than half of the device's" in outcome.message


class TestRun:
    @pytest.mark.parametrize(
        "line",
        ["slice u8[9,7] -> u8[4,7] offsets=(1,0) sizes=(8,7) strides=(-2,1)",
         "reorder f32[6,3,4] -> f32[4,6]{0,1} view=[:,2].permute(1,0) data=index",
         "resample u8[30,40,3] -> u8[13,64,3] mode=linear view=[::-1] data=image"],
    )  # fmt: skip
    def test_a_right_run(self, line: str, device: rs.Device, tmp_path) -> None:
        case, calls = Case.parse(line), []

        def after(call: str) -> None:
            calls.append(call)
            assert (call == "judging") == (device.counters().dispatches > before)

        before = device.counters().dispatches
        outcome = run_case(
            case, device, started=lambda: after("started"), judging=lambda: after("judging"), keep=tmp_path / "kept"
        )
        assert (outcome.verdict, outcome.message) == (Verdict.PASSED, "")
        assert outcome.seconds > 0
        assert calls == ["started", "judging"]
        setting = prepare(case)
        kept = np.frombuffer((tmp_path / "kept").read_bytes(), np.uint8)
        assert judge(case, setting, setting.source, kept).verdict is Verdict.PASSED

    @pytest.mark.parametrize(
        ("line", "verdict", "message"),
        [
            (
                "resample f64[4] -> f64[5] mode=linear",
                Verdict.UNIMPLEMENTED,
                "elements of type f64 are not interpolated",
            ),
            ("reorder u8[2,3] -> u8[3,2]", Verdict.FAILED, "DescriptorError: reorder gives sizes"),
            ("reorder u8[4] -> u8[4]{strides=(0)}", Verdict.FAILED, "DescriptorError: out .* overlap"),
            ("reorder u8[6,4] -> u8[24] view=.permute(1,0).reshape(24)", Verdict.FAILED, "DescriptorError: .*copy"),
        ],
    )
    def test_cases_that_are_refused_get_a_verdict(
        self, line: str, verdict: Verdict, message: str, device: rs.Device
    ) -> None:
        outcome = run_case(Case.parse(line), device)
        assert outcome.verdict is verdict
        assert pytest.raises(Exception, match=message).matches(Exception(outcome.message))

    def test_an_operation_is_one_class(self, device: rs.Device, monkeypatch) -> None:
        class Turned(CheckedOperation):
            function = "reorder"
            parameters = (Parameter("layout", str, required=True),)

            def sizes(self, case: Case) -> tuple[int, ...]:
                return case.viewed[::-1]

        monkeypatch.setitem(OPERATIONS, "turned", Turned())
        case = Case.parse("turned u16[5,7] -> u16[7,5]{0,1} view=[::-1] layout=HW->WH")
        require_valid(case)
        outcome = run_case(case, device)
        assert (outcome.verdict, outcome.message) == (Verdict.PASSED, "")
        with pytest.raises(DescriptorError, match=r"turned gives sizes \[7, 5\]"):
            require_valid(replace(case, dst=case.src))
        with pytest.raises(DescriptorError, match="turned has no parameter mode"):
            _ = case["mode"]

    @pytest.mark.parametrize("out", ["", " out=new", " out=default"])
    def test_a_function_without_a_layout_is_tried_with_every_destination(self, out: str, device, monkeypatch) -> None:
        class Copied(CheckedOperation):
            function = "copied"
            parameters = ()

            def sizes(self, case: Case) -> tuple[int, ...]:
                return case.viewed

        monkeypatch.setattr(rs, "copied", lambda x, out=None: rs.reorder(x, out=out), raising=False)
        monkeypatch.setattr(rs.reference, "copied", np.array, raising=False)
        monkeypatch.setitem(OPERATIONS, "copied", Copied())
        layout = "" if out == " out=default" else ":aB4b"
        outcome = run_case(Case.parse(f"copied u16[5,7] -> u16[5,7]{layout}{out}"), device)
        assert (outcome.verdict, outcome.message) == (Verdict.PASSED, "")

    def with_call(self, monkeypatch: pytest.MonkeyPatch, call) -> None:
        def of_case(case: Case) -> OperationCall:
            return lambda source, out: call(case, source, out)

        monkeypatch.setattr(OPERATIONS["reorder"], "call", of_case)

    @pytest.mark.parametrize(
        ("error", "verdict"),
        [(rs.UnsupportedError, Verdict.UNIMPLEMENTED), (rs.DescriptorError, Verdict.FAILED),
         (rs.OutOfDeviceMemory, Verdict.FAILED), (rs.DeviceError, Verdict.FAILED)],
    )  # fmt: skip
    def test_errors_of_the_operation_become_verdicts(self, error, verdict, device: rs.Device, monkeypatch) -> None:
        def call(*_arguments: object) -> None:
            raise error("planted")

        self.with_call(monkeypatch, call)
        outcome = run_case(Case.parse("reorder u8[4] -> u8[4]"), device)
        assert outcome.verdict is verdict
        assert outcome.message == ("planted" if verdict is Verdict.UNIMPLEMENTED else f"{error.__name__}: planted")

    @pytest.mark.parametrize("error", [rs.DeviceLost, rs.DeviceTimeout])
    def test_a_device_that_is_of_no_more_use_is_for_the_caller(self, error, device: rs.Device, monkeypatch) -> None:
        def call(*_arguments: object) -> None:
            raise error("planted")

        self.with_call(monkeypatch, call)
        with pytest.raises(error, match="planted"):
            run_case(Case.parse("reorder u8[4] -> u8[4]"), device)

    def test_a_destination_of_the_operation_s_own_has_the_layout_that_was_asked_for(self, device, monkeypatch) -> None:
        case = Case.parse("reorder u8[2,3] -> u8[2,3]{0,1} out=new")
        assert run_case(case, device).verdict is Verdict.PASSED
        self.with_call(monkeypatch, lambda _case, source, _out: rs.reorder(source))
        outcome = run_case(case, device)
        assert (outcome.verdict, outcome.message) == (
            Verdict.FAILED,
            "the operation made u8[2,3]{1,0}, expected u8[2,3]{0,1}",
        )

    @pytest.mark.parametrize("layout", ["{strides=(-4,1),offset=6}", "{1,0}"])
    def test_its_elements_are_judged_and_kept_but_not_what_lies_between_them(self, layout, device, tmp_path) -> None:
        case = Case.parse(f"reorder u8[2,3] -> u8[2,3]{layout} out=new")
        assert run_case(case, device, keep=tmp_path / "kept").verdict is Verdict.PASSED
        assert (tmp_path / "kept").read_bytes() == after_a_right_run(prepare(case)).tobytes()

    def test_the_padding_of_a_new_destination_is_judged(self, device, monkeypatch) -> None:
        case = Case.parse("reorder u8[2,3] -> u8[2,3]{1,0:pad(2,4)=7} out=new")
        assert run_case(case, device).verdict is Verdict.PASSED

        def call(_case: Case, source: rs.Tensor, _out: None) -> rs.Tensor:
            made = rs.reorder(source, "u8[2,3]{1,0:pad(2,4)=7}")
            device.runtime.write(made.memory, 4, memoryview(bytes(4)))
            return made

        self.with_call(monkeypatch, call)
        outcome = run_case(Case.parse("reorder u8[2,3] -> u8[2,3]{1,0:pad(2,4)=7} out=new seed=3"), device)
        assert "1 of 2 bytes of padding are wrong" in outcome.message
        assert "byte 7 of the destination (padding) is 0x00, expected 0x07" in outcome.message

    def test_a_wrong_element_of_a_new_destination_is_found(self, device, monkeypatch) -> None:
        self.with_call(monkeypatch, lambda _case, source, _out: rs.reorder(rs.reorder(source)[::-1]))
        outcome = run_case(Case.parse("reorder u8[9] -> u8[9] out=default"), device)
        assert outcome.message.startswith("8 of 9 elements are wrong")

    def test_in_one_buffer_a_change_to_the_source_is_found(self, device, monkeypatch) -> None:
        line = "reorder u8[4]{strides=(2)} -> u8[4]{strides=(2),offset=1} out=same"
        assert run_case(Case.parse(line), device).verdict is Verdict.PASSED

        def call(_case: Case, source: rs.Tensor, out: rs.Tensor) -> rs.Tensor:
            assert out.memory is source.memory
            rs.reorder(source, out=out)
            device.runtime.write(source.memory, GUARD_BYTES + 2, memoryview(bytes([source.buffer()[2] ^ 1])))
            return out

        self.with_call(monkeypatch, call)
        outcome = run_case(Case.parse(line), device)
        assert "byte 2 of the destination (element or padding) must not change" in outcome.message

    def test_nothing_done_fails(self, device: rs.Device, monkeypatch) -> None:
        self.with_call(monkeypatch, lambda *_arguments: None)
        outcome = run_case(Case.parse("reorder u8[9] -> u8[9]"), device)
        assert outcome.verdict is Verdict.FAILED
        assert outcome.message.startswith("9 of 9 elements are wrong, none of them written\nelement (0,) is ")

    def test_a_view_that_dispatches_fails(self, device: rs.Device, monkeypatch) -> None:
        index = rs.Tensor.__getitem__
        monkeypatch.setattr(rs.Tensor, "__getitem__", lambda tensor, key: rs.reorder(index(tensor, key)))
        outcome = run_case(Case.parse("reorder u8[9] -> u8[5] view=[::2]"), device)
        assert outcome.verdict is Verdict.FAILED
        assert outcome.message == "view [::2] made 1 dispatches; a view makes none"


MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("limits", "least"),
    [
        ((), MACHINE),
        (("max\n",), MACHINE),
        (("9223372036854771712\n",), MACHINE),  # what version 1 says where there is no limit
        (("1048576\n",), 1 << 20),
        (("max\n", "2097152\n"), 2 << 20),
    ],
)
def test_a_case_may_take_half_of_what_the_machine_or_the_container_has(monkeypatch, tmp_path, limits, least):
    files = [tmp_path / str(number) for number in range(2)]
    for file, text in zip(files, limits, strict=False):
        file.write_text(text)
    monkeypatch.setattr(check, "_CGROUP_LIMITS", files)
    assert check._available() == least // 2
