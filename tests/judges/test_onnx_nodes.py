"""onnx's node tests of Resize, Upsample, Slice, Transpose, DepthToSpace and SpaceToDepth, each on both runtimes."""

from __future__ import annotations

from math import ceil, prod
from typing import Any

import numpy as np
import pytest
from support.onnx_cases import NodeCase, all_cases, left_out, node_cases

import restride as rs

RADIUS = {"linear": 1, "cubic": 2}

RESIZES = {case.name: case for case in node_cases("Resize", "Upsample")}
SLICES = {case.name: case for case in node_cases("Slice")}
TRANSPOSES = {case.name: case for case in node_cases("Transpose")}
BLOCKS = {case.name: case for case in node_cases("DepthToSpace", "SpaceToDepth")}


def attributes_of(case: NodeCase) -> dict[str, Any]:
    return {key: value.decode() if isinstance(value, bytes) else value for key, value in case.attributes.items()}


def resized(case: NodeCase, x: rs.Tensor) -> rs.Tensor:
    """A Resize as rs.resample says it: ONNX's defaults, and its names of attributes; sizes and scales are arrays.

    What has no effect in a mode is left out: a model may have it, rs.resample refuses it.
    """
    given, operands = attributes_of(case), case.operands
    if case.operation == "Upsample":  # deprecated; Resize-10 says what it meant
        given |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    coordinates = given.get("coordinate_transformation_mode", "half_pixel")
    mode, is_crop = given.get("mode", "nearest"), coordinates == "tf_crop_and_resize"
    return rs.resample(
        x,
        operands.get("sizes"),
        operands.get("scales"),
        given.get("axes"),
        mode,
        coordinates=coordinates,
        nearest=given.get("nearest_mode", "round_prefer_floor") if mode == "nearest" else "half_up",
        cubic_a=given.get("cubic_coeff_a", -0.75) if mode == "cubic" else -0.75,
        antialias=bool(given.get("antialias", 0)),
        exclude_outside=bool(given.get("exclude_outside", 0)),
        extrapolation_value=given.get("extrapolation_value", 0.0) if is_crop else 0.0,
        roi=operands["roi"] if is_crop else None,
        keep_aspect_ratio_policy=given.get("keep_aspect_ratio_policy", "stretch"),
    )


def bound(case: NodeCase) -> float:
    """How far a result may be from onnx's, which is rounded to f32 once.

    Ours is within (3 * axes + taps) units of sum|w * x|. The |w| of a row add up to 1 in mode linear and to less than
    3/2 in mode cubic: 1.375 half way between elements, 1.409 at most where antialiased. The largest |x| is 16, or 10
    where that is extrapolated.
    """
    sizes = [(old, new) for old, new in zip(case.operands["X"].shape, case.output.shape, strict=True) if old > 1]
    radius = RADIUS[attributes_of(case)["mode"]]
    taps = prod(ceil(2 * radius * max(1, old / new)) for old, new in sizes)
    weights = 1.5 ** len(sizes) if radius == 2 else 1.0
    largest = float(np.abs(case.operands["X"]).max())
    return (3 * len(sizes) + taps + 1) * 2**-24 * weights * largest


@pytest.mark.parametrize("name", RESIZES)
def test_resize(device, name):
    case = RESIZES[name]
    result = resized(case, rs.asarray(case.operands["X"], device=device)).numpy()
    assert result.shape == case.output.shape
    assert result.dtype == case.output.dtype
    if attributes_of(case)["mode"] == "nearest":
        np.testing.assert_array_equal(result, case.output)
    else:
        np.testing.assert_allclose(result, case.output, rtol=0, atol=bound(case))


@pytest.mark.parametrize("name", SLICES)
def test_slice(device, name):
    """A view; and DirectML's slice of it, whose windows begin at 0 or more and hold an element."""
    case = SLICES[name]
    x = rs.asarray(case.operands["data"], device=device)
    starts, ends = (case.operands[key].tolist() for key in ("starts", "ends"))
    axes = case.operands["axes"].tolist() if "axes" in case.operands else range(len(starts))
    steps = case.operands["steps"].tolist() if "steps" in case.operands else [1] * len(starts)
    key = [slice(None)] * x.desc.rank
    for axis, *ends_and_step in zip(axes, starts, ends, steps, strict=True):
        key[axis] = slice(*ends_and_step)
    np.testing.assert_array_equal(x[tuple(key)].numpy(), case.output)
    ranges = [range(size)[part] for part, size in zip(key, x.sizes, strict=True)]
    if not case.output.size:
        assert any(not part for part in ranges)
        return
    offsets, spans = [min(part) for part in ranges], [max(part) - min(part) + 1 for part in ranges]
    strides = [part.step for part in ranges]
    np.testing.assert_array_equal(rs.strided_slice(x, offsets, spans, strides).numpy(), case.output)


@pytest.mark.parametrize("name", TRANSPOSES)
def test_transpose(device, name):
    """A view, a reorder of that view, and a reorder that says the permutation in letters."""
    case = TRANSPOSES[name]
    x = rs.asarray(case.operands["data"], device=device)
    order = attributes_of(case).get("perm", list(reversed(range(x.desc.rank))))
    permuted = x.permute(order)
    np.testing.assert_array_equal(permuted.numpy(), case.output)
    copied = rs.reorder(permuted)
    assert copied.desc.is_row_major
    np.testing.assert_array_equal(copied.buffer().view(np.float32), case.output.ravel())
    letters = "abcdefgh"[: x.desc.rank]
    spelled = rs.reorder(x, f"{letters}->{''.join(letters[axis] for axis in order)}")
    np.testing.assert_array_equal(spelled.numpy(), case.output)


@pytest.mark.parametrize("name", BLOCKS)
def test_depth_to_space_and_back(device, name):
    """Two views around one reorder: split the axes, permute them, pack, join them."""
    case = BLOCKS[name]
    x = rs.asarray(case.operands["input"], device=device)
    block, is_crd = attributes_of(case)["blocksize"], attributes_of(case).get("mode", "DCR") == "CRD"
    n, c, h, w = x.sizes
    if case.operation == "DepthToSpace":
        split = (n, c // block**2, block, block, h, w) if is_crd else (n, block, block, c // block**2, h, w)
        order = (0, 1, 4, 2, 5, 3) if is_crd else (0, 3, 4, 1, 5, 2)
        joined = (n, c // block**2, h * block, w * block)
    else:
        split = (n, c, h // block, block, w // block, block)
        order = (0, 1, 3, 5, 2, 4) if is_crd else (0, 3, 5, 1, 2, 4)
        joined = (n, c * block**2, h // block, w // block)
    result = rs.reorder(x.reshape(split).permute(order)).reshape(joined)
    np.testing.assert_array_equal(result.numpy(), case.output)


def test_no_case_is_left_out():
    """A type that onnx adds to these tests needs a decision in onnx_cases.py."""
    operations = ("Resize", "Upsample", "Slice", "Transpose", "DepthToSpace", "SpaceToDepth")
    cases = [case for case in all_cases() if case.operation in operations]
    assert not set(left_out()) & {case.name for case in cases}
    assert {case.name for case in cases} == {*RESIZES, *SLICES, *TRANSPOSES, *BLOCKS}
    least = {"Resize": 39, "Upsample": 1, "Slice": 8, "Transpose": 7, "DepthToSpace": 2, "SpaceToDepth": 2}
    for operation, count in least.items():
        assert sum(case.operation == operation for case in cases) >= count, operation
