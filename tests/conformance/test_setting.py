"""Both buffers before a run: padding, poison, guards, and answers that may be any."""

from __future__ import annotations

import numpy as np
import pytest

from restride.reference.memory import element_bytes
from restride_conformance import Case
from restride_conformance.setting import GUARD_BYTES, buffer_bytes, is_right, prepare


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.0])
def test_any_element_is_right_where_partial_sums_may_overflow_to_both_sides(value: float) -> None:
    case = Case.parse("resample f32[2,33]{1,0} -> f32[3,70]{1,0} mode=cubic data=edges seed=77005")
    setting = prepare(case)
    overflows = np.isnan(setting.highest) & ~np.isnan(setting.lowest)
    assert 0 < overflows.sum() < 20
    elements = np.where(overflows, np.float32(value), setting.lowest)
    assert is_right(case, setting, elements).all()


def test_no_byte_of_padding_is_right_before_the_run() -> None:
    for seed in range(40):
        for layout in ("{1,0:pad(40,40)=0}", "{0,1:T(16,8)}", ":AB16a16b", "{1,0:T(4)(3)pad(9,9)=255}"):
            setting = prepare(Case.parse(f"reorder u8[5,6] -> u8[5,6]{layout} seed={seed}"))
            assert setting.padding.any()
            assert (setting.destination != setting.padded)[setting.padding].all()


def test_the_padding_of_a_source_is_poison() -> None:
    """A kernel that reads it brings neither zeros nor the padding value."""
    setting = prepare(Case.parse("reorder u8[3,5]{1,0:T(8,128)pad(4,6)=7} -> u8[3,5]"))
    elements = np.zeros(setting.source.size, np.bool_)
    elements[element_bytes(setting.src)] = True
    assert len(np.unique(setting.source[: setting.src.nbytes][~elements[: setting.src.nbytes]])) > 200


def test_in_one_buffer_with_tiles_both_sides_are_counted_from_its_start() -> None:
    line = "reorder u8[2]{strides=(1),offset=9} -> u8[2]{at=(a,2),in=[2,3]{1,0:pad(2,4)=0}} out=same"
    setting = prepare(Case.parse(line))
    assert (setting.src.offset, setting.dst.offset) == (9, 2)
    assert setting.source.size == buffer_bytes(11) == 3 * GUARD_BYTES
