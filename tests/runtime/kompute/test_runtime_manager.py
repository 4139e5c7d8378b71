"""A user's kp.Manager: memory is shared both ways, the manager stays the user's, the rest is refused."""

from __future__ import annotations

import gc
import re
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import kompute_kernels
from support.kompute_kernels import run_python

import restride as rs
from restride.runtime.kompute import device as kompute_device
from restride.runtime.kompute.runtime import KomputeRuntime

modules, info, _, _ = kompute_kernels.FIXTURES
PAGE = (Path(__file__).resolve().parents[3] / "docs" / "kompute.md").read_text(encoding="utf-8")
A = np.arange(24, dtype=np.float32)


@pytest.fixture(scope="module")
def kp(device):
    del device
    return kompute_device.load_kp()


@pytest.fixture
def manager(kp):
    manager = kp.Manager()
    yield manager
    manager.destroy()


@pytest.fixture(params=[True, False], ids=["in_place", "staged"])
def opened(manager, device, request):
    """A device whose own tensors are of kp's type host, and one where they are of its type device."""
    with rs.Device.over(KomputeRuntime(device, in_place=request.param, manager=manager)) as opened:
        yield opened


device = info


def sent(kp, manager, array, kind="device"):
    """The array as a kp tensor, on the device too."""
    tensor = manager.tensor_t(array, getattr(kp.TensorTypes, kind))
    manager.sequence().eval(kp.OpTensorSyncDevice([tensor]))
    return tensor


def fetched(kp, manager, tensor, dtype=np.float32):
    manager.sequence().eval(kp.OpTensorSyncLocal([tensor]))
    return tensor.data().view(dtype).copy()


def doubling(kp, manager, modules, tensor, into=None):
    """The user's own kernel, run on a tensor: each word twice."""
    words = tensor.data().nbytes // 4
    into = into or manager.tensor_t(np.zeros(words, np.uint32), kp.TensorTypes.device)
    push, constants = np.array([words, 0], np.uint32), np.array([2, 0], np.uint32)
    algorithm = manager.algorithm([tensor, into], modules("affine"), (-(-words // 64), 1, 1), constants, push)
    manager.sequence().eval(kp.OpAlgoDispatch(algorithm, push))
    return into


@pytest.mark.usefixtures("kp")
def test_the_examples_of_the_page_run():
    namespace = {}
    for number, example in enumerate(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)):
        exec(compile(example, f"docs/kompute.md example {number}", "exec"), namespace)
    assert namespace["device"].is_closed


@pytest.mark.parametrize("kind", ["device", "host"])
def test_a_tensor_of_the_users_is_read_and_written_where_it_lies(kp, manager, opened, kind):
    tensor = sent(kp, manager, A, kind)
    before = opened.counters()
    x = rs.asarray(tensor, "f32[2,3,4]", opened)
    assert (x.desc, x.kp) == (rs.TensorDesc("f32", (2, 3, 4)), tensor)
    assert rs.asarray(tensor, device=opened).memory is x.memory
    assert opened.counters() == before, "nothing is allocated or moved"
    np.testing.assert_array_equal(rs.reorder(x, "ABC->CBA").numpy(), A.reshape(2, 3, 4).transpose(2, 1, 0))
    np.testing.assert_array_equal(rs.reorder(x, "ABC->ABC").numpy(), A.reshape(2, 3, 4))
    x[0, 1:, ::2] = -1  # a kernel
    expected = A.reshape(2, 3, 4).copy()
    expected[0, 1:, ::2] = -1
    np.testing.assert_array_equal(fetched(kp, manager, tensor), expected.reshape(-1))
    rs.reorder(rs.asarray(A[::-1].reshape(2, 3, 4), device=opened), "ABC->ABC", out=x)
    np.testing.assert_array_equal(fetched(kp, manager, tensor), A[::-1])


@pytest.mark.parametrize(
    ("array", "name"),
    [
        (A, "f32"),
        (A.astype(np.float64), "f64"),
        (A.astype(np.int32), "s32"),
        (A > 3, "pred"),
        (A.view(np.uint32), "u32"),
    ],
)
def test_types_are_kps_unless_a_descriptor_says_more(kp, manager, opened, array, name):
    array = np.resize(array, 32)
    tensor = sent(kp, manager, array)
    x = rs.asarray(tensor, device=opened)
    assert str(x.desc) == f"{name}[32]{{0}}"
    assert x.numpy().tobytes() == array.tobytes()
    raw = rs.asarray(tensor, "u8[4,4]{strides=(1,4),offset=3}", opened)
    assert raw.numpy().tobytes() == array.view(np.uint8)[3:19].reshape(4, 4).T.tobytes()


@pytest.mark.parametrize("kind", ["device", "host"])
def test_each_side_sees_what_the_other_wrote_last(kp, manager, opened, kind):
    """Host writes and reads of ours between kernels of both: the device's memory is what counts."""
    tensor = sent(kp, manager, A, kind)
    x = rs.asarray(tensor, device=opened)
    tensor.data()[:] = A + 100
    manager.sequence().eval(kp.OpTensorSyncDevice([tensor]))
    np.testing.assert_array_equal(x.numpy(), A + 100)
    opened.runtime.write(x.memory, 4, memoryview(np.float32([-5])))
    expected = A + 100
    expected[1] = -5
    np.testing.assert_array_equal(rs.reorder(x, "A->A").numpy(), expected)
    np.testing.assert_array_equal(fetched(kp, manager, tensor), expected)
    tensor.data()[2] = 7
    manager.sequence().eval(kp.OpTensorSyncDevice([tensor]))
    expected[2] = 7
    np.testing.assert_array_equal(rs.reorder(x[::-1], "A->A").numpy(), expected[::-1])
    np.testing.assert_array_equal(x.numpy(), expected)


def test_a_result_is_read_and_written_by_the_users_kernels(kp, manager, opened, modules):
    words = np.arange(60, dtype=np.uint32).reshape(6, 10)
    y = rs.reorder(rs.asarray(words, device=opened), "AB->BA")
    lent = y.kp
    assert lent is y.kp
    np.testing.assert_array_equal(lent.data(), words.T.reshape(-1))
    twice = doubling(kp, manager, modules, lent)
    np.testing.assert_array_equal(fetched(kp, manager, twice, np.uint32), 2 * words.T.reshape(-1))
    lent.data()[:] = 9  # the user's, sent to the device by the user
    manager.sequence().eval(kp.OpTensorSyncDevice([lent]))
    np.testing.assert_array_equal(y.numpy(), np.full((10, 6), 9))
    y[0] = 4
    twice_too = rs.asarray(twice, "u32[10,6]", opened)
    np.testing.assert_array_equal(twice_too.numpy(), 2 * words.T)
    doubling(kp, manager, modules, lent, twice)  # the twin, which was read just now, is older again
    opened.runtime.write(twice_too.memory, 4, memoryview(np.uint32([1])))
    np.testing.assert_array_equal(twice_too.numpy().reshape(-1)[:7], [8, 1, 8, 8, 8, 8, 18])
    np.testing.assert_array_equal(fetched(kp, manager, lent, np.uint32)[:7], [4] * 6 + [9])


def test_what_was_just_uploaded_is_lent_with_its_contents(kp, manager, opened):
    x = rs.asarray(A, device=opened)
    np.testing.assert_array_equal(fetched(kp, manager, x.kp), A)


def test_what_is_lent_is_never_used_again_for_another_tensor(kp, manager, opened):
    start = opened.counters().bytes_in_use
    lent = rs.asarray(A, device=opened).kp
    gc.collect()
    assert opened.counters().bytes_in_use == start
    others = [rs.asarray(np.zeros(24, np.float32), device=opened) for _ in range(70)]
    np.testing.assert_array_equal(fetched(kp, manager, lent), A)
    del others
    opened.trim()
    opened.close()
    np.testing.assert_array_equal(fetched(kp, manager, lent), A)


def test_bytes_that_the_user_holds_stay_taken_of_the_limit(manager):
    with rs.Device(manager=manager, memory_limit=1 << 20) as device:
        lent = rs.empty("u8[600000]", device).kp
        with pytest.raises(rs.OutOfDeviceMemory, match="no room for 600,000 bytes"):
            rs.empty("u8[600000]", device)
        del lent
        rs.empty("u8[600000]", device)


def test_the_manager_stays_the_users(kp, manager):
    tensor = sent(kp, manager, A)
    for _ in range(2):
        with rs.Device(manager=manager) as device:
            x = rs.asarray(tensor)  # the one device over a manager
            assert x.device is device
            y = rs.reorder(x, "A->A")
        with pytest.raises(rs.DeviceLost, match="was closed"):
            y.numpy()
    with pytest.raises(rs.DescriptorError, match=r"0 devices over one are open: device=rs\.Device\(manager=\.\.\.\)"):
        rs.asarray(tensor)
    np.testing.assert_array_equal(fetched(kp, manager, tensor), A)
    with rs.Device(manager=manager) as one, rs.Device(manager=manager) as other:
        with pytest.raises(rs.DescriptorError, match="2 devices over one are open"):
            rs.asarray(tensor)
        np.testing.assert_array_equal(rs.asarray(tensor, device=one).numpy(), rs.asarray(tensor, device=other).numpy())


def test_closing_keeps_neither_manager_nor_tensors_alive(kp):
    """The last reference of the user's frees them: kp objects count references, as objects of Python do."""
    manager = kp.Manager()
    tensor = sent(kp, manager, A)
    device = rs.Device(manager=manager)
    rs.reorder(rs.asarray(tensor), "A->A").numpy()
    alive = weakref.ref(tensor), weakref.ref(manager)
    device.close()
    del tensor, manager
    gc.collect()
    assert [reference() for reference in alive] == [None, None]


def test_what_kp_does_not_share_is_refused(kp, manager, opened, vulkan_device, device):
    tensor = sent(kp, manager, A)
    with pytest.raises(rs.UnsupportedError, match=r"20 bytes shares no memory: .* 16 bytes at a time.* make it of 32"):
        rs.asarray(manager.tensor(A[:5]), device=opened)
    with pytest.raises(rs.UnsupportedError, match="of type storage, of 96 bytes"):
        rs.asarray(manager.tensor_t(A, kp.TensorTypes.storage), device=opened)
    with pytest.raises(
        rs.DescriptorError, match=r"buffer of 96 bytes is too small for f32\[25\]\{0\}, which needs 100"
    ):
        rs.asarray(tensor, "f32[25]", opened)
    with pytest.raises(rs.UnsupportedError, match=r"was opened without one: use rs\.Device\(manager=\.\.\.\)"):
        rs.asarray(tensor, device=vulkan_device)
    with pytest.raises(rs.UnsupportedError, match=r"96 bytes lies in a kp tensor only on a kp\.Manager"):
        rs.asarray(A, device=vulkan_device).kp  # noqa: B018 - a property that raises
    with rs.Device.over(KomputeRuntime(device)) as own:
        with pytest.raises(rs.UnsupportedError, match="was opened without one"):
            rs.asarray(tensor, device=own)
        with pytest.raises(rs.UnsupportedError, match="was opened without one"):
            rs.asarray(A, device=own).kp  # noqa: B018
    assert rs.from_buffer(manager.tensor(A[:5]).data(), "f32[5]", opened).tolist() == A[:5].tolist()


def test_what_is_no_manager_of_the_device_is_refused(kp, manager, device, monkeypatch):
    del kp
    for other in (3, manager.sequence()):
        with pytest.raises(rs.DescriptorError, match=r"manager must be a kp\.Manager, got"):
            rs.Device(manager=other)
    with pytest.raises(rs.DescriptorError, match=r"manager is a kp\.Manager, and runtime 'vulkan' does not use kp"):
        rs.Device(manager=manager, runtime="vulkan")
    monkeypatch.setenv("RESTRIDE_RUNTIME", "vulkan")
    monkeypatch.setenv("RESTRIDE_DEVICE", "no such device")
    for arguments in ({}, {"runtime": "kompute"}, {"selector": device.index}, {"selector": device.name}):
        with rs.Device(manager=manager, **arguments) as opened:
            assert opened.info == device


def test_the_device_is_found_by_the_managers_name(manager, device):
    other, twin = replace(device, index=1, name="Other"), replace(device, index=2)
    of = kompute_device.device_of
    assert of(manager, [other, device], None) == of(manager, [other, device, twin], device) == device
    assert of(manager, [other, device, twin], twin) == twin
    with pytest.raises(rs.DescriptorError, match=r"but devices 0, 2 are called so: the selector must say which"):
        of(manager, [device, other, twin], None)
    with pytest.raises(
        rs.DescriptorError, match=f"selector chooses device 1: Other; manager is on {re.escape(device.name)}"
    ):
        of(manager, [device, other], other)
    with pytest.raises(rs.DeviceNotFound, match="present are Other"):
        of(manager, [other], None)


DESTROYED = """
    import kp, numpy as np, restride as rs
    manager = kp.Manager()
    device = rs.Device(manager=manager)
    tensor = manager.tensor(np.zeros(8))
    x, y = rs.asarray(tensor), rs.asarray(np.zeros(8, np.float32), device=device)
    lent = rs.reorder(y, "A->A").kp
    tensor.destroy()
    for use in (x.numpy, lambda: rs.reorder(x[::-1], "A->A"), lambda: rs.reorder(y, "A->A", out=x),
                lambda: rs.asarray(tensor)):
        try:
            use()
        except rs.DescriptorError as error:
            assert "kp tensor that was destroyed" in str(error), error
            print("refused")
    del x
    try:
        rs.asarray(tensor)
    except rs.DescriptorError as error:
        print(error)
    manager.destroy()
    for use in (y.numpy, lambda: rs.reorder(y[::-1], "A->A"), lambda: rs.empty("f32[5]", device), device.trim,
                lambda: rs.Device(manager=manager)):
        try:
            use()
        except rs.DeviceLost as error:
            assert "was destroyed" in str(error), error
            print("lost")
    device.close()
    print("closed")
"""


def test_destroyed_tensors_and_managers_are_errors_and_no_crash(device):
    """In a process of its own: it would crash."""
    del device
    done = run_python(DESTROYED)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines == ["refused"] * 4 + ["array is a kp tensor that was destroyed"] + ["lost"] * 5 + ["closed"], lines


def test_without_close_nothing_crashes_at_the_end(device):
    """The interpreter takes manager, device and tensors apart in any order."""
    del device
    script = """
        import kp, numpy as np, restride as rs
        manager = kp.Manager()
        device = rs.Device(manager=manager)
        tensor = manager.tensor(np.zeros(8))
        x = rs.asarray(tensor)
        lent = rs.reorder(x[::-1], "A->A").kp
        print("end")
    """
    done = run_python(script)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


@pytest.mark.parametrize("kind", ["device", "host"])
@pytest.mark.parametrize("array", [A, A.view(np.uint32)], ids=["f32", "u32"])
def test_whole_copies_between_ours_and_the_users(kp, manager, opened, kind, array):
    """kp copies between tensors of one type and place; between others it throws, or a stale twin ends on the device."""
    theirs, runtime = sent(kp, manager, array, kind), opened.runtime
    memory = runtime.import_tensor(theirs)
    ours = rs.reorder(rs.asarray(array + 1, device=opened)[::-1], "A->A")  # by a kernel: a twin is older
    runtime.copy(ours.memory, memory, array.nbytes)
    np.testing.assert_array_equal(fetched(kp, manager, theirs, array.dtype), (array + 1)[::-1])
    rs.reorder(rs.asarray(array, device=opened)[::-2], "A->A", out=rs.asarray(theirs, device=opened)[12:])
    expected = (array + 1)[::-1].copy()
    expected[12:] = array[::-2]
    runtime.copy(memory, ours.memory, array.nbytes)
    np.testing.assert_array_equal(ours.numpy(), expected)
