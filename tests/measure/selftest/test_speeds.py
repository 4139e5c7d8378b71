"""Parts that measure: the workloads of the page, and choices of the user that stay."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from support.selftest_examples import job

from restride.runtime.choices_file import FOLDER_VARIABLE
from restride_measure.selftest import speeds
from restride_measure.selftest.speeds import MEASURED
from restride_measure.selftest.table import SHARES
from restride_measure.workloads import catalogue

pytestmark = pytest.mark.usefixtures("vulkan_device")


def test_the_workloads_of_the_page_are_measured():
    assert len(MEASURED) == len({each.name for each in catalogue()} & set(MEASURED))
    assert set(SHARES.values()) <= set(MEASURED)


def test_the_choices_of_the_user_stay(tmp_path, monkeypatch):
    """The faster kernels are measured and named; a stored choice is neither changed nor made."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    small = job()
    used = small.device.limits.choices
    found = speeds.kernels(small)
    assert small.device.limits.choices == used
    small.close()
    marked = {each.case for each in found.outcomes if "used" in each.figures["is"].split(", ")}
    assert marked == {f"{choice} {candidate}" for choice, candidate in asdict(used).items()}
    assert list(tmp_path.iterdir()) == []
