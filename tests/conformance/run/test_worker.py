"""The worker: its lines of JSON, and the verdict for whatever a case raises."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from support.devices import open_device

import restride as rs
from restride.kernel.modules import spirv_folder
from restride.runtime import RUNTIMES
from restride_conformance.case import Case
from restride_conformance.record import Host, Outcome, ShaderUnderTest, Target, Verdict
from restride_conformance.run import worker
from restride_conformance.setting import buffer_bytes
from restride_conformance.shader.part import RuntimeUnderTest, TakesNoPart

CASE = Case.parse("reorder u8[5,13]{1,0} -> u8[5,13]{0,1}")
REFUSED = Case.parse("resample f64[2,4]{1,0} -> f64[2,8]{1,0} mode=linear")


@pytest.fixture(autouse=True)
def _device():
    open_device("vulkan").close()


def command(case=CASE, mode="correctness", keep=None):
    return {"case": str(case), "mode": mode, "keep": keep and str(keep)}


def served(target, *commands):
    """What a worker answers, in this process."""
    lines = [asdict(target), *commands]
    answers = []
    worker.serve(io.BytesIO("".join(f"{json.dumps(line)}\n" for line in lines).encode()), answers.append)
    return [json.loads(json.dumps(answer)) for answer in answers]


def test_the_channel_is_not_what_the_process_prints():
    program = "import os, sys\nfrom restride_conformance.run import worker\nrun = worker.run_case\n"
    program += "def shout(*a, **k):\n    print('print', flush=True)\n    os.write(1, b'write')\n"
    program += "    assert not sys.stdin.read()\n    return run(*a, **k)\n"
    program += "worker.run_case = shout\nworker.main()\n"
    lines = "".join(f"{json.dumps(line)}\n" for line in (asdict(Target()), command()))
    done = subprocess.run(
        [sys.executable, "-c", program], input=lines, capture_output=True, text=True, check=True, env=os.environ
    )
    hello, started, judging, ended = map(json.loads, done.stdout.splitlines())
    assert Host.from_hello(hello).runtime == "vulkan"
    assert (started, judging) == ({"started": True}, {"judging": True})
    assert Outcome.from_record(ended["outcome"]).verdict is Verdict.PASSED
    assert done.stderr == "print\nwrite"


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_first_answer_describes_the_host(runtime):
    with open_device(runtime) as device:
        (hello,) = served(Target(runtime=runtime))
        host = Host.from_hello(hello)
        assert host.device["name"] == device.info.name
        assert host.limits == device.limits
    assert host.versions["restride"] == rs.__version__
    assert {"python", "numpy", "cffi"} <= set(host.versions)
    assert str(host) == f"{device.info.name}, {device.info.driver} {device.info.driver_version}, runtime {runtime}"


@pytest.mark.parametrize(
    ("target", "error"),
    [
        (Target(device="no such device"), "DeviceNotFound"),
        (Target(runtime="none"), "DescriptorError"),
        (Target(timeout=-1.0), "DescriptorError"),
    ],
)
def test_a_device_that_does_not_open_is_the_only_answer(target, error):
    (answer,) = served(target, command())
    assert answer["error"] == error
    assert answer["message"]


def test_outcomes_come_in_order_and_the_bytes_are_kept(tmp_path):
    kept = tmp_path / "kept.bin"
    answers = served(Target(), command(keep=kept), command(REFUSED), command(mode="perf"))
    outcomes = [Outcome.from_record(answer["outcome"]) for answer in answers if "outcome" in answer]
    assert [outcome.verdict for outcome in outcomes] == [Verdict.PASSED, Verdict.UNIMPLEMENTED, Verdict.PASSED]
    assert kept.stat().st_size == buffer_bytes(65)
    assert [bool(outcome.figures) for outcome in outcomes] == [False, False, True]


def test_a_case_that_passes_and_cannot_be_measured_says_so(monkeypatch):
    def fail(*_):
        raise rs.OutOfDeviceMemory("no room")

    monkeypatch.setattr(worker, "measure_case", fail)
    *_, answer = served(Target(), command(mode="perf"))
    outcome = Outcome.from_record(answer["outcome"])
    assert (outcome.verdict, outcome.figures) == (Verdict.PASSED, {})
    assert outcome.message == "its speed was not measured: OutOfDeviceMemory: no room"


def test_a_device_lost_while_a_case_is_measured_is_lost(monkeypatch):
    def fail(*_):
        raise rs.DeviceLost("gone")

    monkeypatch.setattr(worker, "measure_case", fail)
    *_, answer = served(Target(), command(mode="perf"))
    assert Outcome.from_record(answer["outcome"]).verdict is Verdict.CRASHED


def test_larger_cases_have_more_time_on_the_host():
    small, large = (Case.parse(f"reorder u8[{size}] -> u8[{size}]") for size in ("1", "100000000"))
    assert worker.preparation(Target()) == worker.preparation(Target(), small) == 60
    assert worker.preparation(Target(), large) > 100
    assert worker.preparation(Target(timeout=1000.0), large) == 1000


def test_a_shader_under_test_takes_the_place_of_its_module(tmp_path, monkeypatch):
    begun = []
    begin = RuntimeUnderTest.begin
    monkeypatch.setattr(RuntimeUnderTest, "begin", lambda self, line: begun.append(line) or begin(self, line))
    ours = Path(str(spirv_folder()), "strided_copy_32.spv").read_bytes()
    mine = tmp_path / "mine.spv"
    mine.write_bytes(ours)
    target = Target(shader=ShaderUnderTest("mine.spv", "strided_copy_32", str(mine)))
    copied = Case.parse("reorder f32[5,6,7]{2,1,0} -> f32[5,6,7]{0,1,2}")
    resampled = Case.parse("resample f32[5,6]{1,0} -> f32[5,9]{1,0} mode=nearest")
    hello, *answers = served(target, command(copied), command(resampled))
    assert Host.from_hello(hello).limits
    outcomes = [Outcome.from_record(answer["outcome"]) for answer in answers if "outcome" in answer]
    assert [outcome.verdict for outcome in outcomes] == [Verdict.PASSED, Verdict.SKIPPED]
    assert "strided_copy_32 takes no part in it" in outcomes[1].message
    assert begun == [str(copied), str(resampled)]


@pytest.mark.parametrize(
    ("error", "verdict", "message"),
    [
        (rs.DeviceTimeout("too slow"), Verdict.TIMEOUT, "not finished within the time limit of 30 s"),
        (rs.DeviceLost("gone"), Verdict.CRASHED, "gone"),
        (TakesNoPart("no part"), Verdict.SKIPPED, "no part"),
    ],
)
def test_what_a_device_raises_is_a_verdict(monkeypatch, error, verdict, message):
    outcome = outcome_of(monkeypatch, error)
    assert (outcome.verdict, outcome.message) == (verdict, message)
    assert outcome.seconds > 0


@pytest.mark.parametrize("error", [ValueError("no"), MemoryError(), RecursionError("deep")])
def test_a_mistake_is_a_failure_with_its_traceback(monkeypatch, error):
    outcome = outcome_of(monkeypatch, error)
    assert outcome.verdict is Verdict.FAILED
    assert outcome.message.startswith(f"a mistake in restride: {type(error).__name__}")
    assert "in fail" in outcome.message


def outcome_of(monkeypatch, error):
    """The outcome of a case that raises ``error``; the worker goes on after it."""

    def fail(*_, **__):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(worker, "run_case", fail)
        _, first, second = served(Target(), command(), command())
    assert first["outcome"].keys() == second["outcome"].keys()
    return Outcome.from_record(first["outcome"])
