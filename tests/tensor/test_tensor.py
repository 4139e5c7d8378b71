"""Tensors: what asarray takes, what views and reading cost by the device's counters, and raw buffers."""

from __future__ import annotations

import copy
import gc
import pickle
import re

import ml_dtypes
import numpy as np
import pytest
from support.tensors import Costs, FromDLPack, assert_equal

import restride as rs
from restride.runtime import Counters
from restride.tensor.dlpack import array_from_dlpack
from restride_conformance import fill

X = np.arange(24 * 35, dtype=np.int32).reshape(24, 35)
RECORDS = np.zeros((5, 7), np.dtype([("a", "u1"), ("b", "<f4"), ("c", "<u2"), ("d", "<f8")]))
RECORDS["b"] = np.arange(35, dtype=np.float32).reshape(5, 7)
RECORDS["c"] = np.arange(35, dtype=np.uint16).reshape(5, 7) + 1000
RECORDS["d"] = -np.arange(35, dtype=np.float64).reshape(5, 7)

ARRAYS = {
    "packed": X,
    "rows reversed": X[::-1],
    "all reversed": X[::-1, ::-1],
    "every third backwards": X[20:2:-3, 30::-4],
    "transposed": X.T,
    "transposed and reversed": X.T[::-1],
    "Fortran": np.asfortranarray(X),
    "one row broadcast": np.broadcast_to(X[3], (4, 35)),
    "one element broadcast": np.broadcast_to(X[3, 4], (6, 2)),
    "windows that overlap": np.lib.stride_tricks.sliding_window_view(X, (3, 4)),
    "windows backwards": np.lib.stride_tricks.sliding_window_view(X[0], 5)[::-2],
    "column": X[:, 7],
    "column kept": X[:, 7:8],
    "0-d": X[5, 6, ...],
    "new axes": X[None, ::2, None, 3],
    "8 axes": X[:16, :16].reshape(2, 2, 2, 2, 2, 2, 2, 2).transpose(7, 0, 6, 1, 5, 2, 4, 3),
    "field of a packed record, f32 at byte 1 of 15": RECORDS["b"],
    "field of a packed record, u16 at byte 5 of 15": RECORDS["c"][::-1, ::2],
    "field of a packed record, f64 at byte 7 of 15": RECORDS["d"].T,
    "field of one record": RECORDS["d"][2, 3, ...],
    "odd byte offset": np.frombuffer(bytes(range(41)), np.uint16, 20, 1),
    "half of the bytes of wider elements": X.view(np.int16)[:, 1::2],
    "reads before its base": X[2:, 5:][::-1, ::-1][1:, 1:],
    "few elements, far apart": np.zeros((300, 300), np.uint8)[::100, ::100],
    "bool": X % 3 == 0,
    "bf16": X.astype(ml_dtypes.bfloat16)[::-1],
    "f8": np.arange(64, dtype=np.float32).reshape(8, 8).astype(ml_dtypes.float8_e4m3fn).T,
    "big": np.arange(1 << 16, dtype=np.float64).reshape(256, 256)[::-1, ::3],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_asarray_takes_any_strides(name, device):
    array = ARRAYS[name]
    tensor = rs.asarray(array, device=device)
    assert tensor.sizes == array.shape
    assert tensor.dtype == array.dtype
    assert tensor.device is device
    assert_equal(tensor.numpy(), array)
    assert_equal(rs.reorder(tensor).numpy(), array)


@pytest.mark.parametrize("name", ARRAYS)
def test_asarray_snapshots(name, device):
    array = ARRAYS[name].copy(order="K")
    tensor = rs.asarray(array, device=device)
    before = array.copy()
    array[...] = np.zeros((), array.dtype)
    assert_equal(tensor.numpy(), before)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, np.array(5)),
        (2.5, np.array(2.5)),
        (True, np.array(True)),
        (np.float16(1.5), np.array(1.5, np.float16)),
        (ml_dtypes.bfloat16(3), np.array(3, ml_dtypes.bfloat16)),
        ([], np.zeros(0)),
        ([1, 2], np.array([1, 2])),
        ([[1.5, 2], [3, 4]], np.array([[1.5, 2], [3, 4]])),
        ((np.float32(1), np.float32(2)), np.array([1, 2], np.float32)),
        (range(3), np.arange(3)),
        (memoryview(b"abc"), np.frombuffer(b"abc", np.uint8)),
    ],
    ids=lambda value: re.sub(" at 0x.*", ">", repr(value)),  # an id is the same in every process
)
def test_asarray_takes_what_numpy_makes_arrays_of(value, expected, device):
    assert_equal(rs.asarray(value, device=device).numpy(), expected)


def test_asarray_takes_read_only_arrays(device):
    array = np.frombuffer(b"read only words!", np.uint32)
    assert not array.flags.writeable
    assert_equal(rs.asarray(array[::-1], device=device).numpy(), array[::-1])


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_asarray_takes_subclasses_of_arrays(tmp_path, device):
    X.tofile(tmp_path / "x")
    mapped = np.memmap(tmp_path / "x", np.int32, "r", shape=X.shape)
    assert_equal(rs.asarray(mapped[::-1, 1:], device=device).numpy(), X[::-1, 1:])
    assert_equal(rs.asarray(np.matrix(X).T, device=device).numpy(), X.T)


def test_iteration_gives_the_first_axis(device):
    tensor = rs.asarray(X[:3], device=device)
    rows = list(tensor)
    assert len(rows) == 3
    for row, expected in zip(rows, X[:3], strict=True):
        assert row.memory is tensor.memory
        assert_equal(row.numpy(), expected)
    with pytest.raises(TypeError):
        iter(tensor[0, 0])


def test_asarray_returns_a_tensor_as_it_is(device):
    tensor = rs.asarray(X, device=device)
    assert rs.asarray(tensor) is tensor
    assert rs.asarray(tensor, device=device) is tensor
    again = rs.asarray(tensor, str(tensor.desc))
    assert again.memory is tensor.memory
    view = tensor[::2]
    assert rs.asarray(view) is view


@pytest.mark.parametrize("array", [X, X[::-2, 3:], X.T, np.broadcast_to(X[0], (3, 35)).copy(), X[3, 4, ...]])
def test_asarray_takes_dlpack_producers(array, device):
    assert_equal(rs.asarray(FromDLPack(array), device=device).numpy(), array)


@pytest.mark.usefixtures("vulkan_device")
def test_operations_take_arrays_and_producers():
    """On the default device."""
    assert_equal(rs.reorder(X.T).numpy(), X.T)
    assert_equal(rs.reorder(FromDLPack(X)).numpy(), X)
    assert_equal(rs.strided_slice([[1, 2, 3]], (0, 0), (1, 3), (1, -2)).numpy(), np.array([[3, 1]]))
    assert_equal(rs.resample(np.float32([1, 2]), (4,), mode="nearest").numpy(), np.float32([1, 1, 2, 2]))


# What moves, and where


def test_an_upload_is_the_bytes_and_no_dispatch(device):
    costs = Costs(device)
    rs.asarray(X, device=device)
    assert costs().uploaded == X.nbytes
    assert costs().dispatches == 0


@pytest.mark.parametrize("view", [X.T, X[::-1], X[:, ::-1], X.T[::-1, ::-1]], ids=["T", "rows", "columns", "all"])
def test_the_host_lays_nothing_out(view, device):
    """A transposed or reversed array goes up as it lies in memory; the device brings it into order."""
    costs = Costs(device)
    tensor = rs.asarray(view, device=device)
    assert (costs().uploaded, costs().dispatches) == (view.nbytes, 0)
    np.testing.assert_array_equal(tensor.buffer().view(np.int32), X.ravel())
    costs = Costs(device)
    assert_equal(tensor.numpy(), view)
    assert (costs().dispatches, costs().downloaded) == (1, view.nbytes)


def test_a_broadcast_uploads_its_one_row(device):
    costs = Costs(device)
    rs.asarray(np.broadcast_to(X[3], (100, 35)), device=device)
    assert costs().uploaded == 35 * 4


def test_windows_that_overlap_upload_each_element_once(device):
    costs = Costs(device)
    rs.asarray(np.lib.stride_tricks.sliding_window_view(X, (3, 4)), device=device)
    assert costs().uploaded == X.nbytes


def test_a_sparse_view_does_not_upload_its_span(device):
    big = np.arange(4_000_000, dtype=np.int32).reshape(2000, 2000)
    for view in (big[::1000, ::1000], big[::1000], big[500:600, 700:800], big[:, 3], big.T[::500, ::500]):
        costs = Costs(device)
        tensor = rs.asarray(view, device=device)
        assert costs().uploaded <= 16 * view.nbytes
        assert_equal(tensor.numpy(), view)


def test_a_record_field_is_gathered_on_the_device(device):
    costs = Costs(device)
    tensor = rs.asarray(RECORDS["c"], device=device)
    assert costs().dispatches == 1
    assert costs().uploaded <= RECORDS.nbytes
    assert_equal(tensor.numpy(), RECORDS["c"])


def test_asarray_with_a_layout_is_one_dispatch_from_any_strides(device):
    desc = rs.TensorDesc("s32", X.shape[::-1], (40, 1), offset=3)
    costs = Costs(device)
    tensor = rs.asarray(X.T, desc, device)
    assert (costs().dispatches, costs().uploaded) == (1, X.nbytes)
    assert tensor.desc == desc
    assert_equal(tensor.numpy(), X.T)
    assert_equal(rs.reference.from_buffer(tensor.buffer(), desc), X.T)


def test_asarray_lays_a_tensor_out_again(device):
    tensor = rs.asarray(X, device=device)
    column_major = rs.TensorDesc.xla("s32", X.shape, (0, 1))
    again = rs.asarray(tensor, column_major)
    np.testing.assert_array_equal(again.buffer().view(np.int32), X.ravel(order="F"))
    assert again.desc.minor_to_major == (0, 1)


def test_views_cost_nothing(device):
    tensor = rs.asarray(np.arange(2 * 3 * 8 * 10, dtype=np.uint8).reshape(2, 3, 8, 10), device=device)
    costs = Costs(device)
    views = [
        tensor[1, ..., ::-2],
        tensor[:, None, 2, 3:5],
        tensor.permute(0, 2, 3, 1),
        tensor.permute([3, 2, 1, 0])[::-1],
        tensor[:1].broadcast_to(5, 3, 8, 10),
        tensor.reshape(6, -1),
        rs.strided_slice(tensor, (0, 0, 1, 1), (2, 3, 6, 6), (1, -1, 2, -3)),
    ]
    assert costs() == Counters()
    assert all(view.memory is tensor.memory for view in views)
    for view in views:
        assert rs.asarray(view) is view


def test_crop_flip_permute_and_resample_are_one_dispatch(device):
    image = np.random.default_rng(1).integers(0, 256, (40, 60, 3), np.uint8)
    tensor = rs.asarray(image, device=device)
    costs = Costs(device)
    view = tensor[4:36, 8:56][:, ::-1].permute(2, 0, 1)[None]
    result = rs.resample(view, (16, 80))
    assert costs().dispatches == 1
    cropped = image[4:36, 8:56][:, ::-1].transpose(2, 0, 1)[None]
    lowest, highest = rs.reference.resample_limits(cropped, (16, 80))
    assert ((lowest <= result.numpy()) & (result.numpy() <= highest)).all()


def test_a_slice_fuses_into_the_reorder_that_reads_it(device):
    tensor = rs.asarray(X, device=device)
    costs = Costs(device)
    out = rs.reorder(tensor[::-2, 3:30:4], "AB->BA")
    assert costs().dispatches == 1
    assert_equal(out.numpy(), X[::-2, 3:30:4].T)


def test_reading_a_row_major_view_is_no_dispatch(device):
    tensor = rs.asarray(X, device=device)
    costs = Costs(device)
    assert_equal(tensor[5:9].numpy(), X[5:9])
    assert_equal(tensor[7, 3:11].numpy(), X[7, 3:11])
    assert_equal(tensor[7, 3].numpy(), X[7, 3, ...])
    assert costs().dispatches == 0
    assert costs().downloaded == 4 * 35 * 4 + 8 * 4 + 4


# To the host


def test_numpy_protocols(device):
    tensor = rs.asarray(X, device=device)[::-1]
    assert_equal(np.asarray(tensor), X[::-1])
    assert_equal(np.asarray(tensor, np.float64), X[::-1].astype(np.float64))
    assert_equal(np.array(tensor), X[::-1])
    assert_equal(np.asarray(tensor) + 1, X[::-1] + 1)
    assert len(tensor) == 24
    with pytest.raises(TypeError, match=r"s32\[\]"):
        len(tensor[0, 0])
    assert "s32[24,35]" in repr(tensor)
    assert device.info.name in repr(tensor)


def test_numpy_is_a_copy_that_can_be_written(device):
    tensor = rs.asarray(X, device=device)
    first = tensor.numpy()
    first[...] = 0
    assert_equal(tensor.numpy(), X)


def test_dlpack_goes_round(device):
    tensor = rs.asarray(X, device=device)[::-1, ::2]
    assert_equal(np.from_dlpack(tensor), X[::-1, ::2])
    assert tensor.__dlpack_device__() == (1, 0)
    assert_equal(rs.asarray(FromDLPack(tensor), device=device).numpy(), X[::-1, ::2])


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.bool_])
def test_dlpack_of_a_type_that_numpy_does_not_hand_out(dtype, device):
    x = (np.arange(12).reshape(3, 4) % 5).astype(dtype)
    taken = array_from_dlpack(rs.asarray(x, device=device).permute(1, 0))
    assert taken.dtype == x.dtype
    assert_equal(taken.view(np.uint8), np.ascontiguousarray(x.T).view(np.uint8))


def test_dlpack_stays_on_the_host(device):
    tensor = rs.asarray(X, device=device)
    for wish in ({"stream": 1}, {"dl_device": (8, 0)}):
        with pytest.raises(BufferError, match="hands out memory of the host, without a stream, or of CUDA"):
            tensor.__dlpack__(**wish)


def test_dlpack_hands_out_no_negative_strides(vulkan_device):
    """torch ends the process at them."""
    tensor = rs.asarray(X, device=vulkan_device)
    for view in (tensor[::-1], tensor[..., ::-1]):
        with pytest.raises(BufferError, match=r"copy=False: torch ends .* negative strides; numpy\(copy=False\) has"):
            np.from_dlpack(view, copy=False)
        assert_equal(np.from_dlpack(view), view.numpy())
    if vulkan_device.info.kind == "cpu":  # others have memory of their own
        assert_equal(view.numpy(copy=False), view.numpy())
        one = tensor[::-1][:1]  # a stride that leads nowhere
        assert_equal(np.from_dlpack(one, copy=False), one.numpy())


def test_a_tensor_is_no_truth_value_and_is_not_searched_or_pickled(device):
    tensor = rs.asarray(X, device=device)
    for call in (bool, lambda t: 3 in t, pickle.dumps):
        with pytest.raises(TypeError, match=r"lie.* on a device.*\.numpy\(\)"):
            call(tensor)
    with pytest.raises(TypeError, match="neither copied nor pickled"):
        copy.copy(device)


def test_an_empty_buffer_has_no_bytes(device):
    assert rs.empty("f32[0]", device).buffer().shape == (0,)
    assert rs.from_buffer(b"", "f32[2,0]", device).buffer().shape == (0,)


def test_overlapping_windows_are_uploaded_as_they_lie(device):
    column = np.random.default_rng(5).random((2000, 64), np.float32)[:, 0]
    windows = np.lib.stride_tricks.sliding_window_view(column, 500)
    costs = Costs(device)
    tensor = rs.asarray(windows, device=device)
    assert costs().uploaded <= 64 * column.nbytes
    assert_equal(tensor[::100].numpy(), windows[::100])


def test_a_tensor_keeps_its_descriptor(device):
    with pytest.raises(AttributeError):
        rs.asarray(X, device=device).desc = rs.TensorDesc("f32", (1,))


def test_the_default_device_opens_again_after_it_was_closed():
    closed = rs.default_device()
    closed.close()
    assert "closed" in repr(closed)
    assert_equal(rs.reorder(X).numpy(), X)
    assert rs.default_device() is not closed


def test_a_device_that_was_set_as_the_default_is_never_replaced():
    opened = rs.default_device()
    with rs.Device() as own:
        rs.set_default_device(own)
        try:
            assert rs.default_device() is rs.asarray(X).device is own
            assert not opened.is_closed
            own.close()
            assert rs.default_device() is own
            with pytest.raises(rs.DeviceError, match="closed"):
                rs.reorder(X)
        finally:
            rs.set_default_device(None)
    assert rs.default_device() is not own
    assert_equal(rs.reorder(X).numpy(), X)


@pytest.mark.parametrize("device", ["llvmpipe", 0, rs.Device])
def test_a_default_device_is_a_device(device):
    with pytest.raises(rs.DescriptorError, match=r"the default device is a restride\.Device or None, not"):
        rs.set_default_device(device)


# Raw buffers


def test_from_buffer_and_buffer_are_inverse(device):
    raw = fill.poison(101)
    desc = rs.TensorDesc("u16", (4, 5), (-11, 2), offset=36)
    for data in (raw, bytes(raw), bytearray(raw), memoryview(raw)):
        costs = Costs(device)
        tensor = rs.from_buffer(data, desc, device)
        np.testing.assert_array_equal(tensor.buffer(), raw)
        assert (costs().uploaded, costs().downloaded, costs().dispatches) == (101, 101, 0)
    assert_equal(tensor.numpy(), rs.reference.from_buffer(raw, desc))


def test_from_buffer_takes_words_and_exact_fits(device):
    words = np.arange(6, dtype=np.uint32).reshape(2, 3)
    tensor = rs.from_buffer(words, rs.TensorDesc("u8", (24,)), device)
    np.testing.assert_array_equal(tensor.numpy(), words.view(np.uint8).ravel())


def test_from_buffer_takes_arrays_of_any_type_and_of_no_elements(device):
    array = np.arange(3).astype(ml_dtypes.bfloat16)
    assert_equal(rs.from_buffer(array, rs.TensorDesc("bf16", (3,)), device).numpy(), array)
    for nothing in (b"", np.zeros((0, 3), np.float32)):
        assert rs.from_buffer(nothing, rs.TensorDesc("f32", (0, 3)), device).numpy().shape == (0, 3)


def test_empty_has_room_for_its_padding(device):
    desc = rs.TensorDesc("f16", (2, 3), (10, 1), offset=5)
    tensor = rs.empty(desc, device)
    assert tensor.desc is desc
    assert len(tensor.buffer()) == desc.nbytes == 36


# Without elements


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4), (2, 0, 3, 1)], ids=str)
@pytest.mark.parametrize("dtype", ["u8", "f32", "f64"])
def test_empty_tensors_work_everywhere_without_a_dispatch(shape, dtype, device):
    array = np.zeros(shape, np.dtype(rs.TensorDesc(dtype, ()).dtype.dtype))
    costs = Costs(device)
    tensor = rs.asarray(array, device=device)
    at = shape.index(0)
    rank = len(shape)
    reversed_axes = tuple(range(rank))[::-1]
    letters = "ABCD"[:rank]
    results = {
        "numpy": (tensor, array),
        "view": (tensor[(slice(None, None, -1),) * rank], array),
        "integer index": (tensor[(slice(None),) * at][..., None], array[..., None]),
        "permute": (tensor.permute(reversed_axes), array.transpose(reversed_axes)),
        "reshape": (tensor.reshape(-1), array.reshape(-1)),
        "broadcast": (tensor.broadcast_to(2, *shape), np.broadcast_to(array, (2, *shape))),
        "asarray": (rs.asarray(array, rs.TensorDesc(dtype, shape, range(rank)), device), array),
        "reorder": (rs.reorder(tensor), array),
        "letters": (rs.reorder(tensor, f"{letters}->{letters[::-1]}"), array.transpose(reversed_axes)),
        "out": (rs.reorder(tensor, out=rs.empty(rs.TensorDesc(dtype, shape), device)), array),
        "nearest": (rs.resample(tensor, (0,), axes=(at,), mode="nearest"), array),
        "from_buffer": (rs.from_buffer(b"", rs.TensorDesc(dtype, shape), device), array),
    }
    if dtype == "f32":
        results["linear"] = rs.resample(tensor, (0,), axes=(at,)), array
        if rank > 1:
            other = (at + 1) % rank
            grown = list(shape)
            grown[other] = 7
            results["other axis"] = rs.resample(tensor, (7,), axes=(other,)), np.zeros(grown, np.float32)
    for name, (result, expected) in results.items():
        assert result.sizes == expected.shape, name
        assert_equal(result.numpy(), expected)
    assert costs().dispatches == 0
    assert costs().uploaded == 0
    assert costs().downloaded == 0


def test_an_axis_resized_to_nothing_is_empty(device):
    costs = Costs(device)
    assert rs.resample(X.astype(np.float32), (0, 5)).numpy().shape == (0, 5)
    assert rs.asarray(X, device=device)[3:3].numpy().shape == (0, 35)
    assert costs().dispatches == 0


# Memory


def test_memory_returns_when_the_last_view_is_dropped(device):
    gc.collect()
    costs = Costs(device)
    tensor = rs.asarray(X, device=device)
    rounded = -(-X.nbytes // 16) * 16
    view = tensor[::2].permute(1, 0)
    assert costs().bytes_in_use == rounded
    del tensor
    assert costs().bytes_in_use == rounded
    assert_equal(view.numpy(), X[::2].T)
    del view
    assert costs().bytes_in_use == 0


def test_temporary_memory_of_reading_returns(device):
    tensor = rs.asarray(X, device=device)
    costs = Costs(device)
    tensor.permute(1, 0).numpy()
    assert costs().bytes_in_use == 0


def test_numpys_words_for_sizes_and_rank(device):
    for desc in ("f32[2,3,4]", "f32[]", "u8[3,5]{1,0:T(2,2)}"):
        tensor = rs.empty(desc, device)
        assert tensor.shape == tensor.sizes == tensor.desc.sizes
        assert tensor.ndim == tensor.desc.rank == len(tensor.sizes)
    view = rs.empty("f32[2,3,4]", device).permute(2, 0, 1)[None]
    assert (np.shape(view), view.ndim) == ((1, 4, 2, 3), 4)


def test_no_array_says_where_it_may_come_from(device):
    for call in (lambda: rs.asarray(None, device=device), lambda: rs.resample(None, (2, 2))):
        with pytest.raises(rs.DescriptorError, match=r"array is None \(cv2\.imread returns None for a file it"):
            call()
