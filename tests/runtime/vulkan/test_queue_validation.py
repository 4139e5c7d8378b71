"""The direct runtime under the validation layer: nothing to say about it, and one planted bug per profile is caught."""

import pytest
from support import runtime_process
from support.sampled import sample
from support.validated_process import messages

import restride as rs
from restride_conformance.run.validation import PROFILES

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from restride.kernel import Binding, KernelSpec
from restride.runtime.vulkan import dispatch
from restride.runtime.vulkan.runtime import VulkanRuntime

folder, bug, staging = sys.argv[1], sys.argv[2], sys.argv[3] == "staging"
runtime = VulkanRuntime(0, module_source=lambda name: Path(folder, name + ".spv").read_bytes(), staging=staging)
words, groups = 1000, (16, 1, 1)

def write(nbytes):
    return Binding(0, nbytes, writes=True)

a, b = runtime.allocate(4 * words), runtime.allocate(4 * words)
runtime.write(a, 0, memoryview(np.arange(words, dtype=np.uint32)))
runtime.write(b, 0, memoryview(np.zeros(words, np.uint32)))
if bug == "sync":
    # the barrier between dependent dispatches is dropped
    runtime._session.queue.hazards.conflict = lambda _: False
# the kernel writes one word past the end
if bug == "practices":
    runtime._session.blocks.pool.chunks.allocate(64)
touched = words + 1 if bug == "gpu" else words
go = KernelSpec("affine", (3,), (touched, 5), b"", groups, (Binding(0, 4 * words), write(4 * words)))
bump = KernelSpec("bump", (), (words, 1), b"", groups, (write(4 * words),))
if bug == "core":
    # a descriptor covers more than its buffer
    session, block = runtime._session, a.block
    layout = session.recorder.pipelines.get(("bump", (), 1), 0).layout
    session.recorder.preparations.sets.take(layout, [(block, 0, block.chunk.nbytes + 4)], 0)
runtime.submit([go, bump], [b, a])
runtime.submit([go, go], [a, b])
runtime.submit([go], [b, a])

c = runtime.allocate(4 * words)
for _ in range(3):
    runtime.submit([go], [a, b])
    runtime.copy(b, c, 4 * words)
    runtime.submit([bump], [b])
    runtime.submit([go], [c, a])
    runtime.copy(b, a, 4 * words - 5)

table = KernelSpec("table", (), (words, 0), bytes(range(16)), groups, (write(4 * words),))
runtime.submit([table, table, bump], [a])
out = bytearray(4 * words - 3)
runtime.read(a, 3, memoryview(out))

large = runtime.allocate(9 << 20)
runtime.write(large, 3, memoryview(bytes((9 << 20) - 3)))
runtime.submit([bump], [large])
out = bytearray((9 << 20) - 5)
runtime.read(large, 5, memoryview(out))

for index in range(400):
    memory = runtime.allocate(1000 * (index % 7) + 16)
    runtime.submit([KernelSpec("bump", (), (4, 1), b"", (1, 1, 1), (write(16),))], [memory])
    del memory
session = runtime._session
session.recorder.pipelines._most, dispatch.MAX_PREPARED = 2, 4
for index in range(20):
    runtime.submit((KernelSpec("affine", (index,), (4, 1), b"", (1, 1, 1), (Binding(0, 16), write(16))),), [a, b])
    if index % 4 == 0:
        runtime.wait()
runtime.wait()
session.blocks.pool.trim()
runtime.close()
"""


kernels = runtime_process.kernels
MODES = "in-place", "staging"


@pytest.mark.parametrize(("profile", "mode"), [(each, mode) for each in PROFILES for mode in sample(MODES, 1, each)])
def test_the_layer_has_nothing_to_say(profile, mode, kernels):
    assert messages(["-c", PROGRAM, str(kernels), "", mode], profile) == []


BUGS = {
    "core": "VUID-VkDescriptorBufferInfo-range-00342",
    "sync": "SYNC-HAZARD-",
    "practices": "BestPractices-vkAllocateMemory-small-allocation",
    "gpu": "Descriptor size is 4000 and highest byte accessed was 4003",
}


@pytest.mark.parametrize(("profile", "mode"), [(each, mode) for each in BUGS for mode in sample(MODES, 1, each, "bug")])
def test_a_planted_bug_is_caught(profile, mode, kernels):
    found = messages(["-c", PROGRAM, str(kernels), profile, mode], profile)
    assert found
    assert any(BUGS[profile] in entry for entry in found), found


def test_a_failing_program_is_not_mistaken_for_a_clean_one():
    with pytest.raises(AssertionError, match="exits 3"):
        messages(["-c", "raise SystemExit(3)"], "core")
    with pytest.raises(rs.DeviceNotFound, match="vulkan-validationlayers"):
        messages(["-c", "pass"], "core")
