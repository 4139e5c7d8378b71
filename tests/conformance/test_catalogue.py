"""The catalogues are whole: every operation, type, layout family, size and kernel, each case once and worth running."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.planned_cases import KernelsAlone, kernels_of

from restride.dtypes import DTYPES
from restride.errors import DescriptorError
from restride.kernel import Choices, KernelSpec, Limits
from restride.layout import TensorDesc
from restride.layout.views import broadcast_to, index, permute, reshape
from restride.ops.crop_resize import CROPPED_TYPES
from restride.ops.take import PAD_MODES
from restride.plan.convert import TYPE_NUMBERS
from restride.plan.copy import copy_kernels, copy_problems
from restride.plan.lookup import INDEXED
from restride.plan.resample import is_resampled_by_walks
from restride.reference.gradient import GRADIENT_TYPES
from restride.reference.resample import INTERPOLATED_TYPES
from restride.request import AREA_MODES, COORDINATES, MODES, NEAREST_RULES, POLICIES
from restride.request.arithmetic import ROUNDINGS
from restride.request.boxes import FLIPS, PLACES, UNITS
from restride_conformance import CATALOGUES, Case, catalogue, read_cases
from restride_conformance.case import OPERATIONS
from restride_conformance.operations import SCALES, is_arithmetic, is_in_place
from restride_conformance.report.page import FAMILIES, STRIDED, WHOLE, family
from restride_conformance.setting import mistrusted, prepare
from restride_conformance.spelling import Call, Entries, Indexing, SliceItem
from restride_conformance.sweep import NESTED

pytestmark = pytest.mark.slow

CASES = {name: catalogue(name) for name in CATALOGUES}
CI = CASES["ci"]
BOUNDARIES = {1, 3, 4, 5, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025}
ROOT = Path(__file__).resolve().parents[2]
VARIANTS = ROOT / "shaders" / "variants.txt"


def of_mode(mode: str) -> list[Case]:
    return [case for case in CI if case.op == "resample" and case.word("mode") == mode]


def test_each_catalogue_contains_the_one_before_and_has_its_size() -> None:
    smoke, ci, full = (CASES[name] for name in NESTED)
    assert ci[: len(smoke)] == smoke
    assert full[: len(ci)] == ci
    assert 200 <= len(smoke) <= 700
    assert 15_000 <= len(full) <= 50_000


@pytest.mark.parametrize("page", ["README.md", "docs/conformance.md"])
def test_a_page_has_the_number_of_cases_of_ci(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    (stated,) = re.findall(r"^restride test +#.*?([\d,]+) cases", text, re.MULTILINE)
    rounded = f"{round(len(CI), -3):,}"
    assert stated == rounded, f"{page} says {stated} cases: write {rounded}, or move cases to the catalogue full"


@pytest.mark.parametrize("op", OPERATIONS)
def test_the_page_has_a_row_for_each_parameter(op: str) -> None:
    page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^|]*)` \| ([a-z_, ]+) \| ", page, re.MULTILINE)
    known = {name for names, ops in rows if op in ops.split(", ") for name in re.findall(r"([a-z_]+)=", names)}
    if op == "crop_resize":  # whose row says so
        known |= {parameter.name for parameter in OPERATIONS["resample"].parameters}
    assert [parameter.name for parameter in OPERATIONS[op].parameters if parameter.name not in known] == []


def those_of(text: str) -> Callable[[Case], bool]:
    """Takes the cases of a file, so that a tool draws what it drew without proving again what each case proves."""
    lines, drawn = set(text.splitlines()), 0

    def is_taken(case: Case) -> bool:
        nonlocal drawn
        drawn += 1
        assert drawn < 3 * len(lines), "the tool draws other cases: run it, and it writes the file anew"
        return str(case) in lines

    return is_taken


@pytest.mark.parametrize("name", ["make_layout_cases", "make_arithmetic_cases", "make_resampling_cases"])
def test_the_random_cases_are_those_that_the_tool_writes(name: str) -> None:
    made = importlib.import_module(name)
    written = {file: file.read_text(encoding="utf-8") for file in made.FILES}
    assert written == made.texts(those_of("".join(written.values()))), f"python tools/{name}.py writes them anew"


def test_all_pairs_of_many_layouts_both_ways_and_in_every_width() -> None:
    """A -> B and B -> A, each bit for bit: so is A -> B -> A."""
    cases = folder_cases("ci/layout_pairs.txt")
    layouts = {layout_of(case.src) for case in cases}
    assert len(layouts) >= 25
    assert {(layout_of(case.src), layout_of(case.dst)) for case in cases} == set(product(layouts, repeat=2))
    assert {case.src.sizes for case in cases} == {(3, 20, 5, 6)}
    assert {case.src.dtype.itemsize for case in cases} == {1, 2, 4, 8}
    assert {family(case.dst) for case in cases} >= {*STRIDED, *WHOLE, "view of tiles"}


def layout_of(desc: TensorDesc) -> str:
    """What is written behind the sizes."""
    return str(desc).replace(desc.dtype.name, "")


@pytest.mark.parametrize("name", ["smoke", "ci"])
def test_simple_operations_come_first(name: str) -> None:
    """Of a copy that is wrong, -x shows a slice or a reorder before a crop that uses it."""
    below = NESTED[: NESTED.index(name)]
    added = catalogue(name)[len(catalogue(below[-1])) if below else 0 :]
    assert list(dict.fromkeys(case.op for case in added)) == [
        op for op in OPERATIONS if any(case.op == op for case in added)
    ]
    ops = [list(OPERATIONS).index(case.op) for case in added]
    assert ops == sorted(ops)


def test_no_case_is_there_twice() -> None:
    full = CASES["full"]
    assert [str(case) for case, count in Counter(full).items() if count > 1] == []
    assert len({str(case) for case in full}) == len(full)


def test_every_case_comes_back_from_its_line() -> None:
    for case in (*CASES["full"], *CASES["perf"]):
        again = Case.parse(str(case))
        assert (again, str(again), hash(again)) == (case, str(case), hash(case))


def test_tensors_to_measure_are_large() -> None:
    assert all(case.dst.nbytes >= 150_000 for case in CASES["perf"])
    uploads = {"equal"}  # its second operand
    assert {case.op for case in CASES["perf"]} == {*OPERATIONS} - uploads, "catalogue/perf/large.txt needs one of each"


def test_an_unknown_catalogue_is_named() -> None:
    with pytest.raises(DescriptorError, match="catalogue 'absent' is unknown; known: smoke, ci, full, perf"):
        catalogue("absent")


def folder_cases(name: str, limits: Limits | None = None) -> tuple[Case, ...]:
    path = ROOT / "src" / "restride_conformance" / "catalogue" / name
    return read_cases(path.read_text(encoding="utf-8"), path.name, limits)


def split_cases(limits: Limits) -> tuple[Case, ...]:
    return folder_cases("ci/split.txt", limits)


LARGE = 1 << 20
"""Bytes of the largest buffers of ci that are not in split.txt, whose few large cases are not prepared here."""


def test_only_a_few_cases_of_ci_are_large() -> None:
    large = [case for case in CI if max(case.src.nbytes, case.dst.nbytes) > LARGE]
    assert set(large) <= set(split_cases(Limits())), "large cases are for the catalogue full"


def test_cases_of_ci_have_an_answer_that_proves_something() -> None:
    """One of five: a run of ci, which is beside these tests, says of every case whether it proves something."""
    for case in CI[::5]:
        if max(case.src.nbytes, case.dst.nbytes) > LARGE:
            continue
        setting = prepare(case)
        occupied = np.zeros(setting.destination.size, np.bool_)
        occupied[setting.places] = True
        assert np.count_nonzero(occupied) == setting.places.size, f"the destination overlaps itself: {case}"
        assert not mistrusted(case, setting), case


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_other_seeds_prove_as_much(seed: int) -> None:
    for case in CASES["smoke"]:
        other = replace(case, seed=case.seed + seed)
        assert not mistrusted(other, prepare(other)), other


LAYOUT_OPS = ("slice", "reorder", "resample", "resample_backward")
"""Operations whose kernels have every layout; others move elements by those of these, or through a reorder."""


class TestCrops:
    CASES = tuple(case for case in CI if case.op == "crop_resize")

    def test_every_word_of_each_mode(self) -> None:
        for mode in MODES:
            of_it = [case for case in self.CASES if case["mode"] == mode]
            assert {case["letterbox"] for case in of_it} >= {None, "center"}
            assert {case["units"] for case in of_it} == ({"pixels"} if mode in AREA_MODES else set(UNITS))
            assert {word for case in of_it for word in case.word("flip").split(",")} >= {"none", "both"}
            assert {case["images"] is None for case in of_it} == {True, False}
        assert {case["letterbox"] for case in self.CASES} == {None, *PLACES}
        assert {word for case in self.CASES for word in case.word("flip").split(",")} == set(FLIPS)
        assert {(case["mode"], case["antialias"]) for case in self.CASES} >= {("linear", "yes"), ("cubic", "yes")}

    def test_every_library_with_integers_of_its_own(self) -> None:
        for like in ("opencv", "pillow", "torch"):
            of_it = [case for case in self.CASES if case["like"] == like]
            assert {case["letterbox"] for case in of_it} >= {None, "center"}
            assert {case.dst.dtype.name for case in of_it} >= {"f32", "u8", "f16", "s32"}
            assert {case["images"] is None for case in of_it} == {True, False}

    def test_every_element_type(self) -> None:
        moved = {case.src.dtype.name for case in self.CASES if case["mode"] == "nearest"}
        assert moved == set(DTYPES)
        for mode in set(MODES) - {"nearest"}:
            summed = {case.src.dtype.name for case in self.CASES if case["mode"] == mode}
            assert summed == {*CROPPED_TYPES, "f64"}

    def test_every_kind_of_layout(self) -> None:
        for side in ("src", "dst"):
            assert {family(getattr(case, side)) for case in self.CASES} >= {*STRIDED, "tiled", "blocked"} - {
                "interleaved" if side == "src" else ""
            }
        assert {case["out"] for case in self.CASES} == {None, "new", "default", "any", "NHWC"}
        assert any(case.view is not None for case in self.CASES)


class TestPieces:
    @pytest.mark.parametrize("name", ["smoke", "ci"])
    def test_every_operation_and_every_way_to_pad(self, name: str) -> None:
        added = set(OPERATIONS) - {*LAYOUT_OPS, "crop_resize", "yuv_to_rgb"}
        cases = [case for case in CASES[name] if case.op in added]
        assert {case.op for case in cases} == added, f"catalogue/{name}/ needs cases of every operation"
        assert {case["mode"] for case in cases if case.op == "pad"} == set(PAD_MODES)
        assert {case["negated"] for case in cases if case.op == "equal"} == {"no", "yes"}
        for op in added:
            assert {case["out"] for case in cases if case.op == op} >= {None}
            assert {family(case.src) for case in cases if case.op == op} != {"row-major"} or name == "smoke"

    def test_every_element_type(self) -> None:
        for op in ("pad", "equal"):
            assert {case.src.dtype.name for case in CI if case.op == op} == set(DTYPES)

    def test_tables_of_every_type_with_and_without_rows_into_every_kind_of_layout(self) -> None:
        cases = [case for case in CI if case.op == "lookup"]
        assert {case.src.dtype.name for case in cases} == set(INDEXED)
        assert {case.dst.dtype.name for case in cases} == set(DTYPES)
        assert {case["axes"] is None for case in cases} == {True, False}
        assert {family(case.src) for case in cases} >= {*STRIDED, "tiled", "blocked", "broadcast"} - {"interleaved"}
        assert {family(case.dst) for case in cases} >= {*STRIDED, "tiled", "blocked"}
        assert {case["out"] for case in cases} == {None, "new", "default", "any", "NHWC", "same"}

    def test_both_answers_of_a_comparison(self) -> None:
        for case in CI:
            if case.op == "equal" and case.dst.numel and case.src.dtype != "pred":
                right = prepare(case).lowest
                assert right.any(), case
                assert not right.all(), case


class TestCoverage:
    @pytest.mark.parametrize("op", LAYOUT_OPS)
    def test_every_element_type(self, op: str) -> None:
        types = set(GRADIENT_TYPES if op == "resample_backward" else DTYPES)
        for side in ("src", "dst"):
            assert {getattr(case, side).dtype.name for case in CI if case.op == op} == types

    @pytest.mark.parametrize("mode", MODES)
    def test_every_element_type_of_a_mode(self, mode: str) -> None:
        """As a source; sums of each become themselves and another type, those of f64 f32 alone."""
        types = set(DTYPES if mode == "nearest" else INTERPOLATED_TYPES)
        pairs = [(case.src.dtype, case.dst.dtype) for case in of_mode(mode)]
        assert {src.name for src, dst in pairs if src == dst} == types
        assert {src.name for src, dst in pairs if src != dst} == types | {"f64"}
        assert {case.dst.dtype.name for case in of_mode(mode)} >= set(DTYPES) - {"pred"}

    @pytest.mark.parametrize("op", ["resample", "resample_backward"])
    def test_every_rule_of_every_mode(self, op: str) -> None:
        """Coordinates with rules of nearest, with filters that are widened or not, and with what lies outside."""
        cases = [case for case in CI if case.op == op and case["like"] is None]
        nearest = {(case["coordinates"], case["nearest"]) for case in cases if case["mode"] == "nearest"}
        assert nearest >= set(product(COORDINATES, NEAREST_RULES))
        filters = {
            (case["mode"], case["coordinates"], case["antialias"], case["exclude_outside"])
            for case in cases
            if case["mode"] in ("linear", "cubic")
        }
        if op == "resample":
            assert filters >= set(product(("linear", "cubic"), COORDINATES, ("no", "yes"), ("no", "yes")))
        assert {(mode, rule, widened) for mode, rule, widened, _ in filters} >= set(
            product(("linear", "cubic"), COORDINATES, ("no", "yes"))
        )
        assert {case["mode"] for case in cases if case["data"] == "edges"} == (
            set(MODES) if op == "resample_backward" else set(MODES) - {"nearest"}
        )

    @pytest.mark.parametrize("mode", MODES)
    def test_every_way_to_say_sizes_and_parts_of_each_mode(self, mode: str) -> None:
        cases = of_mode(mode)
        for name in ("sizes", "scales", "window"):
            assert any(case[name] is not None for case in cases)
        assert {case["keep_aspect_ratio_policy"] for case in cases} == set(POLICIES)
        assert {case["recompute_scale_factor"] for case in cases} == {"no", "yes"}
        assert any(case["sizes"] is not None and case["scales"] is not None for case in cases)
        if mode not in AREA_MODES:
            assert any(case["input_offsets"] is not None for case in cases)
            assert any(case["output_offsets"] is not None for case in cases)
            assert any(case["roi"] is not None and case["window"] is not None for case in cases)
        steps = {name for case in cases for name in (*SCALES, "sum_scale") if case[name] is not None}
        assert steps == {*SCALES, "sum_scale"}

    @pytest.mark.parametrize("op", LAYOUT_OPS)
    def test_every_rank(self, op: str) -> None:
        ranks = {len(case.viewed) for case in CI if case.op == op}
        assert ranks >= set(range(0 if op == "reorder" else 1, 9))

    @pytest.mark.parametrize("op", LAYOUT_OPS)
    @pytest.mark.parametrize("width", [1, 2, 4, 8])
    def test_every_pair_of_strided_families(self, op: str, width: int) -> None:
        """No destination is a broadcast, and no window is empty."""
        of_op = [case for case in CI if case.op == op and case.src.dtype.itemsize == width]
        pairs = {(family(case.src), family(case.dst)) for case in of_op}
        wanted = set(product((*STRIDED, "broadcast"), STRIDED))
        if op == "resample_backward" and width not in (2, 4):
            assert not pairs
            return
        if op != "slice":
            wanted.add(("empty", "empty"))
        assert pairs >= wanted, wanted - pairs

    def test_every_pair_with_tiles(self) -> None:
        pairs = {(family(case.src), family(case.dst)) for case in CI if case.op == "reorder"}
        wanted = set(product(FAMILIES[:-1], (*STRIDED, *WHOLE, "view of tiles")))
        assert pairs >= wanted, wanted - pairs

    @pytest.mark.parametrize("op", LAYOUT_OPS)
    @pytest.mark.parametrize("name", ["smoke", "ci"])
    def test_every_family_of_tiles_on_both_sides(self, name: str, op: str) -> None:
        of_op = [case for case in CASES[name] if case.op == op]
        widths = {case.src.dtype.itemsize for case in of_op} if name == "ci" else {None}
        for width in widths:
            cases = [case for case in of_op if width in (None, case.src.dtype.itemsize)]
            tiled = {*WHOLE, "view of tiles"} if name == "ci" or op == "reorder" else {"blocked"}
            assert {family(case.src) for case in cases} >= tiled, width
            assert name == "smoke" or {family(case.dst) for case in cases} >= tiled, width

    @pytest.mark.parametrize("mode", ["nearest", "linear"])
    def test_tiles_along_resampled_axes_and_beside_them(self, mode: str) -> None:
        cases = [case for case in of_mode(mode) if case.src.numel and case.dst.numel]
        for tiled in ("src", "dst"):
            descs = [(getattr(case, tiled), case) for case in cases if getattr(case, tiled).strides is None]
            assert {is_resampled_by_walks(viewed_desc(case), case.dst, case.integers("axes")) for _, case in descs} == {
                True,
                False,
            }

    def test_copies_of_tiles_by_walks_and_by_digits(self) -> None:
        """In one walk, in several, in the general kernel; padding that is boxes, and padding inside tiles."""
        copied = [case for case in CI if case.op == "reorder" and is_copied(case)]
        tiled = [case for case in copied if case.dst.strides is None and case.dst.numel]
        walks = {len(copy_problems(viewed_desc(case), case.dst) or ()) for case in tiled if case["permute"] is None}
        assert widths_of("digit_copy") == {8, 16, 32}, "64 bits are two words"
        assert {0, 1, 2, 4} <= walks
        boxes = {case.dst.blocking is not None and case.dst.blocking.box is None for case in tiled}
        assert boxes == {True, False}

    @pytest.mark.parametrize("op", LAYOUT_OPS)
    def test_every_size_about_a_boundary(self, op: str) -> None:
        """As the size of a copy, of a window, and of both sides of a resampling."""
        of_op = [case for case in CI if case.op == op]
        windows = {size for case in of_op for size in (case.integers("sizes") if op == "slice" else case.src.sizes)}
        assert windows >= BOUNDARIES
        if op != "slice":
            assert {size for case in of_op for size in case.dst.sizes} >= BOUNDARIES

    @pytest.mark.parametrize("mode", ["nearest", "linear"])
    def test_every_number_of_resampled_axes_and_every_direction(self, mode: str) -> None:
        cases = of_mode(mode)
        changed = [
            sum(old != new for old, new in zip(case.viewed, case.dst.sizes, strict=True) if new) for case in cases
        ]
        assert set(changed) >= set(range(9))
        ratios = {(old, new) for case in cases for old, new in zip(case.viewed, case.dst.sizes, strict=True) if new}
        assert {old == new for old, new in ratios} == {True, False}
        assert any(old > new and old % new for old, new in ratios)
        assert any(old < new and new % old for old, new in ratios)
        assert {(1, 5), (5, 1), (2, 4), (4, 2)} <= ratios
        assert any(max(case.integers("axes")) < case.dst.rank - 1 for case in cases)

    @pytest.mark.parametrize(("width", "places"), [(1, 4), (2, 2)])
    def test_every_place_within_a_word_on_both_sides(self, width: int, places: int) -> None:
        packed = [
            case for case in CI if case.src.strides and case.src.strides[-1] == 1 and case.dst.strides is not None
        ]
        narrow = [case for case in packed if case.src.dtype.itemsize == width]
        pairs = {(case.src.offset % places, case.dst.offset % places) for case in narrow if case.op == "reorder"}
        assert pairs == set(product(range(places), repeat=2))
        for case_op in ("reorder", "resample"):
            assert {case.dst.offset % places for case in narrow if case.op == case_op} == set(range(places))
            assert {case.src.offset % places for case in narrow if case.op == case_op} == set(range(places))

    @pytest.mark.parametrize("op", LAYOUT_OPS)
    def test_views_of_every_kind(self, op: str) -> None:
        steps = [step for case in CI if case.op == op and case.view for step in case.view.steps]
        assert {step.method for step in steps if isinstance(step, Call)} == {"permute", "broadcast_to", "reshape"}
        items = [item for step in steps if isinstance(step, Indexing) for item in step.items]
        assert {type(item) for item in items} == {int, SliceItem, type(None), type(Ellipsis)}
        assert any(isinstance(item, SliceItem) and (item.step or 1) < 0 for item in items)
        assert any(case.view and len(case.view.steps) >= 3 for case in CI if case.op == op)

    @pytest.mark.parametrize("op", LAYOUT_OPS)
    @pytest.mark.parametrize("name", ["smoke", "ci"])
    def test_destinations_of_every_kind(self, name: str, op: str) -> None:
        kinds = {case["out"] for case in CASES[name] if case.op == op}
        assert kinds >= {None, "new", "same"} | (set() if op == "slice" and name == "smoke" else {"default"})
        if op != "slice" and name == "ci":
            assert "NHWC" in kinds

    def test_every_ordered_pair_of_element_types(self) -> None:
        pairs = {(case.src.dtype.name, case.dst.dtype.name) for case in CI if case.op == "reorder"}
        assert pairs == set(product(DTYPES, repeat=2))

    def test_every_rounding_and_range_of_floats_that_become_integers(self) -> None:
        rounded = [case for case in CONVERSIONS if case.src.dtype.is_float and case.dst.dtype.name[0] in "su"]
        for side in ("src", "dst"):
            settings = {(getattr(case, side).dtype.name, case["rounding"], case["saturate"]) for case in rounded}
            types = {getattr(case, side).dtype.name for case in rounded}
            assert len(types) == (6 if side == "src" else 8)
            assert len(settings) >= len(types) * 3, "each type in at least three of six settings"
        assert {(case["rounding"], case["saturate"]) for case in rounded} == set(product(ROUNDINGS, ("yes", "no")))

    @pytest.mark.parametrize("dst", ["f16", "f8e4m3fn", "f8e5m2"])
    def test_floats_that_overflow_both_ways(self, dst: str) -> None:
        assert {case["saturate"] for case in CONVERSIONS if case.dst.dtype == dst and case.src.dtype == "f32"} == {
            "yes",
            "no",
        }

    def test_two_thousand_random_problems_of_arithmetic(self) -> None:
        random = [*folder_cases("ci/arithmetic_random.txt"), *folder_cases("full/arithmetic_random.txt")]
        assert len(random) >= 2000
        assert all(is_arithmetic(case) for case in random)
        for side in ("src", "dst"):
            assert {getattr(case, side).dtype.name for case in random} == set(DTYPES)
            assert {family(getattr(case, side)) for case in random} >= {*STRIDED, *WHOLE, "view of tiles"}
        masks = {tuple(type(case[name]) for name in SCALES) for case in random}
        assert len(masks) == 3 ** len(SCALES) - 1, "none, a number or an array, of each but not none of all"

    def test_arithmetic_in_every_pair_of_families(self) -> None:
        """No destination is a broadcast; empty ones have nothing to compute."""
        pairs = {(family(case.src), family(case.dst)) for case in ARITHMETIC_CASES}
        wanted = set(product(FAMILIES[:-1], (*STRIDED, *WHOLE, "view of tiles")))
        assert pairs >= wanted, wanted - pairs

    def test_scales_of_every_kind(self) -> None:
        """As a number, along the first axis, the last, several; in groups that divide and do not; under every step."""
        for name in SCALES:
            values = [(case[name], len(case.viewed)) for case in ARITHMETIC_CASES]
            assert {type(value) for value, _ in values} == {float, tuple, Entries, type(None)}
            axes = {value for value, rank in values if isinstance(value, tuple) and rank == 2}
            assert axes == {(0,), (1,), (0, 1)}, name
        grouped = [case for case in ARITHMETIC_CASES if case["group_sizes"] is not None]
        uneven = {
            size % group != 0 and size > group
            for case in grouped
            for size, group in zip(case.viewed, case.integers("group_sizes"), strict=True)
            if group > 1
        }
        assert uneven == {True, False}
        assert {case["permute"] is None for case in grouped} == {True, False}
        assert {case["out"] for case in ARITHMETIC_CASES} >= {None, "new", "default", "any", "NHWC", "same"}
        assert {is_in_place(case) for case in ARITHMETIC_CASES if case["out"] == "same"} == {True, False}

    def test_sums_of_every_type_but_truth_values_and_over_padding(self) -> None:
        sums = [case for case in CI if case.op == "reorder" and case["sum_scale"] not in (None, 0.0)]
        assert {case.dst.dtype.name for case in sums} >= set(DTYPES) - {"pred"}
        assert {family(case.dst) for case in sums} >= {*STRIDED, *WHOLE, "view of tiles"}

    def test_directml_s_worked_examples(self) -> None:
        window_of = "offsets=(0,0,0,1) sizes=(1,1,4,3)"
        for strides in ("(1,1,2,2)", "(1,1,-2,2)"):
            assert Case.parse(f"slice f32[1,1,4,4] -> f32[1,1,2,2] {window_of} strides={strides}") in CASES["smoke"]


def viewed_desc(case: Case) -> TensorDesc:
    """The source as the kernels see it."""
    desc = case.src
    for step in case.view.steps if case.view else ():
        if isinstance(step, Indexing):
            desc = index(desc, step.key)
        else:
            desc = {"permute": permute, "broadcast_to": broadcast_to, "reshape": reshape}[step.method](
                desc, step.numbers
            )
    return desc


def is_copied(case: Case) -> bool:
    """A reorder that moves bits."""
    return case.src.dtype == case.dst.dtype and not is_arithmetic(case)


CONVERSIONS = [case for case in CI if case.op == "reorder" and not is_copied(case) and not is_arithmetic(case)]
ARITHMETIC_CASES = [case for case in CI if case.op == "reorder" and is_arithmetic(case)]


def widths_of(shader: str) -> set[int]:
    """The bits of the words that a shader moves in ci."""
    reorders = [case for case in CI if case.op == "reorder" and case["permute"] is None and is_copied(case)]
    kernels = (copy_kernels(viewed_desc(case), case.dst, Limits()) for case in reorders)
    return {kernel.constant("BITS") for each in kernels for kernel in each if kernel.shader == shader}


NO_CASES = ("#", "light_")
"""Comments, and modules of the benchmark."""


@pytest.mark.parametrize("name", ["smoke", "ci"])
def test_every_shader_module_is_reached(name: str) -> None:
    lines = VARIANTS.read_text(encoding="utf-8").splitlines()
    known = {line.split(":")[0] for line in lines if line.strip() and not line.startswith(NO_CASES)}
    missing = set(known)
    every = [KernelsAlone(choices=Choices.usual(kind)) for kind in ("cpu", "discrete")]
    for case in CASES[name]:
        reached = {kernel.shader for limits in every for kernel in kernels_of(case, limits)}
        assert reached <= known
        missing -= reached
        if not missing:
            return
    assert not missing


def source_and_slots(kernel: KernelSpec) -> tuple[int, int]:
    return kernel.constant("SRC_TYPE"), kernel.constant("SLOTS_AND_KIND") & 3


def test_ci_reaches_the_kernels_of_resamplings_in_every_form() -> None:
    """Pixels of any channels, quads put together; groups, runs, cells and elements of any width."""
    channels, groups, quads, runs, cells, repeats = set(), set(), set(), set(), set(), set()
    for case in CI:
        if not case.op.startswith("resample"):
            continue
        for kernel in kernels_of(case):
            if kernel.shader == "resample_along":
                channels.add(kernel.constant("CHANNELS"))
            elif kernel.shader == "resample_runs":
                runs.add((kernel.constant("ELEMENTS"), *source_and_slots(kernel)))
            elif kernel.shader == "resample_cells":
                cells.add(source_and_slots(kernel))
            elif kernel.shader == "resample_moves" and kernel.constant("GROUP"):
                repeats.add(kernel.constant("REPEATED") > 1)
                source = DTYPES[list(TYPE_NUMBERS)[kernel.constant("SRC_TYPE")]].itemsize
                groups.add((source, source * kernel.constant("GROUP")))
            if kernel.shader in ("resample_along", "resample_across"):
                quads.add((kernel.shader, kernel.constant("SRC_TYPE"), bool(kernel.constant("WHOLE_QUADS"))))
    assert channels == {1, 2, 3, 4}
    assert groups >= {(1, 4), (1, 8), (1, 16), (2, 4), (2, 8), (2, 16), (4, 8), (4, 16)}
    types = [list(TYPE_NUMBERS).index(name) for name in ("u8", "f16", "f32")]
    assert runs >= set(product((4, 8), types, (2, 3)))
    assert cells >= set(product(types, (2, 3)))
    assert repeats == {False, True}
    assert quads >= set(product(("resample_along", "resample_across"), types, (False, True)))


def test_the_limits_of_a_device_move_its_largest_cases() -> None:
    narrow = Limits(max_buffer_range=1 << 20, max_group_count=(64, 64, 64))
    folder = ROOT / "src" / "restride_conformance" / "catalogue"
    named = [path for path in folder.rglob("*.txt") if "MAX_" in path.read_text(encoding="utf-8")]
    moved = {path.relative_to(folder).as_posix() for path in named}
    assert {name for name in moved if not name.startswith("full/")} == {"ci/split.txt"}
    cases, wide_cases = (
        [case for name in sorted(moved) for case in folder_cases(name, limits) if case.src.dtype == "u8"]
        for limits in (narrow, Limits())
    )
    assert max(case.dst.nbytes for case in cases) < max(case.dst.nbytes for case in wide_cases)
    about = {(1 << 20) - 1, 1 << 20, (1 << 20) + 1}
    assert about <= {case.src.nbytes for case in cases}
    assert about <= {case.dst.nbytes for case in cases}
    assert set(split_cases(narrow)) - set(split_cases(Limits())), "ci is for the device that it runs on, too"


def test_families() -> None:
    for text, name in [
        ("f32[]", "row-major"),
        ("f32[2,3]{1,0}", "row-major"),
        ("f32[1,3]{strides=(7,1)}", "row-major"),
        ("f32[2,3]{0,1}", "permuted"),
        ("u8[1,3,5,7]{1,3,2,0}", "permuted"),
        ("f32[2,3]{strides=(5,1)}", "padded"),
        ("f32[2]{strides=(1),offset=1}", "padded"),
        ("f32[2,3]{strides=(-5,1),offset=5}", "flipped"),
        ("f32[5,2,3]{strides=(7,1,19)}", "interleaved"),
        ("f32[4,3]{strides=(1,1)}", "interleaved"),
        ("f32[2,3]{strides=(0,1)}", "broadcast"),
        ("f32[2,0]{strides=(0,1)}", "empty"),
        ("f32[2,3,4,5]:nhwc", "permuted"),
        ("f32[2,3]:ab", "row-major"),
        ("f32[2,3]{1,0:pad(2,4)=0}", "padded sizes"),
        ("f32[3,5]{1,0:T(2,2)}", "tiled"),
        ("f32[4,8]{1,0:T(2,8)pad(5,8)=1}", "tiled"),
        ("u32[]{:T(128)}", "tiled"),
        ("bf16[64]{0:T(32)(2,1)}", "nested tiles"),
        ("f32[2,7,8]{2,1,0:T(*,2,4)(2)}", "combined"),
        ("f32[2,16,4,4]:nChw16c", "blocked"),
        ("f32[3]{at=(1+a,2),in=[4,4]{1,0:T(2,2)}}", "view of tiles"),
        ("f32[2]{at=(a,2),in=[4,4]{1,0:T(2,2)}}", "padded"),
        ("f32[3,9]{at=(a,2),in=[4,4]{1,0:T(2,2)}}", "broadcast"),
        ("f32[0,5]{1,0:pad(2,8)=1}", "empty"),
    ]:
        assert family(TensorDesc.parse(text)) == name, text
    assert {family(case.src) for case in CI} == set(FAMILIES)
