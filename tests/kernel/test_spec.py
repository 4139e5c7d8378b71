"""Kernels as values: constants, push constants and structs of parameters are packed by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from restride.kernel import Binding, KernelSpec, struct_words

BINDINGS = (Binding(0, 64), Binding(0, 64, writes=True))


def test_constants_and_push_constants_are_packed_by_name():
    constants, push = {"EACH": 4, "NEIGHBOURS": True}, {"pieces": 16, "dst_base": 3}
    kernel = KernelSpec.of("run_copy_32", constants, push, b"", (1, 1, 1), BINDINGS)
    assert (kernel.constants, kernel.push) == ((1, 4), (0, 3, 16, 0, 0))
    assert (kernel.constant("EACH"), kernel.pushed("pieces")) == (4, 16)
    gap = {
        "SRC_TYPE": 0,
        "DST_TYPE": 3,
        "ROUNDING": 4,
        "STEPS": 0,
        "SLOTS_AND_KIND": 1,
        "TAP_AXIS": 7,
        "WHOLE_QUADS": 1,
    }
    across = KernelSpec.of("resample_across", {**gap, "RANK": 2}, {}, b"", (1, 1, 1), BINDINGS)
    assert across.constants == (0, 0, 0, 3, 4, 0, 1, 7, 1, *[0] * 6, 2)


@pytest.mark.parametrize(
    ("constants", "push", "message"),
    [
        ({"EACH": 4}, {}, "run_copy_32 has the constants NEIGHBOURS, EACH, and is given EACH"),
        ({"EACH": 4, "NEIGHBOURS": 1, "RANK": 1}, {}, "is given EACH, NEIGHBOURS, RANK"),
        (
            {"EACH": 4, "NEIGHBOURS": 1},
            {"peices": 1},
            "run_copy_32 has the push constants src_base, .* is given peices",
        ),
    ],
)
def test_a_name_that_a_module_lacks_or_misses_is_an_error_of_the_plan(constants, push, message):
    with pytest.raises(AssertionError, match=message):
        KernelSpec.of("run_copy_32", constants, push, b"", (1, 1, 1), BINDINGS)


def test_members_of_a_struct_are_packed_by_name():
    assert struct_words("digit_copy", "Term", unused=(0, 0), coefficient=-1, number=3) == [3, 2**32 - 1, 0, 0]
    with pytest.raises(AssertionError, match="members of Term number, coefficient, unused, and is given number"):
        struct_words("digit_copy", "Term", number=3, factor=1)


def test_a_kernel_at_another_place_has_only_other_offsets():
    spec = KernelSpec("copy", (1,), (2,), b"", (1, 1, 1), (Binding(16, 8), Binding(0, 4, writes=True)))
    assert spec.at((32, 256)) == replace(spec, bindings=(Binding(48, 8), Binding(256, 4, writes=True)))
