"""The C program of a case, as text."""

import re

import numpy as np
import pytest

from restride.dtypes import DTYPES
from restride_conformance.export.program import BoundRange, Buffer, Check, Copy, Dispatch, Program
from restride_conformance.export.tables import c_program, largest_number


def program(*steps, line="a case", **check):
    buffers = (Buffer("source", np.zeros(32, np.uint8)), Buffer("destination", np.zeros(16, np.uint8)))
    right = Check(1, np.zeros(16, np.uint8), np.ones(16, np.bool_), DTYPES["f32"], np.uint64([[0], [8]]), (0,), **check)
    return Program(line, {"a": b"", "b": b""}, buffers, steps, right)


def dispatch(module, constants, push, *bindings, barrier=False):
    return Dispatch(module, constants, constants, push, (3, 2, 1), bindings, barrier)


def table(text, name):
    return re.search(rf"static const [\w ]*{name}\[\] = \{{\n(.*?)\}};", text, re.DOTALL)[1].split("\n")[:-1]


READS, WRITES = BoundRange(0, 16, 16, False), BoundRange(1, 0, 16, True)


def test_each_dispatch_refers_to_its_own_part_of_the_tables():
    text = c_program(
        program(
            dispatch("a", (7, 8), (1, 2), READS, WRITES),
            Copy(0, 1, 4, 8, 12, True),
            dispatch("b", (9,), (3,), WRITES, barrier=True),
            dispatch("a", (7, 8), (), READS, WRITES),
        )
    )
    assert table(text, "PIPELINES") == ['    {"a", 2, 2, 0},', '    {"b", 1, 1, 2},']
    assert [row.strip(" ,") for row in table(text, "CONSTANTS")] == ["7", "8", "9"]
    assert [row.strip(" ,") for row in table(text, "PUSH")] == ["1", "2", "3"]
    first, copy, second, third = table(text, "STEPS")
    assert ".pipeline = 0" in first
    assert ".first_binding = 0, .pushes = 2, .first_push = 0" in first
    assert ".has_barrier = 1, .src = 0, .dst = 1, .src_offset = 4, .dst_offset = 8, .size = 12" in copy
    assert ".has_barrier = 1, .pipeline = 1" in second
    assert ".first_binding = 2, .pushes = 1, .first_push = 2" in second
    assert ".pipeline = 0" in third
    assert ".first_binding = 3, .pushes = 0, .first_push = 3" in third
    assert table(text, "BINDINGS")[2] == "    {1, 0, 16},"


def test_tables_without_rows_are_still_c99():
    text = c_program(program())
    assert table(text, "STEPS") == ["    {0},"]
    assert table(text, "PUSH") == ["    0,"]


def test_a_line_with_characters_that_c_reads_otherwise_is_kept():
    assert r'.line = "a \"b\" \\ \?\?/",' in c_program(program(line='a "b" \\ ??/'))


def test_a_result_that_is_not_exact_is_compared_as_its_type_is():
    limits = {"lowest": np.zeros((2, 1), np.float32), "highest": np.ones((2, 1), np.float32)}
    assert ".comparison = EXACT" in c_program(program())
    assert ".comparison = FLOAT_LIMITS" in c_program(program(**limits))
    assert ".largest_number = 0x7f800000" in c_program(program(**limits))


@pytest.mark.parametrize("name", [name for name, dtype in DTYPES.items() if dtype.is_float])
def test_the_next_magnitude_after_the_largest_number_is_nan(name):
    dtype = DTYPES[name]
    bits = np.array([largest_number(dtype), largest_number(dtype) + 1], f"u{dtype.itemsize}")
    with np.errstate(invalid="ignore"):  # ml_dtypes warns of a signalling NaN
        assert np.isnan(bits.view(dtype.dtype)).tolist() == [False, True]
