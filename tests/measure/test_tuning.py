"""Choices: what is kept of them is read by the next device, and `restride tune` measures and keeps them."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest
from support.choices import OTHER, folder, keep, usual
from support.devices import open_device

import restride as rs
from restride.cli import main
from restride.command.process import INTERRUPTED
from restride.errors import DeviceError, UnsupportedError
from restride.kernel import CANDIDATES, Choices
from restride.progress import Progress
from restride.runtime.choices_file import FOLDER_VARIABLE, read_choices
from restride_conformance.case import OPERATIONS
from restride_measure import tuning
from restride_measure.tuning import Tuning, tune

FIXTURES = (folder,)


def made_up(**milliseconds: float) -> Tuning:
    """Times by candidate; 10 where none is given."""
    seconds = {
        choice: {candidate: {"work": milliseconds.get(candidate, 10) / 1e3} for candidate in candidates}
        for choice, candidates in CANDIDATES.items()
    }
    return Tuning(seconds, Choices(), by_device=True)


def test_the_faster_is_chosen_and_the_usual_one_where_it_may_be_chance() -> None:
    assert made_up(neighbours=10, apart=9, registers=10, shared=11).choices == Choices("apart", "registers")
    assert made_up(neighbours=10, apart=9.6, registers=10, shared=9).choices == Choices("neighbours", "shared")
    by_rows = made_up(few=10, many=9, **{"8": 10, "4": 9, "2": 8, "1": 11})
    assert by_rows.choices == Choices(rows="2", invocations="many")
    usual = replace(made_up(neighbours=9.6, apart=10, registers=9, shared=10), usual=OTHER)
    assert usual.choices == replace(OTHER, transpose="registers")


def test_every_candidate_is_measured_and_the_device_is_as_before(
    vulkan_device: rs.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, met = vulkan_device.limits, set()
    submit = vulkan_device.runtime.submit

    def submit_and_note(kernels, memories) -> None:
        met.update(kernels)
        submit(kernels, memories)

    monkeypatch.setattr(vulkan_device.runtime, "submit", submit_and_note)
    found = tune(vulkan_device, edge=64, rounds=1)
    assert vulkan_device.limits is limits
    for choice, candidates in CANDIDATES.items():
        assert set(found.seconds[choice]) == set(candidates)
        for each in found.seconds[choice].values():
            assert set(each) == set(tuning.WORK[choice])
            assert all(seconds > 0 for seconds in each.values())
    assert found.usual == usual(vulkan_device)
    assert {each.shader.removesuffix("_aligned") for each in met if each.shader.startswith("transpose")} == {
        f"transpose_{way}{bits}" for way in ("", "shared_") for bits in (8, 16, 32)
    }

    def values(shader: str, name: str) -> set[int]:
        return {each.constant(name) for each in met if each.shader == shader}

    assert values("strided_gather_128", "NEIGHBOURS") == values("convert_quads", "NEIGHBOURS") == {0, 1}
    assert values("resample_runs", "ROWS") == values("resample_along", "ROWS") == {8, 4, 2, 1}
    assert len(values("resample_rows", "ROWS")) > 1
    assert values("crop_pixels", "ROWS") == {4, 2, 1}


def test_without_a_clock_of_the_device_the_host_s_is_read(
    vulkan_device: rs.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "has_clock", lambda _: False)
    found = tune(vulkan_device, edge=32, rounds=1)
    assert not found.by_device
    assert found.total("transpose", "shared") > 0


def test_candidates_with_different_results_are_an_error(
    vulkan_device: rs.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = vulkan_device.limits

    def wrong(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
        return rs.reorder(x if x.device.limits.choices.transpose == "shared" else x.permute(1, 0), out=out)

    monkeypatch.setattr(OPERATIONS["reorder"], "call", lambda _: wrong)
    monkeypatch.setattr(tuning, "WORK", {"transpose": {"f32": "reorder f32[$N,$N] -> f32[$N,$N]"}})
    with pytest.raises(DeviceError, match="registers and narrow and shared have different results on"):
        tune(vulkan_device, edge=32, rounds=1)
    assert vulkan_device.limits is limits


def test_another_runtime_is_refused() -> None:
    with open_device("kompute") as device, pytest.raises(UnsupportedError, match="vulkan, got KomputeRuntime"):
        tune(device)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small squares, one round."""
    monkeypatch.setattr(tuning, "EDGE", 32)
    monkeypatch.setattr(tuning, "ROUNDS", 1)


@pytest.mark.usefixtures("quick", "vulkan_device")
def test_the_command_keeps_what_it_prints(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    assert "usual" in capsys.readouterr().out
    assert main(["tune", "--json"]) == 0
    out, err = capsys.readouterr()
    said = json.loads(out)["options"]
    (file,) = folder.iterdir()
    assert said["file"] == str(file)
    assert f"restride: wrote {file}\n" in err
    assert err.index("restride: measuring on") < err.index("restride: wrote")
    assert json.loads(file.read_text())["choices"] == said["choices"]
    assert main(["devices", "--json"]) == 0
    (tuned,) = (info for info in json.loads(capsys.readouterr().out) if info["is_tuned"])
    assert tuned["name"] == json.loads(out)["device"]["name"]
    assert tuned["limits"]["choices"] == said["choices"]
    assert main(["devices"]) == 0
    assert "tuned" in capsys.readouterr().out


def test_a_gpu_is_never_given_eight_neighbours_by_tuning(vulkan_device: rs.Device) -> None:
    cpu = vulkan_device.info
    assert set(tuning.work_for(cpu)) == set(CANDIDATES)
    for kind in ("discrete", "integrated", "virtual", "other"):
        assert set(tuning.work_for(replace(cpu, kind=kind))) == set(CANDIDATES) - {"elements"}


def test_each_work_is_told_when_it_is_measured(vulkan_device: rs.Device) -> None:
    told: list[str] = []
    tune(vulkan_device, edge=32, rounds=1, measured=told.append)
    assert told == [f"{choice}: {name}" for choice, works in tuning.WORK.items() for name in works]


@pytest.mark.usefixtures("quick", "folder", "vulkan_device")
def test_the_command_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, str]] = []

    class Seen:
        def __init__(self, total: int, _stream: object) -> None:
            self.total = total

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            seen.append((self.total, "cleared"))

        def step(self, text: str) -> None:
            seen.append((self.total, text))

    monkeypatch.setattr("restride_measure.tuning.Progress", Seen)
    assert main(["tune"]) == 0
    assert {total for total, _ in seen} == {len(seen) - 1}
    assert seen[-1][1] == "cleared"
    assert "runs: u8 copied but for one byte" in seen[-2][1]


@pytest.mark.usefixtures("vulkan_device")
def test_the_table_says_what_was_chosen(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "restride_measure.tuning.tune",
        lambda _, known, **__: known(made_up(neighbours=12.345, apart=1, registers=2, shared=3, few=4, many=5)),
    )
    assert main(["tune"]) == 0
    blocks = [block.splitlines() for block in capsys.readouterr().out.split("\n\n")]
    shown = {title: [line.split() for line in lines] for title, _, *lines in blocks[1:-1]}
    assert list(shown) == [*CANDIDATES]
    assert shown["elements"] == [
        ["neighbours", "12.3", "usual", "work", "12.3"],
        ["apart", "1.00", "chosen", "work", "1.00"],
    ]
    assert shown["transpose"] == [
        ["registers", "2.00", "chosen,", "usual", "work", "2.00"],
        ["narrow", "10.0", "work", "10.0"],
        ["shared", "3.00", "work", "3.00"],
    ]
    (file,) = folder.iterdir()
    assert read_choices(file.stem) == Choices("apart", "registers")


@pytest.mark.usefixtures("quick", "folder", "vulkan_device")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_measured_before_an_interrupt_is_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """And choices that were not measured are those of the tuning before."""
    keep(OTHER)
    step = Progress.step

    def stops(progress: Progress, text: str) -> None:
        step(progress, text)
        if text == "rows: boxes":
            os.kill(os.getpid(), number)

    monkeypatch.setattr(Progress, "step", stops)
    assert main(["tune", "--json"]) == 130
    out, err = capsys.readouterr()
    record, said = json.loads(out), json.loads(out)["options"]
    assert {each["group"] for each in record["outcomes"]} == {"elements", "transpose"}
    assert (record["broken_off"], record["selected"]) == (INTERRUPTED, sum(map(len, CANDIDATES.values())))
    assert "restride: not measured, and left as it was: rows\n" in err
    assert f"restride: wrote {said['file']}\n" in err
    kept = read_choices(Path(said["file"]).stem)
    assert kept == replace(OTHER, elements=said["choices"]["elements"], transpose=said["choices"]["transpose"])


@pytest.mark.usefixtures("vulkan_device")
def test_small_sizes_are_measured_and_not_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--small", "--json"]) == 0
    out, err = capsys.readouterr()
    said = json.loads(out)["options"]
    assert (said["repeat"], said["small"], said["file"]) == (1, True, None)
    assert json.loads(out)["seconds"] > 0
    assert {each["group"] for each in json.loads(out)["outcomes"]} == {*CANDIDATES}
    assert "restride: nothing is kept: these sizes say nothing about speed\n" in err
    assert not folder.exists()


@pytest.mark.usefixtures("quick", "vulkan_device")
def test_what_cannot_be_kept_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert main(["tune"]) == 0
    assert "nothing is kept: RESTRIDE_CHOICES is empty" in capsys.readouterr().err
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file" / "kept"))
    assert main(["tune"]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_tuning_a_device_that_is_absent_exits_4(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--device", "no such card"]) == 4
    assert "no such card" in capsys.readouterr().err
