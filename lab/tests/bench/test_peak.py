"""The peak of a GPU's memory, by its name."""

import pytest

from restride_bench.peak import GB_PER_SECOND, peak


@pytest.mark.parametrize(
    ("device", "gigabytes"),
    [
        ("NVIDIA H200", 4800.0),
        ("AMD Radeon RX 7900 XTX (RADV NAVI31)", 960.0),
        ("NVIDIA H200 MIG 1g.18gb", None),
        ("NVIDIA A100-SXM4", None),
        ("llvmpipe (LLVM 15.0.6, 256 bits)", None),
        ("", None),
    ],
)
def test_a_device_has_the_peak_of_its_whole_name(device, gigabytes):
    assert peak(device) == gigabytes


def test_peaks_are_in_gigabytes_a_second():
    assert all(50 < each < 10_000 for each in GB_PER_SECOND.values())
