"""The runtime on kp: bytes go round, kernels get what they were given, dependent ones run in order."""

import numpy as np
import pytest
from support import kompute_kernels
from support.kompute_kernels import affine, download, table, upload

from restride.errors import DescriptorError
from restride.kernel import Binding, KernelSpec

modules, device, make, runtime = kompute_kernels.FIXTURES


def test_round_trip_at_odd_offsets_and_lengths(runtime):
    rng = np.random.default_rng(1)
    memory = runtime.allocate(1003)
    expected = rng.integers(0, 256, 1003, np.uint8)
    runtime.write(memory, 0, memoryview(expected))
    for offset, length in [(0, 1), (1, 1), (3, 7), (16, 16), (17, 500), (1002, 1), (1003, 0), (0, 0), (995, 8)]:
        piece = rng.integers(0, 256, length, np.uint8)
        runtime.write(memory, offset, memoryview(piece[: length // 3]), memoryview(piece[length // 3 :]))
        expected[offset : offset + length] = piece
        back = bytearray(length + 2)
        runtime.read(memory, offset, memoryview(back)[1 : 1 + length])
        assert bytes(back) == b"\0" + piece.tobytes() + b"\0"
    assert np.array_equal(download(runtime, memory, np.uint8), expected)


def test_bytes_beyond_a_memory_are_refused(runtime):
    memory = runtime.allocate(100)
    with pytest.raises(DescriptorError, match=r"bytes \[97, 101\) leave a memory of 100 bytes"):
        runtime.write(memory, 97, memoryview(bytes(4)))
    with pytest.raises(DescriptorError, match=r"bytes \[-1, 3\) leave"):
        runtime.read(memory, -1, memoryview(bytearray(4)))


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
    assert len(runtime._pool._idle) <= 64
    assert runtime.counters().bytes_allocated <= 2 * (10 << 20), "one of each size, in steps of 64 KiB: 8.5 MiB, staged"


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
