"""Buffers above what one binding may cover: split by the plan on the direct runtime, refused on kompute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.devices import open_device

import restride as rs
from restride.runtime import choose, list_devices
from restride.runtime.kompute.runtime import KomputeRuntime
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride.tensor import device as devices
from restride_conformance import fill

NARROW = 4096


@pytest.fixture
def narrow_device(monkeypatch):
    """A device of the direct runtime whose bindings cover 4096 bytes at most."""

    def open_narrow(selector, _runtime, timeout, **_others):
        return VulkanRuntime(choose(list_devices(), selector), timeout=timeout, max_buffer_range=NARROW)

    monkeypatch.setattr(devices, "open_runtime", open_narrow)
    with open_device("vulkan") as opened:
        assert opened.limits.max_buffer_range == NARROW
        yield opened


@pytest.fixture
def narrow_kompute(monkeypatch):
    """The same on kompute."""

    def open_narrow(selector, _runtime, timeout, **_others):
        info = choose(list_devices(), selector)
        return KomputeRuntime(info, timeout, limits=replace(info.limits, max_buffer_range=NARROW))

    monkeypatch.setattr(devices, "open_runtime", open_narrow)
    with open_device("kompute") as opened:
        yield opened


def poisoned(desc: rs.TensorDesc, device: rs.Device) -> rs.Tensor:
    return rs.from_buffer(fill.poison(desc.nbytes + 32), desc, device)


def assert_holds(out: rs.Tensor, expected: np.ndarray) -> None:
    """The elements are those of ``expected``, and every other byte is still poison."""
    whole = rs.reference.to_buffer(expected, out.desc, fill.poison(out.desc.nbytes + 32))
    np.testing.assert_array_equal(out.buffer(), whole)


@pytest.mark.parametrize("dtype", ["u8", "f16", "s32", "f64"])
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x.transpose(1, 0, 2),
        lambda x: x.transpose(2, 1, 0),
        lambda x: x[::-1, :, ::-1],
        lambda x: x[::2, 1::3, ::-2],
        lambda x: np.broadcast_to(x[:1], x.shape),
    ],
    ids=["copy", "rows", "transpose", "flip", "slice", "broadcast"],
)
def test_copies_in_parts(dtype, view, narrow_device):
    x = fill.bits(rs.TensorDesc(dtype, ()).dtype, 20 * 30 * 27).reshape(20, 30, 27)
    source = view(x)
    assert x.nbytes > 3 * NARROW
    desc = rs.TensorDesc(dtype, source.shape, (source.shape[1] * 28, 28, 1), 5)
    out = poisoned(desc, narrow_device)
    uploaded = rs.asarray(source, device=narrow_device)
    before = narrow_device.counters()
    rs.reorder(uploaded, out=out)
    after = narrow_device.counters()
    assert after.dispatches - before.dispatches >= desc.nbytes // NARROW
    assert after.submissions - before.submissions == 1
    assert_holds(out, source)


def test_interleaved_destination_in_parts(narrow_device):
    # Strides that interleave: 101 * 50 passes 3001 many times, and no two elements meet.
    x = fill.bits(rs.TensorDesc("u8", ()).dtype, 70 * 50).reshape(70, 50)
    desc = rs.TensorDesc("u8", x.shape, (101, 3001), 1)
    out = poisoned(desc, narrow_device)
    rs.reorder(x, out=out)
    assert_holds(out, x)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("dtype", ["u8", "bf16", "f32"])
@pytest.mark.parametrize("signs", [(1, 1), (-1, 1), (1, -1), (-1, -1)], ids=str)
def test_parts_of_a_resample_equal_the_whole(mode, dtype, signs, narrow_device, vulkan_device):
    """Bit for bit: a part knows the sizes of the whole, whichever way the destination is walked."""
    x = fill.numbers(rs.TensorDesc(dtype, ()).dtype, 3 * 61 * 70).reshape(3, 61, 70)
    rows, columns = signs
    offset = 3 + (84 * 48 if rows < 0 else 0) + (44 if columns < 0 else 0)
    desc = rs.TensorDesc(dtype, (3, 85, 45), (85 * 48, 48 * rows, columns), offset)
    buffers = []
    for device in (narrow_device, vulkan_device):
        out = poisoned(desc, device)
        rs.resample(rs.asarray(x, device=device)[:, ::-1], (85, 45), mode=mode, out=out)
        buffers.append(out.buffer())
    np.testing.assert_array_equal(buffers[0], buffers[1])
    elements = rs.reference.from_buffer(buffers[0], desc).astype(np.float64)
    lowest, highest = rs.reference.resample_limits(x[:, ::-1], (85, 45), mode=mode)
    assert ((lowest.astype(np.float64) <= elements) & (elements <= highest.astype(np.float64))).all()


def test_record_fields_and_reading_in_parts(narrow_device):
    records = np.zeros((40, 50), np.dtype([("a", "u1"), ("b", "<f8")]))
    records["b"] = np.arange(2000).reshape(40, 50)
    tensor = rs.asarray(records["b"], device=narrow_device)
    np.testing.assert_array_equal(tensor.numpy(), records["b"])
    np.testing.assert_array_equal(tensor.permute(1, 0).numpy(), records["b"].T)


def test_kompute_refuses_with_the_numbers(narrow_kompute):
    x = rs.asarray(np.zeros((64, 64), np.int32), device=narrow_kompute)
    out = poisoned(rs.TensorDesc("s32", (64, 64)), narrow_kompute)
    before = out.buffer()
    with pytest.raises(rs.UnsupportedError, match=r"16384 bytes.* 4096 bytes.*'vulkan'"):
        rs.reorder(x, "HW->WH", out=out)
    np.testing.assert_array_equal(out.buffer(), before)
    small = np.arange(20, dtype=np.int32).reshape(4, 5)
    np.testing.assert_array_equal(rs.reorder(rs.asarray(small, device=narrow_kompute), "HW->WH").numpy(), small.T)


def large() -> np.ndarray:
    """136 MiB, more than the 128 MiB that llvmpipe lets a binding cover; every element another."""
    return np.arange(34 << 20, dtype=np.uint32).reshape(34, 1024, 1024)


def test_more_than_a_binding_covers(device):
    x = large()
    if device.limits.max_buffer_range >= x.nbytes:
        pytest.skip(f"a binding covers {device.limits.max_buffer_range} bytes, more than the test's {x.nbytes}")
    tensor = rs.asarray(x, device=device)
    if isinstance(device.runtime, KomputeRuntime):
        with pytest.raises(rs.UnsupportedError, match=rf"{x.nbytes} bytes.*{device.limits.max_buffer_range} bytes"):
            rs.reorder(tensor.permute(0, 2, 1))
        # It can be held and read, but not bound.
        assert tensor[33, 1023, 1000:].numpy().tolist() == list(range(x.size - 24, x.size))
        return
    costs = device.counters().dispatches
    transposed = rs.reorder(tensor.permute(0, 2, 1))
    assert device.counters().dispatches - costs == 2
    result = transposed.numpy()
    assert (result == x.transpose(0, 2, 1)).all()
    del result
    # Back, as a copy of every other slab over the tail of the first buffer.
    out = tensor[17:]
    rs.reorder(transposed[::2].permute(0, 2, 1), out=out)
    assert (tensor[17:].numpy() == x[::2]).all()
    assert (tensor[:17].numpy() == x[:17]).all()


def test_linear_of_padded_axes_whose_taps_add_up(narrow_device):
    raw = np.random.default_rng(4).random(1600, np.float32)
    desc = rs.TensorDesc("f32", (2, 2, 2), (500, 501, 502))
    result = rs.resample(rs.from_buffer(raw, desc, narrow_device), (3, 3, 3)).numpy()
    lowest, highest = rs.reference.resample_limits(rs.reference.from_buffer(raw.view(np.uint8), desc), (3, 3, 3))
    assert ((lowest <= result) & (result <= highest)).all()


@pytest.mark.parametrize("sizes", [(3, 40, 50), (2, 3, 33, 35), (5, 2, 2, 1030)])
def test_linear_where_neighbours_lie_further_apart_than_a_binding_reaches(narrow_device, sizes):
    x = np.random.default_rng(3).random(sizes, np.float32)
    source = rs.asarray(x, device=narrow_device)
    target = (4, *(n + 1 for n in sizes[1:]))
    axes = tuple(range(len(sizes)))
    before = narrow_device.counters().dispatches
    result = rs.resample(source, target, axes=axes)
    assert narrow_device.counters().dispatches > before + 2
    lowest, highest = rs.reference.resample_limits(x, target, axes=axes)
    assert ((lowest <= result.numpy()) & (result.numpy() <= highest)).all()
    with open_device("vulkan") as roomy:
        whole = rs.resample(rs.asarray(x, device=roomy), target, axes=axes).numpy()
    np.testing.assert_array_equal(result.numpy().view(np.uint32), whole.view(np.uint32))
    outer = rs.resample(source, (4,), axes=(0,)).numpy()
    lowest, highest = rs.reference.resample_limits(x, (4,), axes=(0,))
    assert ((lowest <= outer) & (outer <= highest)).all()
