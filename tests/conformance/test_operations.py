"""Operations of cases: scales that they are given, and what is refused before a device is asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from restride.dtypes import DTYPES, as_dtype
from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride_conformance import Case, catalogue
from restride_conformance.operations import arguments, is_arithmetic, require_valid
from restride_conformance.setting import prepare


class TestScaleValues:
    def test_arrays_vary_along_their_axes_and_in_groups(self) -> None:
        case = Case.parse(
            "reorder f32[6,9] -> u8[9,6] permute=AB->BA src_scale=(1) dst_scale=(0,1) dst_zero_point=(1) "
            "group_sizes=(4,2) rounding=truncate saturate=no sum_scale=2"
        )
        given = arguments(case)
        shapes = {name: np.shape(value) for name, value in given.items() if isinstance(value, np.ndarray)}
        assert shapes == {"src_scale": (1, 5), "dst_scale": (5, 2), "dst_zero_point": (1, 2)}
        rest = {name: value for name, value in given.items() if name not in shapes}
        assert rest == {"group_sizes": (4, 2), "sum_scale": 2, "rounding": "truncate", "saturate": False}
        other = arguments(replace(case, seed=1))
        assert not np.array_equal(given["dst_scale"], other["dst_scale"])
        assert not np.array_equal(given["dst_scale"].ravel()[:5], given["src_scale"].ravel())

    def test_numbers_in_the_line_lie_along_their_axis(self) -> None:
        line = "reorder f32[2,3] -> u8[3,2] permute=AB->BA src_scale=1:(1,2.5,-3) dst_zero_point=1:(4,5)"
        given = arguments(Case.parse(line))
        assert {name: (value.dtype, value.tolist()) for name, value in given.items()} == {
            "src_scale": (np.float32, [[1, 2.5, -3]]),
            "dst_zero_point": (np.float32, [[4, 5]]),
        }
        for wrong in (line.replace("1:(4,5)", "1:(4,5,6)"), line.replace("src_scale=1:", "src_scale=2:")):
            with pytest.raises(DescriptorError, match=r"must be an axis of .* with a number for each of its"):
                require_valid(Case.parse(wrong))

    def test_scales_are_sensible_numbers(self) -> None:
        scales = arguments(Case.parse("reorder f32[4000] -> f32[4000] src_scale=(0)"))["src_scale"]
        assert scales.dtype == np.float32
        assert 1 / 8 <= np.abs(scales).min() < np.abs(scales).max() <= 8
        fraction, _ = np.frexp(np.abs(scales))
        assert 0.15 < (fraction == 0.5).mean() < 0.35, "powers of two"
        assert 0.05 < (scales < 0).mean() < 0.2

    @pytest.mark.parametrize("name", DTYPES)
    def test_zero_points_are_numbers_of_their_side(self, name: str) -> None:
        given = arguments(Case.parse(f"reorder {name}[3000] -> f32[3000] src_zero_point=(0)"))["src_zero_point"]
        if as_dtype(name).is_float:
            assert (given % 1 != 0).any()
            return
        assert np.array_equal(given.astype(as_dtype(name).dtype).astype(np.float32), given)
        assert len(np.unique(given)) == {"pred": 2, "s8": 256, "u8": 256}.get(name, len(np.unique(given)))

    @pytest.mark.parametrize(
        ("arguments", "is_neutral"),
        [("", True), (" src_scale=1", True), (" dst_zero_point=0 dst_scale=1", True), (" sum_scale=0", True),
         (" src_scale=1.5", False), (" src_zero_point=1", False), (" dst_scale=(0)", False), (" sum_scale=1", False),
         (" rounding=truncate saturate=no", True)],
    )  # fmt: skip
    def test_what_changes_nothing_is_no_arithmetic(self, arguments: str, is_neutral: bool) -> None:
        assert is_arithmetic(Case.parse(f"reorder f32[9] -> s8[9]{arguments}")) is not is_neutral


SLICED = "slice f32[8] -> f32[5] offsets=(4) sizes=(5) strides=(1)"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("reorder f32[2,3] -> f32[3,2]", r"reorder gives sizes \[2, 3\], but the destination is f32\[3,2\]\{1,0\}"),
        ("reorder f32[2,3] -> f32[2,3] permute=NC->CN", r"reorder gives sizes \[3, 2\]"),
        ("reorder f32[2,3] -> f32[2,3] permute=N->N", "one letter per axis|names 1 axes"),
        (SLICED, r"window \[4, 9\) exceeds size 8 of axis 0|window .* of axis 0"),
        ("resample f32[8] -> f32[4] mode=linear axes=(1)", r"axes \[1\] must be in \[0, 1\)"),
        ("resample f32[8] -> f32[4] mode=linear axes=(0,-1)", r"axes \[0, 0\] must be in \[0, 1\) .* each once"),
        ("resample f32[8,2] -> f32[4,3] mode=linear axes=(0)", r"resample gives sizes \[4, 2\]"),
        ("resample f32[0] -> f32[4] mode=nearest", "has no elements to make 4 of|at least one source element"),
        ("resample f32[8] -> f32[5] mode=linear scales=(0.5)", r"resample gives sizes \[4\], but the destination"),
        ("resample f32[8] -> f32[5] mode=linear sizes=(6)", r"resample gives sizes \[6\], but the destination"),
        ("resample f32[8] -> f32[3] mode=linear window=(1:4)", r"sizes= or scales= must be given"),
        ("resample f32[8] -> f32[3] mode=linear sizes=(9) window=(1:5)", r"resample gives sizes \[4\]"),
        ("resample f32[8] -> f32[4] mode=linear sizes=(5) keep_aspect_ratio_policy=not_larger", "resample gives sizes"),
        ("resample f32[8] -> u8[4] mode=linear dst_scale=(1)", r"dst_scale=\[1\] must be axes in \[0, 1\)"),
        ("resample_backward f32[8,2] -> f32[4] mode=linear axes=(0)", "equally many axes|sizes"),
        ("resample_backward f32[8,2] -> f32[4,3] mode=linear axes=(0)", r"\[8, 3\]|sizes"),
        ("pad f32[8] -> f32[9] before=(1,0)", "before and behind must be 0 or more for each of 1 axes"),
        ("pad f32[8] -> f32[7] before=(-1)", "before and behind must be 0 or more for each of 1 axes"),
        ("pad f32[0] -> f32[1] before=(1) mode=edge", "mode edge repeats elements, and there are none"),
        ("pad f32[8] -> f32[8] before=(1)", r"pad gives sizes \[9\], but the destination is f32\[8\]"),
        ("roll f32[8] -> f32[8] shift=(1,2)", "shift must be 1 numbers"),
        ("roll f32[8] -> f32[8] shift=(1) axes=(1)", r"axes \[1\] must be axes in \[0, 1\)"),
        ("concat f32[8,2] -> f32[9,2] axes=(0,1) parts=(:)", r"axes \[0, 1\] must be one axis in \[0, 2\)"),
        ("concat f32[8,2] -> f32[8,2] axes=(0) parts=(:,9:,:3)", r"concat gives sizes \[11, 2\]"),
        ("stack f32[0,2] -> f32[2,0] axes=(1)", "stack needs one index of axis 0 or more"),
        ("tile f32[2,3] -> f32[2,3] repetitions=(-1)", r"repetitions \[-1\] must be 0 or more"),
        ("tile f32[2,3] -> f32[2,3] repetitions=(2,1,1)", r"tile gives sizes \[2, 2, 3\]"),
        ("rearrange f32[6,2] -> f32[2,6] pattern=h->h", r"pattern h->h does not fit \[6, 2\]"),
        ("rearrange f32[6] -> f32[6] pattern=(h,w)->h,w", r"pattern \(h,w\)->h,w does not fit \[6\]|gives sizes"),
        ("rearrange f32[6] -> f32[6] pattern=(h,4)->h,4", r"pattern \(h,4\)->h,4 does not fit \[6\]"),
        ("equal f32[6] -> u8[6] other=f32[6]", "a comparison makes pred, not u8"),
        ("equal f32[6] -> pred[6] other=f32[5]", "do not broadcast"),
        ("reorder f32[3,5]{1,0:T(2,2)} -> f32[3,4]:aB4b", r"reorder gives sizes \[3, 5\]"),
        ("reorder f32[8] -> u8[8] src_scale=(1)", r"src_scale=\[1\] must be axes in \[0, 1\), each once"),
        ("reorder f32[8] -> u8[8] dst_scale=(0,-1)", r"dst_scale=\[0, 0\] must be axes in \[0, 1\), each once"),
        ("reorder f32[8] -> u8[8] src_scale=(0) group_sizes=(1,2)", r"group_sizes \[1, 2\] must be one for each of 1"),
    ],
)
def test_a_case_that_its_operation_does_not_do_is_refused_before_a_device_is_asked(line: str, message: str) -> None:
    for refuse in (require_valid, prepare):
        with pytest.raises(DescriptorError, match=message):
            refuse(Case.parse(line))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("reorder f32[2,20,3,3] -> f32[2,20,3,3] out=nCdhw16c", "has 5 axes"),
        ("reorder f32[2,20,3,3] -> f32[2,20,3,3] out=NCDHW", "one letter per axis"),
        ("reorder f32[4]{0:T(3)} -> f32[4]{0:T(2)} out=same", "must lie apart from the source"),
        ("reorder f32[4] -> s32[4] out=same", "must lie apart from the source"),
        ("reorder f32[4] -> f32[4] view=[::-1] out=same", "must lie apart from the source"),
        ("reorder f32[2,4]{1,0:T(2,2)} -> f32[2,4]{strides=(4,1),offset=5} out=same", "must lie apart from the source"),
        ("reorder f32[2]{strides=(1),offset=4} -> f32[2]{0:pad(8)=0} out=same", "must lie apart from the source"),
        (
            "reorder f32[3,5] -> f32[5,3] permute=HW->WH out=nc",
            "permute gives the layout too, so out=nc must be same or",
        ),
        ("reorder f32[4] -> f32[4] sum_scale=2 out=new", "sum_scale reads an existing destination, and out=new"),
        ("reorder f32[4] -> u8[4] group_sizes=(2)", "group_sizes need a scale or a zero point"),
        ("reorder f32[4] -> u8[4] src_scale=0", "src_scale must be finite and not 0"),
        ("resample f32[4] -> u8[6] mode=linear sum_scale=2 out=new", "sum_scale reads an existing destination"),
        ("crop_resize u8[20,30,3] -> f32[1,7,9,3] boxes=(9,3,2,8) axes=(0,1) mode=linear", "y0 < y1 and x0 < x1"),
        ("crop_resize u8[20,30] -> f32[1,7,9] boxes=(0,0,1e20,8) axes=(0,1) mode=linear", "finite and within"),
    ],
)
def test_what_cannot_be_is_refused_before_a_device_is_asked(line: str, message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        require_valid(Case.parse(line))


def test_what_a_case_asks_for_is_checked_without_its_elements() -> None:
    huge = 1 << 40
    for line in (
        f"reorder u8[{huge},3] -> u8[3,{huge}] permute=HW->WH",
        f"resample u8[{huge}] -> u8[{huge + 1}] mode=linear",
        f"slice u8[{huge}] -> u8[{huge // 2}] offsets=(0) sizes=({huge}) strides=(-2)",
        f"slice u8[1] -> u8[1,1] offsets=(0,1) sizes=({huge},1) strides=(-7,1) view=.broadcast_to({huge},9)",
        f"reorder u8[{huge},3] -> f32[{huge},3] src_scale=(1) dst_zero_point=(0) group_sizes=({huge // 4},1)",
    ):
        case = Case.parse(line)
        require_valid(case)
        with pytest.raises(DescriptorError):
            require_valid(replace(case, dst=TensorDesc("u8", (2, 2, 2))))


def test_arrays_of_scales_have_a_largest_size() -> None:
    with pytest.raises(DescriptorError, match="dst_scale has 1,048,577 entries, more than 1,048,576"):
        require_valid(Case.parse(f"reorder u8[{(1 << 20) + 1}] -> f32[{(1 << 20) + 1}] dst_scale=(0)"))


def test_every_case_of_the_catalogues_is_valid() -> None:
    smaller, full = catalogue("ci"), catalogue("full")
    for case in (*smaller, *full[len(smaller) :: 2]):  # every other one: a loop's lines are much alike
        require_valid(case)


@pytest.mark.parametrize(
    ("line", "nbytes"),
    [
        ("slice f32[100] -> f32[20] offsets=(0) sizes=(100) strides=(-5)", 4 * (20 + 20)),
        ("reorder u8[6,4]{strides=(100,7),offset=3} -> u8[6,4]{strides=(16,4)}", 24 + 24),
        ("reorder f64[2,3] -> f64[3,2] permute=AB->BA", 8 * (6 + 6)),
        ("reorder s16[8,6] -> s16[2,6] view=[::-4]", 2 * (12 + 12)),
        ("reorder s16[1,6] -> s16[4,6] view=.broadcast_to(4,6)", 2 * (24 + 24)),
        ("resample u8[3,100] -> u8[3,20] mode=nearest", 60 + 60),
        ("resample u8[3,100] -> u8[3,20] mode=linear", 3 * 40 + 60),
        ("resample u8[3,30] -> u8[3,20] mode=linear", 90 + 60),
        ("resample f16[100,10] -> f16[20,70] mode=nearest", 2 * (20 * 10 + 20 * 70)),
        ("resample f16[100,10] -> f16[20,70] mode=linear view=[::-1]", 2 * (40 * 10 + 20 * 70)),
        ("resample u8[3,100] -> u8[3,20] mode=cubic", 3 * 80 + 60),
        ("resample u8[3,100] -> u8[3,20] mode=area", 300 + 60),
        ("resample u8[100] -> u8[20] mode=linear antialias=yes", 100 + 20),
        ("resample u8[100] -> f32[4] mode=nearest sizes=(200) window=(8:12)", 2 + 16),
        ("resample u8[100] -> f32[9] mode=nearest sum_scale=2", 9 + 2 * 36),
        ("resample_backward f32[3,20] -> f32[3,100] mode=linear", 4 * (60 + 300)),
        ("resample u8[100,9] -> u8[20,4] mode=linear like=opencv", 40 * 8 + 80),
        ("resample u8[100,9] -> u8[20,4] mode=bilinear like=pillow", 900 + 80),
        (
            "crop_resize u8[9,30,3] -> f32[2,4,5,3] boxes=(0,0,9,30,-4,2,3,6) axes=(0,1) mode=linear",
            3 * (8 * 10 + 3 * 4) + 480,
        ),
        (
            "crop_resize u8[2,9,30] -> u8[1,4,5] boxes=(0,0,0.5,1) axes=(1,2) images=(1) mode=nearest units=normalized",
            20 + 20,
        ),
        ("crop_resize u8[9,30] -> u8[1,4,5] boxes=(0,0,9,30) axes=(0,1) mode=linear antialias=yes", 270 + 20),
        ("reorder f32[0,3] -> f32[0,3]", 0),
        ("reorder f32[] -> f32[]", 8),
    ],
)
def test_useful_bytes_are_those_of_elements(line, nbytes):
    assert Case.parse(line).useful_bytes == nbytes
