"""A part of a selftest whose time is over ends itself and says so."""

from __future__ import annotations

import pytest
from support.selftest_examples import job

from restride_measure.selftest import checks, speeds
from restride_measure.selftest.part import NotRun

pytestmark = pytest.mark.usefixtures("vulkan_device")


def test_a_part_whose_time_is_over_ends_itself_and_says_so():
    over = job(seconds=0.0)
    ran = checks.smoke(over)
    assert [each.figures["selected"] > 0 for each in ran.outcomes] == [True]
    assert "PASSED" not in ran.outcomes[0].figures
    assert "the time was over" in ran.text
    speed = speeds.speed(over)
    assert len(speed.outcomes) == 1
    assert "the time was over after 1 of 11" in speed.text
    assert len(speeds.ttc57(over).outcomes) == 1
    assert len(speeds.calls(over).outcomes) == 1
    with pytest.raises(NotRun, match="were over after 1 of"):
        speeds.kernels(over)
    over.close()
