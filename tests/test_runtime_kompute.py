"""The runtime on kp: round trips, dependent kernels, bounded pools, refusals with their numbers, fork and loss."""

import logging
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from restride.errors import (
    DescriptorError,
    DeviceError,
    DeviceLost,
    DeviceNotFound,
    OutOfDeviceMemory,
    UnsupportedError,
)
from restride.kernel import Binding, KernelSpec
from restride.runtime import choose, kompute_device, list_devices, open_runtime
from restride.runtime.interface import Counters
from restride.runtime.kompute import KomputeRuntime

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
    # every group writes its own index: group counts arrive as they are
    "groups": """
        layout(local_size_x = 1) in;
        layout(binding = 0) buffer A { uint a[]; };
        void main() {
            uvec3 g = gl_WorkGroupID, n = gl_NumWorkGroups;
            a[g.x + n.x * (g.y + n.y * g.z)] = g.x | g.y << 8 | g.z << 16;
        }""",
}


def glslang():
    found = shutil.which(
        "glslangValidator", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    if found is None:
        pytest.skip("glslangValidator is not installed")
    return found


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules")
    made = {}
    for name, body in SOURCES.items():
        source, target = folder / f"{name}.comp", folder / f"{name}.spv"
        source.write_text(f"#version 450\n{textwrap.dedent(body)}\n")
        command = [glslang(), "-V", "--target-env", "vulkan1.1", "--target-env", "spirv1.3", source, "-o", target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        made[name] = target.read_bytes()
    return made


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
        made.append(KomputeRuntime(device, **{"module_source": modules.__getitem__} | options))
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


def test_round_trip_at_odd_offsets_and_lengths(runtime):
    rng = np.random.default_rng(1)
    memory = runtime.allocate(1003)
    expected = rng.integers(0, 256, 1003, np.uint8)
    runtime.write(memory, 0, memoryview(expected))
    for offset, length in [(0, 1), (1, 1), (3, 7), (16, 16), (17, 500), (1002, 1), (1003, 0), (0, 0), (995, 8)]:
        piece = rng.integers(0, 256, length, np.uint8)
        runtime.write(memory, offset, memoryview(piece))
        expected[offset : offset + length] = piece
        back = bytearray(length + 2)
        runtime.read(memory, offset, memoryview(back)[1 : 1 + length])
        assert bytes(back) == b"\0" + piece.tobytes() + b"\0"
    assert np.array_equal(download(runtime, memory, np.uint8), expected)


def test_a_read_is_a_copy(runtime):
    memory = upload(runtime, [1, 2, 3, 4])
    first = download(runtime, memory)
    runtime.write(memory, 0, memoryview(bytes(16)))
    runtime.close()
    assert first.tolist() == [1, 2, 3, 4]


def test_typed_and_multidimensional_views_are_bytes(runtime):
    source = np.arange(12, dtype=np.float32).reshape(3, 4)
    memory = runtime.allocate(48)
    runtime.write(memory, 0, memoryview(source))
    out = np.empty((4, 3), np.int32)
    runtime.read(memory, 0, memoryview(out))
    assert out.tobytes() == source.tobytes()


@pytest.mark.parametrize(
    ("mul", "add", "k"),
    [(1, 0, 0), (3, 0xFFFFFFF0, 7), (0x7FC00001, 0x7F800001, 0xFF800001), (16777217, 0, 0xFFFFFFFF)],
)
def test_constants_and_push_constants_arrive_as_words(runtime, mul, add, k):
    # The odd values are signalling NaNs, and integers that float32 does not hold: no word may pass through a float.
    a = np.arange(100, dtype=np.uint32)
    source, target = upload(runtime, a), upload(runtime, np.full(100, 9))
    runtime.submit([affine(400, 90, mul=mul, add=add, k=k)], [source, target])
    result = download(runtime, target)
    expected = (a.astype(object) * mul + add + k) % (1 << 32)
    assert result[:90].tolist() == expected[:90].tolist()
    assert result[90:].tolist() == [9] * 10
    assert np.array_equal(download(runtime, source), a)


def test_parameters_follow_the_bindings(runtime):
    a = np.arange(64, dtype=np.uint32)
    source, target = upload(runtime, a), runtime.allocate(256)
    for words in ([10, 20, 30], [5], [10, 20, 30], list(range(2000))):
        runtime.submit([table(256, words)], [source, target])
        assert np.array_equal(download(runtime, target), a + np.resize(np.array(words, np.uint32), 64))


def test_new_parameters_need_no_new_pipeline(runtime):
    source, target = upload(runtime, np.zeros(4)), runtime.allocate(16)
    for value in range(300):
        runtime.submit([table(16, [value]), table(16, [value + 1])], [source, target])
        assert download(runtime, target)[0] == value + 1
    counters = runtime.counters()
    assert counters.pipelines == 1
    assert counters.bytes_in_use == 32


def test_parameters_of_many_sizes_stay_bounded(runtime):
    source, target = upload(runtime, np.zeros(4)), runtime.allocate(16)
    for turn in range(2):
        for power in range(20):
            for words in (1 << power, (1 << power) + 1):
                runtime.submit([table(16, np.full(words, power + turn))], [source, target])
                assert download(runtime, target)[0] == power + turn
    assert runtime.counters().bytes_in_use == 32
    assert runtime._parameters.nbytes <= (1 << 20) + 4 * (1 << 19) + (1 << 16)


@pytest.mark.parametrize("groups", [(1, 1, 1), (3, 1, 1), (1, 2, 1), (2, 3, 4), (1, 1, 5)])
def test_group_counts_arrive_as_they_are(runtime, groups):
    total = groups[0] * groups[1] * groups[2]
    memory = upload(runtime, np.full(total + 4, 77))
    runtime.submit([KernelSpec("groups", (), (), b"", groups, (Binding(0, memory.nbytes, writes=True),))], [memory])
    z, y, x = np.indices(groups[::-1])
    assert download(runtime, memory).tolist() == [*(x | y << 8 | z << 16).ravel().tolist(), 77, 77, 77, 77]


def test_dependent_kernels_of_one_submit_run_in_order(runtime):
    n = 10_000
    a, b = upload(runtime, np.ones(n)), upload(runtime, np.zeros(n))
    forward, back = affine(4 * n, n, mul=3, add=1), affine(4 * n, n, mul=5)
    value = 1
    for _ in range(5):
        # a -> b, then b -> a: read after write and write after read.
        runtime.submit([forward], [a, b])
        runtime.submit([back], [b, a])
        value = (value * 3 + 1) * 5
    # Two that write the same memory: the last one wins.
    runtime.submit([affine(4 * n, n, mul=2), affine(4 * n, n, mul=7), affine(4 * n, n // 2, mul=9)], [a, b])
    result = download(runtime, b)
    assert (result[: n // 2] == value * 9 % (1 << 32)).all()
    assert (result[n // 2 :] == value * 7 % (1 << 32)).all()


def test_independent_kernels(runtime):
    pairs = [(upload(runtime, np.full(256, i)), runtime.allocate(1024)) for i in range(20)]
    for i, pair in enumerate(pairs):
        runtime.submit([affine(1024, 256, mul=2, k=i)], pair)
    for i, (_, target) in enumerate(pairs):
        assert (download(runtime, target) == 3 * i).all()


def test_the_host_writes_between_kernels(runtime):
    a, b = upload(runtime, np.arange(64)), upload(runtime, np.zeros(64))
    runtime.submit([affine(256, 64, mul=2)], [a, b])
    # One byte of what a kernel wrote, then a kernel that reads all of it, then one that writes half of it.
    runtime.write(b, 1, memoryview(b"\x01"))
    runtime.submit([affine(256, 64, add=1)], [b, a])
    runtime.submit([affine(256, 32, add=5)], [b, a])
    expected = np.arange(64) * 2
    expected[0] += 256
    assert download(runtime, b).tolist() == expected.tolist()
    assert download(runtime, a).tolist() == [*(expected[:32] + 5), *(expected[32:] + 1)]


def test_in_place_kernel(runtime):
    a = upload(runtime, np.arange(64))
    runtime.submit([affine(256, 64, mul=3)], [a, a])
    assert download(runtime, a).tolist() == list(range(0, 192, 3))


def test_2000_submits_make_a_handful_of_allocations_and_pipelines(runtime):
    a = upload(runtime, np.arange(256))
    before = runtime.counters()
    for i in range(2000):
        b = runtime.allocate(1024)
        runtime.submit([affine(1024, 256, k=i % 4)], [a, b])
        if i % 100 == 0:
            assert download(runtime, b)[255] == 255 + i % 4
    after = runtime.counters()
    assert after.dispatches == 2000
    assert after.allocations - before.allocations <= 4
    assert after.pipelines <= 2
    assert after.bytes_in_use == 2048
    assert after.bytes_allocated <= 2 * 4096


def test_sizes_that_differ_keep_the_pool_bounded(runtime):
    for n in range(1, 400):
        runtime.allocate(16 * n).free()
    counters = runtime.counters()
    assert counters.bytes_in_use == 0
    assert counters.bytes_allocated <= 2 * 64 * 16 * 400


def test_kernels_of_destroyed_buffers_are_forgotten(runtime):
    # 80 sizes overflow the 64 kept buffers, so early pairs are destroyed with their programs.
    for turn in range(2):
        for n in range(1, 81):
            a, b = upload(runtime, np.full(4 * n, turn)), runtime.allocate(16 * n)
            runtime.submit([affine(16 * n, 4 * n, k=n)], [a, b])
            assert (download(runtime, b) == turn + n).all()
    used = {serial for key in runtime._programs._programs for serial in key.buffers}
    assert used <= set(runtime._pool._alive)


def test_a_memory_from_the_pool_copies_nothing_of_its_past(make):
    runtime = make(in_place=False)
    a, b = upload(runtime, np.arange(64)), runtime.allocate(256)
    runtime.submit([affine(256, 64)], [a, b])
    b.free()
    before = runtime.counters().submissions
    b = runtime.allocate(256)
    runtime.write(b, 4, memoryview(b"part"))
    assert runtime.counters().submissions == before


def test_counters(runtime):
    assert runtime.counters() == Counters()
    a, b = runtime.allocate(1), runtime.allocate(17)
    runtime.write(a, 0, memoryview(b"x"))
    runtime.read(a, 0, memoryview(bytearray(1)))
    counters = runtime.counters()
    each = 1 if runtime._device.in_place else 2
    assert (counters.bytes_in_use, counters.bytes_allocated, counters.allocations) == (48, 48 * each, 2 * each)
    assert (counters.uploaded, counters.downloaded, counters.dispatches, counters.barriers) == (1, 1, 0, 0)
    b.free()
    b.free()
    assert runtime.counters().bytes_in_use == 16
    del a
    assert runtime.counters().bytes_in_use == 0
    runtime.wait()


def test_bad_spans(runtime):
    memory = runtime.allocate(10)
    with pytest.raises(DescriptorError, match=r"bytes \[8, 11\) leave a memory of 10 bytes"):
        runtime.write(memory, 8, memoryview(b"abc"))
    with pytest.raises(DescriptorError, match=r"bytes \[-1, 2\) leave a memory of 10 bytes"):
        runtime.read(memory, -1, memoryview(bytearray(3)))
    with pytest.raises(DescriptorError, match="read-only"):
        runtime.read(memory, 0, memoryview(b"abc"))
    with pytest.raises(DescriptorError, match="contiguous"):
        runtime.write(memory, 0, memoryview(b"abcdef")[::2])
    with pytest.raises(DescriptorError, match="at least 1 byte, nbytes is 0"):
        runtime.allocate(0)


def test_memories_of_others_and_freed_ones(make):
    runtime, other = make(), make()
    mine, foreign = runtime.allocate(16), other.allocate(16)
    with pytest.raises(DescriptorError, match="not a memory of this device"):
        runtime.submit([affine(16, 4)], [mine, foreign])
    mine.free()
    with pytest.raises(DescriptorError, match="used after it was freed"):
        runtime.write(mine, 0, memoryview(b"a"))


def test_memories_that_kp_cannot_make_are_refused_with_the_numbers(make):
    runtime = make()
    before = runtime.counters()
    for nbytes in (1 << 32, (1 << 32) + 64, (1 << 32) - 15):
        with pytest.raises(UnsupportedError, match=rf"{nbytes:,} bytes is larger than kompute's [\d,]+"):
            runtime.allocate(nbytes)
    assert runtime.counters() == before


def test_budget(make):
    runtime = make(budget=10_000)
    a, b = runtime.allocate(4000), runtime.allocate(4001)
    with pytest.raises(
        OutOfDeviceMemory, match=r"2,000 bytes do not fit: 8,016 bytes in 2 buffers .* budget of 10,000"
    ):
        runtime.allocate(2000)
    runtime.write(a, 0, memoryview(b"still works"))
    b.free()
    # What is kept for reuse makes room.
    c = runtime.allocate(6000)
    assert (c.nbytes, runtime.counters().bytes_allocated) == (6000, 10_000)


def test_default_budget_is_below_the_heap(make, device):
    runtime = make()
    assert 0 < runtime._pool.budget < device.heap_bytes
    with pytest.raises((OutOfDeviceMemory, UnsupportedError), match=r"[\d,]{9,}"):
        runtime.allocate(min(device.heap_bytes, (1 << 32) - 16))


def test_limits_are_refused_with_the_numbers(make, device):
    limits = replace(device.limits, max_buffer_range=1024, max_group_count=(4, 4, 4))
    runtime = make(limits=limits)
    assert runtime.limits == replace(limits, offset_alignment=0)
    small, large = runtime.allocate(1024), upload(runtime, np.arange(257))
    # It can be held, written and read; it cannot be bound.
    assert download(runtime, large)[256] == 256
    spec = affine(1024, 16)
    with pytest.raises(UnsupportedError, match=r"affine: binding 1 is a memory of 1,040 bytes, more than the 1,024"):
        runtime.submit([spec], [small, large])
    with pytest.raises(UnsupportedError, match=r"binding 2 is a memory of 2,048 bytes"):
        runtime.submit([table(1024, list(range(257)))], [small, small])
    for groups in [(5, 1, 1), (0, 1, 1), (1, 0, 1)]:
        with pytest.raises(UnsupportedError, match=rf"group counts \({groups[0]}, {groups[1]}, 1\)"):
            runtime.submit([replace(spec, groups=groups)], [small, small])
    with pytest.raises(DescriptorError, match="33 push constants"):
        runtime.submit([replace(spec, push=(0,) * 33)], [small, small])
    with pytest.raises(DescriptorError, match=r"binding 0 covers bytes \[16, 32\) of a memory of 1,024"):
        runtime.submit([replace(spec, bindings=(Binding(16, 16), Binding(0, 16, writes=True)))], [small, small])
    with pytest.raises(DescriptorError, match=r"binding 1 covers bytes \[0, 1,028\)"):
        runtime.submit([replace(spec, bindings=(Binding(0, 16), Binding(0, 1028, writes=True)))], [small, small])
    with pytest.raises(DescriptorError, match="2 bindings for 1 memories"):
        runtime.submit([spec], [small])
    with pytest.raises(DescriptorError, match="0 bindings"):
        runtime.submit([replace(spec, bindings=())], [small])
    assert runtime.counters().dispatches == 0
    # A bad kernel stops the good ones before it, and nothing is broken.
    runtime.write(small, 0, memoryview(np.arange(256, dtype=np.uint32)))
    with pytest.raises(UnsupportedError):
        runtime.submit([affine(1024, 16, k=1), replace(spec, groups=(5, 1, 1))], [small, small])
    runtime.submit([affine(1024, 16, k=2)], [small, small])
    assert download(runtime, small)[:17].tolist() == [*range(2, 18), 16]


def test_closed(make, device):
    runtime = make()
    memory = runtime.allocate(16)
    runtime.close()
    runtime.close()
    for call in (
        lambda: runtime.allocate(16),
        lambda: runtime.write(memory, 0, memoryview(b"a")),
        lambda: runtime.read(memory, 0, memoryview(bytearray(1))),
        lambda: runtime.submit([affine(16, 4)], [memory, memory]),
        runtime.wait,
        runtime.counters,
    ):
        with pytest.raises(DeviceLost, match="is closed"):
            call()
    memory.free()
    assert runtime.info == device


class NeverRuns:
    """A sequence that comes back without having run, as kp's does on a lost device."""

    def eval(self):
        return self


class Throws:
    def eval(self):
        raise RuntimeError("vk::Device::createFence: ErrorOutOfHostMemory")


@pytest.mark.parametrize(("sequence", "message"), [(NeverRuns(), "is lost"), (Throws(), "ErrorOutOfHostMemory")])
def test_work_that_did_not_run_is_a_lost_device(make, monkeypatch, sequence, message):
    runtime = make()
    a = upload(runtime, np.arange(4))
    monkeypatch.setattr(runtime._programs, "recording", lambda *_: sequence)
    with pytest.raises(DeviceLost, match=message):
        runtime.submit([affine(16, 4)], [a, a])
    monkeypatch.undo()
    with pytest.raises(DeviceLost, match=message):
        runtime.submit([affine(16, 4)], [a, a])
    runtime.close()


def test_work_past_the_time_limit_keeps_its_result_and_says_so(make):
    runtime = make(timeout=1e-9)
    a = upload(runtime, np.arange(4))
    with pytest.warns(
        RuntimeWarning, match="past the time limit of 1e-09 s, which the runtime 'kompute' cannot enforce"
    ):
        runtime.submit([affine(16, 4, mul=2)], [a, a])
    assert download(runtime, a).tolist() == [0, 2, 4, 6]


def test_from_several_threads(make):
    runtime = make()
    wrong = []

    def work(number):
        for i in range(50):
            a, b = upload(runtime, np.full(100, number)), runtime.allocate(400)
            runtime.submit([affine(400, 100, k=i)], [a, b])
            if not (download(runtime, b) == number + i).all():
                wrong.append((number, i))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert runtime.counters().dispatches == 200


def test_freed_in_the_middle_of_a_submit(make, monkeypatch):
    runtime = make()
    a, b = upload(runtime, np.arange(4)), upload(runtime, np.zeros(4))
    original = runtime._dispatch

    def dispatch_and_free(spec, buffers):
        # As another thread may, between two kernels; the second one then wants a buffer of this size for parameters.
        original(spec, buffers)
        a.free()

    monkeypatch.setattr(runtime, "_dispatch", dispatch_and_free)
    runtime.submit([affine(16, 4), table(16, [100])], [a, b])
    assert download(runtime, b).tolist() == [100, 101, 102, 103]
    assert runtime.counters().bytes_in_use == 16


def test_without_kp_the_error_says_what_to_install(monkeypatch, device):
    monkeypatch.setitem(sys.modules, "kp", None)
    kompute_device.load_kp.cache_clear()
    with pytest.raises(
        UnsupportedError, match=r"needs the Python package `kp`; run `\.venv/bin/python tools/build_kp\.py`"
    ):
        KomputeRuntime(device)
    monkeypatch.setitem(sys.modules, "kp", logging)
    kompute_device.load_kp.cache_clear()
    with pytest.raises(DeviceError, match="is not Kompute's"):
        KomputeRuntime(device)
    kompute_device.load_kp.cache_clear()


def test_a_device_that_is_gone_never_reaches_kp(device, monkeypatch):
    monkeypatch.setattr(kompute_device, "load_kp", lambda: pytest.fail("kp was asked"))
    with pytest.raises(DeviceNotFound, match=r"device 7: .* is no longer there; present are 0: "):
        KomputeRuntime(replace(device, index=7))
    with pytest.raises(DeviceNotFound, match="Other is no longer there"):
        KomputeRuntime(replace(device, name="Other"))


def test_another_device_at_the_index_is_refused(device):
    physical, index = kompute_device.find_device(device)
    wrong = replace(physical, info=replace(device, name="Other"))
    with pytest.raises(DeviceNotFound, match=r"kp finds '.*' at index \d+, not 'Other'"):
        kompute_device.KomputeDevice(wrong, index, in_place=True)
    with pytest.raises(DeviceError, match="could not open device 99"):
        kompute_device.KomputeDevice(physical, 99, in_place=True)


def test_devices_that_kp_cannot_see_are_refused(device, monkeypatch):
    physical, _ = kompute_device.find_device(device)
    hidden = replace(physical, extensions=physical.extensions | {"VK_KHR_portability_subset"})
    second = replace(physical, info=replace(device, index=1))
    monkeypatch.setattr(kompute_device, "physical_devices", lambda: [hidden, second])
    with pytest.raises(UnsupportedError, match="portability"):
        kompute_device.find_device(device)
    # The hidden one takes no number in kp's list.
    assert kompute_device.find_device(second.info) == (second, 0)


def run_python(script, **environment):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_no_driver_is_a_typed_error_and_no_crash(device):
    del device
    script = """
        from restride.errors import DeviceNotFound
        from restride.runtime import open_runtime
        try:
            open_runtime(None, "kompute")
        except DeviceNotFound as error:
            print("not found:", error)
    """
    nothing = "/nonexistent/icd.json"
    done = run_python(script, VK_DRIVER_FILES=nothing, VK_ICD_FILENAMES=nothing, VK_ADD_DRIVER_FILES="")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("not found:")


FORK = """
    import os, sys, warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of fork with threads: lavapipe has some
    from restride.errors import DeviceLost
    from restride.runtime import open_runtime
    runtime = open_runtime(None, "kompute")
    memory = runtime.allocate(64)
    runtime.write(memory, 0, memoryview(b"parent"))
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        lost = 0
        for call in (lambda: runtime.allocate(16), lambda: runtime.write(memory, 0, memoryview(b"x")), runtime.wait,
                     lambda: open_runtime(None, "kompute")):
            try:
                call()
            except DeviceLost as error:
                lost += "fork" in str(error)
        del memory
        runtime.close()
        sys.exit(10 + lost)  # a whole interpreter exit: destructors run
    _, status = os.waitpid(child, 0)
    out = bytearray(6)
    runtime.read(memory, 0, memoryview(out))
    print(os.waitstatus_to_exitcode(status), out.decode())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_after_fork_the_child_is_told_at_once_and_ends_and_the_parent_works(device):
    del device
    done = run_python(FORK)
    assert (done.returncode, done.stdout.strip()) == (0, "14 parent"), done.stderr


def test_a_process_that_never_closes_ends_well(device):
    del device
    done = run_python("""
        import logging
        from restride.runtime import open_runtime
        runtime = open_runtime(None, "kompute")
        memory = runtime.allocate(64)
        kept = [runtime, memory]
        kept.append(kept)
        # A second one that is dropped while its memory lives.
        other = open_runtime(None, "kompute").allocate(64)
        assert not logging.getLogger().handlers, "kp's import changed how the program logs"
        print("done")
    """)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "done", "")


def test_open_runtime_opens_kompute(device):
    del device
    runtime = open_runtime(None, "kompute")
    try:
        assert isinstance(runtime, KomputeRuntime)
        assert runtime.limits.offset_alignment == 0
    finally:
        runtime.close()
