"""Run a script that opens the direct runtime in a separate process."""

import os
import sys
import textwrap

import pytest
from support.process import captured
from support.spirv_kernels import compile_kernels

PRELUDE = """
import gc, os, signal, sys, threading, time, warnings
from pathlib import Path
import numpy as np
import restride.runtime as runtime
from restride.errors import *
from restride.kernel import Binding, KernelSpec
from restride.runtime.vulkan.runtime import VulkanRuntime

# From Python 3.12 a fork beside other threads, here the driver's, warns that the child may wait for a lock for ever.
# That it does not, because it is refused before any lock, is what the tests of forks are about.
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)

def open_device(**options):
    return VulkanRuntime(0, module_source=lambda name: Path(sys.argv[1], name + ".spv").read_bytes(), **options)

def slow(words=8192, rounds=60000):
    bindings = (Binding(0, 4 * words, writes=True),)
    return KernelSpec("slow", (), (words, rounds), b"", (words // 64, 1, 1), bindings)

def busy(count, **options):
    device = open_device(**options)
    memory = device.allocate(4 * 8192)
    device.submit([slow()] * count, [memory])
    return device, memory

def exit_code_of_child(work):
    # That of a fork that does this work, and dies by signal 14 if it hangs.
    if not (pid := os.fork()):
        signal.alarm(30)
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def lost(work):
    try:
        work()
    except DeviceLost as error:
        return error
    os._exit(1)
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    compile_kernels(folder)
    return folder


def run(code, kernels="", timeout=60, **environment):
    variables = {**os.environ, **environment}
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(code), str(kernels)]
    return captured(command, env=variables, timeout=timeout)


def passes(code, kernels="", **environment):
    done = run(code, kernels, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, done.stderr
    return done.stdout
