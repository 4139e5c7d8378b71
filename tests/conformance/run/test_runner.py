"""The runner: one planted fault in one of 50 cases costs that case, whatever it is, and nothing stays behind."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from support import runtime_process
from support.devices import open_device
from support.process import captured
from support.shared_memory import open_fds

import restride as rs
from restride.runtime import RUNTIMES
from restride_conformance.case import Case
from restride_conformance.record import Target, Verdict
from restride_conformance.run import runner as runner_module
from restride_conformance.run import worker
from restride_conformance.run.runner import Runner
from restride_conformance.setting import GUARD_BYTES, buffer_bytes

pytestmark = pytest.mark.slow

FAULTY = Path(__file__).parents[2] / "support" / "faulty_worker.py"
CASES = tuple(Case.parse(f"reorder u8[5,13]{{1,0}} -> u8[5,13]{{0,1}} seed={seed}") for seed in range(1, 51))
FAULTY_CASE = CASES[24]
kernels = runtime_process.kernels
LOST = "vkQueueSubmit failed with VK_ERROR_DEVICE_LOST"
TIMEOUT = 1.0
"""For faults that outlast it; a case that works takes milliseconds, and the first of a process some tens of them."""


@pytest.fixture(scope="module", autouse=True)
def _device():
    open_device("vulkan").close()


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path, monkeypatch):
    """Where this process and its workers put temporary files: it must be empty afterwards."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    processes, threads, files = children(), threading.active_count(), open_fds()
    yield folder
    assert list(folder.iterdir()) == []
    assert children() == processes
    assert threading.active_count() == threads
    assert open_fds() == files


class Stat(NamedTuple):
    """A process, dead but not buried (state "Z") or alive."""

    number: int
    state: str
    parent: int
    group: int


def stats():
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(FileNotFoundError, ProcessLookupError):
                state, parent, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
                found.append(Stat(int(entry.name), state, int(parent), int(group)))
    return found


def is_gone(group):
    """True once no process of a group lives: what is killed has a moment to die."""
    return eventually(lambda: not [stat for stat in stats() if stat.group == group and stat.state != "Z"], 5)


def eventually(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def children():
    return {stat.number for stat in stats() if stat.parent == os.getpid()}


def faulty(fault, case=FAULTY_CASE, *more):
    return sys.executable, str(FAULTY), fault, str(case), *map(str, more)


def process(runner):
    return runner._workers["first"]._process.pid


def fifty(fault, target=None, *more):
    """The outcome of the faulty case; all others are seen to pass."""
    with Runner(target or Target(), faulty(fault, FAULTY_CASE, *more)) as runner:
        outcomes = [runner.run(case) for case in CASES]
    assert [outcome.case for outcome in outcomes] == list(map(str, CASES))
    others = [outcome for outcome in outcomes if outcome.case != str(FAULTY_CASE)]
    assert [outcome.message for outcome in others if outcome.verdict is not Verdict.PASSED] == []
    return outcomes[24]


@contextmanager
def over_within(seconds):
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < seconds


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_without_a_fault_all_pass_in_one_process(runtime):
    open_device(runtime).close()
    with Runner(Target(runtime=runtime)) as runner:
        first = process(runner) if runner.host else None
        assert {runner.run(case).verdict for case in CASES} == {Verdict.PASSED}
        assert process(runner) == first
    assert runner.aftermath == ()


@pytest.mark.parametrize(
    ("fault", "how", "trace"),
    [
        ("segfault", "the worker died of SIGSEGV", "Fatal Python error: Segmentation fault"),
        ("abort", "the worker died of SIGABRT", "Fatal Python error: Aborted"),
        ("exit", "the worker ended with exit code 7", ""),
        ("quiet exit", "the worker ended with exit code 0", ""),
    ],
)
def test_a_crash_costs_one_case(fault, how, trace):
    outcome = fifty(fault)
    assert outcome.verdict is Verdict.CRASHED
    assert outcome.message.splitlines()[0] == how
    assert trace in outcome.message
    if trace:
        assert "faulty_worker.py" in outcome.message


def test_what_a_crashed_worker_started_ends_with_it():
    with Runner(Target(), faulty("crash with child")) as runner:
        assert runner.host
        group = process(runner)
        with over_within(5):
            outcome = runner.run(FAULTY_CASE)
        assert (outcome.verdict, outcome.message.splitlines()[0]) == (Verdict.CRASHED, "the worker died of SIGSEGV")
        assert is_gone(group)


@pytest.mark.parametrize("fault", ["sleep", "spin", "hang with child"])
def test_a_hang_costs_one_case_and_its_time_limit(fault):
    with Runner(Target(timeout=TIMEOUT), faulty(fault)) as runner:
        assert runner.run(CASES[0]).verdict is Verdict.PASSED
        group = process(runner)
        with over_within(TIMEOUT + 2):
            outcome = runner.run(FAULTY_CASE)
        assert outcome.verdict is Verdict.TIMEOUT
        assert outcome.message == "not finished within the time limit of 1 s"
        assert is_gone(group)
        assert {runner.run(case).verdict for case in CASES[25:]} == {Verdict.PASSED}


def test_a_judge_that_takes_long_is_not_the_devices_time():
    with Runner(Target(timeout=TIMEOUT), faulty("slow host")) as runner:
        assert runner.run(FAULTY_CASE).message == ""


def test_a_measurement_has_its_time_limit_for_each_batch():
    with Runner(Target(timeout=TIMEOUT), faulty("slow device")) as runner:
        outcome = runner.run(FAULTY_CASE, "perf")
    assert (outcome.verdict, outcome.message) == (Verdict.PASSED, "")
    assert outcome.figures["seconds"] > 0.4, "seven calls take more than the limit"


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_kernel_that_does_not_end_costs_one_case(runtime, kernels):
    open_device(runtime).close()
    with Runner(Target(timeout=TIMEOUT, runtime=runtime), faulty("endless", FAULTY_CASE, kernels)) as runner:
        assert runner.host.runtime == runtime
        with over_within(TIMEOUT + 2):
            outcome = runner.run(FAULTY_CASE)
        assert outcome.verdict is Verdict.TIMEOUT
        assert "within the time limit of 1 s" in outcome.message
        assert runner.run(CASES[0]).verdict is Verdict.PASSED


def test_inputs_that_are_never_ready_cost_one_case(monkeypatch):
    with Runner(Target(timeout=1.0), faulty("prepare")) as runner:
        assert runner.run(CASES[0]).verdict is Verdict.PASSED
        with monkeypatch.context() as patched:
            patched.setattr(worker, "PREPARATION", 0.5)
            outcome = runner.run(FAULTY_CASE)
        assert outcome.verdict is Verdict.TIMEOUT
        assert outcome.message == "its inputs were not ready after 1 s: it never reached the device"
        assert runner.run(CASES[1]).verdict is Verdict.PASSED


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_driver_that_talks_megabytes_fails_nothing(runtime):
    open_device(runtime).close()
    assert fifty("shout", Target(runtime=runtime)).verdict is Verdict.PASSED


@pytest.mark.parametrize("profile", ["core", "sync", "gpu"])
def test_a_message_of_the_validation_layer_fails_its_own_case(profile):
    # Size 0 is what the layer minds; that nobody destroys the buffer is for the aftermath.
    outcome = fifty("message", Target(validate=profile))
    assert outcome.verdict is Verdict.FAILED
    assert outcome.message.splitlines()[0] == "VK_LAYER_KHRONOS_validation has 1 message"
    assert "VUID-VkBufferCreateInfo-size-00912" in outcome.message


@pytest.mark.parametrize(
    ("fault", "target", "first", "last"),
    [
        ("leak", Target(validate="core"), "", "VUID-vkDestroyDevice-device-00378"),
        ("late", Target(), f"after {FAULTY_CASE}: the worker died of SIGABRT", ""),
        ("late loss", Target(), f"after {FAULTY_CASE}: the worker ended with exit code 1", f"DeviceLost: {LOST}"),
    ],
)
def test_what_happens_when_the_device_is_closed_is_not_lost(fault, target, first, last):
    with Runner(target, faulty(fault)) as runner:
        assert runner.run(FAULTY_CASE).verdict is Verdict.PASSED
        assert runner.aftermath == ()
    (message,) = map(str, runner.aftermath)
    assert message.startswith(f"{first}\n" if first else "")
    assert last in message


def test_a_missing_layer_says_what_to_install(monkeypatch):
    monkeypatch.setenv("VK_LAYER_PATH", "/nowhere")
    with Runner(Target(validate="sync")) as runner, pytest.raises(rs.DeviceNotFound, match="vulkan-validationlayers"):
        runner.run(CASES[0])


def test_repetitions_that_agree_pass_in_two_processes():
    with Runner(Target(repeat=3)) as runner:
        outcomes = [runner.run(case) for case in CASES[:3]]
        first, second = (worker._process.pid for worker in runner._workers.values())
    assert first != second
    assert [(outcome.verdict, outcome.message) for outcome in outcomes] == [(Verdict.PASSED, "")] * 3


@contextmanager
def faulty_second(fault, repeat=4):
    """A runner that repeats, whose second process has a fault."""
    with Runner(Target(repeat=repeat, timeout=TIMEOUT), faulty("none")) as runner:
        runner.run(CASES[0])
        runner._workers["second"].close()
        runner._command = faulty(fault)
        yield runner


def test_repetitions_that_differ_are_flaky():
    with faulty_second("wrong") as runner:
        outcome = runner.run(FAULTY_CASE)
        assert runner.run(CASES[1]).verdict is Verdict.PASSED
    assert outcome.verdict is Verdict.FLAKY
    first, second, *_ = outcome.message.splitlines()
    assert first.startswith(
        f"right in 2 of 4 repetitions; 2 distinct results; first differing bytes: byte {GUARD_BYTES} is 0x"
    )
    assert first.endswith(f" (1 of {buffer_bytes(65)} differ)")
    assert second == "1 of 65 elements are wrong"


def test_a_crash_in_some_repetitions_is_flaky():
    with faulty_second("segfault") as runner:
        outcome = runner.run(FAULTY_CASE)
    assert outcome.verdict is Verdict.FLAKY
    first, second, *_ = outcome.message.splitlines()
    assert (first, second) == ("right in 2 of 4 repetitions; 1 distinct result", "the worker died of SIGSEGV")


@pytest.mark.parametrize(("fault", "verdict"), [("wrong", "FAILED"), ("exit", "CRASHED"), ("sleep", "TIMEOUT")])
def test_repetitions_that_are_wrong_in_one_way_keep_their_verdict(fault, verdict):
    with (
        Runner(Target(repeat=50 if fault != "wrong" else 3, timeout=TIMEOUT), faulty(fault)) as runner,
        over_within(30),
    ):
        outcome = runner.run(FAULTY_CASE)
    assert outcome.verdict is Verdict(verdict)
    assert "repetitions" not in outcome.message


def test_perf_gives_the_speed_of_a_case_that_passes():
    with Runner(Target(), faulty("wrong")) as runner:
        assert runner.run(CASES[0], "perf").figures["seconds"] > 0
        assert runner.run(FAULTY_CASE, "perf").figures == {}


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("raise SystemExit(3)", "the worker ended with exit code 3"),
        ("import os; os.abort()", "the worker died of SIGABRT"),
        ("print('hello')", r"the worker answered b'hello\n'"),
        ("import sys; sys.exit('no libvulkan at all')", "no libvulkan at all"),
    ],
)
def test_a_worker_that_cannot_start_is_a_device_error(program, reason):
    with Runner(Target(), (sys.executable, "-c", program)) as runner:
        with pytest.raises(rs.DeviceError) as raised:
            runner.run(CASES[0])
        assert "in 2 attempts" in str(raised.value)
        assert reason in str(raised.value)


def test_a_worker_that_hangs_while_it_starts_is_a_device_error(monkeypatch):
    monkeypatch.setattr(worker, "PREPARATION", 0.5)
    with (
        Runner(Target(timeout=0.5), (sys.executable, "-c", "import time; time.sleep(1000)")) as runner,
        pytest.raises(rs.DeviceError, match=r"was not open after 0\.5 s"),
    ):
        runner.run(CASES[0])


def test_a_command_that_does_not_exist_is_a_device_error():
    with (
        Runner(Target(validate="core"), ("/nowhere/python",)) as runner,
        pytest.raises(rs.DeviceError, match="/nowhere"),
    ):
        runner.run(CASES[0])


COMES_BACK = """
import os, sys
from pathlib import Path
starts = Path(sys.argv[1])
starts.write_text(starts.read_text() + "x")
if len(starts.read_text()) in (2, 3):
    input()
    print('{"error": "DeviceNotFound", "message": "it is being reset"}')
elif len(starts.read_text()) == 4:
    os.abort()
else:
    os.execv(sys.executable, sys.argv[2:])
"""


def test_a_device_that_was_lost_has_time_to_come_back(tmp_path, monkeypatch):
    starts = tmp_path / "starts"
    starts.write_text("")
    monkeypatch.setattr(runner_module, "_PAUSE", 0.01)
    with Runner(Target(), (sys.executable, "-c", COMES_BACK, str(starts), *faulty("lost"))) as runner:
        assert runner.run(FAULTY_CASE).verdict is Verdict.CRASHED
        assert runner.run(CASES[0]).verdict is Verdict.PASSED
    assert starts.read_text() == "xxxxx"


def test_a_device_that_does_not_come_back_is_the_workers_own_error(tmp_path, monkeypatch):
    starts = tmp_path / "starts"
    starts.write_text("")
    monkeypatch.setattr(runner_module, "REOPENING", 0.0)
    with Runner(Target(), (sys.executable, "-c", COMES_BACK, str(starts), *faulty("lost"))) as runner:
        assert runner.run(FAULTY_CASE).verdict is Verdict.CRASHED
        with pytest.raises(rs.DeviceNotFound, match="it is being reset"):
            runner.run(CASES[0])
    assert starts.read_text() == "xx"


def test_the_workers_own_error_is_raised(tmp_path):
    manifest = tmp_path / "none.json"
    manifest.write_text(
        '{"file_format_version": "1.0.0", "ICD": {"library_path": "libnone.so", "api_version": "1.1.0"}}'
    )
    why = f"^--driver {re.escape(str(manifest))}: .*mesa-vulkan-drivers"
    with Runner(Target(driver=str(manifest))) as runner, pytest.raises(rs.DeviceNotFound, match=why):
        runner.run(CASES[0])
    with Runner(Target(device="no such device")) as runner, pytest.raises(rs.DeviceNotFound, match="no device matches"):
        _ = runner.host


def test_an_interrupt_ends_the_case_and_the_runner_goes_on():
    with Runner(Target(), faulty("spin")) as runner:
        assert runner.run(CASES[0]).verdict is Verdict.PASSED
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with over_within(10), pytest.raises(KeyboardInterrupt):
            runner.run(FAULTY_CASE)
        assert runner.run(CASES[1]).verdict is Verdict.PASSED


def test_an_interrupt_while_workers_close_leaves_none_of_them(temporary_folder):
    with Runner(Target(validate="core", repeat=2), faulty("late sleep")) as runner:
        assert runner.run(FAULTY_CASE).verdict is Verdict.PASSED
        assert len(list(temporary_folder.iterdir())) == len(runner._workers) == 2
        groups = [worker._process.pid for worker in runner._workers.values()]
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with over_within(4), pytest.raises(KeyboardInterrupt):
            runner.close()
        assert list(temporary_folder.iterdir()) == []
        assert all(map(is_gone, groups))
    assert runner.aftermath == ()


TERMINATED = """
import signal, sys
from restride_conformance.case import Case
from restride_conformance.run.runner import Runner
from restride_conformance.record import Target
signal.signal(signal.SIGTERM, signal.default_int_handler)
with Runner(Target(validate="core", repeat=2), sys.argv[1:]) as runner:
    assert runner.host
    print(runner._workers["first"]._process.pid, flush=True)
    runner.run(Case.parse(sys.argv[-1]))
"""


def test_a_parent_that_is_asked_to_end_leaves_nothing(temporary_folder):
    command = [sys.executable, "-c", TERMINATED, *faulty("spin")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as parent:
        group = int(parent.stdout.readline())
        assert eventually(lambda: len(list(temporary_folder.iterdir())) == 2, 5), "the layer's and the results'"
        parent.terminate()
        with over_within(10):
            assert parent.stderr.read().endswith("KeyboardInterrupt\n")
    assert is_gone(group)


def test_the_target_of_a_runner_reruns_its_cases():
    assert shlex.split(Runner(Target(timeout=2.0)).target.repro(CASES[0], "perf")) == [
        *("restride", "test", "--repro", str(CASES[0]), "--runtime", "vulkan", "--timeout", "2", "--mode", "perf")
    ]
    assert "--mode" not in Target().repro(CASES[0])


def test_a_worker_is_deaf_to_interrupts():
    with Runner(Target()) as runner:
        assert runner.run(CASES[0]).verdict is Verdict.PASSED
        first = process(runner)
        os.kill(first, signal.SIGINT)
        assert runner.run(CASES[1]).verdict is Verdict.PASSED
        assert process(runner) == first


def test_a_worker_that_dies_between_two_cases_costs_neither_and_is_reported():
    with Runner(Target()) as runner:
        assert runner.run(CASES[0]).verdict is Verdict.PASSED
        os.kill(process(runner), signal.SIGSEGV)
        assert runner.run(CASES[1]).verdict is Verdict.PASSED
        assert runner.run(CASES[2]).verdict is Verdict.PASSED
    (message,) = map(str, runner.aftermath)
    first, *rest = message.splitlines()
    assert first == f"after {CASES[0]}: the worker died of SIGSEGV"
    assert "Fatal Python error: Segmentation fault" in rest


ELSEWHERE = """
import sys
from restride_conformance.case import Case
from restride_conformance.run.runner import Runner
from restride_conformance.record import Target
if __name__ == "__main__":
    with Runner(Target()) as runner:
        assert not runner.run(Case.parse(sys.argv[1])).message
    from restride.runtime.vulkan.generated import lib
    assert lib is None and "kp" not in sys.modules
"""


def test_workers_import_what_their_parent_does_and_the_parent_never_loads_vulkan(tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('the module json of another folder')")
    source = str(Path(rs.__file__).parent.parent)
    done = captured(
        [sys.executable, "-P", "-c", ELSEWHERE, str(CASES[0])], cwd=tmp_path, env={**os.environ, "PYTHONPATH": source}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


ORPHAN = """
import sys
from restride_conformance.case import Case
from restride_conformance.run.runner import Runner
from restride_conformance.record import Target
runner = Runner(Target(timeout=0.5), sys.argv[1:])
assert runner.host
print(runner._workers["first"]._process.pid, flush=True)
runner._workers["first"]._target = Target(timeout=1000.0)
runner.run(Case.parse(sys.argv[-1]))
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("fault", "seconds"), [("none", 5), ("spin", 20)])
def test_a_worker_ends_with_its_parent(fault, seconds):
    command = [sys.executable, "-c", ORPHAN, *faulty(fault)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        worker = int(parent.stdout.readline())
        if fault == "none":
            parent.stdout.readline()
        else:
            time.sleep(0.5)
        parent.kill()
    assert eventually(lambda: not [stat for stat in stats() if stat.number == worker and stat.state != "Z"], seconds)
