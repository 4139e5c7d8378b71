"""Chains and their windows: what a window reads, and that chunks of every cut are the bits of one call."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from support.stream_cases import LIKE, Case, cases, require_all_windows, windows

import restride as rs


@pytest.mark.parametrize("case", cases(), ids=str)
def test_chunks_are_the_whole(vulkan_device: rs.Device, case: Case):
    whole = case.whole(vulkan_device)
    work = pickle.loads(pickle.dumps(case.work))
    assert (work.sizes, work.dtype.dtype) == (whole.shape, whole.dtype)
    joined = np.empty_like(whole)
    for window in windows(work.sizes, case.chunks):
        joined[window] = work.compute(case.source[work.source_window(window)], window, vulkan_device)
    assert joined.tobytes() == whole.tobytes()


FLOATS = (np.random.default_rng(4).normal(size=(2, 17)) * 100).astype(np.float32)

RESAMPLINGS = [
    {"mode": "nearest", "coordinates": "asymmetric", "nearest": "floor"},
    {"mode": "linear"},
    {"mode": "linear", "antialias": True},
    {"mode": "cubic", "coordinates": "align_corners"},
    {"mode": "cubic", "antialias": True, "exclude_outside": True},
    {"mode": "area"},
    {"mode": "linear", "coordinates": "tf_crop_and_resize", "roi": (-0.4, 1.6), "extrapolation_value": 7.0},
    {"mode": "cubic", "coordinates": "tf_crop_and_resize", "roi": (1.3, -0.3), "extrapolation_value": 7.0},
]


@pytest.mark.parametrize("size", [7, 23])
@pytest.mark.parametrize("arguments", RESAMPLINGS, ids=str)
def test_borders_lie_anywhere_around_taps(vulkan_device: rs.Device, arguments: dict[str, object], size: int):
    chain = rs.Chain().resample((size,), axes=(1,), **arguments)
    whole = rs.resample(rs.asarray(FLOATS, device=vulkan_device), (size,), axes=(1,), **arguments).numpy()
    require_all_windows(chain, FLOATS, whole, 1, vulkan_device)


@pytest.mark.parametrize("arguments", LIKE, ids=str)
def test_borders_lie_anywhere_in_every_mode_of_every_library(vulkan_device: rs.Device, arguments: dict[str, object]):
    photo = np.random.default_rng(6).integers(0, 256, (8, 13, 3)).astype(np.uint8)
    photo = photo if arguments["like"] in ("pillow", "opencv") else photo.astype(np.float32)
    named = {"sizes": (5, 6), "axes": (0, 1), **arguments}
    whole = rs.resample(rs.asarray(photo, device=vulkan_device), **named).numpy()
    require_all_windows(rs.Chain().resample(**named), photo, whole, 1, vulkan_device)


def test_a_window_that_is_all_extrapolated_reads_nothing():
    crop = {"coordinates": "tf_crop_and_resize", "roi": (2.0, 3.0), "extrapolation_value": 7.0}
    work = rs.Chain().resample((5,), axes=(1,), **crop).of((2, 17), "f32")
    window = (slice(0, 2), slice(1, 4))
    part = work.source_window(window)
    assert part[1].start == part[1].stop
    assert work.compute(FLOATS[part], window).tolist() == [[7.0] * 3] * 2


@pytest.mark.parametrize("group", [1, 2, 3, 5, 40])
def test_borders_lie_inside_groups_of_scales(vulkan_device: rs.Device, group: int):
    """Groups of src and dst, along an axis that a permutation moves; some scales are 1 and some zero points 0."""
    count = -(-17 // group)
    scales = np.resize([1.0, 1.0, 0.5, 3.0], (1, count))
    zeros = np.resize([0.0, 0.0, 2.0], (count, 1))
    arguments = {"src_scale": scales, "dst_scale": scales[:, ::-1].T, "dst_zero_point": zeros}
    chain = rs.Chain().reorder("AB->BA", "u8", group_sizes=(1, group), **arguments)
    x = rs.asarray(FLOATS, device=vulkan_device)
    whole = rs.reorder(x, "AB->BA", "u8", group_sizes=(1, group), **arguments).numpy()
    require_all_windows(chain, FLOATS, whole, 0, vulkan_device)


def test_blocks_of_quantize_are_cut(vulkan_device: rs.Device):
    scale = np.linspace(0.5, 4, 2 * 4).reshape(2, 4)
    whole = rs.quantize(rs.asarray(FLOATS, device=vulkan_device), scale, 3, axis=1, block_size=5).numpy()
    require_all_windows(rs.Chain().quantize(scale, 3, axis=1, block_size=5), FLOATS, whole, 1, vulkan_device)


def test_a_part_of_scales_of_one_is_scaled_all_the_same(vulkan_device: rs.Device):
    """Without scales, f16 that stay f16 keep infinities, and s32 are copied; with any, they saturate and become f32."""
    infinite = np.array([[np.inf, 1, -np.inf, 2, 3]], np.float16)
    scale = np.array([1.0, 1.0, 1.0, 2.0, 1.0])
    arguments = {"axes": (0,), "mode": "linear", "src_scale": scale}
    whole = rs.resample(rs.asarray(infinite, device=vulkan_device), (2,), **arguments).numpy()
    assert whole[0, 0] == np.finfo(np.float16).max
    require_all_windows(rs.Chain().resample((2,), **arguments), infinite, whole, 1, vulkan_device)

    large = np.array([[16777217, 5, 16777219, 4, 3]], np.int32)
    whole = rs.reorder(rs.asarray(large, device=vulkan_device), src_scale=scale).numpy()
    assert whole[0, 0] == 16777216
    require_all_windows(rs.Chain().reorder(src_scale=scale), large, whole, 1, vulkan_device)


@pytest.mark.parametrize("channels", [2, 3, 4, 5])
@pytest.mark.parametrize("mode", ["linear", "area", "cubic"])
def test_a_library_that_looks_at_channels_sees_all(vulkan_device: rs.Device, mode: str, channels: int):
    """OpenCV halves images of 1, 3 or 4 channels otherwise than others."""
    photo = np.random.default_rng(channels).integers(0, 256, (12, 14, channels)).astype(np.uint8)
    arguments = {"axes": (0, 1), "like": "opencv", "mode": mode}
    whole = rs.resample(rs.asarray(photo, device=vulkan_device), (6, 7), **arguments).numpy()
    require_all_windows(rs.Chain().resample((6, 7), **arguments), photo, whole, 2, vulkan_device)


def test_slices_go_back_in_both_directions(vulkan_device: rs.Device):
    x = rs.asarray(FLOATS, device=vulkan_device)
    for key in (np.s_[:, 3:15:4], np.s_[::-1, ::-3], np.s_[None, 1, -2:2:-5], np.s_[..., None, :], np.s_[:, 5:5]):
        whole = x[key].numpy()
        for axis in range(whole.ndim):
            require_all_windows(rs.Chain()[key], FLOATS, whole, axis, vulkan_device)


def test_a_chain_says_itself():
    chain = rs.Chain()[1:].resample((4,), axes=(0,), mode="area").reorder(dtype="f16")
    each = "slice(key=[slice(1, None, None)])", "resample(sizes=[4], axes=[0], mode='area')", "reorder(dtype='f16')"
    assert str(chain) == " | ".join(each)
    assert str(rs.Chain()) == "copy"
    with pytest.raises(TypeError, match="a chain is not iterated"):
        list(chain)
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        chain.resample(size=3)
    with pytest.raises(AttributeError, match=r"no resize: it takes reorder, resample, .*, normalize and indices, as"):
        chain.resize((2, 3))


def test_an_operation_says_its_source_and_its_result():
    stages = rs.Chain().resample((2, 3)).reorder("AB->BA").of((4, 6), "u8").stages
    assert list(map(repr, stages)) == [
        "<Resample u8[4,6]{1,0} to u8[2,3]{1,0}>",
        "<Reorder u8[2,3]{1,0} to u8[3,2]{1,0}>",
    ]


class Wrapped:
    """An array of another library: its elements are not in its repr."""

    def __init__(self, *elements):
        self.array = np.array(elements, np.float32)

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __repr__(self):
        return "Wrapped()"


def test_chains_of_other_scales_have_other_texts():
    texts = {str(rs.Chain().reorder(dtype="f32", src_scale=Wrapped(scale, 2.0))) for scale in (1.0, 3.0)}
    assert len(texts) == 2
    assert str(rs.Chain().reorder(dtype=np.float32)) == str(rs.Chain().reorder(dtype="f32"))


@pytest.mark.parametrize("wrap", [lambda array: array, lambda array: [array], rs.asarray])
def test_a_chain_keeps_the_scales_of_its_call(wrap):
    scales = np.array([2.0, 4.0], np.float32)
    shared = Wrapped(2.0, 4.0)
    for argument, array in ((wrap(scales), scales), (shared, shared.array)):
        chain = rs.Chain().reorder(dtype="f32", src_scale=argument)
        text = str(chain)
        array[:] = 8
        result = chain.of((1, 2), "f32").compute(np.ones((1, 2), np.float32), (slice(None), slice(None)))
        assert result.tolist() == [[2, 4]]
        assert str(chain) == text


def test_an_iterator_of_sizes_serves_more_than_one_source():
    chain = rs.Chain().resample(sizes=iter((2, 3)), scales=None, axes=range(2))
    assert chain.of((4, 4), "f32").sizes == chain.of((8, 9), "f32").sizes == (2, 3)
    halves = rs.Chain().resample(scales=[Fraction(1, 2)], axes=[0])
    assert halves.of((4,), "f32").sizes == (2,)


@pytest.mark.parametrize("value", [object(), [object()], np.array([object()])])
def test_an_argument_without_a_text_of_its_own_is_refused(value):
    with pytest.raises(rs.DescriptorError, match="a chain takes numbers, texts, arrays and sequences of these"):
        rs.Chain().reorder(dtype="f32", src_scale=value)


REFUSED = {
    r"a chain takes integers, slices, ... and None as an index, got array\(\[0, 1\]\)": np.array([0, 1]),
    r"a chain takes integers.* got True": (..., True),
    r"step of a slice must not be 0, got slice\(None, None, 0\)": (0, slice(None, None, 0)),
    r"start of a slice must be an integer, got 'a'": slice("a", 3),
}


@pytest.mark.parametrize("message", REFUSED)
def test_other_indices_are_refused(message: str):
    for indexed in (rs.Chain(), rs.LazyArray(np.zeros((3, 4)), rs.Chain())):
        with pytest.raises(rs.DescriptorError, match=message):
            indexed[REFUSED[message]]


def test_integers_of_numpy_are_indices():
    chain = rs.Chain()[np.array(1), ..., np.int8(0) : np.uint16(4) : np.int64(2)]
    assert chain.of((3, 5, 4), "u8").sizes == (5, 2)
    assert str(chain) == str(rs.Chain()[1, ..., 0:4:2])
