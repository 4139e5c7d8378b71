"""Tables of records: what was measured, other figures, and the forms of a table."""

import re

import pytest

from restride_conformance.record import Outcome, Verdict
from restride_conformance.report.table import Table, figure_text, number_text, tables


def cells(line):
    return re.split(r"  +", line.strip())


def test_a_measure_has_speeds_shares_ratios_and_goals():
    goals = {"at most 2x numpy": {"met": False, "measured": "4.00x numpy"}}
    columns = {"ours": [2e-3, 1e-3, 3e-3], "copy": 1e-3, "numpy": [4e-3, 0.5e-3, 0.4e-3]}
    first = Outcome("a", Verdict.PASSED, group="copies", figures={"bytes": 8e6, "resident": columns, "goals": goals})
    second = Outcome("b", Verdict.PASSED, group="turns", figures={"resident": {"ours": 3e-4, "own copy": 2e-4}})
    (table,) = tables([first, second], {"repeat": 3, "peers": {"numpy": "2"}})
    title, note, *lines = str(table).splitlines()
    assert title == "resident: the call and the wait, tensors on the device, destination there; medians of 3 rounds"
    assert note.endswith("ours / other: below 1 ours is faster")
    assert cells(lines[0]) == ["workload", "ms", "GB/s", "of copy", "/own", "/numpy", "goals"]
    assert cells(lines[2]) == ["a", "2.000", "4.00", "0.50", "-", "4.00", "at most 2x numpy: MISSED"]
    assert (lines[1], lines[3]) == ("copies", "turns")
    assert cells(lines[4]) == ["b", "0.300", "0.00", "-", "1.50", "-"]
    ends = {re.search(r"2\.000|0\.300", line).end() for line in (lines[2], lines[4])}
    assert len(ends) == 1, "columns are aligned"


def test_kernels_have_the_share_of_the_memory_peak_where_it_is_known():
    figures = {"bytes": 6e6, "resident": {"ours": 2e-3}, "kernel": {"ours": 1e-3, "copy": 1e-3, "numpy": 2e-3}}
    outcome = Outcome("a", Verdict.PASSED, figures=figures)
    resident, kernel = tables([outcome], {"measures": ["resident", "kernel"], "peers": {"numpy": "2"}, "peak": 8.0})
    assert [list(row) for row in kernel.rows] == [
        ["workload", "ms", "GB/s", "of copy", "of peak", "/numpy"],
        ["  a", "1.000", "6.00", "1.00", "0.75", "0.50"],
    ]
    assert list(kernel.right) == [1, 2, 3, 4, 5]
    assert "of peak" not in resident.rows[0], "a call is more than memory"


def test_other_figures_are_a_table_of_each_group_with_verdicts_where_one_is_not_passed():
    pages = Outcome("one way", Verdict.PASSED, group="ways", figures={"MB/s": 1234.5, "words": "a, b"})
    tools = Outcome("kp", Verdict.SKIPPED, "not installed", group="tools")
    ways, others = tables([pages, Outcome("another", Verdict.PASSED, group="ways"), tools])
    assert [list(row) for row in ways.rows] == [
        ["name", "MB/s", "words"],
        ["one way", "1,234", "a, b"],
        ["another", "", ""],
    ]
    assert list(ways.right) == [1]
    assert others.rows[1] == ["kp", "SKIPPED", "not installed"]


def test_a_table_has_three_forms():
    table = Table("name", [["x", "y"], ["a group"], ["<1>", "✗ 2"]], "a note", right=[1])
    assert str(table).splitlines() == ["name", "a note", "x      y", "a group", "<1>  ✗ 2"]
    assert Table("", [["x", "y"], ["1", "2"]]).markdown() == "| x | y |\n| --- | --- |\n| 1 | 2 |"
    page = table.html()
    assert '<th scope="rowgroup" colspan="2">a group</th>' in page
    assert '<th scope="row">&lt;1&gt;</th><td class="FAILED">✗ 2</td>' in page


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (65535, "65,535"),
        ([65535, 2, 1], "65,535 x 2 x 1"),
        ({"a": 0.5, "b": True}, "a 0.500, b True"),
        (1234.4, "1,234"),
        (0.0123, "0.0123"),
    ],
)
def test_figures_have_three_digits_and_counts_all(value, text):
    assert figure_text(value) == text
    assert number_text(0.0) == "0"
