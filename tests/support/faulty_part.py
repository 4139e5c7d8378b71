"""The process of a part of a selftest, with a fault in one part: ``faulty_part.py FAULT PART NAME``; NAME is run.

With RESTRIDE_TEST_AS_GPU in the environment the CPU's driver poses as a discrete GPU here too, except that there is no
work to keep the GPU awake, which would take a CPU seconds.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import support.devices  # noqa: F401 - poses

from restride.command.findings import Finding
from restride.errors import DeviceLost, OutOfDeviceMemory, UnsupportedError
from restride_conformance.record import Verdict
from restride_conformance.run.runner import Runner
from restride_measure import run as measuring
from restride_measure import tuning
from restride_measure.selftest import checks, speeds, worker
from restride_measure.selftest.part import Job


def hang():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)


def fail(error):
    raise error


def crash_late():
    Job.close = lambda _: ctypes.string_at(0)


def say_private():
    """Fail the first smoke case and break the installation, with the words of RESTRIDE_TEST_SAID in both messages."""
    said, run, look = os.environ["RESTRIDE_TEST_SAID"], Runner.run, checks.look
    first = checks.catalogue("smoke")[0]

    def one_fails(runner, case):
        outcome = run(runner, case)
        return replace(outcome, verdict=Verdict.FAILED, message=said) if case == first else outcome

    def one_more(default, selector):
        yield from look(default, selector)
        yield Finding("BROKEN", "driver", said, said)

    Runner.run, checks.look = one_fails, one_more


FAULTS = {
    "none": lambda: None,
    "hang": hang,
    "segfault": lambda: ctypes.string_at(0),
    "abort": os.abort,
    "exit": lambda: os._exit(0),
    "crash late": crash_late,
    "lost": lambda: fail(DeviceLost("it is gone")),
    "full": lambda: fail(OutOfDeviceMemory("the device is full")),
    "unsupported": lambda: fail(UnsupportedError("it cannot do that")),
    "memory": lambda: fail(MemoryError("host")),
    "mistake": lambda: fail(ZeroDivisionError("ours")),
    "shout": lambda: [os.write(descriptor, b"the driver talks\n" * 8192) for descriptor in (1, 2) for _ in range(9)],
    "private": say_private,
}

if __name__ == "__main__":
    for module in (measuring, speeds, tuning):
        module.keep_awake = lambda _: lambda _: None
    fault, part, *arguments = sys.argv[1:]
    sys.argv[1:] = arguments
    whole = worker.run

    def run(name, job):
        if part in (name, "all"):
            FAULTS[fault]()
        return whole(name, job)

    worker.run = run
    worker.main()
