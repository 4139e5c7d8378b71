"""Tensors behave as arrays do: numpy's words, one element as a number, copies, types, assignment, notebooks."""

from __future__ import annotations

import copy
import operator
import re

import ml_dtypes
import numpy as np
import pytest
from support.judges import judge
from support.tensors import Costs, FromDLPack, assert_equal

import restride as rs
from restride import words
from restride.dtypes import DTYPES

X = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


def test_numpys_words(device):
    tensor = rs.asarray(X, device=device)
    view = tensor[:, ::-2, 1:].permute(2, 0, 1)
    expected = X[:, ::-2, 1:].transpose(2, 0, 1)
    assert (tensor.size, view.size, rs.empty("f32[0,3]", device).size) == (24, expected.size, 0)
    assert (tensor.nbytes, view.nbytes) == (X.nbytes, expected.nbytes)
    assert rs.empty("f32[3,5]{1,0:T(8,128)}", device).nbytes == 60
    for ours, theirs in (
        (tensor.T, X.T),
        (view.T, expected.T),
        (tensor.mT, X.mT if hasattr(X, "mT") else X.swapaxes(1, 2)),
    ):
        assert ours.memory is tensor.memory
        assert_equal(ours.numpy(), theirs)
    with pytest.raises(rs.DescriptorError, match=r"mT exchanges the last two axes, and there are 1, for s32\[4\]"):
        _ = tensor[0, 0].mT


@pytest.mark.parametrize("name", DTYPES)
def test_one_element_is_a_number_of_python(name, device):
    dtype = DTYPES[name].dtype
    tensor = rs.asarray(np.array([[0, 1, 0]]).astype(dtype), device=device)
    costs = Costs(device)
    for part in (tensor[0, 1], tensor[:, ::-1][:, 1:2], tensor[:, 1:2].broadcast_to(1, 1, 1)):
        element = part.item()
        assert (element, type(element)) == (np.ones((), dtype).item(), type(np.ones((), dtype).item()))
        assert (float(part), int(part), bool(part)) == (1.0, 1, True)
    assert not tensor[0, 0]
    assert costs().dispatches == 0
    assert costs().downloaded == 13 * dtype.itemsize
    assert tensor.tolist() == np.array([[0, 1, 0]]).astype(dtype).tolist()


def test_one_element_of_tiles(device):
    tiled = rs.reorder(rs.asarray(np.arange(35, dtype=np.int16).reshape(5, 7), device=device), "{1,0:T(2,4)}")
    assert [tiled[row, column].item() for row, column in ((0, 0), (4, 6), (3, 5))] == [0, 34, 26]


def test_an_integer_element_is_an_index(device):
    tensor = rs.asarray(np.array([3, 1], np.uint8), device=device)
    assert operator.index(tensor[0]) == 3
    assert [7, 8, 9][tensor[1]] == 8
    assert_equal(rs.asarray(X, device=device)[tensor[1]].numpy(), X[1])
    for other in (tensor, tensor.astype("f32")[0], tensor.astype("pred")[0]):
        with pytest.raises(TypeError, match="is not one integer"):
            operator.index(other)


@pytest.mark.parametrize("call", [float, int, lambda t: t.item()], ids=["float", "int", "item"])
def test_several_elements_are_no_number(call, device):
    for sizes in ((2,), (0,)):
        with pytest.raises(rs.DescriptorError, match=rf"for a tensor of one element, not of {sizes[0]}; .*, for s32\["):
            call(rs.asarray(np.zeros(sizes, np.int32), device=device))
    with pytest.raises(TypeError, match="no truth value: its 2 elements"):
        bool(rs.empty("s32[2]", device))


CASTS = np.array([-1.5, -0.5, 0, 0.5, 1.5, 2.5, 100.7, np.nan, np.inf, -np.inf, 7e4, 1e300])


def is_left_open(values, dtype):
    """Where numpy's result is undefined: what an integer cannot hold."""
    if np.dtype(dtype).kind not in "iu" or not DTYPES[rs.TensorDesc(values.dtype, ()).dtype.name].is_float:
        return np.zeros(values.shape, bool)
    wide, ends = np.trunc(values.astype(np.float64)), np.iinfo(dtype)
    return ~((wide >= ends.min) & (wide <= ends.max))


@pytest.mark.parametrize("source", ["f32", "f64", "bf16", "s64"])
def test_astype_converts_as_numpy(source, device):
    with np.errstate(all="ignore"):
        floats = CASTS if DTYPES[source].is_float else np.array([-129, -1, 0, 1, 127, 128, 255, 300, 70000])
        values = floats.astype(DTYPES[source].dtype)
        tensor = rs.asarray(values, device=device)
        for target in map(DTYPES.__getitem__, ("pred", "s8", "u8", "s32", "u64", "f16", "f32", "f8e4m3fn")):
            expected = values.astype(target.dtype)
            found = tensor.astype(target.name).numpy()
            assert found.dtype == expected.dtype
            keep = ~is_left_open(values, target.dtype)
            # NaN payloads are reorder's matter.
            same = (found == expected) | (np.isnan(found.astype(float)) & np.isnan(expected.astype(float)))
            assert same[keep].all(), (source, target, found, expected)


def test_astype_may_give_the_tensor_itself(device):
    tensor = rs.asarray(X, device=device)
    assert tensor.astype("s32", copy=False) is tensor
    assert tensor.astype("s32").memory is not tensor.memory
    with pytest.raises(rs.DescriptorError, match="unknown element type 'complex64'"):
        tensor.astype("complex64")


@pytest.mark.parametrize(
    "copied", [lambda x: x.copy(), copy.copy, lambda x: copy.deepcopy([x])[0]], ids=["method", "copy", "deepcopy"]
)
def test_a_copy_has_memory_of_its_own(copied, device):
    tensor = rs.asarray(X, device=device)
    made = copied(tensor[:, ::-1])
    tensor[...] = 0
    assert made.desc == rs.TensorDesc("s32", (2, 3, 4))
    assert_equal(made.numpy(), X[:, ::-1])


def test_what_a_tensor_does_not_have_is_said(vulkan_device):
    tensor = rs.asarray(X, device=vulkan_device)
    for name in ("sum", "argsort", "__array_interface__"):
        assert not hasattr(tensor, name)
        with pytest.raises(AttributeError, match=rf"restride\.Tensor has no {name}: x\.numpy\(\) is .*restride\.xp"):
            getattr(tensor, name)
    for name, here in words.METHODS.items():
        assert not hasattr(tensor, name)
        with pytest.raises(AttributeError, match=re.escape(f"restride.Tensor has no {name}; it is {here} here")):
            getattr(tensor, name)


def test_an_element_type_given_as_a_device_names_astype(vulkan_device):
    tensor = rs.asarray(X, device=vulkan_device)
    for dtype in ("f16", np.float16, np.dtype("int8")):
        with pytest.raises(
            rs.DescriptorError, match=r"device must be a restride\.Device, got .*; x\.astype\(.*\) conv"
        ):
            tensor.to(dtype)
    with pytest.raises(rs.DescriptorError, match=r"got 'cuda'; rs\.Device\('cuda'\) opens one"):
        tensor.to("cuda")


def test_to_another_device(device):
    tensor = rs.asarray(X, device=device)
    assert tensor.to(device) is tensor
    with rs.Device(runtime="vulkan") as other:
        for view, expected in ((tensor[:, ::-1], X[:, ::-1]), (tensor[:0], X[:0])):
            moved = view.to(other)
            assert moved.device is other
            assert_equal(moved.numpy(), expected)


# Assignment

ASSIGNMENTS = {
    "all": (..., X + 100),
    "a number": (..., 7),
    "a row": ((0, 1), [1, 2, 3, 4]),
    "backwards": ((slice(None), slice(None, None, -2)), X[:, :2]),
    "broadcast": ((1, slice(None), slice(1, None, 2)), [[1], [2], [3]]),
    "leading axes of size 1": ((1, 2), np.ones((1, 1, 4), np.int32)),
    "one element": ((1, 2, 3), 5),
    "converted": ((..., 0), np.array([[-1.7, 2.7, 0.5], [3, 4, 5]])),
    "low bits": ((..., 0), np.array([[2**40 + 5, 1, 2], [3, 4, 5]])),
    "nothing": ((slice(3, 3),), 1),
    "a new axis": ((None, 0), X[1]),
}


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_assignment_as_numpy_does_it_in_one_dispatch(name, device):
    key, value = ASSIGNMENTS[name]
    expected = X.copy()
    expected[key] = value
    tensor = rs.asarray(X, device=device)
    value = rs.asarray(np.asarray(value), device=device)
    costs = Costs(device)
    tensor[key] = value
    assert costs().dispatches <= 1
    assert_equal(tensor.numpy(), expected)
    tensor[key] = ASSIGNMENTS[name][1]  # from the host
    assert_equal(tensor.numpy(), expected)


@pytest.mark.parametrize("reads", [np.s_[:-1], np.s_[:0:-1], np.s_[0:1], np.s_[1:]])
def test_assignment_of_what_overlaps(reads, device):
    expected = np.arange(12, dtype=np.uint8).reshape(6, 2)
    tensor = rs.asarray(expected, device=device)
    expected[1:] = expected[reads].copy()
    tensor[1:] = tensor[reads]
    assert_equal(tensor.numpy(), expected)


def test_assignment_says_what_it_cannot_do(device):
    tensor = rs.asarray(X, device=device)
    for key in (X > 3, [0, 1], True, np.array([0])):
        with pytest.raises(
            rs.DescriptorError, match=r"x\[key\] = value writes to a view: .*would copy.*for s32\[2,3,4\]"
        ):
            tensor[key] = 1
    with pytest.raises(
        rs.DescriptorError, match=r"value .* does not broadcast to the view s32\[2,3,4\].*size 2 of axis 0"
    ):
        tensor[...] = [1, 2]
    with pytest.raises(rs.DescriptorError, match="out must not overlap itself"):
        tensor[0, 0].broadcast_to(5, 4)[...] = 1
    with pytest.raises(rs.DescriptorError, match=r"array is the text a, not an array"):
        tensor[...] = "a"
    assert_equal(tensor.numpy(), X)


# Descriptors and texts


def test_a_descriptor_equals_its_texts():
    desc = rs.TensorDesc("f32", (1, 3, 4, 5), (60, 1, 15, 3))
    for text in ("f32[1,3,4,5]{1,3,2,0}", "f32[1,3,4,5]:nhwc", "f32[1,3,4,5]{strides=(60,1,15,3)}", str(desc)):
        assert desc == text
        assert text == desc
        assert not desc != text  # noqa: SIM202 - != is what is tested
    for other in ("f32[1,3,4,5]", "f16[1,3,4,5]:nhwc", "nhwc", "f32[", "f32[1,3,4,5]:S(1)", "", None, 5, (1, 3, 4, 5)):
        assert desc != other


# Memory formats of torch


def test_channels_last_is_strides(device):
    """A torch tensor of ``memory_format=torch.channels_last`` exports N, C, H, W by strides, as this array has them."""
    images = np.arange(2 * 4 * 5 * 3, dtype=np.float32).reshape(2, 4, 5, 3).transpose(0, 3, 1, 2)
    tensor = rs.asarray(FromDLPack(images), device=device)
    assert tensor.desc == "f32[2,3,4,5]:nhwc"
    assert_equal(tensor.numpy(), images)


def test_torchs_channels_last(device):
    torch = judge("torch")
    images = torch.arange(120, dtype=torch.float32).reshape(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    costs = Costs(device)
    tensor = rs.asarray(images, device=device)
    assert (tensor.desc, costs().dispatches) == ("f32[2,3,4,5]:nhwc", 0)
    assert_equal(tensor.numpy(), images.numpy())


# What is shown


def test_repr_reads_nothing(device):
    tensor = rs.asarray(X, device=device)
    costs = Costs(device)
    assert repr(tensor[0]) == f"<restride.Tensor s32[3,4]{{1,0}} on {device}>"
    assert costs().downloaded == 0


def test_arithmetic_is_refused_with_a_way_out(device):
    x = rs.asarray(np.ones((2, 3), np.float32), device=device)
    with pytest.raises(TypeError, match=r"f32\[3\]\{0\} on .*> has no \+: .* \.numpy\(\) .* post_ops on the device"):
        x[0] += 1
    for sign, call in {
        "-": lambda: 1 - x,
        r"\*": lambda: x * x,
        "/": lambda: x / 2,
        "abs": lambda: abs(x),
        "~": lambda: ~x,
        "<": lambda: x < 3,
        ">": lambda: x > 3,
        "@": lambda: x @ x,
        r"\+": lambda: +x,
        "divmod": lambda: divmod(x, 2),
        "<<": lambda: x << 1,
        ">>": lambda: 8 >> x,
    }.items():
        with pytest.raises(TypeError, match=f"has no {sign}"):
            call()
    # numpy's arrays and numbers do it themselves, on the host.
    for result in (x + np.ones(3, np.float32), np.ones(3, np.float32) + x, np.float32(1) + x, x + np.float32(1)):
        assert_equal(result, np.full((2, 3), 2, np.float32))


def test_bfloat16_assignment_rounds_to_nearest_even(device):
    tensor = rs.empty("bf16[3]", device)
    tensor[...] = np.float32([1.00390625, 1.01171875, np.inf])
    assert_equal(tensor.numpy(), np.float32([1.00390625, 1.01171875, np.inf]).astype(ml_dtypes.bfloat16))
