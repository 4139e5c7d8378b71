"""asarray and from_buffer: which arrays they take, what an upload costs, and what stays on the host."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from support.tensors import Costs, FromDLPack, assert_equal

import restride as rs
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


@pytest.mark.parametrize(
    ("view", "nbytes"),
    [
        (np.broadcast_to(X[3], (100, 35)), 35 * 4),
        (np.lib.stride_tricks.sliding_window_view(X, (3, 4)), X.nbytes),
    ],
    ids=["broadcast", "overlapping"],
)
def test_a_repeated_element_is_uploaded_once(view, nbytes, device):
    costs = Costs(device)
    rs.asarray(view, device=device)
    assert costs().uploaded == nbytes


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


def test_the_stride_of_a_single_column_splits_no_elements(device):
    column = np.arange(3 * 400 * 5).astype(np.uint8).view([("a", "u1"), ("b", "i4")]).reshape(3, 400)["b"][:, :1]
    costs = Costs(device)
    tensor = rs.asarray(column, device=device)
    assert (costs().uploaded, costs().dispatches) == (column.nbytes, 0), column.strides
    assert_equal(tensor.numpy(), column)


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


def test_overlapping_windows_are_uploaded_as_they_lie(device):
    column = np.random.default_rng(5).random((2000, 64), np.float32)[:, 0]
    windows = np.lib.stride_tricks.sliding_window_view(column, 500)
    costs = Costs(device)
    tensor = rs.asarray(windows, device=device)
    assert costs().uploaded <= 64 * column.nbytes
    assert_equal(tensor[::100].numpy(), windows[::100])


def test_from_buffer_and_buffer_are_inverse(device):
    raw = fill.poison(101)
    desc = rs.TensorDesc("u16", (4, 5), (-11, 2), offset=36)
    for data in (raw, bytes(raw), bytearray(raw), memoryview(raw)):
        costs = Costs(device)
        tensor = rs.from_buffer(data, desc, device)
        np.testing.assert_array_equal(tensor.buffer(), raw)
        assert (costs().uploaded, costs().downloaded, costs().dispatches) == (101, 101, 0)
    assert_equal(tensor.numpy(), rs.reference.from_buffer(raw, desc))


def test_from_buffer_takes_arrays_of_any_type_and_of_no_elements(device):
    words = np.arange(6, dtype=np.uint32).reshape(2, 3)
    assert_equal(rs.from_buffer(words, "u8[24]", device).numpy(), words.view(np.uint8).ravel())
    array = np.arange(3).astype(ml_dtypes.bfloat16)
    assert_equal(rs.from_buffer(array, rs.TensorDesc("bf16", (3,)), device).numpy(), array)
    for nothing in (b"", np.zeros((0, 3), np.float32)):
        assert rs.from_buffer(nothing, rs.TensorDesc("f32", (0, 3)), device).numpy().shape == (0, 3)
