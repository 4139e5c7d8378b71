"""Memory that host and device share: numpy arrays as tensors and tensors as numpy arrays, without a copy."""

import gc
import sys
import threading
import weakref
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_array_equal as assert_equal
from support import runtime_process, vulkan_kernels
from support.devices import open_device
from support.judges import judge
from support.runtime_process import passes
from support.validated_process import messages
from support.vulkan_kernels import bump, slow

import restride as rs
from restride.runtime import choose, list_devices
from restride.runtime.instance import open_devices
from restride.runtime.vulkan.runtime import VulkanRuntime

modules = vulkan_kernels.modules
kernels = runtime_process.kernels

NUMPY_2 = int(np.__version__.split(".")[0]) >= 2
X = np.random.default_rng(7).random((50, 40, 30), np.float32)


@pytest.fixture
def device():
    """A device that works in the host's memory."""
    with rs.Device.over(VulkanRuntime(choose(list_devices()), staging=False)) as opened:
        if not opened.runtime._session.device.physical.import_alignment:
            pytest.skip(f"{opened.info.name} does not import memory of the host")
        yield opened


def address(array):
    return array.ctypes.data


def at_alignment(values, start, alignment=4096):
    """A copy of ``values`` whose first byte lies ``start`` bytes past a multiple of ``alignment``."""
    room = np.zeros(values.nbytes + 2 * alignment, np.uint8)
    first = -address(room) % alignment + start
    made = room[first : first + values.nbytes].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


VIEWS = {
    "packed": lambda x: x,
    "reversed": lambda x: x[::-1, :, ::-1],
    "window": lambda x: x[3:9, 5::7, 2:-2],
    "transposed": lambda x: x.transpose(2, 0, 1),
    "broadcast": lambda x: np.broadcast_to(x[:, :1], (4, 50, 9, 30)),
    "one element": lambda x: x[7:8, 3:4, -1:],
    "no axes": lambda x: x[7, 3, -1, ...],
    "overlapping": lambda x: np.lib.stride_tricks.sliding_window_view(x[0, 0], 7)[:, ::-1],
}


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "bool", ml_dtypes.bfloat16])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_an_array_of_any_strides_is_a_tensor_over_its_own_memory(view, dtype, device):
    x = view((X * 100).astype(dtype))
    before = device.counters()
    tensor = rs.asarray(x, device=device, copy=False)
    assert device.counters() == before, "nothing is allocated and nothing moves"
    assert tensor.sizes == x.shape
    shared = tensor.numpy(copy=False)
    assert (address(shared), shared.shape, shared.dtype) == (address(x), x.shape, x.dtype)
    assert_equal(shared, x)
    assert_equal(tensor.numpy(), x)
    assert_equal(rs.reorder(tensor).numpy(copy=False), x)


@pytest.mark.parametrize("start", [0, 16, 4, 60, 4080, 4092, 64])
@pytest.mark.parametrize("nbytes", [4, 36, 4096, 4100, 20_000])
def test_an_array_may_begin_anywhere_in_a_page(start, nbytes, device):
    x = at_alignment(np.arange(nbytes // 4, dtype=np.uint32), start)
    tensor = rs.asarray(x, device=device, copy=False)
    assert address(tensor.numpy(copy=False)) == address(x)
    assert_equal(rs.reorder(tensor[::-1]).numpy(), x[::-1])


@pytest.mark.parametrize("alignment", [64, 256])
def test_a_device_that_binds_at_other_multiples(alignment, device):
    """On such devices a tensor's memory begins before the array, and its descriptor has an offset."""
    device.runtime._session.blocks.imports._alignment = alignment
    x = at_alignment(np.arange(1000, dtype=np.uint16), alignment + 16)
    tensor = rs.asarray(x, device=device, copy=False)
    assert tensor.desc.offset == 8
    assert tensor.memory.block.offset % alignment == 0
    assert_equal(rs.reorder(tensor[3:]).numpy(), x[3:])


def test_elements_between_multiples_of_their_size_are_refused(device):
    x = at_alignment(np.arange(10, dtype=np.uint32), 2)
    with pytest.raises(
        rs.UnsupportedError, match=r"elements of u32\[10\].* must lie at multiples of their 4 bytes.*0x"
    ):
        rs.asarray(x, device=device, copy=False)
    assert_equal(rs.asarray(x, device=device, copy=None).numpy(), x)
    records = np.zeros(4, np.dtype([("a", "u1"), ("b", "<f4")]))
    with pytest.raises(rs.UnsupportedError, match=r"strides of \(5,\) bytes"):
        rs.asarray(records["b"], device=device, copy=False)


def test_what_is_no_array_would_be_copied(device):
    for value in ([1, 2], 3.0, np.float32(3)):
        with pytest.raises(rs.UnsupportedError, match=f"numpy would copy this {type(value).__name__}"):
            rs.asarray(value, device=device, copy=False)
        assert_equal(rs.asarray(value, device=device, copy=None).numpy(), np.asarray(value))


def test_empty_arrays_have_nothing_to_share(device):
    tensor = rs.asarray(X[:0], device=device, copy=False)
    assert tensor.numpy(copy=False).shape == (0, 40, 30)
    assert not tensor.numpy(copy=False).flags.writeable
    with pytest.raises(rs.DescriptorError, match="0 bytes"):
        device.runtime.import_bytes(memoryview(b""))


def test_a_descriptor_is_a_contradiction_only_where_it_needs_a_copy(device):
    assert address(rs.asarray(X, "f32[50,40,30]", device, copy=False).numpy(copy=False)) == address(X)
    with pytest.raises(rs.UnsupportedError, match=r"copy=False: elements laid out as f32.*\{0,1,2\}"):
        rs.asarray(X, "f32[50,40,30]{0,1,2}", device, copy=False)
    tensor = rs.asarray(X, "f32[50,40,30]{0,1,2}", device, copy=None)
    assert tensor.desc.minor_to_major == (0, 1, 2)
    assert_equal(tensor.numpy(), X)
    assert rs.asarray(tensor, copy=False) is tensor
    with pytest.raises(rs.UnsupportedError, match="copy=False"):
        rs.asarray(tensor, "f32[50,40,30]", copy=False)


def test_dlpack_tensors_share_too(device):
    class Producer:
        def __dlpack__(self, **_):
            return X.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    assert address(rs.asarray(Producer(), device=device, copy=False).numpy(copy=False)) == address(X)


def test_an_imported_tensor_is_no_destination(device):
    x = X.copy()
    tensor = rs.asarray(x, device=device, copy=False)
    y = rs.asarray(X, device=device)
    plan = rs.plan_reorder(y.desc, y.desc, device=device)
    calls = [
        lambda: rs.reorder(y, out=tensor),
        lambda: rs.reorder(tensor, out=tensor, src_scale=2.0),
        lambda: rs.resample(y, (40, 30), mode="nearest", out=tensor),
        lambda: rs.strided_slice(y, (0, 0, 0), X.shape, (1, 1, 1), out=tensor),
        lambda: plan(y, out=tensor),
    ]
    for call in calls:
        with pytest.raises(rs.DescriptorError, match=r"out f32\[50,40,30\].* copy=False, which is only read"):
            call()
    assert_equal(x, X)


def test_a_runtime_writes_to_no_import(device, modules):
    runtime = VulkanRuntime(device.info, staging=False, module_source=modules)
    x = np.zeros(64, np.uint32)
    memory, _ = runtime.import_bytes(memoryview(x))
    other = runtime.allocate(256)
    for call in (
        lambda: runtime.write(memory, 0, memoryview(bytes(4))),
        lambda: runtime.copy(other, memory, 16),
        lambda: runtime.submit([bump(64)], [memory]),
    ):
        with pytest.raises(rs.DescriptorError, match="imported from the host"):
            call()
    runtime.wait()
    runtime.close()
    assert not x.any()


def weak_array(values):
    """An array and a reference that dies with it."""

    class Noted(np.ndarray):
        pass

    array = Noted(values.shape, values.dtype)
    array[...] = values
    return array, weakref.ref(array)


def test_an_array_lives_as_long_as_the_device_reads_it(device):
    array, gone = weak_array(X)
    tensor = rs.asarray(array, device=device, copy=False)
    view = tensor[3:]
    del array, tensor
    assert gone() is not None
    with device.batch():
        result = rs.reorder(view.permute(2, 1, 0))
        del view
        rs.empty("f32[10]", device)
        assert gone() is not None, "the batch has not even begun"
    assert_equal(result.numpy(), X[3:].transpose(2, 1, 0))
    assert gone() is None


def test_a_tensor_that_is_dropped_lets_go_at_once(device):
    array, gone = weak_array(X)
    tensor = rs.asarray(array, device=device, copy=False)
    rs.reorder(tensor).numpy()
    del array
    shared = tensor.numpy(copy=False)
    del tensor
    assert gone() is not None
    assert_equal(shared, X)
    del shared
    assert gone() is None


def test_a_thousand_imports_leave_nothing(device):
    x = X[:5]
    rs.asarray(X, device=device).numpy()
    before = device.counters()
    for _ in range(1000):
        last = rs.asarray(x, device=device, copy=False)
    rs.reorder(last).numpy()
    del last
    assert not device.runtime._session.blocks.imports._alive
    after = device.counters()
    assert (after.bytes_in_use, after.uploaded) == (before.bytes_in_use, before.uploaded)


def test_the_owner_is_let_go_outside_the_lock(device):
    """A deleter may call restride."""
    seen = []
    array, _ = weak_array(X)
    weakref.finalize(array, lambda: seen.append(device.counters().submissions))
    tensor = rs.asarray(array, device=device, copy=False)
    result = rs.reorder(tensor)
    del array, tensor
    device.wait()
    assert_equal(result.numpy(), X)
    assert len(seen) == 1


def test_closing_lets_go_of_the_arrays(modules):
    runtime = VulkanRuntime(choose(list_devices()), staging=False, module_source=modules)
    array, gone = weak_array(np.zeros(1000, np.uint32))
    kept = runtime.import_bytes(memoryview(array))
    del array
    runtime.close()
    assert gone() is not None, "the memory still refers to it"
    del kept
    assert gone() is None


def test_results_are_arrays_over_the_memory_of_the_device(device):
    tensor = rs.reorder(rs.asarray(X, device=device))
    before = device.counters()
    array = tensor.numpy(copy=False)
    assert device.counters() == before
    assert_equal(array, X)
    again = tensor.permute(2, 0, 1)[::-1, 5].numpy(copy=False)
    assert_equal(again, X.transpose(2, 0, 1)[::-1, 5])
    assert np.shares_memory(array, again)
    rs.reorder(rs.asarray(-X, device=device), out=tensor)
    device.wait()
    assert_equal(array, -X)


def test_a_shared_result_waits_for_its_writers(modules):
    runtime = VulkanRuntime(choose(list_devices()), staging=False, module_source=modules)
    memory = runtime.allocate(4 * 8192)
    runtime.write(memory, 0, memoryview(bytes(4 * 8192)))
    expected = None
    for _ in range(2):
        runtime.submit([slow(8192)], [memory])
        expected = runtime.mapped_bytes(memory).copy()
    runtime.wait()
    assert_equal(runtime.mapped_bytes(memory), expected)
    assert expected.any()
    runtime.close()


def test_a_shared_array_cannot_be_written(device):
    array = rs.asarray(X, device=device).numpy(copy=False)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    for each in (array, array.base, array.base.base):
        if isinstance(each, np.ndarray):
            with pytest.raises(ValueError, match="WRITEABLE"):
                each.flags.writeable = True


def test_memory_under_an_array_is_not_used_again(device):
    array = rs.asarray(X, device=device).numpy(copy=False)
    small = rs.asarray(X[0, 0], device=device).numpy(copy=False)
    others = [rs.asarray(np.zeros_like(X), device=device) for _ in range(5)]
    others += [rs.asarray(np.zeros_like(X[0, 0]), device=device) for _ in range(50)]
    del others
    device.runtime._session.trim_if_free()
    assert_equal(array, X)
    assert_equal(small, X[0, 0])
    held = device.counters().bytes_in_use
    del array, small
    gc.collect()
    assert device.counters().bytes_in_use < held


def test_memory_that_is_freed_outright_stays_under_its_array(device):
    tensor = rs.asarray(X, device=device)
    array = tensor.numpy(copy=False)
    tensor.memory.free()
    del tensor
    device.runtime._session.trim_if_free()
    rs.asarray(np.zeros_like(X), device=device)
    assert_equal(array, X)


def test_tiles_have_no_strides_to_share(device):
    tensor = rs.reorder(rs.asarray(X[0], device=device), "{1,0:T(8,8)}")
    with pytest.raises(rs.UnsupportedError, match=r"copy=False needs strides, and f32\[40,30\].*T\(8,8\).* has none"):
        tensor.numpy(copy=False)
    assert_equal(tensor.numpy(), X[0])


def test_a_padded_layout_is_shared_without_its_padding(device):
    tensor = rs.reorder(rs.asarray(X[0], device=device), "{1,0:pad(48,32)=0}")
    assert tensor.numpy(copy=False).strides == (128, 4)
    assert_equal(tensor.numpy(copy=False), X[0])


def test_numpy_and_dlpack_ask_for_no_copy(device):
    tensor = rs.asarray(X, device=device)
    place = address(tensor.numpy(copy=False))
    assert address(tensor.__array__(copy=False)) == place
    with pytest.raises(ValueError, match=r"copy=False: f32\[50,40,30\].* cannot become float64 without a copy"):
        tensor.__array__(np.float64, copy=False)
    with pytest.raises(BufferError, match=r"f32\[50,40,30\]"):
        tensor.__dlpack__(copy=False)  # an old consumer, which could not know that it is read-only


@pytest.mark.skipif(not NUMPY_2, reason="numpy 1 has no copy argument")
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_torch_has_the_same_memory_both_ways(dtype, device):
    """No byte is copied, by the counters and the addresses, and each sees what the other writes."""
    torch = judge("torch")
    theirs = (torch.arange(60 * 41).reshape(60, 41) % 5).to(getattr(torch, dtype))[:, ::2].T
    result = rs.empty(f"{rs.asarray(theirs, device=device).dtype}[21,60]", device)
    device.wait()
    before = device.counters()
    tensor = rs.asarray(theirs, device=device, copy=False)
    rs.reorder(tensor, out=result)
    ours = torch.from_dlpack(result, copy=False)
    after = device.counters()
    assert address(tensor.numpy(copy=False)) == theirs.data_ptr()
    assert address(result.numpy(copy=False)) == ours.data_ptr()
    moved = ("uploaded", "downloaded", "allocations", "bytes_allocated", "bytes_in_use")
    assert [getattr(after, each) - getattr(before, each) for each in moved] == [0] * len(moved)
    assert (ours.dtype, ours.shape, ours.stride()) == (theirs.dtype, theirs.shape, (60, 1))
    assert torch.equal(ours.to(torch.float64), theirs.to(torch.float64))
    theirs[...] = torch.ones(1).to(theirs.dtype)
    rs.reorder(tensor, out=result)
    device.wait()
    assert (ours.to(torch.float64) == 1).all()
    del result
    gc.collect()
    rs.asarray(np.zeros_like(X), device=device)
    assert (ours.to(torch.float64) == 1).all(), "the torch tensor keeps the memory"


@pytest.mark.skipif(not NUMPY_2, reason="numpy 1 has no copy argument")
def test_numpy_2_asks_for_no_copy(device):
    tensor = rs.asarray(X, device=device)
    place = address(tensor.numpy(copy=False))
    assert address(np.asarray(tensor, copy=False)) == place
    taken = np.from_dlpack(tensor, copy=False)
    assert (address(taken), taken.flags.writeable) == (place, False)
    del tensor
    gc.collect()
    assert_equal(taken, X)
    tiled = rs.reorder(rs.asarray(X[0], device=device), "{1,0:T(8,8)}")
    with pytest.raises(ValueError, match="needs strides"):
        np.asarray(tiled, copy=False)


def test_arrays_outlive_the_device(modules):
    runtime = VulkanRuntime(choose(list_devices()), staging=False, module_source=modules)
    budget = runtime._session.blocks.pool.chunks.budget
    others = budget.used
    memories = [runtime.allocate(4 << 20) for _ in range(3)]
    for number, memory in enumerate(memories):
        runtime.write(memory, 0, memoryview(np.full(4 << 20, number + 1, np.uint8)))
    arrays = [runtime.mapped_bytes(memory) for memory in memories[:2]]
    handle = runtime._session.device._address
    memories.pop().free()
    runtime.close()
    assert budget.used - others == 8 << 20, "what nobody needs is gone"
    with pytest.raises(rs.DeviceLost):
        runtime.mapped_bytes(memories[0])
    assert_equal(arrays[0], 1)
    memories.clear()
    view = arrays.pop()[5::7]
    arrays.clear()
    assert_equal(view, 2)
    assert handle in open_devices
    del runtime, view
    assert handle not in open_devices
    assert budget.used == others


def test_arrays_are_dropped_while_the_device_closes(modules):
    """Neither waits for the other, and one of them destroys the device."""
    for _ in range(20):
        runtime = VulkanRuntime(choose(list_devices()), staging=False, module_source=modules)
        handle = runtime._session.device._address
        memories = [runtime.allocate(1000) for _ in range(50)]
        arrays = [runtime.mapped_bytes(memory) for memory in memories]
        memories.clear()
        thread = threading.Thread(target=arrays.clear)
        thread.start()
        runtime.close()
        thread.join()
        assert handle not in open_devices


def test_a_device_that_nobody_closed_waits_for_its_arrays():
    device = rs.Device.over(VulkanRuntime(choose(list_devices()), staging=False))
    array = rs.asarray(X, device=device).numpy(copy=False)
    del device
    gc.collect()
    assert_equal(array, X)


def test_exit_with_arrays_in_use_is_quiet(kernels):
    assert (
        passes(
            """
            import restride as rs
            device = rs.Device(runtime="vulkan")
            x = np.arange(100_000, dtype=np.float32)
            imported = rs.asarray(x, device=device, copy=False)
            kept = rs.reorder(imported[::-1]).numpy(copy=False)
            class AtTheEnd:
                def __init__(self, array):
                    self.array = array
                def __del__(self):
                    print(self.array[0], flush=True)
            end = AtTheEnd(kept)
            other = rs.Device(runtime="vulkan")
            closed = rs.asarray(x, device=other).numpy(copy=False)
            other.close()
            """,
            kernels,
        )
        == "99999.0\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
def test_a_fork_harms_neither_side(kernels):
    out = passes(
        """
        import restride as rs
        device = rs.Device(runtime="vulkan")
        x = np.arange(100_000, dtype=np.float32)
        tensor = rs.asarray(x, device=device, copy=False)
        shared = rs.reorder(tensor[::-1]).numpy(copy=False)
        def asks():
            global tensor, shared, device
            lost(lambda: rs.asarray(x, device=device, copy=False))
            del tensor, shared, device
            gc.collect()
            sys.exit(int(x[5]))
        code = exit_code_of_child(asks)
        x = None
        print(code, shared[0], tensor.numpy()[-1])
        """,
        kernels,
    )
    assert out == "5 99999.0 99999.0\n"


def test_work_that_outlasts_closing_keeps_what_it_reads(kernels):
    """The array is neither freed nor moved, however the process goes on."""
    out = passes(
        """
        import weakref
        from restride.runtime.vulkan import runtime as vulkan_runtime
        vulkan_runtime._MIN_TO_CLOSE = 0.01
        class Noted(np.ndarray):
            pass
        device = open_device(timeout=0.01, staging=False)
        array = Noted(1 << 20, np.uint8)
        gone = weakref.ref(array)
        imported, _ = device.import_bytes(memoryview(array))
        memory = device.allocate(1 << 20)
        device.submit([slow()] * 20, [memory])
        device.copy(imported, memory, 1 << 20)
        device.close()
        del imported, array, device, memory
        gc.collect()
        print(gone() is not None)
        """,
        kernels,
    )
    assert out == "True\n"


def test_the_runtime_kompute_shares_nothing():
    with open_device("kompute") as device:
        tensor = rs.asarray(X, device=device)
        assert_equal(rs.asarray(X, device=device, copy=None).numpy(), X)
        for call in (lambda: rs.asarray(X, device=device, copy=False), lambda: tensor.numpy(copy=False)):
            with pytest.raises(rs.UnsupportedError, match=r"copy=False: the runtime 'kompute' .*f32\[50,40,30\]"):
                call()
        with pytest.raises(ValueError, match="copy=False"):
            tensor.__array__(copy=False)
        with pytest.raises(BufferError, match="copy=False"):
            tensor.__dlpack__(copy=False, max_version=(1, 0))


def test_a_device_with_memory_of_its_own_shares_nothing():
    with rs.Device.over(VulkanRuntime(choose(list_devices()), staging=True)) as device:
        tensor = rs.asarray(X, device=device)
        for call in (lambda: rs.asarray(X, device=device, copy=False), lambda: tensor.numpy(copy=False)):
            with pytest.raises(rs.UnsupportedError, match=r"has memory of its own.*, for f32\[50,40,30\]"):
                call()


@pytest.mark.parametrize("alignment", [0, 1 << 20])
def test_a_device_that_does_not_import(alignment, device, monkeypatch):
    physical = device.runtime._session.device.physical
    monkeypatch.setattr(device.runtime._session.device, "physical", replace(physical, import_alignment=alignment))
    with pytest.raises(rs.UnsupportedError, match=r"copy=False: .* imports? .*pages of this system have \d+ bytes"):
        rs.asarray(X, device=device, copy=False)


def test_what_the_driver_refuses_to_import_is_copied_where_that_is_allowed(device, monkeypatch):
    functions = device.runtime._session.device.vk
    refuse = functions._checked("vkAllocateMemory", lambda *_: -1000072003)
    rs.asarray(X, device=device)  # so that a copy has a place
    monkeypatch.setattr(functions, "vkAllocateMemory", refuse)
    with pytest.raises(rs.UnsupportedError, match=r"does not import .*INVALID_EXTERNAL_HANDLE.*f32\[50,40,30\]"):
        rs.asarray(X, device=device, copy=False)
    assert_equal(rs.asarray(X, device=device, copy=None).numpy(), X)


PROGRAM = """
import gc
import numpy as np
import restride as rs
device = rs.Device(runtime="vulkan")
x = np.random.default_rng(1).random((300, 411), np.float32)
for view in (x, x[::-1, 3:], x.T, x[5:6, ::2]):
    tensor = rs.asarray(view, device=device, copy=False)
    assert (tensor.numpy() == view).all()
    with device.batch():
        results = [rs.reorder(tensor.permute(1, 0)), rs.resample(tensor, (77, 55)), rs.reorder(tensor, dtype="f16")]
    arrays = [result.numpy(copy=False) for result in results]
    assert (arrays[0] == view.T).all()
    del results, tensor
    gc.collect()
for start in range(16):
    piece = x.reshape(-1).view(np.uint8)[start : start + 999]
    assert (rs.reorder(rs.asarray(piece, device=device, copy=False)[::-1]).numpy(copy=False) == piece[::-1]).all()
device.close()
assert (arrays[0] == view.T).all()
del arrays
"""


@pytest.mark.parametrize("profile", ["core", "sync", "gpu"])
def test_the_validation_layer_has_nothing_to_say(profile):
    assert messages(["-c", PROGRAM], profile) == []
