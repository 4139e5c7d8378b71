"""Tensors: what asarray takes, what views and reading cost by the device's counters, and raw buffers."""

from __future__ import annotations

import copy
import gc
import pickle

import ml_dtypes
import numpy as np
import pytest
from support.tensors import Costs, FromDLPack, assert_equal

import restride as rs
from restride.runtime import Counters
from restride.tensor.dlpack import array_from_dlpack

X = np.arange(24 * 35, dtype=np.int32).reshape(24, 35)


def test_iteration_gives_the_first_axis(device):
    tensor = rs.asarray(X[:3], device=device)
    rows = list(tensor)
    assert len(rows) == 3
    for row, expected in zip(rows, X[:3], strict=True):
        assert row.memory is tensor.memory
        assert_equal(row.numpy(), expected)
    with pytest.raises(TypeError):
        iter(tensor[0, 0])


@pytest.mark.usefixtures("vulkan_device")
def test_operations_take_arrays_and_producers():
    """On the default device."""
    assert_equal(rs.reorder(X.T).numpy(), X.T)
    assert_equal(rs.reorder(FromDLPack(X)).numpy(), X)
    assert_equal(rs.strided_slice([[1, 2, 3]], (0, 0), (1, 3), (1, -2)).numpy(), np.array([[3, 1]]))
    assert_equal(rs.resample(np.float32([1, 2]), (4,), mode="nearest").numpy(), np.float32([1, 1, 2, 2]))


# What moves, and where


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


def test_a_tensor_keeps_its_descriptor(device):
    with pytest.raises(AttributeError):
        rs.asarray(X, device=device).desc = rs.TensorDesc("f32", (1,))


# Raw buffers


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
