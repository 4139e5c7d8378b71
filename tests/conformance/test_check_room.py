"""Room: how much of this machine's memory a case may take."""

from __future__ import annotations

import os

import pytest

from restride_conformance import check

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
