"""What an operation would do on a device, recorded without one."""

import numpy as np
import pytest

import restride as rs
from restride.kernel import ByteRange
from restride_conformance.recording import Copied, RecordingRuntime, Submitted


def test_nothing_is_read_from_a_recording():
    x = rs.empty(rs.TensorDesc("f32", (4,)), rs.Device.over(RecordingRuntime()))
    with pytest.raises(rs.UnsupportedError, match="no bytes"):
        x.numpy()


def test_a_kernel_is_recorded_with_its_memories_and_what_was_written_to_them():
    runtime = RecordingRuntime()
    data = np.arange(4 * 64 * 64, dtype=np.uint8)
    x = rs.from_buffer(data, "f32[64,64]{1,0}", rs.Device.over(runtime))
    y = rs.reorder(x.permute(1, 0))
    (step,) = runtime.steps
    assert isinstance(step, Submitted)
    assert runtime.submitted == [step.spec]
    assert step.memories[:2] == (x.memory, y.memory)
    ((steps_before, offset, part),) = step.memories[0].written
    assert (steps_before, offset, bytes(part)) == (0, 0, data.tobytes())
    assert step.memories[1].written == []


def test_the_devices_own_copy_is_a_step_after_the_kernels_before_it():
    runtime = RecordingRuntime()
    src, dst = runtime.allocate(64), runtime.allocate(64)
    runtime.copy(src, dst, 16, src_offset=4, dst_offset=32)
    runtime.copy(src, dst, 0)
    assert runtime.steps == [Copied(src, dst, ByteRange(4, 32, 16))]
