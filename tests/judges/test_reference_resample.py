"""The resample reference against torch, Pillow and onnx's own reference, on random problems."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from onnx.reference.ops.op_resize import Resize
from support.judges import judge

import restride as rs
from restride.reference import resample, resample_backward_limits, resample_limits

Array = np.ndarray[Any, Any]
EXACT = {"rtol": 1e-9, "atol": 1e-9}
"""Both sides sum in f64; coordinates below 100 in f64 are off by 1e-14, and weights change no faster than 2 a unit."""


def random_array(rng: np.random.Generator, sizes: tuple[int, ...]) -> Array:
    return rng.standard_normal(sizes).astype(np.float32)


def f64(x: Array, **arguments: Any) -> Array:
    """The weighted sum as it is, not rounded: f64 is a result type like any other."""
    return resample(x, **arguments, dtype="f64")


def assert_equal_except(ours: Array, theirs: Array, left_out: list[Array]) -> None:
    """All elements but those whose index along axis k is one that ``left_out[k]``, the last axes, marks."""
    assert ours.shape == theirs.shape
    keep = np.ones(ours.shape, bool)
    for axis, mark in enumerate(left_out, ours.ndim - len(left_out)):
        keep &= ~mark.reshape([-1 if a == axis else 1 for a in range(ours.ndim)])
    np.testing.assert_allclose(ours[keep], theirs[keep], **EXACT)


def near_an_integer(values: list[Fraction]) -> Array:
    """Where an f32 or f64 coordinate may round the other way than the exact one."""
    return np.array([abs(value - math.floor(value + Fraction(1, 2))) < Fraction(1, 10**5) for value in values], bool)


@pytest.fixture(name="torch")
def fixture_torch() -> Any:
    return judge("torch")


class TestTorch:
    SPATIAL = (("linear", 1), ("bilinear", 2), ("trilinear", 3), ("bicubic", 2))

    @staticmethod
    def problem(rng: np.random.Generator, axes: int) -> tuple[Array, dict[str, Any], dict[str, Any]]:
        """An array of N, C and axes, and how to say sizes, or scales, to torch and to us."""
        spatial = range(2, 2 + axes)
        x = random_array(rng, (1, 2, *rng.integers(1, 14 if axes < 3 else 7, axes).tolist()))
        if rng.random() < 0.5:
            sizes = rng.integers(1, 18 if axes < 3 else 9, axes).tolist()
            return x, {"size": sizes}, {"sizes": sizes, "axes": spatial}
        factors = [round(float(rng.uniform(0.2, 2.5)), 2) for _ in range(axes)]
        for k, (size, factor) in enumerate(zip(x.shape[2:], factors, strict=True)):
            # No size is 0. Where the size stays, or in mode nearest is doubled, torch leaves the rest of a scale out.
            whole = int(size * factor)
            factors[k] = whole / size if whole in {size, 2 * size} else factor if whole else 1.0
        recomputes = bool(rng.random() < 0.3)
        theirs = {"scale_factor": factors, "recompute_scale_factor": recomputes}
        return x, theirs, {"scales": factors, "axes": spatial, "recompute_scale_factor": recomputes}

    @pytest.mark.parametrize(("mode", "axes"), SPATIAL)
    @pytest.mark.parametrize("align_corners", [False, True])
    def test_interpolation(self, torch: Any, mode: str, axes: int, align_corners: bool) -> None:
        rng = np.random.default_rng([1, axes, align_corners])
        for _ in range(25):
            x, theirs, ours = self.problem(rng, axes)
            if align_corners and "scales" in ours:
                ours["recompute_scale_factor"] = True  # torch aligns the corners of the sizes
            expected = torch.nn.functional.interpolate(
                torch.from_numpy(x.astype(np.float64)), mode=mode, align_corners=align_corners, **theirs
            ).numpy()
            rule = "align_corners" if align_corners else "half_pixel"
            kind = "cubic" if mode == "bicubic" else "linear"
            np.testing.assert_allclose(f64(x, mode=kind, coordinates=rule, **ours), expected, **EXACT)

    @pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
    def test_antialias(self, torch: Any, mode: str) -> None:
        """But for a width of 1: torch 2.13 then gives every row the weights of the first one."""
        rng = np.random.default_rng(2)
        kind = {"mode": "cubic", "cubic_a": -0.5} if mode == "bicubic" else {"mode": "linear"}
        for _ in range(40):
            x, theirs, ours = self.problem(rng, 2)
            expected = torch.nn.functional.interpolate(
                torch.from_numpy(x.astype(np.float64)), mode=mode, align_corners=False, antialias=True, **theirs
            ).numpy()
            result = f64(x, antialias=True, exclude_outside=True, **kind, **ours)
            rows = slice(1 if result.shape[3] == 1 else None)
            np.testing.assert_allclose(result[:, :, rows], expected[:, :, rows], **EXACT)

    @pytest.mark.parametrize("axes", [1, 2, 3])
    def test_area(self, torch: Any, axes: int) -> None:
        rng = np.random.default_rng([3, axes])
        for _ in range(20):
            x, theirs, ours = self.problem(rng, axes)
            expected = torch.nn.functional.interpolate(torch.from_numpy(x.astype(np.float64)), mode="area", **theirs)
            np.testing.assert_allclose(f64(x, mode="area", **ours), expected.numpy(), **EXACT)

    @pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
    def test_nearest(self, torch: Any, mode: str) -> None:
        """But for outputs whose coordinate lies within 1e-5 of where it rounds: torch's is an f32."""
        rng = np.random.default_rng(4)
        rules = {"coordinates": "asymmetric", "nearest": "floor"} if mode == "nearest" else {}
        for _ in range(60):
            x, theirs, ours = self.problem(rng, 2)
            expected = torch.nn.functional.interpolate(torch.from_numpy(x), mode=mode, **theirs).numpy()
            result = resample(x, mode="nearest", **rules, **ours)
            half = Fraction(0 if mode == "nearest" else 1, 2)
            scales = [Fraction(made, size) for size, made in zip(x.shape[2:], result.shape[2:], strict=True)]
            if "scales" in ours and not ours["recompute_scale_factor"]:
                scales = [Fraction(repr(factor)) for factor in ours["scales"]]
            left_out = [
                near_an_integer([(o + half) / scale for o in range(made)])
                for made, scale in zip(result.shape[2:], scales, strict=True)
            ]
            assert_equal_except(result, expected, left_out)

    @pytest.mark.parametrize(("mode", "axes"), [*SPATIAL, ("nearest", 2), ("nearest-exact", 1), ("area", 2)])
    def test_gradients(self, torch: Any, mode: str, axes: int) -> None:
        """autograd in f64 lies within the limits: its weights are not rounded to f32, which the bound has room for."""
        rng = np.random.default_rng([5, axes])
        for turn in range(15):
            sizes, made = rng.integers(1, 9, axes).tolist(), [1 << int(n) for n in rng.integers(0, 4, axes)]
            if mode in {"nearest", "nearest-exact"}:
                sizes = [1 << int(n) for n in rng.integers(0, 4, axes)]  # no f32 coordinate rounds
            antialias = mode in {"bilinear", "bicubic"} and turn % 3 == 2
            align = not antialias and turn % 2 == 1
            theirs: dict[str, Any] = {"align_corners": align} if "linear" in mode or mode == "bicubic" else {}
            ours = {
                "nearest": {"mode": "nearest", "coordinates": "asymmetric", "nearest": "floor"},
                "nearest-exact": {"mode": "nearest"},
                "area": {"mode": "area"},
                "bicubic": {"mode": "cubic", "cubic_a": -0.5 if antialias else -0.75},
            }.get(mode, {"mode": "linear"})
            if theirs:
                ours["coordinates"] = "align_corners" if align else "half_pixel"
            if antialias:
                theirs["antialias"] = ours["antialias"] = ours["exclude_outside"] = True
            source = torch.zeros((1, 2, *sizes), dtype=torch.float64, requires_grad=True)
            grad = random_array(rng, (1, 2, *made))
            torch.nn.functional.interpolate(source, size=made, mode=mode, **theirs).backward(
                torch.from_numpy(grad.astype(np.float64))
            )
            low, high = resample_backward_limits(grad, sizes, axes=range(2, 2 + axes), **ours)
            expected = source.grad.numpy().astype(np.float32)
            assert (low <= expected).all()
            assert (expected <= high).all()


@pytest.mark.usefixtures("vulkan_device")
def test_the_area_of_opencv() -> None:
    """Where both axes shrink: both sum products of equal weights in f32, so each is within the bound of the exact sum.

    OpenCV drops shares below 0.001 of an element; there are none where an axis has fewer than 1000 outputs.
    """
    cv2: Any = judge("cv2")
    rng = np.random.default_rng(16)
    for _ in range(40):
        old = rng.integers(1, 120, 2).tolist()
        new = [int(rng.integers(1, size + 1)) for size in old]
        x = random_array(rng, tuple(old))
        theirs = cv2.resize(x, new[::-1], interpolation=cv2.INTER_AREA)
        exact, total = (f64(each, sizes=new, mode="area_weighted") for each in (x, abs(x)))
        taps = math.prod(-(-size // made) + 1 for size, made in zip(old, new, strict=True))
        bound = (3 * 2 + taps) * 2.0**-24 * total
        assert (abs(theirs - exact) <= bound).all()
        assert (abs(rs.resample(x, new, mode="area_weighted").numpy() - exact) <= bound).all()


@pytest.mark.parametrize(("name", "arguments"), [("BILINEAR", {}), ("BICUBIC", {"mode": "cubic", "cubic_a": -0.5})])
def test_pillow(name: str, arguments: dict[str, Any]) -> None:
    """An "F" image: sums in f64, rounded to f32 between the axes. The bound has room for an f32 rounding a step."""
    image: Any = judge("PIL.Image")
    rng = np.random.default_rng(6)
    for _ in range(40):
        x = random_array(rng, tuple(rng.integers(1, 40, 2).tolist()))
        height, width = rng.integers(1, 40, 2).tolist()
        theirs = np.asarray(image.fromarray(x).resize((width, height), image.Resampling[name]))
        low, high = resample_limits(x, (height, width), antialias=True, exclude_outside=True, **arguments)
        assert (low <= theirs).all()
        assert (theirs <= high).all()


class TestOnnx:
    """onnx's reference, in f64. Left out, by name:

    pytorch_half_pixel with one output: it reads at -1/2, where the specification says 0;
    coordinates that f64 rounds to beside an integer: it takes one element for the floor and another for the weights;
    exclude_outside where nothing is inside: it gives 0, or NaN, and we the edge.
    """

    RULES = (
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_crop_and_resize",
    )

    @staticmethod
    def resize(x: Array, arguments: dict[str, Any], axes: list[int] | None) -> Array:
        names = {"cubic_a": "cubic_coeff_a", "coordinates": "coordinate_transformation_mode", "nearest": "nearest_mode"}
        attributes = {names.get(name, name): value for name, value in arguments.items()}
        defaults = {"roi": None, "extrapolation_value": 0.0, "keep_aspect_ratio_policy": "stretch"}
        # Not as a model: its attributes would be f32, and cubic weights with them.
        with np.errstate(divide="ignore", invalid="ignore"):  # older versions divide by the sum of nothing
            (result,) = Resize._run(None, x.astype(np.float64), axes=axes, **(defaults | attributes))
        return np.asarray(result)

    @staticmethod
    def coordinates(rule: str, size: int, out: int, scale: float, roi: tuple[float, float]) -> Array:
        """Where outputs read, in f64: only to tell which outputs are left out."""
        o, length = np.arange(out), scale * size
        start, end = (edge * (size - 1) for edge in roi)
        steps = length - 1 or math.inf
        return np.broadcast_to(
            {
                "half_pixel": (o + 0.5) / scale - 0.5,
                "half_pixel_symmetric": size / 2 * (1 - out / length) + (o + 0.5) / scale - 0.5,
                "pytorch_half_pixel": (o + 0.5) / scale - 0.5,
                "align_corners": o * (size - 1) / steps,
                "asymmetric": o / scale,
                "tf_crop_and_resize": start + o * (end - start) / steps if length != 1 else (start + end) / 2 + 0 * o,
            }[rule],
            out,
        )

    def check(self, x: Array, arguments: dict[str, Any], axes: list[int]) -> None:
        theirs = self.resize(x, arguments, None if len(axes) == x.ndim else axes)
        ours = f64(x, axes=axes, **arguments)
        assert ours.shape == theirs.shape, arguments
        rule, mode, roi = arguments["coordinates"], arguments["mode"], arguments.get("roi", [0] * 2 * len(axes))
        left_out = [np.zeros(size, bool) for size in ours.shape]
        for k, axis in enumerate(axes):
            size, out = x.shape[axis], ours.shape[axis]
            scale = arguments["scales"][k] if "scales" in arguments else out / size
            if "keep_aspect_ratio_policy" in arguments:
                least_or_most = min if arguments["keep_aspect_ratio_policy"] == "not_larger" else max
                scale = least_or_most(s / x.shape[a] for s, a in zip(arguments["sizes"], axes, strict=True))
            s = self.coordinates(rule, size, out, scale, (roi[k], roi[k + len(axes)]))
            if mode == "nearest":
                s_or_half = s + (0.5 if "round" in arguments["nearest"] else 0.0)
                left_out[axis] |= abs(s_or_half - np.rint(s_or_half)) < 1e-5
            left_out[axis] |= (s != np.rint(s)) & (abs(s - np.rint(s)) < 1e-9)
            if rule == "tf_crop_and_resize":  # is it outside?
                left_out[axis] |= (abs(s) < 1e-9) | (abs(s - (size - 1)) < 1e-9)
            if arguments.get("exclude_outside"):
                left_out[axis] |= (s <= -1 + 1e-9) | (s >= size - 1e-9)
            if rule == "pytorch_half_pixel" and out == 1:
                left_out[axis][:] = True
        assert_equal_except(ours, theirs, left_out)

    @pytest.mark.parametrize("rule", RULES)
    @pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
    def test_every_rule(self, rule: str, mode: str) -> None:
        rng = np.random.default_rng([7, self.RULES.index(rule)])
        for turn in range(16):
            rank = int(rng.integers(1, 4))
            x = random_array(rng, tuple(rng.integers(2, 9, rank).tolist()))
            axes = sorted(rng.permutation(rank)[: rng.integers(1, rank + 1)].tolist()) if turn % 2 else [*range(rank)]
            arguments: dict[str, Any] = {"mode": mode, "coordinates": rule}
            if turn % 3:
                arguments["sizes"] = rng.integers(1, 13, len(axes)).tolist()
                if rng.random() < 0.4:
                    arguments["keep_aspect_ratio_policy"] = str(rng.choice(["not_larger", "not_smaller"]))
            else:
                arguments["scales"] = np.round(rng.uniform(0.5, 2.5, len(axes)), 2).tolist()
            if rule == "tf_crop_and_resize":
                edges = rng.uniform(-0.3, 0.6, len(axes)), rng.uniform(0.4, 1.3, len(axes))
                arguments |= {"roi": np.round(np.concatenate(edges), 2).tolist(), "extrapolation_value": 5.0}
            if mode == "nearest":
                arguments["nearest"] = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")[turn % 4]
            else:
                arguments |= {"antialias": bool(turn % 4 // 2), "exclude_outside": bool(rng.random() < 0.4)}
            if mode == "cubic":
                arguments["cubic_a"] = float(rng.choice([-0.75, -0.5]))
            self.check(x, arguments, axes)

    @pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    @pytest.mark.parametrize("rule", ["half_pixel", "asymmetric", "half_pixel_symmetric"])
    def test_ties(self, rule: str, nearest: str) -> None:
        """Sizes that are powers of two: no f64 coordinate rounds, and many lie halfway, or on an element."""
        for size, out in itertools.product((2, 4, 8), (1, 2, 4, 8, 16)):
            x = np.arange(size, dtype=np.float32)
            arguments = {"sizes": [out], "mode": "nearest", "coordinates": rule, "nearest": nearest}
            assert resample(x, **arguments).tolist() == self.resize(x, arguments, None).tolist()

    def test_aligned_corners_tie_too(self) -> None:
        for size, out in itertools.product((2, 3, 5, 9), (2, 3, 5, 9)):
            for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
                x = np.arange(size, dtype=np.float32)
                arguments = {"sizes": [out], "mode": "nearest", "coordinates": "align_corners", "nearest": nearest}
                assert resample(x, **arguments).tolist() == self.resize(x, arguments, None).tolist()
