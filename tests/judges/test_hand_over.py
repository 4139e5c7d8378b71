"""Tensors handed to other libraries on the CPU and taken back: by DLPack, as numpy arrays, or as buffers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.judges import judge

import restride as rs

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "arrays.md").read_text(encoding="utf-8")


@pytest.fixture
def reversed_x(device):
    """A view of strides of either sign, and the array that it is."""
    return rs.asarray(X, device=device)[:, ::-1].permute(2, 0, 1), X[:, ::-1].transpose(2, 0, 1)


def test_jax(reversed_x, device):
    jax, jnp = judge("jax"), judge("jax.numpy")
    tensor, expected = reversed_x
    array = jax.dlpack.from_dlpack(tensor)
    assert np.array_equal(array, expected)
    back = rs.asarray(jnp.flip(array, 0), device=device)
    assert np.array_equal(back.numpy(), expected[::-1])
    assert np.array_equal(jnp.asarray(tensor), expected)
    assert np.array_equal(array + tensor, expected + expected)
    assert np.array_equal(tensor + array, expected + expected)
    narrow = jnp.asarray(X, jnp.bfloat16)
    assert jnp.asarray(rs.asarray(narrow, device=device)).dtype == jnp.bfloat16
    assert rs.asarray(narrow, device=device).dtype == "bf16"
    assert rs.asarray(narrow, device=device).numpy().tobytes() == np.asarray(narrow).tobytes()


def test_onnxruntime(reversed_x, device):
    onnxruntime = judge("onnxruntime")
    tensor, expected = reversed_x
    value = onnxruntime.OrtValue.ortvalue_from_numpy(tensor.numpy())
    assert np.array_equal(value.numpy(), expected)
    assert np.array_equal(rs.asarray(value.numpy(), device=device).numpy(), expected)


# Its telemetry may fork, at which a jax that was imported warns.
@pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")
def test_openvino(reversed_x, device):
    openvino = judge("openvino")
    tensor, expected = reversed_x
    value = openvino.Tensor(tensor.numpy(), shared_memory=True)
    assert np.array_equal(value.data, expected)
    assert np.array_equal(rs.asarray(value.data, device=device).numpy(), expected)


def test_scikit_learn(device):
    """Images in rows. An estimator takes a tensor itself too, and computes in its element type."""
    preprocessing = judge("sklearn.preprocessing")
    images = np.random.default_rng(1).standard_normal((20, 6, 4)).astype(np.float32)
    rows = rs.asarray(images, device=device).reshape(20, 24)
    expected = preprocessing.MaxAbsScaler().fit_transform(images.reshape(20, 24))
    for x in (rows.numpy(), rows):
        scaled = preprocessing.MaxAbsScaler().fit_transform(x)
        assert scaled.dtype == np.float32
        assert np.array_equal(rs.asarray(scaled, device=device).numpy(), expected)


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_recipes_of_the_page_run(library):
    judge(library)
    (recipe,) = (text for text in re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL) if f"import {library}" in text)
    exec(compile(recipe, f"docs/arrays.md, {library}", "exec"), {})
