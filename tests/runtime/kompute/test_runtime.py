"""The runtime on kp: parameters of many sizes, group counts; what both promise is in test_interface_runtimes.py."""

import numpy as np
import pytest
from support import kompute_kernels
from support.spirv_kernels import compile_kernels
from support.vulkan_kernels import download, table, upload

from restride.kernel import Binding, KernelSpec

modules, device, make, runtime = kompute_kernels.FIXTURES

GROUPS = """
    layout(local_size_x = 1) in;
    layout(binding = 0) buffer A { uint a[]; };
    void main() {
        uvec3 g = gl_WorkGroupID, n = gl_NumWorkGroups;
        a[g.x + n.x * (g.y + n.y * g.z)] = g.x | g.y << 8 | g.z << 16;
    }"""
"""Every group writes its own index."""


def test_parameters_of_many_sizes_stay_bounded(runtime):
    target = runtime.allocate(16)
    for turn in range(2):
        for power in range(2, 20):
            for words in (1 << power, (1 << power) + 1):
                runtime.submit([table(4, np.full(words, power + turn))], [target])
                assert download(runtime, target)[0] == power + turn
    assert runtime.counters().bytes_in_use == 16
    assert len(runtime._pool._idle) <= 64
    assert runtime.counters().bytes_allocated <= 2 * (10 << 20), "one of each size, in steps of 64 KiB: 8.5 MiB, staged"


@pytest.mark.parametrize("groups", [(1, 1, 1), (3, 1, 1), (1, 2, 1), (2, 3, 4), (1, 1, 5)])
def test_group_counts_arrive_as_they_are(make, groups, tmp_path):
    runtime = make(module_source=compile_kernels(tmp_path, {"groups": GROUPS}, head="#version 450\n"))
    total = groups[0] * groups[1] * groups[2]
    memory = upload(runtime, np.full(total + 4, 77))
    runtime.submit([KernelSpec("groups", (), (), b"", groups, (Binding(0, memory.nbytes, writes=True),))], [memory])
    z, y, x = np.indices(groups[::-1])
    assert download(runtime, memory).tolist() == [*(x | y << 8 | z << 16).ravel().tolist(), 77, 77, 77, 77]
