"""The READMEs and the pages: examples run, tables are right, links lead somewhere, the shader contract is complete."""

import inspect
import re
from pathlib import Path
from statistics import geometric_mean, median

import ml_dtypes
import numpy as np
import pytest

import restride as rs
from restride.cli import main
from restride.dtypes import DTYPES
from restride.kernel import shared_constants
from restride.plan import problem as parameters
from restride.plan.convert import TYPE_NUMBERS
from restride.plan.problem import Axis, table_words
from restride.request import Request
from restride.weights import MAX_TAPS, resizing
from restride_conformance.report.file import read_record
from restride_conformance.report.table import median_seconds, ratio
from restride_measure.workloads import catalogue

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHADERS = (ROOT / "shaders" / "README.md").read_text(encoding="utf-8")
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
ARRAYS = (ROOT / "docs" / "arrays.md").read_text(encoding="utf-8")
REORDER = (ROOT / "docs" / "reorder.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "docs" / "benchmarks" / "README.md").read_text(encoding="utf-8")
SCALE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
EXAMPLES = {
    f"{page} example {number}": text
    for page, content in (
        ("README.md", README),
        ("docs/api.md", API),
        ("docs/reorder.md", REORDER),
        ("docs/arrays.md", ARRAYS),
        ("docs/scale.md", SCALE),
    )
    for number, text in enumerate(re.findall(r"```python\n(.*?)```", content, re.DOTALL))
}


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name):
    exec(compile(EXAMPLES[name], name, "exec"), {})


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 200


def test_all_that_begins_says_the_same_sentence(capsys):
    """README, the start page, ``restride`` alone, its help, and the package's own line open with one sentence."""
    sentence = " ".join(README.split("\n\n")[1].split()).partition(". ")[0] + "."
    assert sentence == rs.__doc__
    start = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert main([]) == 2
    assert main(["--help"]) == 0
    shown = capsys.readouterr()
    for text in (start.split("\n\n", 1)[1], shown.err, shown.out.split("\n\n", 1)[1]):
        assert " ".join(text.split()).startswith(sentence)


SIGNATURES = re.findall(r"^rs\.(\w+\([^`]*?\))$", API, re.MULTILINE)
SIGNATURES += re.findall(r"^\| `rs\.(\w+\(.*?\))` \|", REORDER, re.MULTILINE)


def test_every_operation_of_the_page_has_a_signature():
    operations = API[API.index("## Operations") : API.index("### Signatures")]
    named = set(re.findall(r"`rs\.(\w+)[`(]", operations))
    assert len(named) >= 16
    assert named == {signature.split("(")[0] for signature in SIGNATURES}


@pytest.mark.parametrize("signature", SIGNATURES)
def test_signatures_are_the_real_ones(signature):
    name = signature.split("(")[0]
    namespace = {}
    exec(f"def {signature}: ...", namespace)
    shown, real = (inspect.signature(function).parameters.values() for function in (namespace[name], getattr(rs, name)))
    assert [(p.name, p.kind, p.default) for p in shown] == [(p.name, p.kind, p.default) for p in real]


PAGES = {
    *ROOT.glob("*.md"),
    *(ROOT / folder / "README.md" for folder in ("shaders", "lab")),
    *ROOT.glob("docs/**/*.md"),
}
PAGES -= {ROOT / "docs" / "index.md"}  # it links to pages that `make docs` makes


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target, heading in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
        there = page.parent / target if target else page
        assert there.exists(), target
        if heading:
            assert heading in headings(there.read_text(encoding="utf-8")), f"{target}#{heading}"


def record_of(device):
    return read_record(ROOT / "docs" / "benchmarks" / f"{device}.json", "bench")


def day(record):
    """The day of a record as pages write it: 7 November 2026."""
    return f"{record.started.day} {record.started:%B %Y}"


def ratios_of(record, clock, column):
    """restride's time over that of a column, by the workloads that have both."""
    found = {each.case: ratio(each, clock, column) for each in record.outcomes if clock in each.figures}
    return {name: times for name, times in found.items() if times is not None}


COMPARISON = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")


def test_each_cell_of_the_comparison_has_its_source():
    """A cell about another project is empty, or links to a page; figures about restride are those of today."""
    rows = [
        row for header in ("| | runs on | layouts", "| | runs on | what") for row in rows_below(header, COMPARISON)[1:]
    ]
    assert [name for name, *_ in rows].count("restride") == 2
    assert len(rows) == 12
    unsourced = {cell for name, *cells in rows if name != "restride" for cell in cells if cell and "](" not in cell}
    assert unsourced == {"it is what others are compared with"}
    assert f"[{len(DTYPES)} element types]" in COMPARISON
    calls = list(filter(None, (ratio(each, "resident", "torch-cuda") for each in record_of("h200").outcomes)))
    times = f"over {len(calls)} recorded workloads a call takes {geometric_mean(calls):.2f} of torch's time"
    assert times in COMPARISON
    _, *processors = rows_below("| images | restride | transformers |", BENCHMARKS)
    slower = [float(times) for _, _, _, times, _ in processors]
    assert f"takes {min(slower)} to {max(slower)} of its time" in " ".join(COMPARISON.split())


def test_the_table_of_a_cpu_is_the_recorded_run():
    """Each row: restride, a hand-written kernel if one was measured, and the fastest other library."""
    record = record_of("llvmpipe")
    workloads = {outcome.case: outcome.figures["resident"] for outcome in record.outcomes}
    libraries = set(record.options["peers"]) - {"by-hand", "raw"}
    _, *rows = rows_below("| workload | restride | ratio to a hand-written", BENCHMARKS)
    assert len(rows) >= 12
    for name, *cells in rows:
        seconds = {column: median(times) for column, times in workloads[name].items()}
        ours = seconds["restride"]
        fastest = min(libraries & set(seconds), key=seconds.__getitem__)
        by_hand = f"{ours / seconds['by-hand']:.2f}" if "by-hand" in seconds else ""
        other = f"{fastest}, {1000 * seconds[fastest]:.2f} ms"
        assert cells == [f"{1000 * ours:.2f} ms", by_hand, other, f"{ours / seconds[fastest]:.2f}"], name
    paragraph = BENCHMARKS[BENCHMARKS.index("## On a CPU") :]
    assert record.command.startswith(re.findall(r"`(restride bench --device .*?)`", paragraph)[0])
    assert record.device["driver_version"].split()[1] in paragraph
    assert f"medians of {record.options['repeat']} rounds, on {day(record)}" in paragraph
    assert {*workloads} <= {workload.name for workload in catalogue()}


def test_the_table_of_a_gpu_is_the_recorded_run():
    """Columns beside each other are by one clock: the device's of three kernels, the host's of two calls."""
    record = record_of("h200")
    rows_of = {outcome.case: outcome for outcome in record.outcomes}
    columns = [("kernel", column) for column in ("restride", "by-hand", "copy")]
    columns += [("resident", column) for column in ("restride", "torch-cuda")]
    _, *rows = rows_below(
        "| what | workload | kernel: restride | by hand | a copy | call: restride | torch, CUDA |", README
    )
    assert len(rows) == 10
    for _, name, *cells in rows:
        medians = [median_seconds(rows_of[name], clock, column) for clock, column in columns]
        assert cells == ["" if seconds is None else f"{1e6 * seconds:.0f} us" for seconds in medians], name

    hand, calls = (ratios_of(record, *each).values() for each in (("kernel", "by-hand"), ("resident", "torch-cuda")))
    section = " ".join(README[README.index("## Speed") : README.index("## Where to read on")].split())
    said = [
        f"all {len(record.outcomes)} workloads on an {record.device['name']}",
        f"driver {record.device['driver_version']}, on {day(record)}: `{record.command.partition(' --device')[0]}`",
        f"Over {len(hand)} rows restride's kernels take {geometric_mean(hand):.2f} of hand-written ones",
        f"from {min(hand):.2f} to {max(hand):.2f}",
        f"Over {len(calls)} rows a call takes {geometric_mean(calls):.2f} of torch's time",
        f"measures all {len(catalogue())} workloads",
    ]
    assert [words for words in said if words not in section] == []
    assert "launch" not in section, "the clocks of kernels and of calls are never subtracted"


def test_what_the_benchmarks_say_of_a_gpu_is_the_recorded_run():
    record = record_of("h200")
    hand, calls = ratios_of(record, "kernel", "by-hand"), ratios_of(record, "resident", "torch-cuda")
    rows = {outcome.case: outcome for outcome in record.outcomes}

    def speed(name):
        return rows[name].figures["bytes"] / median_seconds(rows[name], "kernel") / 1e12

    def milliseconds(name):
        return 1e3 * median_seconds(rows[name], "resident")

    batch = milliseconds("100 of a plan in a batch, NCHW->NHWC 1x3x8x8") / 100
    worst, next_to_worst, *_ = sorted(hand.values(), reverse=True)
    section = " ".join(BENCHMARKS[BENCHMARKS.index("## On a GPU") : BENCHMARKS.index("## What is measured")].split())
    said = [
        f"driver {record.device['driver_version']}, on 16 cores of an Intel Xeon, of {day(record)}",
        f"`{record.command.partition(' --device')[0]}`, all {len(rows)} workloads",
        f"{geometric_mean(hand.values()):.2f} of `by-hand` in the geometric mean of {len(hand)} rows",
        f"{sum(each > 1.1 for each in hand.values())} rows are more than 10 % slower",
        f"at worst 16 boxes ({worst:.2f}) and `f32 -> f16` ({next_to_worst:.2f})",
        f"Odd sizes move {speed('transpose f32 4091x4077'):.1f} (4091 x 4077)",
        f"and {speed('transpose u8 4095x4093'):.1f} (u8 4095 x 4093)",
        f"{geometric_mean(ratios_of(record, 'resident', 'by-hand').values()):.2f} of `by-hand`, which uses",
        f"{geometric_mean(calls.values()):.2f} of torch in the mean",
        f"100 calls of a plan in a batch take {1e3 * batch:.0f} us each",
    ]
    assert [words for words in said if words not in section] == []
    assert "3.3 to 3.5 TB/s" in section
    large = ("copy f32 4096x4096", "transpose f32 4096x4096", "f32 4096x4096 T(8,128) in", "f32 4096x4096 T(8,128) out")
    assert {f"{speed(name):.1f}" for name in large} == {"3.5", "3.3"}


def test_the_rows_slower_than_by_hand_are_those_of_the_recorded_runs():
    _, *rows = rows_below("| row | 22.3.6 | 25.0.7 |", BENCHMARKS)
    recorded = [ratios_of(record_of(name), "processor", "by-hand") for name in ("llvmpipe", "llvmpipe-mesa25")]
    slower = [name for name in recorded[0] if max(ratios[name] for ratios in recorded) > 1.1]
    assert rows == [[name, *(f"{ratios[name]:.2f}" for ratios in recorded)] for name in slower]
    assert f"{len(rows)} of {len(recorded[0])} rows" in BENCHMARKS


def test_what_small_calls_and_image_processors_cost_is_recorded():
    raw = list(ratios_of(record_of("llvmpipe"), "resident", "raw").values())
    _, *rows = rows_below("| row | restride / raw | goal |", BENCHMARKS)
    assert [times for _, times, _ in rows] == [f"{each:.1f}" for each in raw[:5]]
    record = record_of("image-processors-llvmpipe")
    _, *rows = rows_below("| images | restride | transformers |", BENCHMARKS)
    beside = [ratios_of(record, clock, "transformers") for clock in ("numpy", "resident")]
    assert [(name, *ratios) for name, _, _, *ratios in rows] == [
        (name, *(f"{times[name]:.2f}" for times in beside)) for name in beside[0]
    ]
    section = BENCHMARKS[BENCHMARKS.index("### Image processors") : BENCHMARKS.index("## On a GPU")]
    assert f"On {day(record)} (" in section
    assert f"`{record.command.partition(' --json')[0]}`" in section


def test_the_first_sentences_name_the_makers_whose_gpus_it_has_run_on():
    first, where = README.split("\n\n")[1], README[README.index("## Where it runs") :]
    assert "but on no GPU of another maker yet" in " ".join(first.split())
    assert "but on no GPU of another maker yet" in " ".join(where.split())
    assert not re.search(r"\b(AMD|Intel|Apple|Arm|Qualcomm)\b", first)


def headings(text):
    """The anchors of a page: its headings in small letters, hyphens for blanks, without punctuation."""
    lines = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line).lower().replace(" ", "-") for line in lines}


def test_shader_page_lists_every_module():
    lines = (ROOT / "shaders" / "variants.txt").read_text(encoding="utf-8").splitlines()
    names = [line.split(":")[0].strip() for line in lines if line.strip() and not line.startswith("#")]
    # The page writes `copy_32` `_64` for copy_32 and copy_64.
    table = re.sub(r"(`\w+?)(_\d+)`((?: `_\d+`)+)", _spelled_out, SHADERS)
    assert [name for name in names if f"`{name}`" not in table] == []


def _spelled_out(match):
    stem, first, others = match.groups()
    return " ".join(f"{stem}{width}`" for width in (first, *re.findall(r"_\d+", others)))


def test_shader_page_has_the_numbers_of_the_plan():
    first, step = shared_constants.HEADER_ROWS, shared_constants.AXIS_ROWS
    for row in range(step):
        assert f"| {first + row} + {step}k |" in SHADERS
    assert ", ".join(f"{number} {name}" for name, number in TYPE_NUMBERS.items()) in SHADERS
    multiplier, shift = parameters.multiply_shift(5)
    assert f"For d = 5: {multiplier} and {shift}." in SHADERS


def test_shader_page_has_a_table_of_the_plan():
    (linear,) = resizing((3,), Request((2,))).rows
    words = table_words(linear, 4)
    assert words.shape == (2, 4)
    rows = "; ".join(
        f"{first}, {second}, {offset}, {rest}"
        for first, second, offset, rest in zip(*words[:, :2].copy().view(np.float32).T, *words[:, 2:].T, strict=True)
    )
    page = " ".join(SHADERS.split())
    assert f"3 to 2, source stride 4: the rows {rows}. " in page
    axis = Axis(2, 4, 1, table=linear, slot=1)
    assert f"{parameters.slot_word(axis)} is slot 1 with two taps" in page
    assert f"A row has 1 to {MAX_TAPS} taps ({MAX_TAPS + 4} in `resample_along`)" in page
    assert 4 * ((3 + MAX_TAPS + 3) // 4) == MAX_TAPS + 4  # a row that begins at the last of a four


def rows_below(header, page=REORDER):
    """The cells of a table, without backquotes; ``header`` begins its first line."""
    lines = page[page.index(f"\n{header}") + 1 :].split("\n\n")[0].splitlines()
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])]


def samples(name):
    """Every value of a narrow type; of a wide one its ends, halves, and bit patterns of every length."""
    dtype = DTYPES[name].dtype
    if dtype.itemsize <= 2:
        return np.arange(2 if name == "pred" else 1 << 8 * dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype)
    random = np.random.default_rng(0)
    patterns = random.integers(0, 256, (20000, dtype.itemsize), np.uint8).view(dtype).reshape(-1)
    if not DTYPES[name].is_float:
        ends = np.iinfo(dtype)
        shifted = patterns >> random.integers(0, ends.bits, patterns.size).astype(dtype)
        return np.concatenate([patterns, shifted, np.array([ends.min, ends.max], dtype)])
    ends = [np.inf, -np.inf, np.finfo(dtype).min, np.finfo(dtype).max]
    return np.concatenate([patterns, np.arange(-300, 301).astype(dtype) / 2, np.array(ends, dtype)])


def letters_of(source, target):
    """The rule that the reference follows, as docs/reorder.md abbreviates it."""
    if source == target:
        return "="
    if target == "pred":
        return "0"
    x = samples(source)
    with np.errstate(invalid="ignore"):
        x = x[~np.isnan(x.astype(np.float64))]
    y, unsaturated = rs.reference.convert(x, target), rs.reference.convert(x, target, saturate=False)
    found = ""
    if not DTYPES[target].is_float:
        others = (rs.reference.convert(x, target, rounding) for rounding in ("truncate", "half_away"))
        found += "R" if any((other != y).any() for other in others) else ""
    else:
        is_inside = np.abs(y.astype(np.float64)) < float(ml_dtypes.finfo(y.dtype).max)
        found += "N" if (rs.reference.convert(y, source) != x)[is_inside].any() else ""
    found += "S" if y.tobytes() != unsaturated.tobytes() else ""
    found += "I" if (np.isinf(y.astype(np.float64)) & np.isfinite(x.astype(np.float64))).any() else ""
    if not found:
        assert np.array_equal(rs.reference.convert(y, source, saturate=False), x)
    return found or "e"


def test_table_of_type_pairs_is_what_the_reference_does():
    header, *rows = rows_below("| from \\ to |")
    assert header[1:] == list(DTYPES)
    assert [row[0] for row in rows] == list(DTYPES)
    for source, *cells in rows:
        assert {target: letters_of(source, target) for target in DTYPES} == dict(zip(DTYPES, cells, strict=True)), (
            source
        )


def element(name, text):
    """One element of docs/reorder.md: a number, or its bits in hexadecimal."""
    dtype = DTYPES[name].dtype
    if text.startswith("0x"):
        return np.array([int(text, 16)], f"u{dtype.itemsize}").view(dtype)
    return np.array([float(text) if DTYPES[name].is_float else int(text)]).astype(dtype)


def test_worked_numbers_of_conversions(vulkan_device):
    _, *rows = rows_below("| from | to | `saturate=True` |")
    assert len(rows) > 30
    for source, target, *expected in rows:
        name, text = source.split()
        x = rs.asarray(element(name, text), device=vulkan_device)
        for saturate, answer in zip((True, False), expected, strict=True):
            right = element(target, answer)
            results = (
                rs.reference.convert(x.numpy(), target, saturate=saturate),
                rs.reorder(x, dtype=target, saturate=saturate).numpy(),
            )
            for result in results:
                if answer == "nan":
                    assert np.isnan(result.astype(np.float32)).all(), (source, target, saturate)
                else:
                    assert result.tobytes() == right.tobytes(), (source, target, saturate, result)


def test_table_of_roundings(vulkan_device):
    (_, _, *numbers), *rows = rows_below("| `rounding` |")
    x = np.float32(numbers)
    for rounding, _, *expected in rows:
        answer = [int(text) for text in expected]
        assert rs.reference.convert(x, "s8", rounding).tolist() == answer
        on_device = rs.asarray(x, device=vulkan_device)
        assert rs.reorder(on_device, dtype="s8", rounding=rounding).numpy().tolist() == answer


def test_table_of_overflow():
    _, *rows = rows_below("| to | largest |")
    for target, *cells in rows:
        largest, limit = (float(eval(cell.removeprefix("above ").replace("^", "**"))) for cell in cells[:2])
        assert float(ml_dtypes.finfo(DTYPES[target].dtype).max) == largest
        inside, outside = np.nextafter([limit, limit], [0, np.inf])
        if cells[1].startswith("above"):
            inside = limit
        else:
            outside = limit
        for saturate, beyond in zip((True, False), cells[2:], strict=True):
            got = rs.reference.convert(np.array([inside, outside]), target, saturate=saturate).astype(np.float64)
            assert np.array_equal(got, [largest, float(beyond)], equal_nan=True), (target, saturate)
