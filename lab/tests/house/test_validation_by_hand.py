"""The kernels written by hand under the validation layer, as tests/house/test_validation.py runs restride's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))  # where this file is a program
from support.sampled import FULL
from support.validated_process import messages

import restride as rs
from restride_bench.peers import open_peers
from restride_measure.workloads import catalogue


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("profile", ["core", "practices", *(["gpu"] if FULL else [])])
def test_no_message(profile: str) -> None:
    assert messages([__file__], profile, timeout=1200) == []


if __name__ == "__main__":
    with rs.Device(runtime="vulkan") as device:
        by_hand = open_peers(("by-hand",), device)[0]["by-hand"]
        for workload in catalogue(is_small=True):
            offer = by_hand.offer(workload, workload.source())
            if offer is not None:
                offer.resident()
                assert offer.kernel is None or offer.kernel() > 0
