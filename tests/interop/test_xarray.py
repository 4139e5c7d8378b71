"""xarray keeps tensors, ``.values`` brings them home; rs.xarray.resample keeps names, and resamples coordinates."""

from __future__ import annotations

import os
import re
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import interp1d
from support.judges import judge
from support.positions import position
from support.process import captured
from support.tensors import Costs, assert_equal

import restride as rs
from restride.request import COORDINATES, NEAREST_RULES

xr, pd = judge("xarray"), judge("pandas")

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "arrays.md").read_text(encoding="utf-8")

# With the dispatches that each may take.
KEPT = {
    "isel backwards": (lambda x: x.isel(w=slice(None, None, -2)), 0),
    "isel of one": (lambda x: x.isel(b=1, h=-1), 0),
    "sel": (lambda x: x.sel(h=20), 0),
    "sel from to": (lambda x: x.sel(h=slice(10, 20)), 0),
    "transpose": (lambda x: x.transpose("w", "b", "h"), 0),
    "expand_dims": (lambda x: x.expand_dims("t"), 0),
    "squeeze": (lambda x: x.isel(b=slice(0, 1)).squeeze(), 0),
    "broadcast_like": (lambda x: x.isel(b=0).broadcast_like(x), 0),
    "stack": (lambda x: x.stack(z=("h", "w")), 0),
    "stack of others": (lambda x: x.stack(z=("b", "w")), 1),
    "construct": (lambda x: x.coarsen(w=2).construct(w=("w", "q")), 0),
    "roll": (lambda x: x.roll(w=1), 2),
    "concat": (lambda x: xr.concat([x, x], dim="b"), 2),
    "copy": (lambda x: x.copy(), 1),
    "pad": (lambda x: x.pad(w=(1, 2), mode="edge"), 1),
    "pad by a value": (lambda x: x.pad(w=(1, 2), constant_values=7), 1),
    "shift": (lambda x: x.shift(w=1, fill_value=7), 2),
    "==": (lambda x: x == x.isel(b=0), 1),
    "apply_ufunc": (lambda x: xr.apply_ufunc(lambda each: each[..., ::-1], x), 0),
}


def labelled(data):
    return xr.DataArray(data, dims=("b", "h", "w"), coords={"h": [10, 20, 30]})


@pytest.mark.parametrize("name", KEPT)
def test_the_tensor_is_kept(name, device):
    change, most = KEPT[name]
    array = labelled(rs.asarray(X, device=device))
    costs = Costs(device)
    result, expected = change(array), change(labelled(X))
    assert isinstance(result.data, rs.Tensor)
    assert result.data.device is device
    assert costs().dispatches <= most
    assert result.dims == expected.dims
    assert_equal(result.values, expected.values)


OWN_TESTS = {
    "test_array_api": "broadcast concat indexing properties reorganizing_operation stack unstack",
    "test_duck_array_wrapping::TestTopLevelMethods": "concat full_like",
    "test_duck_array_wrapping::TestDataArrayMethods": "loc isel sel squeeze astype T transpose stack unstack roll"
    " broadcast_like",
}
"""xarray's own tests of duck arrays, but for those that compute with the elements."""


@pytest.mark.usefixtures("vulkan_device")
def test_xarrays_own_tests_of_duck_arrays_pass():
    names = [f"xarray.tests.{place}::test_{name}" for place, names in OWN_TESTS.items() for name in names.split()]
    options = f"-p support.xarray_shim -p no:cacheprovider -c {os.devnull} -W ignore -q --pyargs".split()
    done = captured([sys.executable, "-m", "pytest", *options, *names], cwd=Path(__file__).resolve().parents[1])
    assert f"{len(names)} passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.usefixtures("vulkan_device")
def test_the_examples_of_the_page_run():
    examples = [text for text in re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL) if "import xarray" in text]
    assert len(examples) == 3
    for example in examples:
        exec(compile(example, "docs/arrays.md, xarray", "exec"), {})


# rs.xarray.resample

RULES = [*COORDINATES, "input_offsets"]
IMAGE = np.random.default_rng(3).integers(0, 256, (3, 12, 9)).astype(np.uint8)
TIMES = np.datetime64("2024-02-28", "ns") + np.arange(12) * np.timedelta64(1, "D")


def photo(data=IMAGE):
    """Every kind of coordinate: even, uneven, times, of another dimension, of two dimensions, words, a scalar."""
    coords = {
        "band": ("band", ["r", "g", "b"], {"long_name": "colour"}),
        "y": ("y", np.arange(100, 220, 10), {"units": "m"}),
        "time": ("y", TIMES),
        "x": ("x", np.linspace(-1, 1, 9, dtype=np.float32) ** 3),
        "gain": ("band", [1.0, 2.0, 3.0]),
        "place": (("y", "x"), np.zeros((12, 9))),
        "name": ("x", list("abcdefghi")),
        "run": 7,
    }
    array = xr.DataArray(data, coords, ("band", "y", "x"), "photo", {"sensor": "A"})
    array.gain.encoding["dtype"] = "float32"
    return array


def resampled(array, *arguments, **named):
    """Without the coordinates that cannot be."""
    return rs.xarray.resample(array.drop_vars(("place", "name")), *arguments, **named)


def choice_of(rule):
    if rule == "input_offsets":
        return {"input_offsets": (0.25,), "output_offsets": (-0.25,)}
    return {"coordinates": rule, **({"roi": (0.25, 0.75)} if rule == "tf_crop_and_resize" else {})}


def source_position(rule, o, i, n):
    """Where output o reads."""
    if rule == "input_offsets":
        return float((o + 0.25) * i / n - 0.25)
    return float(position(rule, o, i, n))


@pytest.mark.parametrize("mode", [{"mode": "area"}, {"mode": "cubic", "antialias": True}, {"like": "pillow"}])
def test_numpy_tensors_and_dask_have_the_bits_of_one_call(mode, device):
    sizes, dims = {"x": 5, "y": 7}, ("band", "y", "x")
    image = IMAGE[0] if "like" in mode else IMAGE
    expected = rs.resample(rs.asarray(image, device=device), (5, 7), axes=(-1, -2), **mode).numpy()
    of_tensor = rs.xarray.resample(
        xr.DataArray(rs.asarray(image, device=device), dims=dims[-image.ndim :]), sizes, **mode
    )
    of_numpy = rs.xarray.resample(xr.DataArray(image, dims=dims[-image.ndim :]), sizes, **mode)
    assert isinstance(of_tensor.data, rs.Tensor)
    assert of_tensor.data.device is device
    assert isinstance(of_numpy.data, np.ndarray)
    assert of_numpy.dims == of_tensor.dims == dims[-image.ndim :]
    assert_equal(of_tensor.values, expected)
    assert_equal(of_numpy.values, expected)
    da = judge("dask.array")
    lazy = rs.xarray.resample(xr.DataArray(da.from_array(image, chunks=4), dims=dims[-image.ndim :]), sizes, **mode)
    assert isinstance(lazy.data, da.Array)
    assert_equal(lazy.values, expected)


@pytest.mark.usefixtures("vulkan_device")
def test_what_is_not_resampled_stays():
    source = photo()
    result = resampled(source, scales={"y": 0.5, "x": 2}, dtype="f32")
    assert (result.dims, result.shape, result.dtype, result.name) == (source.dims, (3, 6, 18), np.float32, "photo")
    assert result.attrs == source.attrs
    assert result.y.attrs == source.y.attrs
    for name in ("band", "gain", "run"):
        assert result[name].identical(source[name].drop_vars("place", errors="ignore"))
        assert result[name].encoding == source[name].encoding
    assert_equal(source.values, IMAGE)
    same = rs.xarray.resample(source, {"y": 12, "x": 9})
    assert same.identical(source)
    assert set(resampled(source, {"y": 0}).coords) == {"band", "gain", "run", "time", "x", "y"}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("size", [1, 4, 12, 23])
@pytest.mark.usefixtures("vulkan_device")
def test_coordinates_are_interpolated_where_the_rule_reads(rule, size):
    source = photo()
    result = resampled(source, {"y": size}, **choice_of(rule))
    positions = [source_position(rule, o, 12, size) for o in range(size)]
    judge_ = interp1d(np.arange(12), source.y.values, fill_value="extrapolate")
    np.testing.assert_allclose(result.y, judge_(positions), rtol=1e-14)
    days = (result.time.values - TIMES[0]).astype(np.int64)
    expected = np.array([round(Fraction(each).limit_denominator(1000) * 86_400 * 10**9) for each in positions])
    assert abs(days - expected).max(initial=0) <= 1  # halves of a nanosecond go either way
    assert result.y.dtype == (np.float64 if size != 12 or not np.array_equal(positions, np.arange(12)) else np.int64)
    assert result.x.identical(source.drop_vars(("place", "name")).x)


@pytest.mark.usefixtures("vulkan_device")
def test_coordinates_are_those_of_xarray():
    source = photo(IMAGE.astype(np.float32)).drop_vars(("place", "name", "time")).isel(x=slice(8))
    means = source.coarsen(y=3, x=2).mean()
    result = rs.xarray.resample(source, {"y": 4, "x": 4}, mode="area")
    xr.testing.assert_allclose(result, means, rtol=1e-6)
    doubled = rs.xarray.resample(source, scales={"x": 2})
    places = source.assign_coords(x=np.arange(8)).interp(
        x=np.arange(16) / 2 - 0.25, kwargs={"fill_value": "extrapolate"}
    )
    assert_equal(doubled.values[..., 1:-1], places.values[..., 1:-1].astype(np.float32))
    assert doubled.x.dtype == np.float32
    judge_ = interp1d(np.arange(8), source.x.values.astype(np.float64), fill_value="extrapolate")
    np.testing.assert_allclose(doubled.x, judge_(np.arange(16) / 2 - 0.25), rtol=1e-6)


CENTRES = {
    "area": {"mode": "area"},
    "area_weighted": {"mode": "area_weighted"},
    "tensorflow": {"mode": "area", "like": "tensorflow"},
}


@pytest.mark.parametrize("name", CENTRES)
@pytest.mark.usefixtures("vulkan_device")
def test_coordinates_of_means_are_means(name):
    """The data of a ramp are its coordinates; where it grows, outputs of the same elements keep places of their own."""
    for size, small in ((5, 2), (5, 3), (12, 5), (31, 8), (1001, 500), (6, 3), (9, 1)):
        ramp = np.arange(size, dtype=np.float32)
        result = rs.xarray.resample(xr.DataArray(ramp, {"x": ramp.astype(int)}, ("x",)), {"x": small}, **CENTRES[name])
        np.testing.assert_allclose(result.values, result.x.values, rtol=1e-6)
        if (size, small) == (5, 2):
            assert result.x.values.tolist() == ([1, 3] if name == "area" else [0.8, 3.2])
    few = xr.DataArray(np.arange(2, dtype=np.float32), {"x": [0, 1]}, ("x",))
    assert rs.xarray.resample(few, {"x": 4}, **CENTRES[name]).x.values.tolist() == [-0.25, 0.25, 0.75, 1.25]


TAKEN = [
    *({"nearest": rule, "coordinates": where} for rule in NEAREST_RULES for where in ("half_pixel", "asymmetric")),
    {"coordinates": "tf_half_pixel_for_nn", "nearest": "floor"},
    *({"like": like} for like in ("torch", "onnx", "onednn", "directml", "tensorflow", "pillow", "opencv")),
    {"like": "scikit-image"},
]


@pytest.mark.parametrize("rules", TAKEN, ids=str)
@pytest.mark.usefixtures("vulkan_device")
def test_coordinates_of_nearest_are_at_the_elements_taken(rules):
    """Half an element away at most, and at the elements themselves for whole factors."""
    for size, new in ((64, 16), (64, 32), (63, 21), (45, 22), (40, 31), (12, 23), (5, 10)):
        ramp = np.arange(size, dtype=np.int32) * np.ones((4, 1), np.int32)
        named = xr.DataArray(ramp, {"x": np.arange(size)}, ("y", "x"))
        result = rs.xarray.resample(named, {"y": 4, "x": new}, mode="nearest", **rules)
        apart = abs(result.values[0] - result.x.values)[1:-1]  # at the ends elements are taken again
        assert apart.max() <= (0 if size % new == 0 else 0.5 + 1e-12), (size, new)


@pytest.mark.usefixtures("vulkan_device")
def test_coordinates_of_opencvs_area():
    ramp = xr.DataArray(np.arange(5, dtype=np.float32) * np.ones((4, 1), np.float32), {"x": range(5)}, ("y", "x"))
    result = rs.xarray.resample(ramp, {"y": 2, "x": 2}, mode="area", like="opencv")
    np.testing.assert_allclose(result.values[0], result.x.values, rtol=1e-6)
    assert result.x.values.tolist() == [0.8, 3.2]


@pytest.mark.usefixtures("vulkan_device")
def test_one_element_and_gaps_among_coordinates():
    source = xr.DataArray(IMAGE[0, :, 0], {"y": [1.0, np.nan, *range(2, 12)]}, ("y",))
    assert_equal(rs.xarray.resample(source, {"y": 4}).y.values, np.array([np.nan, 4, 7, 10]))
    source["y"] = np.where(np.arange(12) == 1, np.datetime64("NaT"), TIMES)
    assert_equal(
        rs.xarray.resample(source, {"y": 4}).y.values, np.array([np.datetime64("NaT", "ns"), *TIMES[[4, 7, 10]]])
    )
    with pytest.warns(UserWarning, match=r"coordinates 'y' cannot be resampled along 'y' and are dropped"):
        assert not rs.xarray.resample(source.isel(y=[0]), {"y": 2}).coords
    assert (
        rs.xarray.resample(source.isel(y=[0]), {"y": 2}, coordinates="align_corners").y.values.tolist()
        == [TIMES[0].astype(int)] * 2
    )


@pytest.mark.usefixtures("vulkan_device")
def test_coordinates_that_cannot_be_resampled_are_named():
    with pytest.warns(UserWarning, match="coordinates 'place', 'name' cannot be resampled along 'x'") as warned:
        result = rs.xarray.resample(photo(), {"x": 4})
    assert [Path(each.filename).name for each in warned] == ["test_xarray.py"]
    assert set(result.coords) == {"band", "y", "time", "x", "gain", "run"}
    levels = photo().stack(z=("y", "x"))
    with pytest.warns(UserWarning, match="'z', 'y', 'x'|'name', 'z'"):
        assert set(rs.xarray.resample(levels, {"z": 8}).coords) == {"band", "gain", "run", "time", "place"}
    with pytest.warns(UserWarning, match="'band'"):
        assert rs.xarray.resample(levels, {"band": 2}).indexes["z"].equals(levels.indexes["z"])


@pytest.mark.parametrize("name", ["Float64", "Float32", "Int64", "UInt8", "Sparse[float64]", "double[pyarrow]"])
@pytest.mark.usefixtures("vulkan_device")
def test_coordinates_of_numbers_of_pandas(name):
    if "pyarrow" in name:
        judge("pyarrow")
    numbers = np.arange(8) * 5 - (0 if name == "UInt8" else 5)
    source = xr.DataArray(np.arange(8, dtype=np.float32), {"x": pd.array(numbers, dtype=name)}, ("x",))
    expected = source.assign_coords(x=numbers.astype(np.float32 if name == "Float32" else np.float64))
    result = rs.xarray.resample(source, {"x": 4}, mode="area")
    assert_equal(result.x.values, rs.xarray.resample(expected, {"x": 4}, mode="area").x.values)
    assert result.x.values.tolist() == (numbers[::2] + 2.5).tolist()


@pytest.mark.usefixtures("vulkan_device")
def test_missing_numbers_of_pandas_are_nan():
    places = pd.array([-5, 0, 5, None, 15, 20, 25, 30], dtype="Int64")
    source = xr.DataArray(np.arange(8, dtype=np.float32), {"x": places, "w": ("x", places)}, ("x",))
    result = rs.xarray.resample(source, {"x": 4}, mode="area")
    for name in ("x", "w"):
        assert_equal(result[name].values, np.array([-2.5, np.nan, 17.5, 27.5]))


@pytest.mark.usefixtures("vulkan_device")
def test_times_keep_their_zone():
    days = pd.date_range("2020-03-28", periods=4, tz="Europe/Berlin")  # of 24, 23 and 24 hours
    source = xr.DataArray(np.arange(4, dtype=np.float32), {"time": days}, ("time",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = rs.xarray.resample(source, {"time": 2}, mode="area")
    expected = pd.DatetimeIndex(["2020-03-28 12:00", "2020-03-30 12:00"], tz="Europe/Berlin")
    assert result.indexes["time"].tz == days.tz
    assert result.indexes["time"].tolist() == expected.tolist()


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize(
    ("unit", "size", "expected_unit", "expected"),
    [
        ("s", 8, "ms", [-250, 250, 750, 1250, 1750, 2250, 2750, 3250]),
        ("us", 8, "ns", [-250, 250, 750, 1250, 1750, 2250, 2750, 3250]),
        ("s", 3, "ns", [166666667, 1500000000, 2833333333]),
        ("s", 1, "ms", [1500]),
        ("s", 4, "s", [0, 1, 2, 3]),
    ],
)
@pytest.mark.parametrize("kind", ["M8", "m8", "zone"])
def test_times_have_a_finer_unit_where_they_fall_between(kind, unit, size, expected_unit, expected):
    if not np.issubdtype(xr.Variable("t", np.zeros(1, "m8[s]")).dtype, np.dtype("m8[s]")):
        pytest.skip("this xarray has times in ns alone")
    start = 0 if kind == "m8" else 1_600_000_000 * (10**6 if unit == "us" else 1)
    times = np.arange(start, start + 4).astype(f"{'m8' if kind == 'm8' else 'M8'}[{unit}]")
    coord = pd.DatetimeIndex(times, tz="UTC").tz_convert("Europe/Berlin") if kind == "zone" else times
    source = xr.DataArray(np.arange(4, dtype=np.float32), {"t": coord}, ("t",))
    result = rs.xarray.resample(source, {"t": size}).indexes["t"]
    if kind == "zone":
        assert result.tz == coord.tz
        result = result.tz_convert(None)
    assert result.to_numpy().dtype == f"{times.dtype.str[:3]}[{expected_unit}]"
    assert (result.to_numpy() - times[0]).astype(np.int64).tolist() == expected


@pytest.mark.usefixtures("vulkan_device")
def test_times_that_a_finer_unit_does_not_hold_keep_theirs():
    times = np.array(["9000-01-01", "9000-01-02", "NaT", "9000-01-04"], "M8[us]") + np.timedelta64(1, "us")
    result = rs.xarray.resample(xr.DataArray(np.zeros(4, np.float32), {"t": times}, ("t",)), {"t": 8}).t.values
    assert result.dtype == times.dtype
    assert (result[1] - times[0]) == np.timedelta64(6, "h")


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize(
    ("values", "size", "expected"),
    [
        ([2**60, 2**60 + 2, 2**60 + 4, 2**60 + 6], 2, np.int64([2**60 + 1, 2**60 + 5])),
        ([-(2**60) - 6, -(2**60) - 4, -(2**60) - 2, -(2**60)], 2, np.int64([-(2**60) - 5, -(2**60) - 1])),
        ([2**64 - 8, 2**64 - 6, 2**64 - 4, 2**64 - 2], 2, np.uint64([2**64 - 7, 2**64 - 3])),
        ([2**63 - 4, 2**63 - 1], 1, np.int64([2**63 - 2])),  # 2^63 - 2.5
        ([-(2**63), 2**63 - 1], 4, np.float64([-1.5, -0.5, 0.5, 1.5]) * 2**63),
        ([0, 2, 4, 6], 2, np.float64([1, 5])),
    ],
)
def test_large_integers_keep_their_steps(values, size, expected):
    x = xr.DataArray(np.zeros(len(values), np.float32), {"x": np.array(values)}, ("x",))
    result = rs.xarray.resample(x, {"x": size}, antialias=False).x.values
    assert_equal(result, expected)


@pytest.mark.parametrize(
    "places", [pd.period_range("2020-01", periods=4, freq="M"), pd.array([True, False] * 2, "boolean")]
)
@pytest.mark.usefixtures("vulkan_device")
def test_other_types_of_pandas_are_dropped(places):
    source = xr.DataArray(np.arange(4, dtype=np.float32), {"x": places}, ("x",))
    with pytest.warns(UserWarning, match="coordinates 'x' cannot be resampled along 'x' and are dropped"):
        assert not rs.xarray.resample(source, {"x": 2}).coords


@pytest.mark.usefixtures("vulkan_device")
def test_coordinates_follow_the_rules_for_the_type_of_the_elements():
    named = {"scales": {"y": 1.25, "x": 1.25}, "like": "torch", "mode": "bicubic"}
    coords = {"x": [0.0, 1.0]}
    floats = xr.DataArray(np.array([[0, 10], [0, 10]], np.float32), dims=("y", "x"), coords=coords)
    copied = rs.xarray.resample(floats.astype("uint8"), **named)
    assert copied.values.tolist() == [[0, 10], [0, 10]]
    assert copied.x.values.tolist() == [0, 1]
    assert rs.xarray.resample(floats, **named).x.values.tolist() == pytest.approx([-0.1, 0.7])
    both = xr.Dataset({"a": floats, "b": floats.astype("uint8")})
    assert rs.xarray.resample(both, {"x": 1}).x.values.tolist() == [0.5]
    with pytest.raises(rs.UnsupportedError, match="variables of the types f32, u8 are read at different positions"):
        rs.xarray.resample(both, **named)


def test_a_dataset_is_resampled_along_what_each_variable_has():
    plain = photo().drop_vars(("place", "name"))
    source = xr.Dataset(
        {"photo": plain, "row": plain.isel(band=0, y=0, drop=True), "gain2": plain.gain}, attrs={"title": "T"}
    )
    result = rs.xarray.resample(source, {"y": 6, "x": 3}, mode="area")
    for name, sizes in (("photo", {"y": 6, "x": 3}), ("row", {"x": 3})):
        assert result[name].variable.identical(rs.xarray.resample(source[name], sizes, mode="area").variable)
    assert result.gain2.variable.identical(source.gain2.variable)
    assert result.attrs == source.attrs
    assert list(result.data_vars) == ["photo", "row", "gain2"]
    with pytest.raises(rs.UnsupportedError, match=r"^variable 'heights': elements of type f64 are not interpolated"):
        rs.xarray.resample(source.assign(heights=("x", np.zeros(9))), {"x": 3})


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({}, "needs sizes or scales, and not both: None and None"),
        ({"sizes": {"y": 6}, "scales": {"y": 0.5}}, "needs sizes or scales, and not both"),
        ({"sizes": (6, 5)}, r"sizes must map dimensions to numbers, e.g. {'y': 2}, got \(6, 5\)"),
        ({"sizes": {"z": 6}}, "sizes names dimension 'z', and the data have {'band': 3, 'y': 12, 'x': 9}"),
        ({"scales": {"y": 0}}, r"scales\[0\] must be above 0, got 0"),
        ({"sizes": {"y": 6}, "axes": (1,)}, r"axes is not accepted where dimensions are named, got \(1,\)"),
        ({"sizes": {"y": 6}, "layout": "CHW->HWC"}, "layout 'CHW->HWC' permutes dimensions, which stay"),
        ({"sizes": {"y": 6}, "coordinates": "middle"}, "coordinates 'middle' is not one of"),
    ],
)
def test_errors_say_what_is_wrong(named, message):
    with pytest.raises((rs.DescriptorError, rs.UnsupportedError), match=message):
        rs.xarray.resample(photo(), **named)


@pytest.mark.usefixtures("vulkan_device")
def test_a_refused_argument_that_is_none_is_not_there():
    image = photo().drop_vars("place")
    assert rs.xarray.resample(image, {"y": 6}, window=None, out=None).identical(rs.xarray.resample(image, {"y": 6}))


@pytest.mark.usefixtures("vulkan_device")
def test_means_come_home():
    """xarray asks the element type for its kind, and numpy for the rest."""
    assert_equal(labelled(rs.asarray(X)).mean("h").values, X.mean(1))


def test_other_arrays_are_refused():
    with pytest.raises(
        rs.DescriptorError, match=r"data must be a DataArray or a Dataset, got ndarray; rs\.resample takes"
    ):
        rs.xarray.resample(X, {"y": 2})

    class Other(np.lib.mixins.NDArrayOperatorsMixin):
        shape, dtype, ndim = (4,), np.dtype("f4"), 1

        def __array_function__(self, *_): ...

        def __array_ufunc__(self, *_): ...

    with pytest.raises(
        rs.UnsupportedError, match=rf"data must be numpy, dask or restride.Tensor, got {__name__}.Other"
    ):
        rs.xarray.resample(xr.DataArray(Other(), dims=("y",)), {"y": 2})


def test_apply_ufunc_takes_resample(device):
    da = judge("dask.array")
    source = photo().drop_vars(("place", "name", "time"))
    core = {"input_core_dims": [["y", "x"]], "output_core_dims": [["y", "x"]], "exclude_dims": {"y", "x"}}
    kwargs = {"sizes": (6, 5), "axes": (-2, -1), "mode": "area"}
    expected = rs.xarray.resample(source, {"y": 6, "x": 5}, mode="area")
    tensors = source.copy(data=rs.asarray(IMAGE, device=device))
    chunks = source.copy(data=da.from_array(IMAGE, chunks=5))
    for array, function in ((source, rs.resample), (tensors, rs.resample), (chunks, rs.dask.resample)):
        result = xr.apply_ufunc(function, array, **core, kwargs=kwargs, keep_attrs=True, dask="allowed")
        assert_equal(result.values, expected.values)
        assert (result.dims, result.name, result.attrs) == (expected.dims, expected.name, expected.attrs)
        assert result.gain.identical(expected.gain)


@pytest.mark.parametrize("name", [None, "photo", 3])
def test_a_name_is_kept_and_none_is_made(name):
    da = judge("dask.array")
    elements = np.zeros((8, 8), np.float32)
    for x in (elements, da.from_array(elements, chunks=4)):
        array = xr.DataArray(x, dims=("y", "x"), coords={"y": np.arange(8.0)})
        array.name = name  # given None, xarray takes the name of the graph
        assert rs.xarray.resample(array, {"y": 4}, mode="area").name == name
        inside = rs.xarray.resample(array.to_dataset(name="v"), {"y": 4}, mode="area")
        assert list(inside.data_vars) == ["v"]
        assert inside["v"].name == "v"


# skipna: xarray's own means are the judge, of the same elements in f64.


def means(x, factors):
    """The mean of the numbers of each block, and of their magnitudes."""
    numbers = x.astype(np.float64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice")
        return tuple(each.coarsen(factors).mean().values for each in (numbers, abs(numbers)))


def within(result, right, magnitude, taps, axes=2):
    """(6n + 2k + 2) 2^-24 of the mean magnitude, and half a unit of f16 where it is rounded to that."""
    bound = (6 * axes + 2 * taps + 2) * 2.0**-24 * magnitude
    if result.dtype == np.float16:
        bound = bound + np.maximum(np.abs(right) * 2.0**-11, 2.0**-25)
    assert np.array_equal(np.isnan(result), np.isnan(right))
    there = ~np.isnan(right)
    assert (np.abs(result.astype(np.float64) - right)[there] <= bound[there]).all()


def cloudy(dtype, share=0.4):
    rng = np.random.default_rng(11)
    x = (100 * rng.normal(size=(12, 20, 6))).astype(dtype)
    x[rng.random(x.shape) < share] = np.nan
    x[:4, :5, 0] = np.nan  # a block without a number
    return xr.DataArray(x, dims=("y", "x", "band"), coords={"x": np.arange(20.0)}, name="clouds", attrs={"units": "K"})


@pytest.mark.parametrize("mode", ["area", "area_weighted"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.95])
def test_skipna_is_the_mean_of_the_numbers(mode, dtype, share):
    data = cloudy(dtype, share)
    result = rs.xarray.resample(data, {"y": 3, "x": 4}, mode=mode, skipna=True)
    assert (result.dtype, result.dims, result.name, result.attrs) == (dtype, data.dims, data.name, data.attrs)
    assert result.x.values.tolist() == [2.0, 7.0, 12.0, 17.0]
    within(result.values, *means(data, {"y": 4, "x": 5}), taps=20)
    plain = rs.xarray.resample(data, {"y": 3, "x": 4}, mode=mode)
    assert plain.identical(rs.xarray.resample(data, {"y": 3, "x": 4}, mode=mode, skipna=False))
    assert np.isnan(plain.values).sum() > np.isnan(result.values).sum() or share in (0.0, 0.95)


def test_skipna_of_parts_of_elements_weighs_by_what_is_covered():
    data = xr.DataArray(np.float32([1, np.nan, 3, 4, 8]), dims="x")
    weighted = rs.xarray.resample(data, {"x": 2}, mode="area_weighted", skipna=True).values
    np.testing.assert_allclose(weighted, [(1 + 3 / 2) / 1.5, (3 / 2 + 4 + 8) / 2.5], rtol=2.0**-20)
    whole = rs.xarray.resample(data, {"x": 2}, mode="area", skipna=True).values
    np.testing.assert_allclose(whole, [2, 5], rtol=2.0**-20)


def test_skipna_keeps_the_kind_of_the_array(device):
    data = cloudy(np.float32)
    right = rs.xarray.resample(data, {"y": 3, "x": 4}, mode="area", skipna=True)
    tensors = data.copy(data=rs.asarray(data.values, device=device))
    result = rs.xarray.resample(tensors, {"y": 3, "x": 4}, mode="area", skipna=True)
    assert isinstance(result.data, rs.Tensor)
    assert result.data.device is device
    np.testing.assert_array_equal(result.data.numpy(), right.values)
    judge("dask")
    lazy = rs.xarray.resample(data.chunk({"y": 5, "x": 7}), {"y": 3, "x": 4}, mode="area", skipna=True)
    assert type(lazy.data).__module__.startswith("dask.")
    assert lazy.dtype == np.float32
    np.testing.assert_array_equal(lazy.values, right.values)


def test_skipna_of_a_dataset_and_of_f64_in_f32():
    data = cloudy(np.float64)
    both = xr.Dataset({"clouds": data, "row": data.isel(y=0, drop=True), "fixed": ("z", [np.nan])})
    result = rs.xarray.resample(both, {"y": 3, "x": 4}, mode="area", skipna=True, dtype="f32")
    assert result.clouds.dtype == result.row.dtype == np.float32
    within(result.clouds.values, *means(data.astype(np.float32), {"y": 4, "x": 5}), taps=20)
    within(result.row.values, *means(both.row.astype(np.float32), {"x": 5}), taps=5, axes=1)
    assert result.fixed.identical(both.fixed.drop_vars(list(both.fixed.coords)))


@pytest.mark.parametrize(
    ("dtype", "named", "message"),
    [
        (np.float32, {}, "skipna goes with the modes 'area' and 'area_weighted', not None"),
        (np.float32, {"mode": "linear"}, "not 'linear'"),
        (np.float32, {"mode": "nearest"}, "not 'nearest'"),
        (np.float32, {"mode": "area", "like": "opencv"}, "skipna goes without like, got 'opencv'"),
        (np.float32, {"mode": "area", "src_scale": np.ones((2, 2))}, "skipna goes without src_scale, got array"),
        (np.float32, {"mode": "area", "layout": "any"}, "skipna goes without layout"),
        (np.float32, {"mode": "area", "dtype": "u8"}, "skipna makes f32 and f16, and dtype is u8"),
        (np.float64, {"mode": "area"}, "skipna takes f32 and f16, and f64 with dtype='f32', not elements of type f64"),
        (np.float64, {"mode": "area", "dtype": "f16"}, "not elements of type f64"),
        (np.uint8, {"mode": "area"}, "not elements of type u8"),
    ],
)
def test_skipna_of_other_modes_types_and_arguments_is_refused(dtype, named, message):
    data = xr.DataArray(np.zeros((4, 4), dtype), dims=("y", "x"))
    with pytest.raises(rs.DescriptorError, match=re.escape(message)):
        rs.xarray.resample(data, {"x": 2}, skipna=True, **named)
    with pytest.raises(rs.DescriptorError, match=re.escape("skipna must be True or False, got 'yes'")):
        rs.xarray.resample(data, {"x": 2}, mode="area", skipna="yes")


@pytest.mark.parametrize("kind", ["numpy", "dask"])
def test_f64_is_interpolated_in_f32_if_it_is_said(kind):
    """The judge is numpy's cast: the elements that f32 has."""
    data = cloudy(np.float64)
    right = rs.xarray.resample(data.astype(np.float32), {"y": 5, "x": 4})
    if kind == "dask":
        judge("dask")
        data = data.chunk({"y": 5, "x": 7})
    result = rs.xarray.resample(data, {"y": 5, "x": 4}, dtype="f32")
    assert result.compute().identical(right)
    with pytest.raises(rs.UnsupportedError, match="dtype='f32' computes in f32"):
        rs.xarray.resample(data, {"y": 5, "x": 4})
