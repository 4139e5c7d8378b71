"""The catalogues are whole: every operation, type, layout family, size and kernel, each case once and worth running."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from restride.conformance import CATALOGUES, Case, catalogue, read_cases
from restride.conformance.catalogue import NESTED
from restride.conformance.check import mistrusted, prepare
from restride.conformance.family import FAMILIES, family
from restride.conformance.spelling import PARAMETERS
from restride.conformance.view_steps import Call, Index, Span
from restride.desc import TensorDesc
from restride.dtypes import DTYPES
from restride.errors import DescriptorError
from restride.kernel import Limits
from restride.plan import LINEAR_TYPES, copy_kernels, resample_kernels
from restride.views import broadcast_to, index, permute, reshape, window

CASES = {name: catalogue(name) for name in CATALOGUES}
CI = CASES["ci"]
BOUNDARIES = {1, 3, 4, 5, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025}
ROOT = Path(__file__).resolve().parent.parent
VARIANTS = ROOT / "shaders" / "variants.txt"


def of_mode(mode: str) -> list[Case]:
    return [case for case in CI if case.op == "resample" and case.word("mode") == mode]


def test_each_catalogue_contains_the_one_before_and_has_its_size() -> None:
    smoke, ci, full = (CASES[name] for name in NESTED)
    assert ci[: len(smoke)] == smoke
    assert full[: len(ci)] == ci
    assert 200 <= len(smoke) <= 400
    assert 4000 <= len(ci) <= 6500
    assert 15_000 <= len(full) <= 50_000


def test_no_case_is_there_twice() -> None:
    full = CASES["full"]
    assert len(set(full)) == len({str(case) for case in full}) == len(full)


def test_tensors_to_measure_are_large() -> None:
    assert all(case.dst.nbytes >= 150_000 for case in CASES["perf"])
    assert {case.op for case in CASES["perf"]} == set(PARAMETERS)


def test_an_unknown_catalogue_is_named() -> None:
    with pytest.raises(DescriptorError, match="catalogue 'absent' is unknown; known: smoke, ci, full, perf"):
        catalogue("absent")


def split_cases(limits: Limits) -> tuple[Case, ...]:
    path = ROOT / "src" / "restride" / "conformance" / "catalogue" / "ci" / "split.txt"
    return read_cases(path.read_text(encoding="utf-8"), path.name, limits)


LARGE = 1 << 20
"""Bytes of the largest buffers of ci that are not in split.txt, whose few large cases are not prepared here."""


def test_every_case_of_ci_has_an_answer_that_proves_something() -> None:
    large = [case for case in CI if max(case.src.nbytes, case.dst.nbytes) > LARGE]
    assert set(large) <= set(split_cases(Limits())), "large cases are for the catalogue full"
    for case in set(CI) - set(large):
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


class TestCoverage:
    @pytest.mark.parametrize("op", PARAMETERS)
    def test_every_element_type(self, op: str) -> None:
        assert {case.src.dtype.name for case in CI if case.op == op} == set(DTYPES)

    @pytest.mark.parametrize(("mode", "types"), [("nearest", DTYPES), ("linear", LINEAR_TYPES)])
    def test_every_element_type_of_a_mode(self, mode: str, types) -> None:
        assert {case.src.dtype.name for case in of_mode(mode)} == set(types)

    @pytest.mark.parametrize("op", PARAMETERS)
    def test_every_rank(self, op: str) -> None:
        ranks = {len(case.viewed) for case in CI if case.op == op}
        assert ranks >= set(range(0 if op == "reorder" else 1, 9))

    @pytest.mark.parametrize("op", PARAMETERS)
    @pytest.mark.parametrize("width", [1, 2, 4, 8])
    def test_every_pair_of_layout_families(self, op: str, width: int) -> None:
        """No destination is a broadcast, and no window is empty."""
        of_op = [case for case in CI if case.op == op and case.src.dtype.itemsize == width]
        pairs = {(family(case.src), family(case.dst)) for case in of_op}
        filled = [name for name in FAMILIES if name != "empty"]
        wanted = set(product(filled, (name for name in filled if name != "broadcast")))
        if op != "slice":
            wanted.add(("empty", "empty"))
        assert pairs >= wanted, wanted - pairs

    @pytest.mark.parametrize("op", PARAMETERS)
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
        narrow = [case for case in CI if case.src.dtype.itemsize == width and case.src.strides[-1:] == (1,)]
        pairs = {(case.src.offset % places, case.dst.offset % places) for case in narrow if case.op == "reorder"}
        assert pairs == set(product(range(places), repeat=2))
        for case_op in ("reorder", "resample"):
            assert {case.dst.offset % places for case in narrow if case.op == case_op} == set(range(places))
            assert {case.src.offset % places for case in narrow if case.op == case_op} == set(range(places))

    @pytest.mark.parametrize("op", PARAMETERS)
    def test_views_of_every_kind(self, op: str) -> None:
        steps = [step for case in CI if case.op == op and case.view for step in case.view.steps]
        assert {step.method for step in steps if isinstance(step, Call)} == {"permute", "broadcast_to", "reshape"}
        items = [item for step in steps if isinstance(step, Index) for item in step.items]
        assert {type(item) for item in items} == {int, Span, type(None), type(Ellipsis)}
        assert any(isinstance(item, Span) and (item.step or 1) < 0 for item in items)
        assert any(case.view and len(case.view.steps) >= 3 for case in CI if case.op == op)

    @pytest.mark.parametrize("op", PARAMETERS)
    @pytest.mark.parametrize("name", ["smoke", "ci"])
    def test_destinations_of_every_kind(self, name: str, op: str) -> None:
        kinds = {case["out"] for case in CASES[name] if case.op == op}
        assert kinds >= {None, "new", "same"} | (set() if op == "slice" and name == "smoke" else {"default"})
        if op != "slice" and name == "ci":
            assert "NHWC" in kinds

    def test_directml_s_worked_examples(self) -> None:
        window_of = "offsets=(0,0,0,1) sizes=(1,1,4,3)"
        for strides in ("(1,1,2,2)", "(1,1,-2,2)"):
            assert Case.parse(f"slice f32[1,1,4,4] -> f32[1,1,2,2] {window_of} strides={strides}") in CASES["smoke"]


def viewed_desc(case: Case) -> TensorDesc:
    """The source as the kernels see it."""
    desc = case.src
    for step in case.view.steps if case.view else ():
        if isinstance(step, Index):
            desc = index(desc, step.key)
        else:
            desc = {"permute": permute, "broadcast_to": broadcast_to, "reshape": reshape}[step.method](
                desc, step.numbers
            )
    return desc


def modules(case: Case, specialised: bool) -> set[str]:
    """The shader modules that a case dispatches."""
    src, dst, limits = viewed_desc(case), case.dst, Limits()
    if case.op == "resample":
        kernels = resample_kernels(src, dst, case.integers("axes"), case.word("mode"), limits, specialised)
        return {kernel.shader for kernel in kernels}
    if case.op == "slice":
        src = window(src, *(case.integers(name) for name in ("offsets", "sizes", "strides")), dst.sizes)
    elif case["permute"] is not None:
        before, after = case.word("permute").split("->")
        dst = permute(dst, [after.index(letter) for letter in before])
    return {kernel.shader for kernel in copy_kernels(src, dst, limits, specialised)}


@pytest.mark.parametrize("name", ["smoke", "ci"])
def test_every_shader_module_is_reached_generic_and_specialised(name: str) -> None:
    lines = VARIANTS.read_text(encoding="utf-8").splitlines()
    known = {line.split(":")[0] for line in lines if line.strip() and not line.startswith("#")}
    reached = {module for case in CASES[name] for form in (False, True) for module in modules(case, form)}
    assert reached == known


def test_the_limits_of_a_device_move_its_largest_cases() -> None:
    def largest(limits: Limits) -> int:
        return max(case.dst.nbytes for case in catalogue("full", limits) if case.src.dtype == "u8")

    narrow = Limits(max_buffer_range=1 << 20, max_group_count=(64, 64, 64))
    assert largest(narrow) < largest(Limits())
    cases = [case for case in catalogue("full", narrow) if case.src.dtype == "u8"]
    about = {(1 << 20) - 1, 1 << 20, (1 << 20) + 1}
    assert about <= {case.src.nbytes for case in cases}
    assert about <= {case.dst.nbytes for case in cases}
    assert set(catalogue("ci", narrow)) - set(CI) <= set(split_cases(narrow))


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
    ]:
        assert family(TensorDesc.parse(text)) == name, text
    assert {family(case.src) for case in CI} == set(FAMILIES)
