"""The gradient is the exact transpose of the resampling, in every mode, and has the same bits in every run."""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.process import captured

import restride as rs
from restride.request import AREA_MODES, COORDINATES, NEAREST_RULES

Array = np.ndarray[Any, Any]

FILTERS: list[dict[str, Any]] = [
    {"mode": mode, "antialias": antialias, "exclude_outside": exclude}
    for mode, antialias, exclude in itertools.product(("linear", "cubic"), (False, True), (False, True))
]
NEAREST: list[dict[str, Any]] = [{"mode": "nearest", "nearest": rule} for rule in NEAREST_RULES]
PLACES: list[dict[str, Any]] = [
    *({"coordinates": rule} for rule in COORDINATES[:-1]),
    {"input_offsets": [0.25], "output_offsets": [-1.5]},
    {"coordinates": "tf_crop_and_resize", "roi": [0.2, 0.7]},
    {"coordinates": "tf_crop_and_resize", "roi": [-0.4, 1.3]},  # the first and last outputs are extrapolated
    {"coordinates": "tf_crop_and_resize", "roi": [1.1, -0.1]},  # the line falls
]
SIZES = [(5, 8), (8, 5), (7, 3), (4, 12), (1, 6), (6, 1), (33, 4)]


def forward_matrix(
    device: rs.Device, source: tuple[int, ...], sizes: tuple[int, ...], arguments: dict[str, Any]
) -> Array:
    """Row i is what the kernel makes of the source whose element i is 1 and all others 0."""
    units = np.eye(prod(source), dtype=np.float32).reshape(-1, *source)
    axes = range(1, units.ndim)
    return rs.resample(rs.asarray(units, device=device), sizes, axes=axes, **arguments).numpy().reshape(len(units), -1)


def backward_matrix(
    device: rs.Device, source: tuple[int, ...], sizes: tuple[int, ...], arguments: dict[str, Any]
) -> Array:
    """Row o is the gradient of the source where that of output o is 1 and all others 0."""
    units = np.eye(prod(sizes), dtype=np.float32).reshape(-1, *sizes)
    gradients = rs.resample_backward(rs.asarray(units, device=device), source, axes=range(1, units.ndim), **arguments)
    return gradients.numpy().reshape(len(units), -1)


def both_matrices(
    device: rs.Device, source: tuple[int, ...], sizes: tuple[int, ...], arguments: dict[str, Any]
) -> tuple[Array, Array]:
    return forward_matrix(device, source, sizes, arguments), backward_matrix(device, source, sizes, arguments)


@pytest.mark.parametrize(
    "arguments",
    [*FILTERS, *NEAREST, {"mode": "area"}, {"mode": "area_weighted"}],
    ids=lambda value: "-".join(map(str, value.values())),
)
def test_one_axis_is_the_transpose_bit_for_bit(arguments, vulkan_device):
    """A unit vector's sum has one product, its weight: no sum is rounded, in either direction."""
    for place in PLACES if arguments["mode"] not in AREA_MODES else [{}]:
        for source, size in SIZES:
            forward, backward = both_matrices(vulkan_device, (source,), (size,), arguments | place)
            assert np.array_equal(backward, forward.T), (source, size, place)
            assert backward.any() == forward.any()


@pytest.mark.parametrize("arguments", [
    {"mode": "linear", "scales": [1.7]}, {"mode": "cubic", "scales": [0.37]}, {"mode": "nearest", "scales": [0.61]},
    {"mode": "linear", "scales": [0.37], "antialias": True}, {"mode": "cubic", "scales": [0.37], "antialias": True},
    {"mode": "linear", "scales": [1.7], "coordinates": "align_corners"},
    {"mode": "linear", "scales": [0.37], "coordinates": "half_pixel_symmetric"},
    {"mode": "cubic", "scales": [1.7], "recompute_scale_factor": True},
    {"mode": "cubic", "cubic_a": -0.5}, {"mode": "cubic", "cubic_a": 0.25},
], ids=str)  # fmt: skip
def test_what_the_forward_direction_was_given_counts_backward_too(arguments, vulkan_device):
    for source in (9, 14):
        size = int(source * arguments.get("scales", [0.8])[0])
        forward, backward = both_matrices(vulkan_device, (source,), (size,), arguments)
        assert np.array_equal(backward, forward.T), source


@pytest.mark.parametrize(("source", "sizes"), [
    ((4, 5), (7, 3)), ((9, 2), (2, 9)), ((3, 2, 4), (2, 5, 3)), ((3, 3, 2), (3, 4, 5)), ((2, 3, 2, 2), (3, 2, 3, 3)),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("arguments", [*FILTERS[::3], NEAREST[0], {"mode": "area"}], ids=lambda value: value["mode"])
def test_several_axes_are_the_transpose_bit_for_bit(arguments, source, sizes, device):
    """Both directions multiply by the weight of the last axis first, so the products are rounded alike."""
    forward, backward = both_matrices(device, source, sizes, arguments)
    assert np.array_equal(backward, forward.T)


def test_axes_are_resampled_wherever_they_are_named(vulkan_device):
    rng = np.random.default_rng(1)
    grad = rng.standard_normal((4, 3, 6)).astype(np.float32)
    whole = rs.resample_backward(rs.asarray(grad, device=vulkan_device), (7, 9), axes=(2, 0), mode="cubic").numpy()
    moved = rs.resample_backward(
        rs.asarray(grad.transpose(1, 0, 2), device=vulkan_device), (9, 7), mode="cubic"
    ).numpy()
    assert whole.shape == (9, 3, 7)
    assert whole.tobytes() == moved.transpose(1, 0, 2).tobytes()


@pytest.mark.parametrize("mode", ["linear", "nearest", "area"])
def test_rows_of_parts_are_the_transpose_bit_for_bit(mode, vulkan_device):
    """Single outputs of 70,000, those where parts of 4096 taps meet among them, and where two elements share one."""
    arguments = {"mode": mode}
    forward = forward_matrix(vulkan_device, (3,), (70_000,), arguments)
    meet = [*range(0, 70_000, 4096), 11_667, 23_333, 35_000, 46_666, 58_333]
    outputs = sorted({min(max(one + step, 0), 69_999) for one in meet for step in (-1, 0, 1)} | {69_999})
    grad = np.zeros((len(outputs), 70_000), np.float32)
    grad[np.arange(len(outputs)), outputs] = 1
    backward = rs.resample_backward(rs.asarray(grad, device=vulkan_device), (3,), mode=mode).numpy()
    assert np.array_equal(backward, forward[:, outputs].T)
    assert backward.any(axis=1).all()


NARROW = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize(
    "arguments", [{"mode": "linear"}, {"mode": "cubic", "antialias": True}, {"mode": "nearest"}], ids=str
)
def test_narrow_types_are_summed_in_f32_and_rounded_once(dtype, arguments, vulkan_device):
    rng = np.random.default_rng(8)
    grad = rng.standard_normal((2, 40, 50)).astype(NARROW[dtype])
    got = rs.resample_backward(rs.asarray(grad, device=vulkan_device), (13, 90), **arguments)
    assert got.dtype == dtype
    wide = rs.resample_backward(rs.asarray(grad.astype(np.float32), device=vulkan_device), (13, 90), **arguments)
    assert got.numpy().tobytes() == wide.numpy().astype(NARROW[dtype]).tobytes()
    as_f32 = rs.resample_backward(rs.asarray(grad, device=vulkan_device), (13, 90), dtype="f32", **arguments)
    assert as_f32.numpy().tobytes() == wide.numpy().tobytes()
    from_f32 = rs.resample_backward(
        rs.asarray(grad.astype(np.float32), device=vulkan_device), (13, 90), dtype=dtype, **arguments
    )
    assert from_f32.numpy().tobytes() == got.numpy().tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_what_nothing_reads_has_a_gradient_of_plus_zero(dtype, device):
    """10 -> 3 reads elements 1, 5 and 8; linear without antialias 12 -> 3 those beside 1.5, 5.5 and 9.5."""
    grad = rs.asarray(np.full((2, 3), -7, dtype), device=device)
    nearest = rs.resample_backward(grad, (10,), mode="nearest").numpy()
    assert np.flatnonzero(nearest[0]).tolist() == [1, 5, 8]
    linear = rs.resample_backward(grad, (12,)).numpy()
    assert np.flatnonzero(linear[1]).tolist() == [1, 2, 5, 6, 9, 10]
    for got in (nearest, linear):
        assert not any(got[got == 0].tobytes())
    several = rs.asarray(np.full((3, 3), -7, dtype), device=device)
    for mode in ("nearest", "linear"):
        got = rs.resample_backward(several, (12, 10), mode=mode).numpy()
        assert (got == 0).any()
        assert not any(got[got == 0].tobytes())


def test_what_was_extrapolated_has_no_gradient(device):
    """Outputs 0 and 4 read at -1 and 5, beyond 5 elements; a gradient there, NaN too, goes nowhere."""
    places = {"coordinates": "tf_crop_and_resize", "roi": [-0.25, 1.25]}
    grad = rs.asarray(np.float32([[np.nan, 2, 3, 4, np.inf]]), device=device)
    got = rs.resample_backward(grad, (5,), **places).numpy()
    assert got.tolist() == [[1, 1, 3, 2, 2]]
    outside = {"coordinates": "tf_crop_and_resize", "roi": [2, 3]}
    got = rs.resample_backward(grad, (5,), **outside).numpy()
    assert got.tobytes() == bytes(20)


RUNS = """
import hashlib, sys
import numpy as np
import restride as rs

rng = np.random.default_rng(12)
grad = rng.standard_normal((2, 3, 160, 222)).astype(np.float32)
long = rng.standard_normal((1, 70_000)).astype(np.float32)
with rs.Device(runtime=sys.argv[1]) as device:
    for _ in range(3):
        digest = hashlib.sha256()
        for arguments in ({"mode": "linear"}, {"mode": "cubic", "antialias": True}, {"mode": "nearest"}):
            digest.update(rs.resample_backward(rs.asarray(grad, device=device), (97, 301), **arguments).numpy())
        digest.update(rs.resample_backward(rs.asarray(long, device=device), (1,)).numpy())
        print(digest.hexdigest())
"""


def test_three_runs_in_two_processes_have_the_same_bits(device):
    source = str(Path(rs.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    runtime = type(device.runtime).__name__.removesuffix("Runtime").lower()
    command = [sys.executable, "-c", RUNS, runtime]
    runs = [captured(command, env=environment, timeout=300) for _ in range(2)]
    assert [run.returncode for run in runs] == [0, 0], [run.stderr for run in runs]
    digests = [line for run in runs for line in run.stdout.split()]
    assert len(digests) == 6
    assert len(set(digests)) == 1
    assert digests[0] != hashlib.sha256().hexdigest()


@pytest.mark.parametrize(("grad", "arguments", "error", "message"), [
    (np.zeros((2, 3), np.float32), {"dtype": "u8"}, rs.UnsupportedError, "dtype must be f32, f16, bf16, not u8"),
    (np.zeros(3, np.float32), {"input_sizes": None}, rs.DescriptorError, r"needs input_sizes, .*, for f32\[3\]"),
    (np.zeros((2, 3), np.float32), {"input_sizes": (4,), "axes": (0, 1)}, rs.DescriptorError, "equally many"),
    (np.zeros((2, 3), np.float32), {"input_sizes": (-4,)}, rs.DescriptorError, "-4"),
])  # fmt: skip
def test_bad_input(grad, arguments, error, message, vulkan_device):
    with pytest.raises(error, match=message):
        rs.resample_backward(rs.asarray(grad, device=vulkan_device), **{"input_sizes": (4,), **arguments})
