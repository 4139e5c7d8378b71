"""``like=`` beside the libraries it names: bytes bit for bit, but where they are known to differ; floats in bounds.

A sample of random images; RESTRIDE_TEST_FULL=1: 500 of bytes and 100 of other types for every profile and mode, and 336
of every profile, mode and type in lab/tests/like_check/test_page.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.judges import judge
from support.sampled import FULL

import restride as rs
from restride.compat.pil import Resampling
from restride.errors import DescriptorError, UnsupportedError
from restride.request import DEFAULTS, LIBRARIES
from restride.weights import rows as rows_module
from restride.weights.like import opencv
from restride.weights.rows import library_rows

pytestmark = pytest.mark.usefixtures("vulkan_device")

BYTES, OTHERS = (500, 100) if FULL else (24, 16)
"""Images of every profile and mode: of u8, of any other type."""

ALIKE = 4
"""Of one size, which are one call of ours."""

Array = np.ndarray[Any, Any]
Sizes = tuple[int, int]
Library = Callable[[Array, Sizes], Array]


def images(dtype: str, seed: int) -> Iterator[tuple[Array, Sizes]]:
    """Images of pixels of 1 to 4 channels, and sizes for them: few reach 600; some factors are whole, some sizes kept.

    The first of each size have the least and the largest number alone, so that sums leave the range at both ends.
    """
    rng = np.random.default_rng([seed, np.dtype(dtype).num])
    for number in range((BYTES if dtype == "uint8" else OTHERS) // ALIKE):
        reach = 600 if number % 25 == 5 else 24
        (high, wide), (rows, columns) = (tuple(map(int, rng.integers(1, reach + 1, 2))) for _ in range(2))
        if number % 7 == 0:
            high, wide = 2 * rows, int(rng.integers(1, 4)) * columns
        elif number % 7 == 1:
            rows, columns = (high, columns) if number % 2 else (rows, wide)
        shape = (high, wide, int(rng.integers(1, 5)))
        yield np.stack([pixels(rng, dtype, shape, of_two=place == 0) for place in range(ALIKE)]), (rows, columns)


def pixels(rng: np.random.Generator, dtype: str, sizes: tuple[int, ...], of_two: bool = False) -> Array:
    """Random elements, from the whole range of integers or from -2 to 3."""
    real = np.dtype(dtype)
    low, high = (-2, 3) if real.kind == "f" else (np.iinfo(real).min, np.iinfo(real).max)
    drawn: Array = rng.integers(0, 2, sizes) if of_two else rng.random(sizes)
    values = low + drawn * (high - low)
    return (np.rint(values) if real.kind in "iu" else values).astype(real)


def ours(x: Array, sizes: Sizes, **options: Any) -> Array:
    """``rs.resample`` of rows and columns of pixels, in one image or several."""
    return rs.resample(x, sizes, axes=(-3, -2), **options).numpy()


def farthest(library: Library, dtype: str, seed: int, **options: Any) -> float:
    """The largest difference of any element of all images."""
    most = 0.0
    for x, sizes in images(dtype, seed):
        theirs = np.stack([library(image, sizes) for image in x])
        mine = ours(x, sizes, **options)
        assert mine.shape == theirs.shape
        if mine.tobytes() != theirs.tobytes():
            most = max(most, float(np.abs(mine.astype(np.float64) - theirs.astype(np.float64)).max()))
    return most


def require_bounded(in_f64: Library, dtype: str, seed: int, *, slack: float = 0.0, **options: Any) -> None:
    """Every element is within the bound of an f32 evaluation, and ``slack`` of the largest one, of theirs."""
    for x, sizes in images(dtype, seed):
        bound = rs.reference.resample_bound(x, sizes, axes=(1, 2), **options)
        theirs = np.stack([in_f64(image, sizes) for image in x])
        allowed = bound + slack * float(np.abs(x).max())
        assert (np.abs(ours(x, sizes, **options) - theirs) <= allowed).all(), (x.shape, sizes)


# --- Pillow


def by_pillow(mode: str) -> Library:
    judge("PIL", "13")
    from PIL import Image

    filter_ = getattr(Image, mode.upper())

    def library(x: Array, sizes: Sizes) -> Array:
        bands = [np.ascontiguousarray(x[..., band]) for band in range(x.shape[-1])]
        return np.stack([np.asarray(Image.fromarray(band).resize(sizes[::-1], filter_)) for band in bands], axis=-1)

    return library


@pytest.mark.parametrize("mode", LIBRARIES["pillow"].modes)
def test_bytes_are_those_of_pillow(mode: str) -> None:
    assert farthest(by_pillow(mode), "uint8", 1, mode=mode, like="pillow") == 0


@pytest.mark.parametrize("dtype", ["uint16", "int32", "float32"])
def test_nearest_is_that_of_pillow(dtype: str) -> None:
    assert farthest(by_pillow("nearest"), dtype, 11, mode="nearest", like="pillow") == 0


@pytest.mark.parametrize("dtype", ["uint16", "int32"])
@pytest.mark.parametrize("mode", LIBRARIES["pillow"].modes)
def test_wide_integers_are_near_those_of_pillow(mode: str, dtype: str) -> None:
    """Pillow rounds and clamps sums in f64 after each axis; ours are f32, so some are rounded to the integer beside.

    All of Pillow's are within the limits of the reference. Numbers of s32 go to 2^20 here: f32 holds no larger ones
    exactly.
    """
    library = by_pillow(mode)
    for x, sizes in images("uint16", 14):
        wide = x.astype(dtype) * (16 if dtype == "int32" else 1)
        theirs = np.stack([library(image, sizes) for image in wide]).astype(np.int64)
        asked = {"axes": (1, 2), "mode": mode, "like": "pillow"}
        low, high = rs.reference.resample_limits(wide, sizes, **asked)
        assert ((low <= theirs) & (theirs <= high)).all()
        most = 0 if mode == "nearest" else 2 if dtype == "uint16" else 4
        assert np.abs(ours(wide, sizes, mode=mode, like="pillow") - theirs).max() <= most


@pytest.mark.parametrize("mode", LIBRARIES["pillow"].modes)
def test_floats_are_near_those_of_pillow(mode: str) -> None:
    """Its sums are f64, rounded to f32 after each axis: twice 2^-24 of what filters of lobes make at most 1.6 times."""
    slack = 0 if mode == "nearest" else 2 * 1.6**2 * 2.0**-24
    require_bounded(by_pillow(mode), "float32", 2, slack=slack, mode=mode, like="pillow")


# --- OpenCV


def by_opencv(mode: str) -> Library:
    cv2: Any = judge("cv2", "5")
    flag = getattr(cv2, f"INTER_{mode.upper()}")
    return lambda x, sizes: cv2.resize(x, sizes[::-1], interpolation=flag).reshape(*sizes, x.shape[2])


OPENCV_BYTES = {"cubic": 1, "area": 1}
"""The largest difference: its vectors sum a cubic in f32, and ours an area in another order."""


@pytest.mark.parametrize("mode", LIBRARIES["opencv"].modes)
def test_bytes_are_those_of_opencv(mode: str) -> None:
    assert farthest(by_opencv(mode), "uint8", 3, mode=mode, like="opencv") <= OPENCV_BYTES.get(mode, 0)


@pytest.mark.parametrize("dtype", ["uint16", "int16"])
@pytest.mark.parametrize("mode", LIBRARIES["opencv"].modes)
def test_other_integers_are_near_those_of_opencv(mode: str, dtype: str) -> None:
    most = {"nearest": 0, "nearest_exact": 0, "cubic": 4}.get(mode, 1)  # cubic is Intel's code, in other weights
    assert farthest(by_opencv(mode), dtype, 4, mode=mode, like="opencv") <= most


@pytest.mark.parametrize("mode", LIBRARIES["opencv"].modes)
def test_floats_are_near_those_of_opencv_in_f64(mode: str) -> None:
    """By its own code: IPP, which some builds have, reads at other places."""
    library = by_opencv(mode)
    import cv2

    uses_ipp = cv2.ipp.useIPP()
    cv2.ipp.setUseIPP(False)
    try:
        require_bounded(lambda x, sizes: library(x.astype(np.float64), sizes), "float32", 5, mode=mode, like="opencv")
    finally:
        cv2.ipp.setUseIPP(uses_ipp)


# --- torch


def by_torch(mode: str, **options: Any) -> Library:
    torch: Any = judge("torch")
    torch.set_num_threads(1)

    def library(x: Array, sizes: Sizes) -> Array:
        if x.dtype != np.uint8 and sizes[1] == 1 < sizes[0]:  # where torch's antialiased floats repeat their first row
            return library(x.transpose(1, 0, 2), sizes[::-1]).transpose(1, 0, 2)
        planes = torch.from_numpy(np.ascontiguousarray(x.transpose(2, 0, 1)))[None]
        result = torch.nn.functional.interpolate(planes, sizes, mode=mode, **options)
        return np.ascontiguousarray(result[0].numpy().transpose(1, 2, 0))

    return library


TORCH_SUMS = [*product(("bilinear", "bicubic"), (False, True), (False, True))]


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_is_that_of_torch(mode: str, dtype: str) -> None:
    assert farthest(by_torch(mode), dtype, 6, mode=mode, like="torch") == 0


@pytest.mark.parametrize(("mode", "antialias", "align"), TORCH_SUMS)
def test_bytes_are_those_of_torch(mode: str, antialias: bool, align: bool) -> None:
    library = by_torch(mode, antialias=antialias, align_corners=align)
    coordinates = "align_corners" if align else "half_pixel"
    assert farthest(library, "uint8", 7, mode=mode, like="torch", antialias=antialias, coordinates=coordinates) == 0


@pytest.mark.parametrize("factors", [(0.5, 1.7), (2.3, 0.3), (1.01, 2.02)])
@pytest.mark.parametrize(
    ("mode", "antialias"), [("nearest", False), ("nearest-exact", False), ("bilinear", False), ("bicubic", True)]
)
def test_bytes_by_scale_factors_are_those_of_torch(mode: str, antialias: bool, factors: tuple[float, float]) -> None:
    torch: Any = judge("torch")
    rng = np.random.default_rng(8)
    for _ in range(30):
        x = pixels(rng, "uint8", (1, 3, *map(int, rng.integers(5, 100, 2))))
        options = {"antialias": True} if antialias else {}
        theirs = torch.nn.functional.interpolate(torch.from_numpy(x), scale_factor=factors, mode=mode, **options)
        mine = rs.resample(x, scales=factors, mode=mode, like="torch", **options).numpy()
        assert np.array_equal(mine, theirs.numpy()), x.shape


@pytest.mark.parametrize(
    ("mode", "antialias"), [("bilinear", False), ("bilinear", True), ("bicubic", True), ("area", False)]
)
def test_floats_are_near_those_of_torch_in_f64(mode: str, antialias: bool) -> None:
    library = by_torch(mode, **({"antialias": antialias} if mode != "area" else {}))
    options = {"antialias": True} if antialias else {}
    require_bounded(
        lambda x, sizes: library(x.astype(np.float64), sizes), "float32", 9, mode=mode, like="torch", **options
    )


def test_torch_copies_an_axis_that_keeps_its_size() -> None:
    """Whatever its scale: 2 by 1.25 are read where they are, not at 0 and 0.7; but in "bicubic" at -0.1 and 0.7."""
    torch: Any = judge("torch")
    row = np.float32([[[0, 10]]])
    assert rs.resample(row, scales=(1.25,), mode="linear", like="torch").numpy().tolist() == [[[0.0, 10.0]]]
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    factors = (1.1, 1.1)
    for mode, antialias in (("bilinear", False), ("bilinear", True), ("bicubic", True)):
        mine = rs.resample(x, scales=factors, mode=mode, like="torch", antialias=antialias)
        assert np.array_equal(mine.numpy(), x), (mode, antialias)
    mine = rs.resample(x, scales=factors, mode="bicubic", like="torch").numpy()
    theirs = torch.nn.functional.interpolate(torch.from_numpy(x), scale_factor=factors, mode="bicubic").numpy()
    assert np.abs(mine - theirs).max() < 1e-5 < np.abs(mine - x).max()


TORCH_BY_SCALES = [
    *(("linear", 1, aligned) for aligned in (None, "align_corners")),
    *(("bilinear", 2, option) for option in (None, "align_corners", "antialias")),
    *(("bicubic", 2, option) for option in (None, "align_corners", "antialias")),
    *(("trilinear", 3, aligned) for aligned in (None, "align_corners")),
]


@pytest.mark.parametrize(("mode", "axes", "option"), TORCH_BY_SCALES)
def test_floats_by_scale_factors_are_near_those_of_torch_in_f64(mode: str, axes: int, option: str | None) -> None:
    """Every combination of an axis that keeps its size, one that grows and one that shrinks, and f16 and bf16.

    torch's gradients are the transpose of its results, unless it copies an axis with antialias, or all in "bicubic".
    """
    torch: Any = judge("torch")
    rng = np.random.default_rng(13)
    theirs: dict[str, Any] = {} if option is None else {option: True}
    asked: dict[str, Any] = {"coordinates": option} if option == "align_corners" else dict(theirs)
    asked |= {"mode": mode, "like": "torch", "axes": range(2, axes + 2)}
    for factors in product((1.1, 1.7, 0.6), repeat=axes):
        x = rng.random((1, 2, *(4, 5, 6)[:axes]), np.float32)
        exact = torch.from_numpy(x.astype(np.float64)).requires_grad_()
        result = torch.nn.functional.interpolate(exact, scale_factor=factors, mode=mode, **theirs)
        mine = rs.resample(x, scales=factors, **asked).numpy()
        bound = rs.reference.resample_bound(x, scales=factors, **asked)
        assert (np.abs(mine - result.detach().numpy()) <= bound).all(), factors
        for dtype, unit in (("f16", 2.0**-11), ("bf16", 2.0**-8)):
            narrow = rs.reorder(x, dtype=dtype)
            rounded = rs.reference.resample(narrow.numpy().astype(np.float32), scales=factors, **asked)
            of_narrow = rs.resample(narrow, scales=factors, **asked).numpy().astype(np.float32)
            assert np.abs(of_narrow - rounded).max() <= 2 * unit, (dtype, factors)
        kept = [new == old for old, new in zip(x.shape[2:], mine.shape[2:], strict=True)]
        if (option == "antialias" and any(kept)) or (mode == "bicubic" and option is None and all(kept)):
            continue
        grad = rng.random(mine.shape, np.float32)
        result.backward(torch.from_numpy(grad.astype(np.float64)))
        back = rs.resample_backward(grad, x.shape[2:], scales=factors, **asked).numpy()
        assert np.abs(back - exact.grad.numpy()).max() < 1e-5, factors


# --- scikit-image


@pytest.mark.parametrize(("mode", "antialias"), [("nearest", False), ("bilinear", False), ("bilinear", True)])
def test_floats_are_near_those_of_scikit_image(mode: str, antialias: bool) -> None:
    transform: Any = judge("skimage.transform")

    def library(x: Array, sizes: Sizes) -> Array:
        order = ("nearest", "bilinear").index(mode)
        options = {"order": order, "anti_aliasing": antialias, "preserve_range": True}
        result: Array = transform.resize(x.astype(np.float64), sizes, **options)
        return result

    options = {} if mode == "nearest" else {"antialias": antialias}
    require_bounded(library, "float32", 10, mode=mode, like="scikit-image", **options)


def test_results_stay_in_the_range_of_the_image_as_in_scikit_image() -> None:
    """Rounded sums of ones came to 1 + 2^-22. Each call clips to the range of its own source, without what is NaN."""
    transform: Any = judge("skimage.transform")
    ones = rs.resample(np.ones((7, 7), np.float32), (3, 3), like="scikit-image").numpy()
    assert np.array_equal(ones, np.ones((3, 3)))
    rng = np.random.default_rng(14)
    for number in range(60):
        old, new = (tuple(map(int, rng.integers(1, 40, 2))) for _ in range(2))
        value = np.float32(rng.random() * 10.0 ** rng.integers(-5, 5))
        kinds = np.ones(old), rng.random(old), rng.integers(0, 2, old) * 4 - 3.0
        x = value * kinds[number % 3].astype(np.float32)
        theirs = transform.resize(x, new, order=1, anti_aliasing=True)
        if number % 5 == 0 and x.size > 4:
            x[0, 0] = np.nan
        mine = rs.resample(x, new, like="scikit-image").numpy()
        reference = rs.reference.resample(x, new, like="scikit-image")
        boxed = rs.crop_resize(x, [(0, 0, *old)], new, like="scikit-image", antialias=True).numpy()[0]
        assert np.array_equal(boxed, mine, equal_nan=True), (old, new)
        for made in (mine, reference):
            there = made[~np.isnan(made)]
            assert (np.nanmin(x) <= there).all(), (old, new)
            assert (there <= np.nanmax(x)).all(), (old, new)
        if not np.isnan(x).any():
            assert np.abs(mine - theirs).max() <= 2.0**-18 * np.abs(x).max(), (old, new)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float16"])
def test_sums_are_clipped_before_the_arithmetic(dtype: str) -> None:
    """Of tiles, views and results of any layout and type: a constant image is that constant, and then converted."""
    asked: dict[str, Any] = {"axes": (0, 1), "like": "scikit-image"}
    x = np.full((13, 11, 3), 201, dtype)
    plain = rs.resample(x, (5, 4), **asked, dtype="f32").numpy()
    assert np.array_equal(plain, np.full((5, 4, 3), 201))
    device = rs.asarray(np.pad(x, [(2, 2), (1, 1), (0, 0)]))
    view = device[2:-2, 1:-1][::-1]
    assert np.array_equal(rs.resample(view, (5, 4), **asked, dtype="f32").numpy(), plain)
    tiled = rs.reorder(view, f"{device.dtype}[13,11,3]{{2,1,0:T(4,4,4)}}")
    planes = rs.resample(tiled, (5, 4), **asked, dtype="f32", layout="HWC->CHW").numpy()
    assert np.array_equal(planes, plain.transpose(2, 0, 1))
    steps = {"src_scale": 0.5, "post_ops": [("linear", 2, 1)], "dst_scale": 4}
    assert np.array_equal(rs.resample(x, (5, 4), **asked, dtype="f32", **steps).numpy(), (plain + 1) / 4)
    out = rs.asarray(np.ones((5, 4, 3), np.float32))
    assert np.array_equal(rs.resample(x, (5, 4), **asked, out=out, sum_scale=2).numpy(), plain + 2)
    plan = rs.plan_resample(rs.asarray(x).desc, None, (5, 4), **asked)
    for value in (7, 99):
        assert np.array_equal(plan(np.full_like(x, value)).numpy(), np.full((5, 4, 3), value))
    memory = rs.asarray(np.concatenate([x, x]))
    assert np.array_equal(rs.resample(memory[:13], (13, 11), **asked, out=memory[13:]).numpy(), x)


def test_parts_are_not_clipped_and_numpy_clips_them() -> None:
    """What has only a part of an image, such as a chunk of a stream, does not know its range."""
    x = np.random.default_rng(15).integers(0, 2, (60, 70)).astype(np.float32) * np.float32(0.7)
    whole = rs.resample(x, (25, 31), like="scikit-image").numpy()
    chain = rs.Chain().resample((25, 31), like="scikit-image")
    streamed = np.empty((25, 31), np.float32)
    rs.stream(x, streamed, chain, chunks=(10, 10))
    assert np.array_equal(np.clip(streamed, x.min(), x.max()), whole)
    window = slice(2, 20), slice(9, 31)
    assert np.array_equal(rs.resample(x, (25, 31), like="scikit-image", window=window).numpy(), whole[window])
    read = rs.source_window(x.shape, (25, 31), like="scikit-image", window=window)
    part = rs.resample(x[read], (25, 31), like="scikit-image", window=window, source_sizes=x.shape).numpy()
    assert np.array_equal(np.clip(part, x.min(), x.max()), whole[window])


# --- libraries that are words of ours


@pytest.mark.parametrize(
    ("like", "mode", "words"),
    [
        ("onnx", "nearest", {"mode": "nearest", "nearest": "round_prefer_floor"}),
        ("onnx", None, {"mode": "nearest", "nearest": "round_prefer_floor"}),
        ("onnx", "cubic", {"mode": "cubic"}),
        ("onednn", None, {"mode": "linear"}),
        ("directml", "nearest", {"mode": "nearest", "nearest": "floor"}),
        ("directml", "linear", {"mode": "linear"}),
        ("tensorflow", None, {"mode": "linear"}),
        ("tensorflow", "nearest", {"mode": "nearest", "coordinates": "tf_half_pixel_for_nn", "nearest": "floor"}),
        ("tensorflow", "bicubic", {"mode": "cubic", "cubic_a": -0.5, "exclude_outside": True}),
        ("tensorflow", "area", {"mode": "area_weighted"}),
        ("torch", "bicubic", {"mode": "cubic"}),
        ("torch", "INTER_BICUBIC", {"mode": "cubic"}),
        ("torch", "trilinear", {"mode": "linear"}),
    ],
)
def test_other_libraries_are_words_of_ours(like: str, mode: str | None, words: dict[str, Any]) -> None:
    x = pixels(np.random.default_rng(11), "float32", (3, 11, 14))
    assert np.array_equal(
        rs.resample(x, (7, 20), mode=mode, like=like).numpy(), rs.resample(x, (7, 20), **words).numpy()
    )


# --- whatever is asked for beside it

PROFILES = [
    ("pillow", "bicubic", {}),
    ("pillow", "nearest", {}),
    ("opencv", "linear", {}),
    ("opencv", "linear_exact", {}),
    ("opencv", "area", {}),
    ("opencv", "lanczos4", {}),
    ("torch", "bilinear", {"antialias": True}),
    ("torch", "bicubic", {}),
    ("scikit-image", "bilinear", {"antialias": True}),
]


@pytest.fixture(scope="module")
def image() -> Array:
    return pixels(np.random.default_rng(12), "uint8", (37, 50, 3))


@pytest.mark.parametrize(("like", "mode", "options"), PROFILES)
@pytest.mark.parametrize("sizes", [(21, 64), (90, 13), (37, 25), (12, 10)])
def test_a_window_is_what_the_whole_is_there(
    like: str, mode: str, options: dict[str, Any], sizes: Sizes, image: Array
) -> None:
    asked = {"axes": (0, 1), "mode": mode, "like": like, **options}
    whole = rs.resample(image, sizes, **asked).numpy()
    window = slice(3, sizes[0] - 2), slice(sizes[1] // 2, sizes[1])
    assert np.array_equal(rs.resample(image, sizes, **asked, window=window).numpy(), whole[window])
    read = rs.source_window(image.shape, sizes, **asked, window=window, source_dtype="u8")
    part = rs.resample(image[read], sizes, **asked, window=window, source_sizes=image.shape).numpy()
    assert np.array_equal(part, whole[window])


@pytest.mark.parametrize("like", ["pillow", "opencv"])
def test_axes_in_any_order_are_those_of_the_library(like: str) -> None:
    """Bytes of every mode, of images with the columns named first, and with channels between columns and rows.

    Some lose more than twice as many rows as columns, which Pillow then sums first, and some the other way round.
    """
    by = {"pillow": by_pillow, "opencv": by_opencv}[like]
    rng = np.random.default_rng(15)
    for mode in LIBRARIES[like].modes:
        most = OPENCV_BYTES.get(mode, 0) if like == "opencv" else 0
        for old, new in (((90, 40), (17, 31)), ((40, 90), (31, 17)), ((40, 60), (20, 30)), ((9, 50), (21, 13))):
            x = pixels(rng, "uint8", (*old, 3), of_two=old[0] == 90)
            theirs = by(mode)(x, new).astype(int)
            for source, axes in ((x, (1, 0)), (x.transpose(0, 2, 1), (2, 0))):
                made = rs.resample(source, new[::-1], axes=axes, mode=mode, like=like).numpy()
                in_order = np.moveaxis(made, axes, (1, 0)).astype(int)
                if (like, mode) != ("opencv", "area") or axes == (1, 0):  # which looks at the channels of a pixel
                    assert np.abs(in_order - theirs).max() <= most, (mode, old, new, axes)


@pytest.mark.parametrize(("like", "mode", "options"), PROFILES[:-1])
def test_other_types_are_made_of_the_library_s_bytes(
    like: str, mode: str, options: dict[str, Any], image: Array
) -> None:
    asked = {"axes": (0, 1), "mode": mode, "like": like, **options}
    made = rs.resample(image, (20, 31), **asked).numpy()
    as_floats = rs.resample(image, (20, 31), **asked, dtype="f32").numpy()
    assert as_floats.dtype == np.float32
    assert np.array_equal(as_floats, made)
    planes = rs.resample(image, (20, 31), **asked, dtype="f32", dst_scale=255, layout="HWC->CHW").numpy()
    assert np.array_equal(planes, (made.astype(np.float32) / np.float32(255)).transpose(2, 0, 1))
    out = rs.empty("u8[20,31,3]")
    assert rs.resample(image, (20, 31), **asked, rounding="truncate", out=out) is out
    assert np.array_equal(out.numpy(), made)


@pytest.mark.parametrize(("like", "mode", "options"), PROFILES)
def test_where_the_source_lies_changes_nothing(like: str, mode: str, options: dict[str, Any], image: Array) -> None:
    asked = {"axes": (0, 1), "mode": mode, "like": like, **options}
    made = rs.resample(np.ascontiguousarray(image[::-1, 5:45]), (20, 31), **asked).numpy()
    source = rs.asarray(image)
    assert np.array_equal(rs.resample(source[::-1, 5:45], (20, 31), **asked).numpy(), made)
    tiled = rs.reorder(source[::-1, 5:45], "u8[37,40,3]{2,1,0:T(4,4,4)}")
    assert np.array_equal(rs.resample(tiled, (20, 31), **asked, layout=None).numpy(), made)
    planes = rs.reorder(source[::-1, 5:45], "HWC->CHW")
    turned = rs.resample(planes, (20, 31), **(asked | {"axes": (1, 2)})).numpy()
    if (like, mode) != ("opencv", "area"):  # which looks at the channels of a pixel
        assert np.array_equal(turned.transpose(1, 2, 0), made)


def test_rows_of_more_taps_than_a_dispatch_sums() -> None:
    """5000 taps an axis, in parts of 4096."""
    x = pixels(np.random.default_rng(13), "uint8", (3, 5000, 2))
    for mode in ("bicubic", "box"):
        assert np.array_equal(ours(x, (2, 1), mode=mode, like="pillow"), by_pillow(mode)(x, (2, 1)))
    assert np.array_equal(ours(x, (3, 1), mode="area", like="opencv"), by_opencv("area")(x, (3, 1)))
    assert np.array_equal(
        ours(x, (2, 1), mode="bilinear", like="torch", antialias=True),
        by_torch("bilinear", antialias=True)(np.repeat(x, 2, axis=2), (2, 1))[..., ::2],
    )


def test_parts_of_a_row_are_not_rounded() -> None:
    """Of 5000 taps the first 4096 weigh more than 1, and the others less than 0, which u16 does not hold."""
    grey = np.full((3, 5000, 1), 40000, np.uint16)
    made = ours(grey, (2, 2), mode="lanczos", like="pillow").astype(int)
    assert np.abs(made - 40000).max() <= 2  # of f32 sums


def test_sums_of_cells_that_no_s32_holds() -> None:
    """256 x 256 of 65535 are 2^32: the mean of such a cell is summed in floats."""
    x = np.full((256, 256, 1), 65535, np.uint16)
    assert ours(x, (1, 1), mode="area", like="opencv").item() == 65535


@pytest.mark.parametrize("like", ["pillow", "opencv"])
@pytest.mark.parametrize(("old", "new"), [((3, 0), (2, 0)), ((4, 5), (0, 3))])
def test_axes_without_elements_are_two_too(like: str, old: Sizes, new: Sizes) -> None:
    with pytest.raises(DescriptorError, match=f"like '{like}' resizes two axes, not 3"):
        rs.resample(np.zeros((2, *old), np.uint8), (2, *new), like=like)


@pytest.mark.parametrize("like", LIBRARIES)
@pytest.mark.parametrize(("old", "new"), [((3, 0), (2, 0)), ((0, 0), (0, 0)), ((4, 5), (0, 3))])
def test_axes_without_elements(like: str, old: Sizes, new: Sizes) -> None:
    x = np.zeros((2, *old), np.uint8)
    assert rs.resample(x, new, like=like).sizes == (2, *new)
    with pytest.raises(DescriptorError, match="has no elements to make 2 of"):
        rs.resample(np.zeros((0, 3), np.uint8), (2, 2), like=like)


def test_what_is_remembered_is_of_its_library(image: Array) -> None:
    """Calls that differ in nothing else."""
    made, again = (
        [ours(image, (20, 31), mode="nearest", like=like).tobytes() for like in (None, *LIBRARIES) for _ in "12"]
        for _ in "12"
    )
    assert made == again
    assert len({*made}) > 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"like": "pil"}, "like 'pil' is not one of 'torch', 'onnx', 'onednn', 'directml', 'tensorflow'"),
        ({"like": 3}, "like 3 is not one of"),
        ({"like": "pillow", "mode": "lanczos4"}, "mode 'lanczos4' of like 'pillow' is not one of 'nearest', 'box'"),
        (
            {"like": "opencv", "mode": 7},
            "mode 7 of like 'opencv' is not one of 0 (nearest), 1 (linear), 2 (cubic), 3 (area)",
        ),
        ({"like": "opencv", "mode": True}, "mode True of like 'opencv' is not one of 'nearest', 'near"),
        (
            {"like": "pillow", "mode": -1},
            "mode -1 of like 'pillow' is not one of 0 (nearest), 1 (lanczos), 2 (bilinear)",
        ),
        (
            {"like": "opencv", "mode": Resampling.BICUBIC},
            "mode <Resampling.BICUBIC: 3> of like 'opencv' is not one of 'nearest', 'nearest_exact'",
        ),
        ({"like": "torch", "mode": 2}, "mode 2 of like 'torch' is not one of 'nearest', 'nearest-exact', 'linear'"),
        ({"mode": Resampling.BICUBIC}, "; the constants of a library go with like='pillow' or like='opencv'"),
        ({"like": "onnx", "mode": "linear", "roi": (0, 0, 1, 1)}, "; to resize a part of the source, slice it, for u8"),
        (
            {"like": "pillow", "antialias": False},
            "antialias False contradicts like 'pillow', which has True in mode 'bicubic', for u8",
        ),
        (
            {"like": "scikit-image", "mode": "nearest", "antialias": True},
            "antialias True contradicts like 'scikit-image', which has False in mode 'nearest'",
        ),
        ({"like": "pillow", "cubic_a": -0.75}, "cubic_a -0.75 contradicts like 'pillow', which has -0.5"),
        ({"like": "pillow", "sizes": (3,)}, "like 'pillow' resizes two axes, not 1, for u8"),
        (
            {"like": "torch", "mode": "bilinear", "coordinates": "asymmetric"},
            "coordinates 'asymmetric' contradicts like 'torch', which has 'half_pixel' and 'align_corners', for u8",
        ),
        ({"like": "Cv2"}, "it is 'opencv' here, for u8"),
        ({"like": "pillow", "roi": np.zeros(4)}, "contradicts like 'pillow', which has none in mode 'bicubic'"),
    ],
)
def test_what_a_library_does_not_do_is_refused(arguments: dict[str, Any], message: str, image: Array) -> None:
    with pytest.raises(DescriptorError) as refused:
        rs.resample(image, **({"sizes": (4, 5)} | arguments))
    assert message in str(refused.value)


@pytest.mark.parametrize("like", ["pillow", "opencv"])
def test_a_mode_may_be_the_library_s_own_constant(like: str, image: Array) -> None:
    if like == "pillow":
        theirs: Any = judge("PIL.Image").Resampling
        constants = {word: getattr(theirs, word.upper()) for word in LIBRARIES[like].modes}
    else:
        theirs = judge("cv2")
        constants = {word: getattr(theirs, f"INTER_{word.upper()}") for word in LIBRARIES[like].modes}
    for word, constant in constants.items():
        expected = ours(image, (9, 7), mode=word, like=like)
        for given in (constant, int(constant), np.int64(constant), StrEnum("Words", {"ONE": word}).ONE):
            assert np.array_equal(ours(image, (9, 7), mode=given, like=like), expected), (word, given)
    window = {"sizes": (9, 7), "axes": (0, 1), "window": (slice(2, 4), None), "like": like}
    word, constant = next(iter(constants.items()))
    assert rs.source_window(image.shape, mode=constant, **window) == rs.source_window(image.shape, mode=word, **window)


def test_what_is_free_beside_a_mode_is_an_argument_of_a_choice() -> None:
    free = {name for library in LIBRARIES.values() for mode in library.modes.values() for name in mode.free}
    assert free <= {*DEFAULTS}


@pytest.mark.parametrize("like", LIBRARIES)
def test_gradients_are_transposes(like: str) -> None:
    """Of every mode: the matrix of the sums, by a result for each element of a source, is that of its gradients."""
    old, new = (9, 14), (6, 21)
    sources, results = (np.eye(sizes[0] * sizes[1], dtype=np.float32).reshape(-1, *sizes) for sizes in (old, new))
    for name, mode in LIBRARIES[like].modes.items():
        for antialias in (None, True) if mode.antialiased is not None else (None,):
            asked: dict[str, Any] = {"mode": name, "like": like, "antialias": antialias}
            there = rs.resample(sources, new, **asked).numpy().reshape(len(sources), -1)
            back = rs.resample_backward(results, old, **asked).numpy()
            assert np.abs(there.T - back.reshape(len(results), -1)).max() < 1e-6, asked  # weights are at most 1.6
            low, high = rs.reference.resample_backward_limits(results, old, **asked)
            assert ((low <= back) & (back <= high)).all(), asked


def test_gradients_of_what_a_library_has_not() -> None:
    grad = np.ones((4, 5), np.float32)
    with pytest.raises(DescriptorError, match=r"cubic_a -0\.75 contradicts like 'pillow', which has -0\.5"):
        rs.resample_backward(grad, (8, 9), like="pillow", cubic_a=-0.75)
    with pytest.raises(DescriptorError, match="like 'gimp' is not one of"):
        rs.resample_backward(grad, (8, 9), like="gimp")
    with pytest.raises(UnsupportedError, match="grad must be f32, f16, bf16, not u8"):
        rs.resample_backward(grad.astype(np.uint8), (8, 9), like="opencv")


def test_what_rows_keep_of_memory_has_a_bound() -> None:
    """Seven axes whose rows are 11 million bytes each: those of the last ones stay, the others are made again."""
    calls = []

    def rule(*arguments: Any) -> Any:
        calls.append(arguments)
        return opencv.linear(*arguments)

    axes = [library_rows(rule, 1000, size, 1000 / size, opencv.ROWS, opencv.FLOATS) for size in range(700_000, 700_007)]
    firsts = [axis.part(axis.size - 1, 1).first().item() for axis in axes]
    assert firsts == [998] * len(axes)
    cached = {**rows_module._cache._old, **rows_module._cache._young}
    assert sum(taps.weight for taps in cached.values()) <= rows_module._MAX_CACHED_BYTES + 12_000_000, (
        "one more, at most"
    )
    before = len(calls)
    assert axes[-1].first().size == axes[-1].size
    assert len(calls) == before, "it stayed"
    assert axes[0].first().size == axes[0].size
    assert len(calls) > before, "it is made again"


def test_what_says_the_same_as_a_library_is_no_contradiction(image: Array) -> None:
    for mode, said in (("bilinear", {"antialias": True}), ("bicubic", {"cubic_a": -0.5})):
        plain = ours(image, (9, 9), mode=mode, like="pillow")
        assert np.array_equal(ours(image, (9, 9), mode=mode, like="pillow", **said), plain)


def test_the_reference_has_the_libraries_and_modes_that_there_are(image: Array) -> None:
    for like, library in LIBRARIES.items():
        for mode in (None, *library.modes):
            made, right = (
                resample(image, (9, 9), axes=(0, 1), mode=mode, like=like)
                for resample in (rs.resample, rs.reference.resample)
            )
            assert np.abs(made.numpy().astype(int) - right.astype(int)).max() <= 1, (like, mode)


def test_channels_are_not_taken_for_columns() -> None:
    photo = np.zeros((9, 8, 3), np.uint8)
    for like in ("pillow", "opencv", "scikit-image"):
        with pytest.raises(DescriptorError, match=r"the last axes of x look .* say axes=\(0, 1\)"):
            rs.resample(photo, (4, 5), like=like)
        assert rs.resample(photo, (4, 5), axes=(0, 1), like=like).sizes == (4, 5, 3)
        with pytest.raises(DescriptorError, match=r"the last axes of grad look .* say axes=\(0, 1\)"):
            rs.resample_backward(photo.astype(np.float32), (4, 5), like=like)
        assert rs.resample(np.zeros((2, 3, 9, 8), np.uint8), (4, 5), like=like).sizes == (2, 3, 4, 5)


def test_scikit_image_is_antialiased_unless_told_otherwise() -> None:
    image = np.random.default_rng(0).random((9, 8), np.float32)
    default, yes, no = (
        rs.resample(image, (4, 5), like="scikit-image", **options).numpy()
        for options in ({}, {"antialias": True}, {"antialias": False})
    )
    assert np.array_equal(default, yes)
    assert not np.array_equal(default, no)


def test_scales_beside_sizes_are_rounded_as_opencv_does() -> None:
    image = np.zeros((100, 100), np.uint8)
    assert rs.resample(image, (29, 29), (0.29, 0.29), like="opencv").sizes == (29, 29)
    with pytest.raises(DescriptorError, match=r"100 \* 0\.29 is 29, not 28"):
        rs.resample(image, (28, 28), (0.29, 0.29), like="opencv")
