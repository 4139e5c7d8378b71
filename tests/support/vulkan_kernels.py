"""Runtimes and small kernels for the tests of the runtimes."""

import os

import numpy as np
import pytest
from support.spirv_kernels import compile_kernels

from restride.kernel import Binding, KernelSpec
from restride.runtime.vulkan.memory import SEPARATE_BUFFERS_VARIABLE
from restride.runtime.vulkan.runtime import VulkanRuntime

MIB = 1 << 20


# Under GPU-assisted validation every memory has its own buffer, so nothing is suballocated.
SEPARATE = bool(os.environ.get(SEPARATE_BUFFERS_VARIABLE))


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    return compile_kernels(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(params=[False, True], ids=["in-place", "staging"])
def runtime(request, modules):
    made = VulkanRuntime(0, staging=request.param, module_source=modules)
    yield made
    made.close()


@pytest.fixture
def in_place(modules):
    made = VulkanRuntime(0, staging=False, module_source=modules)
    yield made
    made.close()


def affine(words, mul=1, k=0, source=0, target=0, add=0):
    groups = (-(-words // 64), 1, 1)
    bindings = (Binding(source, 4 * words), Binding(target, 4 * words, writes=True))
    return KernelSpec("affine", (mul, add), (words, k), b"", groups, bindings)


def bump(words, k=1):
    return KernelSpec("bump", (), (words, k), b"", (-(-words // 64), 1, 1), (Binding(0, 4 * words, writes=True),))


def table(words, values):
    contents = np.array(values, np.uint32).tobytes()
    return KernelSpec("table", (), (words, 0), contents, (-(-words // 64), 1, 1), (Binding(0, 4 * words, writes=True),))


def slow(words, rounds=60_000):
    groups = (-(-words // 64), 1, 1)
    return KernelSpec("slow", (), (words, rounds), b"", groups, (Binding(0, 4 * words, writes=True),))


def upload(runtime, array):
    """A memory of the array's bytes; numpy's own integers become words of 32 bits."""
    array = array.astype(np.uint32) if array.dtype == np.int64 else array
    memory = runtime.allocate(array.nbytes)
    runtime.write(memory, 0, memoryview(array))
    return memory


def download(runtime, memory, words=None):
    out = np.empty(memory.nbytes // 4 if words is None else words, np.uint32)
    runtime.read(memory, 0, memoryview(out))
    return out


def barriers(runtime, kernels, memories):
    before = runtime.counters().barriers
    runtime.submit(kernels, memories)
    return runtime.counters().barriers - before


FIXTURES = (modules, runtime, in_place)
"""Fixtures, which a test module imports under these names."""
