"""restride.xp against numpy: every function, chains of random manipulations, what each costs, and what it refuses."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import FULL
from support.tensors import Costs, assert_equal

import restride as rs
from restride import xp

A = np.arange(24, dtype=np.int16).reshape(2, 3, 4)

VIEWS = {
    "reshape": (lambda t: xp.reshape(t, (4, -1)), lambda a: a.reshape(4, -1)),
    "permute_dims": (lambda t: xp.permute_dims(t, (2, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    "matrix_transpose": (xp.matrix_transpose, lambda a: a.swapaxes(1, 2)),
    "moveaxis": (lambda t: xp.moveaxis(t, 0, -1), lambda a: np.moveaxis(a, 0, -1)),
    "moveaxis of two": (lambda t: xp.moveaxis(t, (0, 2), (1, 0)), lambda a: np.moveaxis(a, (0, 2), (1, 0))),
    "flip": (xp.flip, np.flip),
    "flip of two": (lambda t: xp.flip(t, axis=(0, -1)), lambda a: np.flip(a, (0, -1))),
    "expand_dims": (lambda t: xp.expand_dims(t, axis=-2), lambda a: np.expand_dims(a, -2)),
    "squeeze": (lambda t: xp.squeeze(t[:1, :, :1], (0, 2)), lambda a: a[:1, :, :1].squeeze((0, 2))),
    "broadcast_to": (
        lambda t: xp.broadcast_to(t[:, :1], (5, 2, 6, 4)),
        lambda a: np.broadcast_to(a[:, :1], (5, 2, 6, 4)),
    ),
    "unstack": (lambda t: xp.unstack(t, axis=1)[2], lambda a: a[:, 2]),
    "broadcast_arrays": (lambda t: xp.broadcast_arrays(t, t[:1])[1], lambda a: np.broadcast_arrays(a, a[:1])[1]),
    "meshgrid": (lambda t: xp.meshgrid(t[0, 0], t[1, :, 0])[1], lambda a: np.meshgrid(a[0, 0], a[1, :, 0])[1]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_views(name, device):
    ours, theirs = VIEWS[name]
    tensor = rs.asarray(A, device=device)
    costs = Costs(device)
    result = ours(tensor)
    assert costs().dispatches == 0
    assert result.memory is tensor.memory
    assert_equal(result.numpy(), theirs(A))


def test_the_namespace_is_known_to_tensors(device):
    tensor = rs.asarray(A, device=device)
    assert tensor.__array_namespace__() is tensor.__array_namespace__(api_version="2023.12") is xp
    assert xp.__array_api_version__ == "2024.12"
    assert tensor.to_device(device) is tensor
    with pytest.raises(rs.DescriptorError, match="api_version must be one of 2021"):
        tensor.__array_namespace__(api_version="2031.12")
    with pytest.raises(rs.DescriptorError, match="stream must be None, got 3"):
        tensor.to_device(device, stream=3)
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 8}
    assert info.default_device() is rs.default_device() is info.devices()[0]
    assert info.default_dtypes() == {"real floating": xp.float64, "integral": xp.int64, "indexing": xp.int64}
    assert info.dtypes(kind=("bool", "unsigned integer")) == {
        name: getattr(xp, name) for name in ("bool", "uint8", "uint16", "uint32", "uint64")
    }
    assert len(info.dtypes()) == 11


def test_signatures_and_documentation():
    for name in xp.__all__:
        value = getattr(xp, name)
        if inspect.isfunction(value) and not name.startswith("__"):
            assert value.__doc__, name
    assert str(inspect.signature(xp.concat)).startswith("(arrays: ")
    assert sorted(xp.__all__) == sorted({*xp.__all__})


def test_the_page_has_every_function():
    page = (Path(__file__).resolve().parents[2] / "docs" / "arrays.md").read_text(encoding="utf-8")
    functions = {name for name in xp.__all__ if inspect.isfunction(getattr(xp, name))}
    likes = {name for name in functions if name.endswith("_like")}
    assert [name for name in sorted(functions - likes) if f"`{name}`" not in page and f"`{name}(" not in page] == []
    assert {name.removesuffix("_like") for name in likes} <= functions


def test_xp_is_imported_on_use():
    program = "import sys, restride\nraise SystemExit('restride.xp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# ruff: noqa: ARG005, PLW0108 - each row is a function of the tensor
REFUSED = [
    (lambda t: xp.sin(t), r"restride\.xp has no sin: .* x\.numpy\(\) is an array of numpy", AttributeError),
    (lambda t: xp.reshape(t, (5, 5)), r"sizes \(5, 5\) hold 25 elements, but there are 24, for s16"),
    (lambda t: xp.reshape(t.T, (24,), copy=False), r"need a copy: the layout does not allow"),
    (lambda t: xp.reshape([1, 2], (2,)), "x must be a restride.Tensor, got list"),
    (lambda t: xp.permute_dims(t, (0, 1)), r"axes \(0, 1\) must name each of the 3 axes once, for"),
    (lambda t: xp.permute_dims(t, 1), "axes must be a sequence of integers, got 1"),
    (lambda t: xp.matrix_transpose(t[0, 0]), "mT exchanges the last two axes, and there are 1"),
    (lambda t: xp.moveaxis(t, 3, 0), r"source 3 is outside \[-3, 3\), for s16\[2,3,4\]"),
    (lambda t: xp.moveaxis(t, 0, -4), r"destination -4 is outside \[-3, 3\), for s16"),
    (lambda t: xp.moveaxis(t, (0, 1), 0), r"source \(0, 1\) and destination \(0,\) must have as many axes"),
    (lambda t: xp.moveaxis(t, (0, 0), (0, 1)), r"source \(0, 0\) names an axis twice, for s16"),
    (lambda t: xp.flip(t, axis=3), r"axis 3 is outside \[-3, 3\), for s16"),
    (lambda t: xp.flip(t, axis=0.5), r"axis must be an integer or a sequence of integers, got 0\.5"),
    (lambda t: xp.expand_dims(t, axis=5), r"axis 5 is outside \[-4, 4\), for s16"),
    (lambda t: xp.squeeze(t, 0), "axis 0 of size 2 cannot be squeezed, only one of size 1, for s16"),
    (lambda t: xp.squeeze(t, 7), r"axis 7 is outside \[-3, 3\)"),
    (lambda t: xp.broadcast_to(t, (2, 3)), r"sizes \(2, 3\) have fewer axes than the 3 of the tensor, for s16"),
    (lambda t: xp.broadcast_to(t, (2, 5, 4)), "size 3 of axis 1 cannot broadcast to 5, for s16"),
    (lambda t: xp.broadcast_arrays(t, t[:, :2]), r"sizes \(2, 3, 4\), \(2, 2, 4\) do not broadcast"),
    (lambda t: xp.concat([]), "concat needs one tensor or more, got none"),
    (lambda t: xp.concat([t, A]), r"arrays\[1\] must be a restride\.Tensor, got ndarray; rs\.asarray"),
    (lambda t: xp.concat(5), "arrays must be a sequence of tensors, got int"),
    (lambda t: xp.stack(t[0, 0, 0]), "arrays must be a sequence of tensors, got Tensor"),
    (lambda t: xp.concat([t, t[0]]), r"arrays\[1\] s16\[3,4\]\S* must have as many axes as arrays\[0\] s16\[2,3,4\]"),
    (
        lambda t: xp.concat([t, t[0]], axis=2),
        r"arrays\[1\] s16\[3,4\]\S* must have as many axes as arrays\[0\] s16\[2,3,4\]",
    ),
    (
        lambda t: xp.concat([t, t[..., 1:]], axis=1),
        r"arrays\[1\] s16\[2,3,3\]\S* must have the sizes, but for that of axis 1, of arrays\[0\] s16\[2,3,4\]",
    ),
    (lambda t: xp.concat([t, t], axis=3), r"axis 3 is outside \[-3, 3\), for s16"),
    (lambda t: xp.stack([]), "stack needs one tensor or more, got none"),
    (lambda t: xp.stack([t, t[:1]]), r"arrays\[1\] s16\[1,3,4\]\S* must have the sizes of arrays\[0\] s16\[2,3,4\]"),
    (
        lambda t: xp.stack([t, t[0]], axis=3),
        r"arrays\[1\] s16\[3,4\]\S* must have as many axes as arrays\[0\] s16\[2,3,4\]",
    ),
    (lambda t: xp.stack([t, t], axis=-5), r"axis -5 is outside \[-4, 4\)"),
    (lambda t: xp.unstack(t, axis=3), r"axis 3 is outside \[-3, 3\)"),
    (lambda t: xp.roll(t, 1.5), r"shift must be an integer or a sequence of integers, got 1\.5"),
    (lambda t: xp.roll(t, True), "shift must be an integer, got the boolean True"),
    (lambda t: xp.roll(t, (1, 0.5), axis=(0, 1)), r"shift\[1\] must be an integer, got 0\.5"),
    (lambda t: xp.roll(t, (1, 2), axis=0), r"shift \(1, 2\) must be one number, or one for each axis"),
    (lambda t: xp.roll(t, (1, 2)), r"shift \(1, 2\) must be one number where no axis is named, for s16"),
    (lambda t: xp.roll(t, 1, axis=4), r"axis 4 is outside \[-3, 3\)"),
    (lambda t: xp.repeat(t, -1, axis=0), "repeats must be 0 or more, got -1, for s16"),
    (lambda t: xp.repeat(t, True), "repeats must be integers, got bool"),
    (lambda t: xp.repeat(t, [1 << 40] * 2, axis=0), r"no room for \d+ bytes: .* asked for s16\[", rs.OutOfDeviceMemory),
    (
        lambda t: xp.repeat(t[None, None, None, None, None], 1 << 40, axis=0),
        r"no room for \d+ bytes: .* asked for s16\[",
        rs.OutOfDeviceMemory,
    ),
    (lambda t: xp.pad(t, 1 << 40, "edge"), r"no room for \d+ bytes: .* asked for s16\[", rs.OutOfDeviceMemory),
    (lambda t: xp.take(t, np.uint64([2**64 - 1]), axis=0), r"indices must be below 2\^63, got 18446"),
    (
        lambda t: xp.repeat(t, [1, 2, 3], axis=0),
        r"repeats must be one number, or one for each of the 2 elements of axis 0, got sizes \(3,\)",
    ),
    (lambda t: xp.repeat(t, [1.5, 2.0], axis=0), "repeats must be integers, got float64"),
    (lambda t: xp.tile(t, 2), "repetitions must be a sequence of integers, got 2"),
    (lambda t: xp.tile(t, (-1,)), r"repetitions \(-1,\) must each be 0 or more"),
    (
        lambda t: xp.pad(t, 1, "edge", constant_values=3),
        "constant_values 3 goes with mode 'constant', not with 'edge', for s16",
    ),
    (lambda t: xp.pad(t, -1), "pad_width -1 must be integers of 0 or more, for s16"),
    (lambda t: xp.pad(t, ((1, 2), (3, 4))), r"is not a pair for each of 3 axes, for s16"),
    (lambda t: xp.pad(t, ((1, 2), 3, 4)), r"pad_width of type tuple is not .*, for s16"),
    (
        lambda t: xp.pad(t, 1, constant_values=(1, 2)),
        r"constant_values must be a number, got \(1, 2\), for s16\[2,3,4\]",
    ),
    *(
        (
            lambda t, value=value: xp.pad(t, 1, constant_values=value),
            rf"constant_values must be a number, got {re.escape(repr(value))}, for s16\[2,3,4\]",
        )
        for value in ("a", np.str_("a"), 1j, np.complex64(1), np.datetime64("2020-01-01"), None)
    ),
    (lambda t: xp.pad(t, 1, constant_values=1 << 64), r"constant_values cannot become s16, got 1844.*, for s16"),
    (lambda t: xp.pad(t, 1.5), r"pad_width 1\.5 must be integers"),
    (lambda t: xp.pad(t, 1 << 20), r"no room for \d+ bytes: .* asked for s16\[2097154,", rs.OutOfDeviceMemory),
    (lambda t: xp.tile(t, (1, 1, 1 << 50)), r"no room for \d+ bytes: .* asked for s16\[2,3,", rs.OutOfDeviceMemory),
    (lambda t: xp.pad(t, 1, "median"), "mode must be one of 'constant', 'edge', 'reflect', 'wrap', not"),
    (lambda t: xp.pad(t[:0], 1, "edge"), "mode 'edge' repeats elements, and axis 0 has none, for s16"),
    (lambda t: xp.take(t, [0]), "axis must be named unless x has exactly one, for s16"),
    (lambda t: xp.take(t, [2], axis=0), "index 2 is out of range for axis 0 of size 2, for s16"),
    (lambda t: xp.take(t, [0, -3], axis=0), "index -3 is out of range for axis 0 of size 2"),
    (lambda t: xp.take(t, [0.0], axis=0), "indices must be integers, got float64"),
    (lambda t: xp.take(t, t == 0, axis=0), r"indices must be integers, got pred\[2,3,4\]"),
    (lambda t: xp.take(t, [[0]], axis=0), r"indices must have one axis, got sizes \(1, 1\)"),
    (lambda t: xp.take_along_axis(t, [[[4]]]), "index 4 is out of range for axis 2 of size 4, for s16"),
    (
        lambda t: xp.take_along_axis(t, [0], axis=0),
        r"indices must have sizes that broadcast with those of x, except along axis 0, got \(1,\), for s16\[2,3,4\]",
    ),
    (lambda t: xp.take_along_axis(t, [[[0], [0]]]), r"except along axis 2, got \(1, 2, 1\), for s16"),
    (lambda t: xp.take_along_axis(t, [[[0.5]]]), "indices must be integers, got float64"),
    (lambda t: xp.take(t, [0], axis=9), r"axis 9 is outside \[-3, 3\)"),
    (lambda t: xp.zeros(-1), r"shape \(-1,\) must each be 0 or more"),
    (lambda t: xp.zeros((1,) * 9), r"rank 9 exceeds 8: sizes \(1, 1"),
    (lambda t: xp.zeros(2.5), r"shape must be an integer or a sequence of integers, got 2\.5"),
    (lambda t: xp.zeros(2, dtype="complex64"), "unknown element type 'complex64'"),
    (lambda t: xp.zeros(2, device="cpu"), r"device must be a restride\.Device, got 'cpu'"),
    (lambda t: xp.full(2, "a"), "fill_value must be a number, got 'a'"),
    (lambda t: xp.full(2, np.str_("a")), r"fill_value must be a number, got np\.str_\('a'\)"),
    (lambda t: xp.full_like(t, np.complex64(1)), r"fill_value must be a number, got np\.complex64"),
    (lambda t: xp.zeros_like(A), r"x must be a restride\.Tensor, got ndarray; rs\.asarray makes one"),
    (lambda t: xp.arange(1, 2, 0), r"step of arange\(1, 2, 0\) must not be 0"),
    (lambda t: xp.arange("a"), "stop must be a number, got 'a'"),
    (lambda t: xp.arange(0, 1, t), "step must be a number, got Tensor of shape"),
    (lambda t: xp.arange(10**30), r"arange\(0, 10+, 1\) has too many or too large numbers"),
    (lambda t: xp.arange(float("inf")), r"arange\(0, inf, 1\) has too many"),
    (lambda t: xp.full(2, 10**30), r"fill_value 10+ fits neither s64 nor u64"),
    (lambda t: xp.linspace("a", 1, 3), "start must be a number, got 'a'"),
    (lambda t: xp.linspace(0, 1, 10**30), r"linspace\(0, 1, 10+\) has too many or too large numbers"),
    (lambda t: xp.linspace(0, 1, 1 << 46), r"linspace\(0, 1, \d+\) has too many .*: Unable to alloc"),
    (lambda t: xp.linspace(0, 10**309, 3), r"linspace\(0, 1000+\.\.\., 3\) has too many or too large"),
    (lambda t: xp.eye(2, k=0.5), r"k must be an integer, got 0\.5"),
    (lambda t: xp.equal(t, "a"), "is compared with a tensor, an array or a number, got 'a'"),
    (lambda t: xp.ones(2, dtype="complex64"), "unknown element type 'complex64'"),
    (lambda t: xp.empty(2, device=3), r"device must be a restride\.Device, got 3"),
    (lambda t: xp.can_cast("text", "f32"), "unknown element type 'text'"),
    (lambda t: xp.linspace(0, 1, -1), "num -1 must be 0 or more"),
    (lambda t: xp.eye(2.0), r"n_rows must be an integer, got 2\.0"),
    (lambda t: xp.meshgrid(t), r"arrays\[0\] must have one axis and the type s16, not be s16\[2,3,4\]"),
    (lambda t: xp.meshgrid(t[0, 0], indexing="yx"), "indexing must be 'xy' or 'ij', got 'yx'"),
    (lambda t: xp.from_dlpack([1]), "from_dlpack takes an object with __dlpack__, not list"),
    (lambda t: xp.asarray("5", dtype="f32"), "array is the text 5, not an array"),
    (lambda t: xp.asarray(None, dtype="f32"), "array is None"),
    (lambda t: xp.asarray([10**30], dtype="s64"), r"array has 10+, an integer of more than 64 bits"),
    (lambda t: xp.asarray([float("nan"), 1], dtype="s8"), r"obj cannot become s8, got \[nan, 1\]: cannot convert"),
    (lambda t: xp.asarray({}, dtype="f32"), r"obj cannot become f32, got \{\}: float\(\) argument"),
    (lambda t: xp.asarray(["5"], dtype="f32"), "unknown element type 'str32'"),
    (lambda t: xp.asarray(t, device=5), r"device must be a restride\.Device, got 5"),
    (lambda t: xp.astype(t, "i8"), "element type 'i8' counts bytes in numpy"),
    (lambda t: xp.isdtype(xp.int8, "whole"), "unknown element type 'whole'"),
    (lambda t: xp.finfo(xp.int8), "finfo is for floating types, not s8; iinfo is for integers"),
    (lambda t: xp.iinfo(xp.float32), "iinfo is for integer types, not f32; finfo is for floats"),
    (lambda t: xp.result_type(xp.bfloat16, xp.float16), "no type holds all of bf16, f16; astype converts them$"),
    (lambda t: xp.result_type(1, 2.0), "result_type needs a tensor or a type"),
    (lambda t: xp.equal(t, t[:, :2]), r"sizes \(2, 3, 4\) and \(2, 2, 4\) do not broadcast"),
    (lambda t: xp.__array_namespace_info__().dtypes(kind="whole"), "kind must be a type or one of"),
]


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_what_is_wrong_says_why(place):
    call, message, *kind = REFUSED[place]
    with pytest.raises(kind[0] if kind else rs.DescriptorError, match=message):
        call(rs.asarray(A))


# Each with what is no tensor of the device in place of one.
FOREIGN = {
    "astype": lambda x, _t: xp.astype(x, "f32"),
    "broadcast_arrays": lambda x, t: xp.broadcast_arrays(t, x),
    "broadcast_to": lambda x, _t: xp.broadcast_to(x, (2, 3, 4)),
    "concat": lambda x, t: xp.concat([t, x]),
    "empty_like": lambda x, _t: xp.empty_like(x, dtype="f32"),
    "expand_dims": lambda x, _t: xp.expand_dims(x),
    "finfo": lambda x, _t: xp.finfo(x),
    "flip": lambda x, _t: xp.flip(x, axis=0),
    "full_like": lambda x, _t: xp.full_like(x, 1),
    "iinfo": lambda x, _t: xp.iinfo(x),
    "matrix_transpose": lambda x, _t: xp.matrix_transpose(x),
    "meshgrid": lambda x, t: xp.meshgrid(t[0, 0], x),
    "moveaxis": lambda x, _t: xp.moveaxis(x, 0, 1),
    "not_equal": lambda x, t: xp.not_equal(x, t),
    "ones_like": lambda x, _t: xp.ones_like(x),
    "pad": lambda x, _t: xp.pad(x, 1),
    "permute_dims": lambda x, _t: xp.permute_dims(x, (2, 1, 0)),
    "repeat": lambda x, _t: xp.repeat(x, 2),
    "reshape": lambda x, _t: xp.reshape(x, (24,)),
    "result_type": lambda x, t: xp.result_type(t, x),
    "roll": lambda x, _t: xp.roll(x, 1, axis=0),
    "squeeze": lambda x, _t: xp.squeeze(x, 0),
    "stack": lambda x, t: xp.stack([t, x]),
    "take": lambda x, _t: xp.take(x, [0], axis=0),
    "take_along_axis": lambda x, _t: xp.take_along_axis(x, [[[0]]]),
    "tile": lambda x, _t: xp.tile(x, (2,)),
    "unstack": lambda x, _t: xp.unstack(x),
    "zeros_like": lambda x, _t: xp.zeros_like(x),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_no_tensor_is_a_typed_error(name, vulkan_device):
    tensor = rs.asarray(A, device=vulkan_device)
    for foreign in (A, [1, 2], None, "text", Path()):
        if name == "not_equal" and isinstance(foreign, np.ndarray | list):
            continue  # an array is compared, as == does
        with pytest.raises(rs.DescriptorError):
            FOREIGN[name](foreign, tensor)


def test_every_function_has_a_message():
    rows = inspect.getsource(sys.modules[__name__]).partition("\nREFUSED = [")[2].partition("\n]")[0]
    functions = {name for name in xp.__all__ if inspect.isfunction(getattr(xp, name)) and not name.startswith("__")}
    assert sorted(name for name in functions - set(FOREIGN) if f"xp.{name}(" not in rows) == []


def test_tensors_of_two_devices_do_not_mix(vulkan_device):
    here = rs.asarray(A, device=vulkan_device)
    with rs.Device(runtime="vulkan") as other:
        there = rs.asarray(A, device=other)
        for call in (xp.stack, xp.concat):
            with pytest.raises(rs.DescriptorError, match=r"arrays\[1\] .* lies on another device than"):
                call([here, there])
        with pytest.raises(rs.DescriptorError, match="another device"):
            xp.equal(here, there)
        assert_equal(xp.concat([here, there.to(vulkan_device)]).numpy(), np.concatenate([A, A]))


# Chains of random manipulations


class Numpy:
    """numpy with the array API's names, which numpy 1 lacks."""

    concat = staticmethod(np.concatenate)
    permute_dims = staticmethod(np.transpose)

    @staticmethod
    def unstack(x, axis):
        return [*np.moveaxis(x, axis, 0)]

    @staticmethod
    def astype(x, dtype):
        return x.astype(dtype)

    def __getattr__(self, name):
        return getattr(np, name)


STEPS = {
    "flip": (lambda n, k, x: n.flip(x, axis=k % x.ndim if x.ndim else None)),
    "move": (lambda n, k, x: n.moveaxis(x, 0, k % x.ndim) if x.ndim else x),
    "permute": (lambda n, k, x: n.permute_dims(x, [(axis + k) % x.ndim for axis in range(x.ndim)])),
    "squeeze": (lambda n, k, x: n.squeeze(x, x.shape.index(1)) if 1 in x.shape else x),
    "broadcast": (lambda n, k, x: n.broadcast_to(x, (k % 3, *x.shape)) if x.ndim < 5 and x.size < 300 else x),
    "unstack": (lambda n, k, x: n.unstack(x, axis=k % x.ndim)[-1] if x.ndim and x.shape[k % x.ndim] else x),
    "flat": (lambda n, _k, x: n.reshape(x, (-1,))),
    "split": (lambda n, _k, x: n.reshape(x, (2, -1)) if x.size and x.size % 2 == 0 else x),
    "slice": (lambda _n, k, x: x[k % 2 :: 1 + k % 3] if x.ndim else x),
    "expand": (lambda n, k, x: n.expand_dims(x, axis=k % (x.ndim + 1)) if x.ndim < 5 else x),
    "last": (lambda _n, _k, x: x[..., -1] if x.ndim and x.shape[-1] else x),
    "roll": (lambda n, k, x: n.roll(x, k - 3, axis=k % x.ndim) if x.ndim else x),
    "roll all": (lambda n, k, x: n.roll(x, [k, -k, 1, 2, 3][: x.ndim], axis=[*range(x.ndim)]) if x.ndim else x),
    "roll flat": (lambda n, k, x: n.roll(x, k)),
    "repeat": (lambda n, k, x: n.repeat(x, 1 + k % 3, axis=k % x.ndim) if x.ndim and x.size < 300 else x),
    "tile": (lambda n, k, x: n.tile(x, (1 + k % 3,)) if x.size < 300 else x),
    "take": (lambda n, k, x: n.take(x, np.array([0, -1, k % x.shape[0]]), axis=0) if x.ndim and x.shape[0] else x),
    "pad": (lambda n, k, x: n.pad(x, 1 + k % 2, ("edge", "reflect", "wrap")[k % 3]) if x.size and x.size < 300 else x),
    "pad zeros": (lambda n, k, x: n.pad(x, k % 3) if x.size < 300 else x),
    "join": (lambda n, k, x: n.concat([x, x[::-1]], axis=k % x.ndim) if x.ndim and x.size < 300 else x),
    "stack": (lambda n, k, x: n.stack([x, x], axis=k % (x.ndim + 1)) if x.ndim < 5 and x.size < 300 else x),
    "narrow": (lambda n, k, x: n.astype(x, (n.uint8, n.int16, n.float32)[k % 3])),
}

CHAINS = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 7)), min_size=1, max_size=7)
SIZES = st.lists(st.integers(0, 5), max_size=4)


@settings(max_examples=2000 if FULL else 100, deadline=None)
@given(CHAINS, SIZES)
def test_chains_are_numpys(device, chain, sizes):
    array = (np.arange(np.prod(sizes, dtype=int), dtype=np.int16) % 251).reshape(sizes)
    tensor = rs.asarray(array, device=device)
    for name, number in chain:
        array = STEPS[name](Numpy(), number, array)
        tensor = STEPS[name](xp, number, tensor)
        assert tensor.sizes == array.shape, (name, number)
    assert_equal(tensor.numpy(), array)
