"""Runtimes and small kernels for the tests of the runtime on kp."""

import os
import sys
import textwrap

import numpy as np
import pytest
from support.process import captured
from support.spirv_kernels import compile_kernels

from restride.errors import DeviceNotFound, UnsupportedError
from restride.kernel import Binding, KernelSpec
from restride.runtime import choose, list_devices
from restride.runtime.kompute import device as kompute_device
from restride.runtime.kompute.runtime import KomputeRuntime

SOURCES = {
    # b[i] = a[i] * MUL + ADD + push.k for the first push.n words
    "affine": """
        layout(local_size_x = 64) in;
        layout(constant_id = 0) const uint MUL = 1u;
        layout(constant_id = 1) const uint ADD = 0u;
        layout(push_constant) uniform Push { uint n; uint k; } push;
        layout(binding = 0) readonly buffer A { uint a[]; };
        layout(binding = 1) buffer B { uint b[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            if (i < push.n) b[i] = a[i] * MUL + ADD + push.k;
        }""",
    # b[i] = a[i] + table[i % words of the table]; no push constants, no specialization constants
    "table": """
        layout(local_size_x = 64) in;
        layout(binding = 0) readonly buffer A { uint a[]; };
        layout(binding = 1) writeonly buffer B { uint b[]; };
        layout(binding = 2) readonly buffer Table { uint words; uint table[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            if (i < b.length()) b[i] = a[i] + table[i % words];
        }""",
    # every group writes its own index, which shows that group counts arrive unchanged
    "groups": """
        layout(local_size_x = 1) in;
        layout(binding = 0) buffer A { uint a[]; };
        void main() {
            uvec3 g = gl_WorkGroupID, n = gl_NumWorkGroups;
            a[g.x + n.x * (g.y + n.y * g.z)] = g.x | g.y << 8 | g.z << 16;
        }""",
}


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    return compile_kernels(tmp_path_factory.mktemp("modules"), SOURCES, head="#version 450\n")


@pytest.fixture(scope="module")
def device():
    try:
        kompute_device.load_kp()
        return choose(list_devices())
    except (UnsupportedError, DeviceNotFound) as error:
        pytest.skip(f"kompute cannot run here: {error}")


@pytest.fixture
def make(device, modules):
    made = []

    def make_runtime(**options):
        made.append(KomputeRuntime(device, **{"module_source": modules} | options))
        return made[-1]

    yield make_runtime
    for runtime in made:
        runtime.close()


@pytest.fixture(params=[True, False], ids=["in_place", "staged"])
def runtime(make, request):
    return make(in_place=request.param)


def affine(nbytes, n, *, mul=1, add=0, k=0, groups=None):
    return KernelSpec(
        "affine",
        (mul, add),
        (n, k),
        b"",
        groups or (-(-n // 64), 1, 1),
        (Binding(0, nbytes), Binding(0, nbytes, writes=True)),
    )


def table(nbytes, words):
    contents = np.array([len(words), *words], np.uint32).tobytes()
    bindings = (Binding(0, nbytes), Binding(0, nbytes, writes=True))
    return KernelSpec("table", (), (), contents, (-(-nbytes // 256), 1, 1), bindings)


def upload(runtime, words):
    words = np.asarray(words, np.uint32)
    memory = runtime.allocate(words.nbytes)
    runtime.write(memory, 0, memoryview(words))
    return memory


def download(runtime, memory, dtype=np.uint32):
    out = np.empty(memory.nbytes, np.uint8)
    runtime.read(memory, 0, memoryview(out))
    return out.view(dtype)


def run_python(script, **environment):
    return captured(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)], env=os.environ | environment, timeout=60
    )


FIXTURES = (modules, device, make, runtime)
"""Fixtures, which a test module imports under these names."""
