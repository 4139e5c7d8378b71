"""Resampling of torch tensors: the bits of rs.resample, with gradients that torch itself checks."""

from __future__ import annotations

import gc
import inspect
import weakref

import ml_dtypes
import numpy as np
import pytest
from support.judges import judge
from support.tensors import Costs

import restride as rs
from restride.request.resampling import RuleArguments

torch = judge("torch")

from restride.interop.torch import resample  # noqa: E402 - it needs torch

torch.set_num_threads(1)

# torch checks gradients of f32 with a warning.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Input #. requires gradient and is not a double:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own compiler uses what torch deprecates
]

CALLS = {
    "nearest": {"sizes": (4, 2), "mode": "nearest"},
    "linear": {"sizes": (3, 7)},
    "linear, aligned": {"sizes": (5, 2), "coordinates": "align_corners"},
    "antialiased": {"sizes": (2, 2), "antialias": True, "exclude_outside": True},
    "cubic by scales": {"scales": (1.6, 0.7), "mode": "cubic"},
    "area": {"sizes": (2, 3), "mode": "area"},
    "one axis backwards": {"sizes": (5,), "axes": (-2,), "mode": "cubic"},
    "two axes, exchanged": {"sizes": (2, 6), "axes": (2, 0)},
    "offsets": {"sizes": (4, 3), "input_offsets": (0.25, 0.5), "output_offsets": (-0.5, -0.25)},
    "extrapolated": {"sizes": (5,), "coordinates": "tf_crop_and_resize", "roi": (-0.25, 1.25)},
    "like pillow": {"sizes": (2, 3), "axes": (1, 2), "like": "pillow", "mode": "lanczos"},
    "like torch": {"sizes": (6, 3), "like": "torch", "mode": "bicubic", "antialias": True},
}
SIZES = (2, 3, 4)


def named(name):
    """The arguments of a call, with its axes."""
    return {"axes": tuple(range(-len(CALLS[name].get("sizes", (0, 0))), 0)), **CALLS[name]}


def eighths(rng, sizes, dtype=None):
    """Multiples of 1/8 from -4 to 4, of which all types here have all; so are they after a step of 1."""
    return torch.from_numpy(rng.integers(-32, 33, sizes) / np.float32(8)).to(dtype or torch.float32)


@pytest.mark.parametrize("name", CALLS)
def test_gradcheck_and_gradgradcheck(name, vulkan_device):
    """Torch's numeric derivatives, by central differences of a step of 1, which are exact of what is linear.

    But for rounding: a sum is within (3 * axes + taps) * 2^-24 * sum of abs(weight * element) of the exact one. There
    are at most 2 resized axes and 12 taps, the weights' absolute values add up to less than 3 (two axes of cubic: 1.9),
    and elements are below 5 in the differences. Those halve the error of two sums; the analytic one is of elements
    of 1.
    """
    allowed = (3 * 2 + 12) * 2.0**-24 * 3 * (5 + 1)
    rng = np.random.default_rng(1)
    x = eighths(rng, (1, 3, 4)).requires_grad_()

    def function(x):
        return resample(x, device=vulkan_device, **named(name))

    checks = {"eps": 1.0, "atol": allowed, "rtol": 0.0}
    assert torch.autograd.gradcheck(function, x, **checks, check_forward_ad=True)
    grad = eighths(rng, function(x).shape).requires_grad_()
    assert torch.autograd.gradgradcheck(function, x, grad, **checks, check_fwd_over_rev=True)


def bits(x):
    """The elements as a numpy array of integers."""
    x = x.numpy() if isinstance(x, rs.Tensor) else x.detach().view({2: torch.int16, 4: torch.int32}[x.itemsize]).numpy()
    return x.view(f"u{x.itemsize}").tolist()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_bits_are_those_of_the_operations(name, dtype, device):
    """Of the result, of its gradient, and of the gradient of that."""
    rng = np.random.default_rng(2)
    arguments = named(name)
    numpy_type = getattr(ml_dtypes, dtype, None) or getattr(np, dtype)
    x = torch.from_numpy(rng.standard_normal(SIZES).astype(np.float32)).to(getattr(torch, dtype)).requires_grad_()
    source = rs.asarray(x.detach(), device=device)
    assert source.dtype == numpy_type
    y = resample(x, device=device, **arguments)
    assert (y.dtype, bits(y)) == (x.dtype, bits(rs.resample(source, **arguments)))

    grad = torch.from_numpy(rng.standard_normal(y.shape).astype(np.float32)).to(y.dtype).requires_grad_()
    (of_x,) = torch.autograd.grad(y, x, grad, create_graph=True)
    old = [SIZES[axis] for axis in arguments["axes"]]
    others = {name: value for name, value in arguments.items() if name != "sizes"}
    back = rs.resample_backward(rs.asarray(grad.detach(), device=device), old, **others)
    assert bits(of_x) == bits(back)

    (of_grad,) = torch.autograd.grad(of_x, grad, x.detach())
    assert bits(of_grad) == bits(y)


AS_TORCH = [
    ({}, {"mode": "bilinear"}),
    ({"coordinates": "align_corners"}, {"mode": "bilinear", "align_corners": True}),
    ({"mode": "cubic"}, {"mode": "bicubic"}),
    ({"mode": "area"}, {"mode": "area"}),
    ({"mode": "nearest"}, {"mode": "nearest-exact"}),
    ({"antialias": True, "exclude_outside": True}, {"mode": "bilinear", "antialias": True}),
    ({"like": "torch", "mode": "bicubic", "antialias": True}, {"mode": "bicubic", "antialias": True}),
]


@pytest.mark.parametrize(("arguments", "theirs"), AS_TORCH)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.usefixtures("vulkan_device")
def test_gradients_are_those_of_interpolate(arguments, theirs, dtype):
    """Of torch's in f64. A result is the f32 sum rounded once: half a unit of its type, and 1e-4 for the sum."""
    generator = torch.Generator().manual_seed(4)
    dtype = getattr(torch, dtype)
    for sizes in ((5, 9), (13, 4), (2, 2)):
        x, weight = (torch.randn((2, 3, *each), generator=generator).to(dtype) for each in ((6, 7), sizes))
        exact = x.double().requires_grad_()
        x.requires_grad_()
        y, right = resample(x, sizes, **arguments), torch.nn.functional.interpolate(exact, sizes, **theirs)
        for gradient in (weight, torch.ones(()).to(dtype).expand(y.shape)):  # as that of a sum: one number, repeated
            (ours,) = torch.autograd.grad(y, x, gradient, retain_graph=True)
            (expected,) = torch.autograd.grad(right, exact, gradient.double(), retain_graph=True)
            assert ours.dtype == dtype
            allowed = torch.finfo(dtype).eps / 2 * expected.abs() + 1e-4
            assert ((ours.double() - expected).abs() <= allowed).all(), sizes


VIEWS = {
    "packed": lambda x: x,
    "transposed": lambda x: x.T,
    "every second": lambda x: x[::2, 1:],
    "one row, repeated": lambda x: x[0].expand(5, -1),
    "channels last": lambda x: x.reshape(1, 4, 4, 4).contiguous(memory_format=torch.channels_last),
    "one element": lambda x: x[:1, :1],
    "no batch": lambda x: x[:0],
    "to be negated": lambda x: torch.complex(x, x).conj().imag,
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name, device):
    x = VIEWS[name](torch.arange(64.0).reshape(8, 8))
    y = resample(x, (7,), axes=(-1,), device=device)
    assert y.is_contiguous()
    assert bits(y) == bits(rs.resample(rs.asarray(x.numpy(force=True), device=device), (7,), axes=(-1,)))


def test_elements_are_read_where_they_lie(vulkan_device):
    x = torch.arange(65536.0).reshape(1, 256, 256)
    costs = Costs(vulkan_device)
    resample(x, (8, 8), device=vulkan_device)
    try:
        rs.asarray(x, device=vulkan_device, copy=False)
    except rs.UnsupportedError:
        assert costs().uploaded == x.nbytes
    else:
        assert costs().uploaded == 0


def test_results_belong_to_torch():
    """Nothing of x is in the result or kept for the gradient, and writing to either changes nothing else."""
    x = torch.arange(4.0)
    y = resample(x, (4,), mode="nearest")
    y += 1
    assert x.tolist() == [0, 1, 2, 3]
    leaf = x.clone().requires_grad_()
    copy = leaf * 1
    kept = weakref.ref(copy)
    y = resample(copy, (8,))
    del copy
    gc.collect()
    assert kept() is None
    y.sum().backward()
    assert leaf.grad.tolist() == [2, 2, 2, 2]


def test_transforms(device):
    def function(x):
        return resample(x, (5, 3), axes=(0, -1), mode="cubic", device=device)

    rng = np.random.default_rng(3)
    x, tangent = eighths(rng, (4, 2, 6)), eighths(rng, (4, 2, 6))
    value, derivative = torch.func.jvp(function, (x,), (tangent,))
    assert torch.equal(value, function(x))
    assert torch.equal(derivative, function(tangent))
    batch = eighths(rng, (4, 7, 2, 6))
    costs = Costs(device)
    mapped = torch.func.vmap(function, in_dims=1)(batch)
    once = costs()
    assert torch.equal(mapped, torch.stack([function(each) for each in batch.unbind(1)]))
    costs = Costs(device)
    resample(batch.movedim(1, 0), (5, 3), axes=(1, -1), mode="cubic", device=device)
    assert once.dispatches == costs().dispatches
    mapped = torch.func.vmap(torch.func.grad(lambda x: function(x).square().sum()), in_dims=1)(batch)
    each = [torch.func.grad(lambda x: function(x).square().sum())(one) for one in batch.unbind(1)]
    assert torch.equal(mapped, torch.stack(each))
    hessian = torch.func.hessian(lambda x: resample(x, (3,), device=device).square().sum())(torch.ones(2))
    assert hessian.tolist() == [[2.5, 0.5], [0.5, 2.5]]  # W is 1 0, 1/2 1/2, 0 1


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # which torch's compiler reads
def test_a_compiled_function_calls_it():
    @torch.compile(backend="eager")
    def function(x):
        return (resample(x * 2, (4,)) * 3).sum()

    x = torch.tensor([0.0, 8.0], requires_grad=True)
    function(x).backward()
    assert (function(x).item(), x.grad.tolist()) == (96, [12, 12])


def test_arguments_are_those_that_both_operations_take():
    forward, backward = (set(inspect.signature(f).parameters) for f in (rs.resample, rs.resample_backward))
    named = {"scales", "axes", "mode"}
    assert (forward & backward) - {"layout", "dtype", "out"} == named | set(RuleArguments.__annotations__)
    assert named < set(inspect.signature(resample).parameters)
    for name in sorted((forward - named - set(RuleArguments.__annotations__) - {"x", "sizes"}) | {"axis"}):
        with pytest.raises(TypeError, match=f"a resample with a gradient takes no {name}; it takes coordinates"):
            resample(torch.ones(2, 6), (4,), **{name: None})


def test_what_is_used_up_is_read_once():
    x = torch.ones((2, 6, 3), requires_grad=True)
    resample(x, axes=iter([1]), scales=iter([0.7])).sum().backward()
    assert x.grad.shape == x.shape
    assert abs(x.grad.sum().item() - 24) < 1e-5


@pytest.mark.parametrize(
    ("x", "arguments", "error", "message"),
    [
        (np.ones(3, np.float32), {}, rs.DescriptorError, "x must be a torch.Tensor, got ndarray: rs.resample takes"),
        (torch.ones(3, dtype=torch.uint8), {}, rs.UnsupportedError, r"not uint8: convert it, or call rs.resample"),
        (torch.ones(3, dtype=torch.float64), {}, rs.UnsupportedError, r"not float64: convert it.*for sizes \(3,\)"),
        (torch.ones(3, dtype=torch.complex64), {}, rs.UnsupportedError, "x must be float32, float16, bfloat16 to have"),
        (torch.ones(3, device="meta"), {}, rs.UnsupportedError, r"is torch.strided on meta: pass x.cpu\(\)"),
        (torch.eye(3).to_sparse(), {}, rs.UnsupportedError, r"is torch.sparse_coo on cpu: pass x.to_dense\(\)"),
        (torch.ones(3), {"mode": "lanczos"}, rs.DescriptorError, r"mode 'lanczos' is not one of.*for f32\[3\]"),
        (torch.ones(3), {"sizes": 4}, rs.DescriptorError, "sizes must be a sequence of integers"),
        (torch.ones(3), {"scales": 2.0}, rs.DescriptorError, "scales must be a sequence of numbers"),
        (torch.ones(3), {"axes": (1,)}, rs.DescriptorError, r"axis 1 of axes \(1,\) is outside .*, for f32\[3\]"),
        (torch.ones(3), {"antialias": 1}, rs.DescriptorError, "antialias must be True or False"),
        (torch.ones(4, 9, 3), {"sizes": (5, 5)}, rs.DescriptorError, r"like columns and channels.*say axes=\(0, 1\)"),
    ],
)  # fmt: skip
def test_bad_input(x, arguments, error, message):
    with pytest.raises(error, match=message):
        resample(x, **{"sizes": (4,), **arguments})
