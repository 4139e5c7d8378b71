"""lookup: the bits of the table's entries from any view into any layout, and libraries' orders of operations by it."""

from __future__ import annotations

import numpy as np
import pytest
from support.judges import judge, judge_of_images
from support.stream_cases import require_all_windows

import restride as rs
from restride.ops.lookup import lookup_plan, read_table
from restride.ops.perform import cached

RNG = np.random.default_rng(41)
PHOTO = RNG.integers(0, 256, (56, 84, 3), np.uint8)
ANY_BITS = RNG.integers(0, 1 << 32, (3, 256), np.uint32).view(np.float32)
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
NAN = np.array([0x7F800001, 0xFFC12345, 0x7FFFFFFF], np.uint32)
ANY_BITS[:, 7] = NAN.view(np.float32)


def bits(array: np.ndarray) -> np.ndarray:
    """The bits of elements as unsigned numbers; two NaN may be equal."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def by_channel(table: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    return np.stack([row[pixels[..., channel]] for channel, row in enumerate(table)], axis=-1)


def test_patches_of_a_photograph_in_the_order_of_qwen(device):
    """(gh, gw, mh, mw, C, T, p, p), an 8-axis view, in one dispatch into a part of a larger tensor."""
    p, m, row = 14, 2, 84 * 3
    sizes = (56 // p // m, 84 // p // m, m, m, 3, 2, p, p)
    strides = (m * p * row, m * p * 3, p * row, p * 3, 1, 0, row, 3)
    x = rs.asarray(PHOTO, device=device)
    view = rs.Tensor(x.memory, rs.TensorDesc("u8", sizes, strides), device)
    whole = rs.from_buffer(np.full(40 * 1176 * 4, 0x5A, np.uint8), "f32[40,1176]", device)
    before = device.counters().dispatches
    rs.lookup(view, ANY_BITS, axis=4, out=whole[8:32].reshape(sizes))
    assert device.counters().dispatches == before + 1
    planes = by_channel(ANY_BITS, PHOTO).transpose(2, 0, 1)
    twice = np.broadcast_to(planes, (2, *planes.shape)).reshape(2, 3, 2, m, p, 3, m, p)
    expected = twice.transpose(2, 5, 3, 6, 1, 0, 4, 7).reshape(24, 1176)
    result = bits(whole.numpy())
    assert np.array_equal(result[8:32], bits(expected))
    assert (result[:8] == 0x5A5A5A5A).all()
    assert (result[32:] == 0x5A5A5A5A).all()


def test_another_table_compiles_nothing_and_the_same_one_has_the_same_plan(vulkan_device):
    x = rs.asarray(PHOTO, device=vulkan_device)
    out = rs.lookup(x, ANY_BITS, axis=2)
    pipelines = vulkan_device.counters().pipelines
    rs.lookup(x, ANY_BITS[::-1], axis=2, out=out)
    assert vulkan_device.counters().pipelines == pipelines
    tables = (read_table(x.desc, ANY_BITS.copy(), 2, None) for _ in range(2))
    first, again = (cached(lookup_plan, x.desc, None, vulkan_device.limits, table, None) for table in tables)
    assert first is again, "whose parameters stay on the device"


def test_a_list_of_numbers_and_a_type(device):
    assert rs.lookup(np.uint8([3, 4]), list(range(256)), dtype="bf16").dtype == "bf16"
    x = rs.asarray(np.uint8([3, 4]), device=device)
    assert rs.lookup(x, list(range(0, 512, 2)), dtype="f16").numpy().tolist() == [6, 8]
    assert rs.lookup(x, range(256)).dtype == "s64"


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_windows_of_a_chain(vulkan_device, axis):
    x = PHOTO[:5, :6]
    rows = () if axis is None else (x.shape[axis],)
    table = RNG.integers(0, 256, (*rows, 256), np.uint8).astype(np.float32)
    whole = rs.lookup(rs.asarray(x, device=vulkan_device), table, axis=axis, layout="HWC->CHW").numpy()
    chain = rs.Chain().lookup(table, axis=axis, layout="HWC->CHW")
    for along in range(3):
        require_all_windows(chain, x, whole, along, vulkan_device)


# normalize in the order of a library


def expected_of_transformers(pixels: np.ndarray) -> np.ndarray:
    rescaled = (pixels.astype(np.float64) * (1 / 255)).astype(np.float32)
    return (rescaled - np.float32(MEAN)) / np.float32(STD)


ALL_BYTES = np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, 2)


def test_normalize_has_the_bits_of_the_order_that_like_names(device):
    x = rs.asarray(PHOTO, device=device)
    before = device.counters().dispatches
    planes = rs.normalize(x, MEAN, STD, like="transformers", layout="HWC->CHW")
    assert device.counters().dispatches == before + 1
    expected = expected_of_transformers(PHOTO)
    assert np.array_equal(planes.numpy(), expected.transpose(2, 0, 1))
    fused = (PHOTO.astype(np.float32) - np.float32(MEAN) * np.float32(255)) / (np.float32(STD) * np.float32(255))
    assert np.array_equal(rs.normalize(x, MEAN, STD, like="torchvision").numpy(), fused)
    narrow = rs.normalize(x, MEAN, STD, like="transformers", dtype="bf16").numpy()
    assert np.array_equal(narrow, expected.astype(narrow.dtype))
    one = rs.normalize(x, 0.5, STD, like="transformers").numpy()
    rescaled = (PHOTO.astype(np.float64) * (1 / 255)).astype(np.float32)
    assert np.array_equal(one, (rescaled - np.float32(0.5)) / np.float32(STD))
    floats = rs.asarray(rescaled, device=device)
    assert np.array_equal(rs.normalize(floats, MEAN, STD, like="transformers").numpy(), expected)
    assert not np.array_equal(rs.normalize(x, MEAN, STD).numpy(), expected), "without like the bits are as they were"
    chained = rs.Chain().normalize(MEAN, STD, like="transformers").of(PHOTO.shape, "u8")
    assert np.array_equal(chained.compute(PHOTO, tuple(map(slice, PHOTO.shape)), device), expected)


def test_normalize_has_the_bits_of_transformers(device):
    judge("transformers")
    transforms = judge_of_images("transformers.image_transforms")
    last = transforms.ChannelDimension.LAST
    rescaled = transforms.rescale(ALL_BYTES, 1 / 255, input_data_format=last)
    right = transforms.normalize(rescaled, MEAN, STD, input_data_format=last)
    result = rs.normalize(rs.asarray(ALL_BYTES, device=device), MEAN, STD, like="transformers").numpy()
    assert (right.dtype, right.shape) == (result.dtype, result.shape)
    assert np.array_equal(result, right)


def test_normalize_has_the_bits_of_torchvision_as_transformers_calls_it(device):
    torch = judge("torch")
    normalize = judge_of_images("torchvision.transforms.v2.functional").normalize
    mean, std = (torch.tensor(each) * (1.0 / (1 / 255)) for each in (MEAN, STD))
    right = normalize(torch.from_numpy(ALL_BYTES).permute(2, 0, 1).to(torch.float32), mean, std)
    result = rs.normalize(rs.asarray(ALL_BYTES, device=device), MEAN, STD, like="torchvision", layout="HWC->CHW")
    assert np.array_equal(result.numpy(), right.numpy())
