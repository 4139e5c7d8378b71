"""rs.compat.torch.interpolate beside torch's own: arguments, errors, sizes, types, orders in memory, bits of bytes."""

import inspect

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.compat.torch import interpolate

torch = judge("torch")
torch.set_num_threads(1)
theirs = torch.nn.functional.interpolate

pytestmark = pytest.mark.usefixtures("vulkan_device")

MODES = ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area", "fourier")
FLOAT_BOUND = 2e-5
"""Of floats from 0 to 1 at these sizes: torch computes coordinates in f32 (docs/profiles.md)."""


def floats(*sizes):
    return torch.rand(sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def require_same(x, *arguments, **named):
    """The same tensor, or the same type of error."""
    try:
        expected = theirs(x, *arguments, **named)
    except Exception as error:  # noqa: BLE001 - whatever it is, ours is to be the same
        with pytest.raises(type(error)):
            interpolate(x, *arguments, **named)
        return
    result = interpolate(x, *arguments, **named)
    assert (result.shape, result.dtype, result.stride()) == (expected.shape, expected.dtype, expected.stride())
    is_exact = x.dtype == torch.uint8 or named.get("mode", "nearest").startswith("nearest")
    if is_exact:
        assert torch.equal(result, expected)
    elif expected.numel():
        assert (result - expected).abs().max() < FLOAT_BOUND


def test_the_signature_is_torchs():
    ours, real = (list(inspect.signature(function).parameters.values()) for function in (interpolate, theirs))
    assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in real]
    assert dir(rs.compat.torch) == ["interpolate"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axes", [0, 1, 2, 3, 4])
def test_every_mode_on_every_rank(mode, axes):
    x = floats(2, 3, *(11, 8, 5, 2)[:axes])
    for align_corners in (None, True, False):
        for antialias in (False, True):
            options = {"mode": mode, "align_corners": align_corners, "antialias": antialias}
            require_same(x, 5, **options)
            require_same(x, (6, 9, 3, 2)[:axes], **options)
            require_same(x, scale_factor=(0.5, 1.5, 2.2, 1.0)[:axes], **options)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("channels", [1, 3, 5])
def test_bytes_are_bit_for_bit(mode, channels):
    x = (floats(2, channels, 37, 50) * 255).byte()
    for antialias in (False, True) if mode.startswith("bi") else (False,):
        for size in ((1, 2), (17, 90), (37, 50), (74, 25), (120, 31)):
            require_same(x, size, mode=mode, antialias=antialias)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
def test_scale_factors(mode):
    x = floats(1, 2, 13, 22)
    assert torch.equal(interpolate(x, None, 2.0, "nearest", None, True, False), theirs(x, scale_factor=2.0))
    for factor in (1.7, 0.45, 2, (0.3, 2.5), [1.0, 1.6], np.float32(0.7), (1.01, 1.6), 1.03):
        for recompute in (None, False, True):
            require_same(x, None, factor, mode=mode, recompute_scale_factor=recompute)
            if mode.startswith("bi"):
                require_same(x, scale_factor=factor, mode=mode, align_corners=True, recompute_scale_factor=recompute)
                require_same(x, scale_factor=factor, mode=mode, antialias=True, recompute_scale_factor=recompute)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"size": 3, "scale_factor": 2.0},
        {"size": (3,)},
        {"size": (3, 4, 5)},
        {"scale_factor": (1.0,)},
        {"size": (3.5, 2)},
        {"size": 3.5},
        {"size": "ab"},
        {"size": 0},
        {"size": (4, -1)},
        {"scale_factor": 0.01},
        {"scale_factor": -1.0},
        {"size": 3, "recompute_scale_factor": True},
        {"size": 3, "align_corners": False},
        {"size": 3, "antialias": True},
        {"size": [4, 5]},
        {"size": torch.Size((4, 5))},
        {"size": (np.int64(4), 3)},
    ],
)
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "area", "linear", "fourier"])
def test_arguments_that_do_not_fit_are_the_same_errors(arguments, mode):
    require_same(floats(2, 3, 11, 8), mode=mode, **arguments)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "area"])
@pytest.mark.parametrize("sizes", [(0, 3, 4, 5), (2, 0, 4, 5), (2, 3, 0, 5), (1, 1, 1, 1)])
def test_axes_without_elements(mode, sizes):
    require_same(floats(*sizes), (5, 6), mode=mode)


def test_results_keep_channels_last():
    """A row of the table of strides: [2, 3, 5, 6] in channels last is (90, 1, 18, 3)."""
    x = floats(2, 3, 11, 8).contiguous(memory_format=torch.channels_last)
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        require_same(x, (5, 6), mode=mode)
        require_same(x.transpose(2, 3), (5, 6), mode=mode)
        require_same(x[:, :, ::2], (5, 6), mode=mode)
    assert interpolate(x, (5, 6)).stride() == (90, 1, 18, 3)
    volumes = floats(2, 3, 5, 6, 7).contiguous(memory_format=torch.channels_last_3d)
    for mode in ("nearest", "nearest-exact", "trilinear", "area"):
        require_same(volumes, (5, 6, 3), mode=mode)
        require_same(volumes[:, :, 1:4], (5, 6, 3), mode=mode)


@pytest.mark.parametrize("part", [
    np.s_[:, :, :6], np.s_[:, :, ::2], np.s_[:, :, 3:8, 4:], np.s_[:, 1:3], np.s_[:, :1], np.s_[:1], np.s_[1:, :, :1],
    np.s_[..., :1], np.s_[:1, :, :1, :1], np.s_[:, :, :1, :1],
])  # fmt: skip
@pytest.mark.parametrize("order", [torch.channels_last, torch.contiguous_format])
def test_parts_keep_the_memory_format_of_the_whole(part, order):
    """torch looks at strides alone: those of rows sliced from channels last, (264, 1, 24, 3), ascend from C to N."""
    x = floats(2, 3, 11, 8).contiguous(memory_format=order)[part]
    for mode in ("nearest", "bilinear", "area"):
        require_same(x, (5, 6), mode=mode)
    require_same(x, (5, 6), mode="bicubic", antialias=True)
    require_same(x[0][None], (5, 6))


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area"])
@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_narrow_floats(mode, name):
    """Within a unit in the last place of 1: 2^-7 or 2^-10, twice half of which two roundings may be apart."""
    x = floats(2, 3, 11, 8).to(getattr(torch, name))
    expected, result = theirs(x, (5, 17), mode=mode), interpolate(x, (5, 17), mode=mode)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    assert (result.double() - expected.double()).abs().max() <= torch.finfo(x.dtype).eps
    if mode == "nearest":
        assert torch.equal(result, expected)


def test_what_is_not_done_here_says_so():
    x = floats(1, 1, 4, 4)
    with pytest.raises(rs.UnsupportedError, match="lanczos"):
        interpolate(x, 2, mode="lanczos", antialias=True)
    with pytest.raises(rs.UnsupportedError, match="f32"):
        interpolate(x.double(), 2, mode="bilinear")
    assert torch.equal(interpolate(x.double(), 2), theirs(x.double(), 2))


def test_a_gradient_is_not_lost_in_silence():
    x = floats(1, 1, 4, 4).requires_grad_()
    with pytest.raises(ValueError, match="requires a gradient"):
        interpolate(x, 2)
    with torch.no_grad():
        assert torch.equal(interpolate(x, 2), theirs(x, 2))
    assert torch.equal(interpolate(x.detach(), 2), theirs(x.detach(), 2))


def test_views_that_torch_negates_are_negated():
    x = torch.view_as_complex(floats(2, 1, 3, 5, 7, 2)[0]).conj().imag
    assert x.is_neg()
    require_same(x, (5, 9))
    require_same(x, (5, 9), mode="bilinear")


def test_arrays_and_tensors_of_ours_give_their_own(vulkan_device):
    x = (floats(1, 3, 9, 7) * 255).byte()
    expected = theirs(x, (4, 15), mode="bicubic", antialias=True).numpy()
    array = interpolate(x.numpy(), (4, 15), mode="bicubic", antialias=True)
    tensor = interpolate(rs.asarray(x.numpy(), device=vulkan_device), (4, 15), mode="bicubic", antialias=True)
    assert isinstance(array, np.ndarray)
    assert isinstance(tensor, rs.Tensor)
    assert np.array_equal(array, expected)
    assert np.array_equal(tensor.numpy(), expected)
