"""Interrupted commands and operations, and folders that refuse: the small form of lab/reliability/interrupts.py."""

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import interrupts
import numpy as np
import pytest
from support.process import captured

import restride as rs
from restride_conformance.run.ways import Started

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells when a command handles signals")


def test_an_interrupted_command_loses_nothing_and_says_so():
    figures = [*interrupts.measure(True, 1)]
    assert len(figures) >= 8
    assert [str(figure) for figure in figures if not figure.met] == []


def test_commands_that_are_measured_ignore_no_signal_that_the_measurement_ignores(tmp_path):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = interrupts._start("devices", tmp_path)
        ignored = int(Path(f"/proc/{process.pid}/status").read_text().split("SigIgn:")[1].split()[0], 16)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        process.kill()
        process.communicate()
    finally:
        signal.signal(signal.SIGINT, before)
    assert not ignored >> (signal.SIGINT - 1) & 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_the_imports_ends_the_command_in_silence(tmp_path, number):
    (tmp_path / "numpy.py").write_text("import time\ntime.sleep(60)\n")
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {_AS_A_SCRIPT}"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    interrupts.wait_for_handlers(process.pid)
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (130, "")


_AS_A_SCRIPT = "sys.argv[0] = 'bin/restride'; from restride.cli import main; sys.exit(main())"


def test_importing_the_library_changes_no_signal_handler():
    program = "import signal, restride; print([signal.getsignal(each) for each in (2, 15, 1)])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.count("default_int_handler") == 1
    assert done.stdout.count("SIG_DFL") == 2


def test_an_interrupt_while_a_dataclass_is_made_is_an_exit_code(tmp_path):
    (tmp_path / "interrupted.py").write_text(_INTERRUPTED_IN_A_STRING)
    command = [sys.executable, "-m", "interrupted", "devices"]
    done = captured(command, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stderr) == (130, "restride: interrupted\n")


_INTERRUPTED_IN_A_STRING = """
import os, signal, sys
from restride import cli

def run(arguments):
    # What a dataclass is made with: code of a string, and a signal that came while it was compiled.
    exec("os.kill(os.getpid(), signal.SIGTERM); pass", globals())

cli._run = run
sys.exit(cli.main())
"""


def test_an_interrupt_that_a_finalizer_swallows_comes_again():
    program = """
import os, signal, time
from restride.command.process import as_interrupts

class Resource:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0)

try:
    with as_interrupts():
        Resource()
        time.sleep(20)
except KeyboardInterrupt:
    print("interrupted")
"""
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
    assert time.monotonic() - start < 20


@pytest.mark.usefixtures("vulkan_device")
def test_work_that_differs_after_an_interrupt_is_noticed(monkeypatch):
    """From the first interrupt on, one byte of what is read is wrong."""
    hits, read = [], Started.read

    def ring(*_):
        hits.append(1)
        raise KeyboardInterrupt

    def spoiled(started):
        source, destination = read(started)
        if hits:
            destination[-1] ^= 1
        return source, destination

    monkeypatch.setattr(interrupts, "_ring", ring)
    monkeypatch.setattr(Started, "read", spoiled)
    before = signal.getsignal(signal.SIGALRM)
    try:
        wrong = interrupts.interrupted_work("vulkan", 1, 2)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(hits) == 2
    assert len(wrong) == 8, "each of four cases, after each of two interrupts"
    assert all("not those of the work alone" in line for line in wrong)


def batched(x, device):
    with device.batch():
        turned = rs.reorder(rs.asarray(x, device=device), "AB->BA")
        result = rs.reorder(turned, "AB->BA")
    return result.numpy()


def reordered(x, device):
    return rs.reorder(rs.asarray(x, device=device), "AB->BA").numpy().T


OPERATIONS = {
    "reorder": reordered,
    "resample": lambda x, device: rs.resample(rs.asarray(x, device=device), x.shape, mode="nearest").numpy(),
    "batch": batched,
    "large": lambda x, device: reordered(np.tile(x, (24, 16)), device)[-x.shape[0] :, -x.shape[1] :],
}


def interrupted_at_a_new_place(places, function, *arguments):
    """Call the function with an interrupt at the first place that is not in ``places``, and add it; False if all are.

    Python handles signals where functions begin and where C returns. A place is the function's name and how often it
    was passed before, because the number of calls of an operation depends on the memory that is left.
    """
    passed, count = Counter(), len(places)

    def interrupt(frame, event, _):
        if event in ("call", "c_return"):
            name = f"{event} in {frame.f_code.co_qualname}, line {frame.f_lineno}"
            passed[name] += 1
            if (name, passed[name]) not in places:
                places[name, passed[name]] = None
                raise KeyboardInterrupt

    try:
        sys.setprofile(interrupt)
        function(*arguments)
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return len(places) > count


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_interrupt_at_any_call_leaves_the_device_usable(operation, device):
    """Every operation is tried, because an interrupted operation may leave something that only another one uses."""
    runtime = type(device.runtime).__name__.removesuffix("Runtime").lower()
    x = np.arange(12 * 16, dtype=np.float32).reshape(12, 16)
    places = {}
    with rs.Device(runtime=runtime, timeout=2) as ours:
        for function in OPERATIONS.values():
            assert np.array_equal(function(x, ours), x)
        while interrupted_at_a_new_place(places, OPERATIONS[operation], x, ours):
            for name, function in OPERATIONS.items():
                x += 1  # memory that is used again has other values
                assert np.array_equal(function(x, ours), x), f"{name} after {[*places][-1]}"
            uploaded = rs.asarray(x, device=ours)
            submitted = ours.counters().submissions
            rs.reorder(uploaded, "AB->BA")
            assert ours.counters().submissions > submitted, f"in a batch that never ends, after {[*places][-1]}"
            ours.wait()
        assert len(places) > 100
        ours.wait()
        assert ours.trim() > 0
        if runtime == "vulkan":
            assert not ours.runtime._session.recorder.preparations.by_key, "prepared with pipelines that are destroyed"
        begun = time.monotonic()
    assert time.monotonic() - begun < 1, "closing waits for somebody who has gone"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("goes_on", [False, True])
def test_the_work_of_a_batch_outlives_an_interrupted_read(device, goes_on):
    runtime = type(device.runtime).__name__.removesuffix("Runtime").lower()
    x = np.arange(12 * 16, dtype=np.float32).reshape(12, 16)
    places = {}
    with rs.Device(runtime=runtime, timeout=2) as ours:
        assert np.array_equal(batched(x, ours), x)
        interrupted = True
        while interrupted:
            x += 1  # memory that is used again has other values
            with ours.batch():
                turned = rs.reorder(rs.asarray(x, device=ours), "AB->BA")
                interrupted = interrupted_at_a_new_place(places, turned.numpy)
                if goes_on:
                    back = rs.reorder(turned, "AB->BA")
                    assert np.array_equal(back.numpy(), x), [*places][-1]
                assert np.array_equal(turned.numpy().T, x), [*places][-1]
    assert len(places) > 30
