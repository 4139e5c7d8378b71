"""The work under disturbances: its cases are right where nothing disturbs them, and wrong results are told."""

from __future__ import annotations

import numpy as np
import pytest
import work

import restride as rs
from restride.dtypes import Array
from restride_conformance import Case, Verdict, run_case
from restride_conformance.run.ways import Started


def test_the_written_cases_are_right(device: rs.Device) -> None:
    """So the reference judges what a disturbed run is compared with."""
    for line in work.LINES.values():
        outcome = run_case(Case.parse(line), device)
        assert outcome.verdict is Verdict.PASSED, outcome


def test_a_destination_is_of_its_work_and_holds_the_result_of_the_last_run(vulkan_device: rs.Device) -> None:
    """Before the first run it holds bytes that no result has."""
    ours = work.KINDS["reorder to tiles"](vulkan_device)
    ((out, before),) = ours.destinations
    assert np.array_equal(out.buffer(), before)
    (after,) = ours.run()
    assert not np.array_equal(after, before)
    assert np.array_equal(out.buffer(), after)
    assert np.array_equal(ours.run()[0], after)


def test_work_that_gives_something_else_than_alone_is_told(vulkan_device: rs.Device) -> None:
    """One bit is enough."""
    known = work.drawn(vulkan_device, 1, 1, "smoke")[0]
    known.require_right(known.kind(vulkan_device).run())
    results = [array.copy() for array in known.right]
    results[1][-1] ^= 1
    with pytest.raises(AssertionError, match=r"restride test --repro '.*': the results are not those of the work"):
        known.require_right(results)


def test_a_drawn_case_that_is_wrong_alone_is_no_work(vulkan_device: rs.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference finds it before anything is disturbed."""
    read = Started.read

    def wrong(started: Started) -> tuple[Array, Array]:
        source, destination = read(started)
        return source, ~destination

    monkeypatch.setattr(Started, "read", wrong)
    with pytest.raises(AssertionError, match="again: restride test --repro"):
        work.drawn(vulkan_device, 1, 1, "smoke")
