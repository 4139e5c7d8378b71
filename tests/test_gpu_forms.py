"""The kernels in the form that GPUs get, run on whatever device is there: smoke cases, each judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from conftest import open_device

import restride as rs
from restride.kernel import Choices
from restride_conformance import Case, Verdict, catalogue, run_case


@pytest.fixture(scope="module")
def gpu_like() -> Iterator[rs.Device]:
    with open_device("vulkan") as device:
        device.runtime.limits = replace(device.runtime.limits, choices=Choices.usual("discrete"))
        yield device


def test_smoke_passes_with_the_kernels_of_gpus(gpu_like: rs.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    submit, forms, shaders = gpu_like.runtime.submit, set(), set()

    def submit_and_note(kernels, memories) -> None:
        forms.update(kernel.constants[:1] for kernel in kernels if kernel.shader.startswith("strided_copy_32"))
        shaders.update(kernel.shader for kernel in kernels)
        submit(kernels, memories)

    monkeypatch.setattr(gpu_like.runtime, "submit", submit_and_note)

    def message(case: Case) -> str:
        outcome = run_case(case, gpu_like)
        return "" if outcome.verdict is Verdict.PASSED else f"{outcome.verdict}: {case}: {outcome.message}"

    assert [text for case in catalogue("smoke") if (text := message(case))] == []
    assert forms == {(0,)}
    assert shaders >= {f"transpose_shared_{bits}" for bits in (8, 16, 32, 64)}
