"""Resampling of jax arrays: the bits of rs.resample under jit and vmap, with gradients that jax itself checks."""

from __future__ import annotations

import numpy as np
import pytest
from support.judges import judge
from support.tensors import Costs

import restride as rs

jax = judge("jax")
jnp = judge("jax.numpy")
check_grads = judge("jax.test_util").check_grads

from restride.interop.jax import resample  # noqa: E402 - it needs jax

SIZES = (2, 3, 4)
CALLS = {
    "nearest": {"sizes": (4, 2), "mode": "nearest"},
    "linear": {"sizes": (3, 7)},
    "antialiased": {"sizes": (2, 2), "antialias": True, "exclude_outside": True},
    "cubic by scales": {"scales": (1.6, 0.7), "mode": "cubic"},
    "two axes, exchanged": {"sizes": (2, 6), "axes": (2, 0), "mode": "area"},
    "like pillow": {"sizes": (2, 3), "axes": (1, 2), "like": "pillow", "mode": "lanczos"},
}


def random(seed, sizes, dtype="float32"):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)).astype(dtype)


@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_gradients(name, vulkan_device):
    """jax's numeric derivatives along random directions, of steps of 1, which are exact of what is linear.

    But for f32 sums, each within (3 * axes + taps) * 2^-24 of its summands' absolute values: at most 18 * 2^-24 * 3 * 5
    here, of which products with a direction add up 24 times that: 4e-4.
    """
    check_grads(
        lambda x: resample(x, device=vulkan_device, **{"axes": (1, 2), **CALLS[name]}),
        (random(1, SIZES),), order=2, modes=["rev"], eps=1.0, atol=4e-4, rtol=0.0,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_bits_are_those_of_the_operations(name, dtype, device):
    arguments = {"axes": (1, 2), **CALLS[name]}
    x = random(2, SIZES, dtype)
    source = rs.asarray(np.asarray(x), device=device)
    y, pull = jax.vjp(jax.jit(lambda x: resample(x, device=device, **arguments)), x)
    assert y.dtype == x.dtype
    assert np.asarray(y).tobytes() == rs.resample(source, **arguments).numpy().tobytes()
    grad = random(3, y.shape, dtype)
    others = {name: value for name, value in arguments.items() if name != "sizes"}
    old = [SIZES[axis] for axis in arguments["axes"]]
    back = rs.resample_backward(rs.asarray(np.asarray(grad), device=device), old, **others)
    assert np.asarray(pull(grad)[0]).tobytes() == back.numpy().tobytes()


AS_JAX = [
    ({"mode": "linear"}, {"method": "linear", "antialias": False}),
    ({"mode": "linear", "antialias": True, "exclude_outside": True}, {"method": "linear"}),
    (
        {"mode": "cubic", "cubic_a": -0.5, "antialias": True, "exclude_outside": True},
        {"method": "cubic"},
    ),
]


@pytest.mark.parametrize(("arguments", "theirs"), AS_JAX)
def test_gradients_are_those_of_jax_image_resize(arguments, theirs, vulkan_device):
    """Both are f32 sums of at most 100 products below 4, of weights computed in f32 by jax: within 1e-4."""
    x, weight = random(4, (6, 7)), random(5, (9, 4))
    ours = jax.grad(lambda x: (resample(x, (9, 4), device=vulkan_device, **arguments) * weight).sum())(x)
    expected = jax.grad(lambda x: (jax.image.resize(x, (9, 4), **theirs) * weight).sum())(x)
    assert np.abs(ours - expected).max() < 1e-4


def test_a_vmap_is_one_call(vulkan_device):
    def loss(x):
        return (resample(x, (5, 3), axes=(0, -1), device=vulkan_device) ** 2).sum()

    batch = random(6, (4, 7, 2, 6))
    mapped = jax.jit(jax.vmap(jax.grad(loss), in_axes=1))
    mapped(batch)
    costs = Costs(vulkan_device)
    result = np.asarray(mapped(batch))
    once = costs().dispatches
    each = [np.asarray(jax.grad(loss)(batch[:, place])) for place in range(7)]
    assert np.array_equal(result, np.stack(each))
    costs = Costs(vulkan_device)
    jax.grad(loss)(batch[:, 0]).block_until_ready()
    assert once == costs().dispatches
    hessian = jax.jacrev(jax.grad(lambda x: (resample(x, (3,), device=vulkan_device) ** 2).sum()))(jnp.ones(2))
    assert hessian.tolist() == [[2.5, 0.5], [0.5, 2.5]]  # W is 1 0, 1/2 1/2, 0 1


@pytest.mark.parametrize(
    ("x", "arguments", "error", "message"),
    [
        ([1.0, 2.0], {}, rs.DescriptorError, "x must be a jax.Array or a numpy array, got list"),
        (np.ones(3), {}, rs.UnsupportedError, "not float64: convert it, or call rs.resample"),
        (np.ones(3, np.int32), {}, rs.UnsupportedError, "x must be float32, float16, bfloat16 to have a gradient"),
        (np.ones(3, np.float32), {"mode": "cubical"}, rs.DescriptorError, "mode 'cubical' is not one of"),
        (np.ones(3, np.float32), {"window": None}, TypeError, "takes no window"),
    ],
)
def test_bad_input(x, arguments, error, message):
    """Also while jax traces, so that no callback fails later."""
    with pytest.raises(error, match=message):
        resample(x, (4,), **arguments)
    if isinstance(x, np.ndarray) and x.dtype != np.float64:
        with pytest.raises(error, match=message):
            jax.jit(lambda x: resample(x, (4,), **arguments))(x)
