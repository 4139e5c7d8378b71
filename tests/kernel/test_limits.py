"""The kernels in the form that GPUs get, run on whatever device is there: smoke cases, each judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from support.choices import OTHER
from support.devices import open_device
from support.sampled import sample

import restride as rs
from restride.errors import DescriptorError
from restride.kernel import CANDIDATES, NVIDIA, Choices
from restride_conformance import Case, Verdict, catalogue, run_case

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gpu_like() -> Iterator[rs.Device]:
    with open_device("vulkan") as device:
        device.runtime.limits = replace(device.runtime.limits, choices=Choices.usual("discrete"))
        yield device


RESIZED = [case for case in catalogue("smoke") if case.op.startswith(("resample", "crop_resize"))]
FORMS = [Choices(rows=rows) for rows in CANDIDATES["rows"]] + [
    Choices(elements, "shared", rows, invocations)
    for elements, rows, invocations in (("apart", "4", "few"), ("apart", "8", "many"), ("neighbours", "1", "many"))
]


def test_no_choice_changes_a_bit_of_what_is_resized(gpu_like: rs.Device, tmp_path: Path) -> None:
    usual = gpu_like.runtime.limits
    kept = tmp_path / "result"

    def result(case: Case, choices: Choices) -> bytes:
        gpu_like.runtime.limits = replace(usual, choices=choices)
        kept.unlink(missing_ok=True)
        outcome = run_case(case, gpu_like, keep=kept)
        assert outcome.verdict is Verdict.PASSED, f"{choices}: {case}: {outcome.message}"
        return kept.read_bytes()

    try:
        differing = [
            f"{choices}: {case}"
            for case in sample(RESIZED, 30, "resized")
            for right in [result(case, Choices())]
            for choices in FORMS
            if result(case, choices) != right
        ]
    finally:
        gpu_like.runtime.limits = usual
    assert differing == []


@pytest.mark.parametrize(
    ("device", "choices"),
    [
        (("cpu",), Choices("neighbours", "registers", "8", "few")),
        (("cpu", "", NVIDIA), Choices()),
        (("cpu", "Mesa 22.3.6 (LLVM 15.0.6)"), Choices()),
        (("cpu", "Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)"), Choices(transpose="narrow")),
        *(((kind, "Mesa 25.0.7", 0x1002), OTHER) for kind in ("discrete", "integrated", "virtual", "other")),
        (("discrete", "580.159.04", NVIDIA), replace(OTHER, runs="kernel")),
        (("integrated", "Mesa 26.1.6", 0x13B5), Choices("apart", "registers", "8", "many")),
    ],
)
def test_usual_choices_follow_what_the_driver_says(device, choices) -> None:
    assert Choices.usual(*device) == choices


def test_other_choices_are_candidates_and_say_their_names() -> None:
    assert str(OTHER) == "elements apart, transpose shared, rows 8, invocations many, runs command"
    assert all(getattr(OTHER, name) in candidates for name, candidates in CANDIDATES.items())


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "the choices are elements, transpose, rows, invocations, runs, not "),
        ({"elements": "apart"}, "not 'elements'"),
        (asdict(OTHER) | {"group": 1}, "not 'elements', 'transpose', 'rows', 'invocations', 'runs', 'group'"),
        (asdict(OTHER) | {"elements": "far"}, "elements is one of neighbours, apart, not 'far'"),
        (asdict(OTHER) | {"transpose": ["shared"]}, r"transpose is one of registers, narrow, shared, not \['shared'\]"),
        (asdict(OTHER) | {"rows": 4}, "rows is one of 8, 4, 2, 1, not 4"),
    ],
)
def test_records_that_are_no_choices_are_refused(record: dict[str, object], message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        Choices.parse(record)
    assert Choices.parse(asdict(OTHER)) == OTHER
