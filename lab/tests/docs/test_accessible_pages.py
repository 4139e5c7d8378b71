"""Pages for everybody: WCAG 2 A and AA by axe-core, light and dark, 400 to 2,000 px wide; keys do what a mouse does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from support.bench_reports import made_up, record
from support.devices import open_device
from support.report_examples import ALL_OPERATIONS, example, many, passed, wrong_picture
from support.selftest_examples import NEWER

import restride as rs
from restride_bench.charts import chart_file, draw_growth, draw_ratios
from restride_conformance.record import Outcome, Verdict
from restride_conformance.report.file import read_record
from restride_conformance.report.page import write_page
from restride_measure.workloads import BY_AXES, BY_BYTES

WIDTHS = (400, 1200, 2000)
ROOT = Path(__file__).resolve().parents[3]

OPTIONS = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "rules": {"target-size": {"enabled": True}},
    "resultTypes": ["violations"],
}
"""The last rule belongs to WCAG AA, but axe-core runs it only on request."""

MORE_OPERATIONS = (
    "pad f32[4,5] -> f32[7,6] before=(1,0) behind=(2,1) mode=reflect",
    "roll f32[5,6] -> f32[5,6] shift=(2,-7) axes=(0,1)",
    "concat f16[6,5] -> f16[9,5] axes=(0) parts=(2:,1:3,:3)",
    "rearrange u8[6,4] -> f32[3,8] pattern=(h,s),w->h,(s,w) lengths=s=2 dst_scale=255",
    "equal s64[3,5] -> pred[3,5] other=f64[5] negated=yes",
)


def failures(path):
    """A report with every verdict, pictures, and ten operations."""
    write_page(example(outcomes=(*example().outcomes, *passed(*ALL_OPERATIONS, *MORE_OPERATIONS))), path)


def hundreds(path):
    """A report of several pages, whose first page has all cases that do not pass, one of them with pictures."""
    write_page(example(outcomes=(*many(500), wrong_picture())), path)


def selftest(path):
    """A device's own record, to which a problem, a failed case and newer parts are added."""
    known = read_record(ROOT / "docs" / "devices" / "llvmpipe.json", "selftest")
    figures = {"repeat": "restride test --repro"}
    bad = Outcome("reorder u8[2,3] -> u8[2,3]{0,1}", Verdict.FAILED, "1 of 6 is wrong", group="smoke", figures=figures)
    problems = ({"case": "smoke", "message": f"FAILED {bad.case}: {bad.message}"},)
    write_page(replace(known, outcomes=(*known.outcomes, bad, *NEWER), problems=problems), path)


def drawings(path):
    """A picture of a layout, tensors as notebooks show them, and charts, on a page that has no style of its own."""
    with open_device("vulkan") as device:
        tiled = rs.reorder(rs.asarray(np.ones((64, 64), np.float32), device=device), layout="f32[64,64]{1,0:T(8,128)}")
        image = rs.asarray(np.zeros((300, 200, 3), np.uint8), device=device)
        tensors = "".join(tensor._repr_html_().replace("<details>", "<details open>") for tensor in (tiled, image))
    charts = [
        draw_ratios(record(), "resident"),
        draw_growth(record(made_up((*BY_BYTES, BY_AXES))), "resident"),
    ]
    pictures = [rs.show("f32[3,5]{1,0:T(2,2)}", "f32[3,5]{0,1}").svg()]
    pictures += ["<svg" + chart_file(chart, ".svg").decode().partition("<svg")[2] for chart in charts]
    wide = "".join(
        f'<div tabindex="0" role="group" aria-label="{number}" style="overflow:auto">{picture}</div>'
        for number, picture in enumerate(pictures)
    )
    path.write_text(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"<title>drawings</title></head><body><main><h1>drawings</h1>{wide}{tensors}</main></body></html>"
    )


@pytest.fixture(scope="module")
def visit(browser, tmp_path_factory):
    """Opens one of the pages above, which is written once."""
    folder, contexts = tmp_path_factory.mktemp("pages"), []

    def open_page(write, scheme="light", width=1200):
        path = folder / f"{write.__name__}.html"
        if not path.exists():
            write(path)
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


def broken_rules(page, options=OPTIONS):
    """The rules that the page breaks, each with the first element that does."""
    found = Axe().run(page, options=options).response["violations"]
    return {each["id"]: each["nodes"][0]["html"] for each in found}


CUT = """() => [...document.querySelectorAll("th")].filter((head) => head.scrollWidth > head.clientWidth)
  .map((head) => head.textContent)"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("write", [failures, hundreds, selftest, drawings])
def test_no_rule_is_broken_and_nothing_is_cut(visit, write, scheme):
    page = visit(write, scheme)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        # Faults of the layout do not depend on colours, so one width is enough in the dark.
        assert (scheme == "dark" and width != WIDTHS[0]) or broken_rules(page) == {}, width
        assert page.evaluate(CUT) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("write", "harm", "rule"),
    [
        (failures, "document.querySelector('.scroll').removeAttribute('tabindex')", "scrollable-region-focusable"),
        (failures, "document.querySelector('figure img').removeAttribute('alt')", "image-alt"),
        (failures, "document.documentElement.removeAttribute('lang')", "html-has-lang"),
        (failures, "document.documentElement.style.setProperty('--quiet', '#999')", "color-contrast"),
        (drawings, "document.querySelector('svg[role]').outerHTML = '<svg role=img></svg>'", "svg-img-alt"),
    ],
)
def test_a_label_that_is_missing_is_noticed(visit, write, harm, rule):
    page = visit(write, width=300)
    page.evaluate(f"() => {{ {harm}; }}")
    assert list(broken_rules(page, {"runOnly": [rule]})) == [rule]


def test_a_head_that_is_cut_is_noticed(visit):
    page = visit(failures)
    page.add_style_tag(content="table { table-layout: fixed; width: 400px }")
    assert "rearrange" in page.evaluate(CUT)


UNNAMED = """() => {
  const isPicture = (one) => one.getAttribute("role") === "img"
    && ["title", "desc"].every((tag) => one.querySelector(`:scope > ${tag}`)?.textContent);
  const isTable = (one) => one.caption?.textContent
    && [...one.querySelectorAll("th")].every((head) => head.scope && head.textContent);
  return [...document.querySelectorAll("svg, table")].filter((one) => !(one.rows ? isTable : isPicture)(one))
    .map((one) => one.outerHTML);
}"""


@pytest.mark.parametrize("write", [failures, selftest, drawings])
def test_every_drawing_and_table_has_a_name_and_heads(visit, write):
    page = visit(write)
    assert page.evaluate(UNNAMED) == []


FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one), box = one.getBoundingClientRect();
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + Math.min(box.height / 2, 8));
  return { name: one.tagName, outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
    seen: one.contains(top) };
}"""


def test_with_the_tab_key_every_stop_is_outlined_and_in_sight(visit):
    page = visit(failures, width=400)
    names = []
    while True:
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop["name"] == "BODY":
            break
        names.append(stop["name"])
        assert stop["outline"], names
        assert stop["seen"], names
    assert {"DIV", "SUMMARY"} == set(names)
