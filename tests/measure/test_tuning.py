"""Choices: what is kept of them is read by the next device, and `restride tune` measures and keeps them."""

from __future__ import annotations

import json
import os
import signal
import stat
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Self

import numpy as np
import pytest
from support.devices import open_device

import restride as rs
from restride.cli import main
from restride.errors import DescriptorError, DeviceError, UnsupportedError
from restride.kernel import CANDIDATES, NVIDIA, Choices
from restride.ops.progress import Progress
from restride.runtime.choices_file import FOLDER_VARIABLE, MOST_BYTES, choices_path, read_choices, write_choices
from restride.runtime.instance import physical_devices
from restride_measure import tuning
from restride_measure.tuning import Tuning, tune

OTHER = Choices("apart", "shared", "8", "many")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where choices are kept."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


def usual(device: rs.Device) -> Choices:
    """The choices of a device that nobody tuned."""
    return Choices.usual(device.info.kind, device.info.driver_version, device.info.vendor_id)


def test_a_cpu_has_other_choices_than_the_rest() -> None:
    assert Choices.usual("cpu") == Choices("neighbours", "registers", "8", "few") == Choices()
    assert Choices.usual("cpu", "Mesa 22.3.6 (LLVM 15.0.6)") == Choices()
    assert Choices.usual("cpu", "Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)") == Choices(transpose="narrow")
    assert Choices.usual("integrated", "Mesa 25.0.7") == OTHER
    assert {Choices.usual(kind) for kind in ("discrete", "integrated", "virtual", "other")} == {OTHER}
    assert Choices.usual("discrete", "580.159.04", NVIDIA) == replace(OTHER, runs="kernel")
    assert Choices.usual("cpu", vendor_id=NVIDIA) == Choices()
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
def test_what_are_no_choices_is_refused(record: dict[str, object], message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        Choices.parse(record)
    assert Choices.parse(asdict(OTHER)) == OTHER


def test_what_was_kept_is_read_and_is_this_user_s_alone(folder: Path) -> None:
    path = choices_path("a-device")
    assert path == folder / "a-device.json"
    assert read_choices("a-device") is None
    for choices in (OTHER, Choices()):
        write_choices(path, "A device", choices)
        assert read_choices("a-device") == choices
    assert read_choices("another") is None
    assert [each.name for each in folder.iterdir()] == ["a-device.json"]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"null",
        b'{"choices": []}',
        json.dumps({"choices": asdict(OTHER) | {"elements": "far"}}).encode(),
        b'{"choices": {"elements": "apart", "transpose": "shared"}}',
        b"[" * 50_000,
        b'{"a": ' + b"1" * 5000 + b"}",
        b" " * (2 * MOST_BYTES) + json.dumps({"choices": asdict(OTHER)}).encode(),
    ],
)
def test_a_damaged_file_is_left_out_with_a_warning(folder: Path, content: bytes) -> None:
    folder.mkdir()
    (folder / "a-device.json").write_bytes(content)
    with pytest.warns(RuntimeWarning, match=r"a-device.json is ignored \(.*`restride tune` writes it anew"):
        assert read_choices("a-device") is None


def test_another_user_s_file_is_left_out_with_a_warning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_choices(folder / "a-device.json", "A device", OTHER)
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1, raising=False)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert read_choices("a-device") is None


def test_where_choices_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert choices_path("x") is None
    assert read_choices("x") is None
    monkeypatch.delenv(FOLDER_VARIABLE)
    assert choices_path("x") == tmp_path / "restride" / "choices" / "x.json"


def keep(choices: Choices) -> None:
    """For every device of this machine."""
    for physical in physical_devices():
        path = choices_path(physical.pipeline_cache_id)
        assert path is not None
        write_choices(path, physical.info.name, choices)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("runtime", ["vulkan", "kompute"])
def test_a_device_has_the_choices_that_were_kept_and_the_same_results(runtime: str) -> None:
    x = np.random.default_rng(3).integers(0, 256, (5, 68, 132), np.uint8)
    results = []
    for choices in (None, Choices(), OTHER):
        if choices is not None:
            keep(choices)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            device = open_device(runtime)
        with device:
            assert device.limits.choices == device.info.limits.choices == (choices or usual(device))
            assert device.info.is_tuned == (choices is not None)
            results.append(rs.reorder(rs.asarray(x, device=device).permute(0, 2, 1)).numpy())
    assert all(np.array_equal(result, x.transpose(0, 2, 1)) for result in results)


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

    assert values("strided_gather_128", "NEIGHBOURS") == values("convert_fours", "NEIGHBOURS") == {0, 1}
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

    monkeypatch.setattr(tuning, "WORK", {**tuning.WORK, "transpose": {"f32": ("f32", wrong)}})
    with pytest.raises(DeviceError, match="registers and narrow and shared have different results on"):
        tune(vulkan_device, edge=32, rounds=1)
    assert vulkan_device.limits is limits


def test_another_runtime_is_refused() -> None:
    with open_device("kompute") as device, pytest.raises(UnsupportedError, match="on the runtime vulkan"):
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
    said = json.loads(out)
    (file,) = folder.iterdir()
    assert said["file"] == str(file)
    assert f"restride: wrote {file}\n" in err
    assert err.index("restride: measuring on") < err.index("restride: wrote")
    assert json.loads(file.read_text())["choices"] == said["choices"]
    assert main(["devices", "--json"]) == 0
    (tuned,) = (info for info in json.loads(capsys.readouterr().out) if info["is_tuned"])
    assert tuned["name"] == said["device"]
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
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert lines == [
        ["choice", "candidate", "ms"],
        ["elements", "neighbours", "12.3", "usual", "work", "12.3"],
        ["elements", "apart", "1", "chosen", "work", "1"],
        ["transpose", "registers", "2", "chosen,", "usual", "work", "2"],
        ["transpose", "narrow", "10", "work", "10"],
        ["transpose", "shared", "3", "work", "3"],
        ["rows", "8", "10", "chosen,", "usual", "work", "10"],
        *(["rows", number, "10", "work", "10"] for number in "421"),
        ["invocations", "few", "4", "chosen,", "usual", "work", "4"],
        ["invocations", "many", "5", "work", "5"],
        ["runs", "command", "10", "chosen,", "usual", "work", "10"],
        ["runs", "kernel", "10", "work", "10"],
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
    said = json.loads(out)
    assert [*said["seconds"]] == ["elements", "transpose"]
    assert "restride: not measured, and left as it was: rows\n" in err
    assert f"restride: wrote {said['file']}\n" in err
    kept = read_choices(Path(said["file"]).stem)
    assert kept == replace(OTHER, elements=said["choices"]["elements"], transpose=said["choices"]["transpose"])


@pytest.mark.usefixtures("vulkan_device")
def test_small_sizes_are_measured_and_not_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--small", "--json"]) == 0
    out, err = capsys.readouterr()
    said = json.loads(out)
    assert (said["rounds"], said["file"], [*said["seconds"]]) == (1, None, [*CANDIDATES])
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
