"""Values before a run: functions of position, type and seed, aimed at what an operation rounds."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from restride.dtypes import DTYPES, ELEMENT_TYPES, DType, ElementType, as_dtype
from restride_conformance import Case
from restride_conformance.fill import aimed, bits, image, indices, numbers, poison
from restride_conformance.operations import source_values


class TestAim:
    """Data of a conversion lie where it may go wrong."""

    @pytest.mark.parametrize("src", ["f16", "bf16", "f32", "f64"])
    @np.errstate(invalid="ignore")
    def test_floats_that_become_integers(self, src: str) -> None:
        values = aimed(as_dtype(src), as_dtype("s8"), 4000).astype(np.float64)
        assert np.isnan(values).any()
        finite = set(values[np.isfinite(values)].tolist())
        assert {np.inf, -np.inf} <= set(values.tolist())
        assert len(finite & set(np.arange(-127.5, 128))) > 100
        step = {"f16": 2.0**-4, "bf16": 0.5, "f32": 2.0**-17, "f64": 2.0**-46}[src]
        assert {126.5, 127, 127 - step, 127 + step, 127.5, 128, -127.5, -128, -129, 255, 256, 0.5, -0.5} <= finite

    @pytest.mark.parametrize(
        ("dst", "points"),
        [("f16", (65504, 65520, 2.0**-24, 2.0**-25, 1.5 * 2.0**-24, 2.0**-14)),
         ("f8e4m3fn", (448, 464, 480, 2.0**-9, 2.0**-10, 2.0**-6)),
         ("f8e5m2", (57344, 61440, 2.0**-16, 2.0**-17, 2.0**-14)),
         ("bf16", (3.3895313892515355e38, 2.0**-133, 2.0**-134, 2.0**-126)),
         ("f32", (3.4028234663852886e38, 3.4028235677973366e38, 2.0**-149, 2.0**-150, 2.0**-126))],
    )  # fmt: skip
    def test_floats_that_become_narrower_ones(self, dst: str, points: tuple[float, ...]) -> None:
        src = "f64"
        values = aimed(as_dtype(src), as_dtype(dst), 4000)
        assert set(points) <= set(values.tolist())
        assert {-point for point in points} <= set(values.tolist())
        for point in points:
            assert {np.nextafter(point, 0), np.nextafter(point, np.inf)} <= set(values.tolist())
        with np.errstate(all="ignore"):
            nearest = values.astype(as_dtype(dst).dtype).astype(np.float64)
            errors = np.abs(values - nearest)
            both = np.isclose(np.abs(values + (values - nearest) - nearest), 2 * errors)
        assert np.isfinite(nearest).mean() > 0.7
        assert (both & (errors > 0)).sum() > 1000

    @pytest.mark.parametrize(("dst", "precision"), [("bf16", 8), ("f32", 24)])
    def test_integers_that_become_floats(self, dst: str, precision: int) -> None:
        values = [abs(int(value)) for value in aimed(as_dtype("s64"), as_dtype(dst), 4000)]
        cuts = [(value, value.bit_length() - precision) for value in values if value.bit_length() > precision]
        low = [(value & ((1 << cut) - 1)) - (1 << (cut - 1)) for value, cut in cuts]
        for beside in (-1, 0, 1):
            assert low.count(beside) > 50
        assert min(value.bit_length() for value in values) <= 1
        assert max(value.bit_length() for value in values) == 64

    @pytest.mark.parametrize("src", DTYPES)
    def test_values_are_functions_of_index_types_and_seed(self, src: str) -> None:
        for dst in DTYPES:
            long, short, other = (
                aimed(as_dtype(src), as_dtype(dst), count, seed) for count, seed in ((200, 3), (100, 3), (100, 4))
            )
            assert long.dtype == as_dtype(src).dtype
            assert long[:100].tobytes() == short.tobytes() != other.tobytes()

    def test_truth_values_are_zero_or_any_other_byte(self) -> None:
        assert set(aimed(as_dtype("pred"), as_dtype("f32"), 400).view(np.uint8)) == {0, 1, 2, 0x80, 0xFF}
        zeros = aimed(as_dtype("f16"), as_dtype("pred"), 400).view(np.uint16) & 0x7FFF == 0
        assert 0.3 < zeros.mean() < 0.7


class TestFill:
    @pytest.mark.parametrize("name", [name for name, dtype in DTYPES.items() if dtype.itemsize <= 2 and name != "pred"])
    def test_narrow_types_show_every_pattern(self, name: str) -> None:
        dtype = as_dtype(name)
        count = 1 << 8 * dtype.itemsize
        filled = bits(dtype, 2 * count, seed=5).view(f"u{dtype.itemsize}")
        for run in (filled[:count], filled[count:]):
            assert len(np.unique(run)) == count
        assert (filled[:count] != filled[count:]).any()

    @pytest.mark.parametrize("name", ["f32", "f64"])
    def test_wide_floats_show_edge_values(self, name: str) -> None:
        filled = bits(as_dtype(name), 4096)
        assert np.isnan(filled).any()
        assert np.isinf(filled).any()
        assert (np.signbit(filled) & (filled == 0)).any()
        assert ((filled != 0) & (np.abs(filled) < np.finfo(filled.dtype).smallest_normal)).any()
        # Few elements repeat, so a wrong index shows.
        assert len(np.unique(filled.view(f"u{filled.itemsize}"))) > 3000

    @pytest.mark.parametrize("name", list(DTYPES))
    def test_values_are_functions_of_index_type_and_seed(self, name: str) -> None:
        dtype = as_dtype(name)
        assert bits(dtype, 100, 3).tobytes() == bits(dtype, 200, 3)[:100].tobytes()
        assert bits(dtype, 100, 3).tobytes() != bits(dtype, 100, 4).tobytes()
        assert bits(dtype, 0).shape == (0,)
        assert set(np.unique(bits(dtype, 100).view(np.uint8))) <= {0, 1} or name != "pred"

    @pytest.mark.parametrize("name", ["f32", "f16", "bf16", "u8", "s8", "s32"])
    @pytest.mark.parametrize("seed", [0, 3])
    def test_numbers_are_finite_and_not_all_alike(self, name: str, seed: int) -> None:
        values = numbers(as_dtype(name), 1000, seed).astype(np.float64)
        assert np.isfinite(values).all()
        assert len(np.unique(values)) > 200
        assert name == "u8" or (values < 0).any()
        assert name != "s32" or (np.abs(values).max() > 1000) == (seed == 3)

    def test_poison_is_a_function_of_the_position(self) -> None:
        assert poison(13).tobytes() == poison(4096)[:13].tobytes()
        assert len(np.unique(poison(4096))) == 256
        assert poison(0).size == 0

    @pytest.mark.parametrize("name", list(DTYPES))
    def test_indices_are_exact_and_count_up(self, name: str) -> None:
        values = indices(as_dtype(name), 300).astype(np.float64)
        period = {"pred": 2, "s8": 128}.get(name, 256)
        if as_dtype(name).is_float:
            info = ml_dtypes.finfo(as_dtype(name).dtype)
            period = min(period, 2 << info.nmant, 1 << math.frexp(float(info.max))[1])
        assert values[:period].tolist() == list(range(period))
        assert values[period] in (0, period)

    def test_a_float_whose_largest_number_is_no_integer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        row: Any = ("f8e3m4", "float8_e3m4", "real floating", 8, 7, 4, 3, 0x6F, 0x70, 0x78)
        monkeypatch.setitem(ELEMENT_TYPES, "f8e3m4", ElementType(*row))
        dtype = DType("f8e3m4", np.dtype(ml_dtypes.float8_e3m4))
        assert dtype.format.range == (-15.5, 15.5)
        assert {15.5, -15.5, 15.75, 16} <= set(aimed(as_dtype("f64"), dtype, 4000).tolist())
        assert indices(dtype, 20).tolist() == [*range(16), 0, 1, 2, 3]

    @pytest.mark.parametrize("name", list(DTYPES))
    @pytest.mark.parametrize("sizes", [(3, 12, 17), (12, 17, 3), (20,), (), (4, 0), (2, 2, 2, 2)])
    def test_an_image_is_a_function_of_its_place_and_seed(self, name: str, sizes: tuple[int, ...]) -> None:
        picture = image(as_dtype(name), sizes, 1)
        assert picture.shape == sizes
        assert picture.dtype == as_dtype(name).dtype
        assert picture.tobytes() == image(as_dtype(name), sizes, 17).tobytes()
        assert np.isfinite(picture.astype(np.float64)).all()

    @pytest.mark.parametrize("name", ["u8", "f32", "s8"])
    def test_an_image_shows_flips_turns_and_shifts(self, name: str) -> None:
        picture = image(as_dtype(name), (3, 24, 24)).astype(np.float64)
        spread = picture.max() - picture.min()
        for changed in (picture[:, ::-1], picture[:, :, ::-1], picture.transpose(0, 2, 1), np.roll(picture, 3, 2),
                        np.roll(picture, 1, 0)):  # fmt: skip
            assert np.abs(changed - picture).max() > 0.2 * spread
        assert np.array_equal(image(as_dtype(name), (24, 25, 3))[..., 1], image(as_dtype(name), (3, 24, 25))[1])

    def test_data_says_what_a_source_holds(self) -> None:
        assert source_values(Case.parse("reorder u8[2,3] -> u8[2,3] data=index")).tolist() == [[0, 1, 2], [3, 4, 5]]
        case = Case.parse("resample u8[9,9] -> u8[8,8] mode=linear data=image seed=2")
        assert source_values(case).tobytes() == image(as_dtype("u8"), (9, 9), 2).tobytes()
