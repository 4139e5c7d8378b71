"""The HTML page in a real browser: Chromium without a window, the file opened as a user opens it."""

import re
from dataclasses import replace
from html import escape

import numpy as np
import pytest
from support.report_examples import ALL_OPERATIONS, DEVICE, HOSTILE, PERF, example, many, outcome, passed, wrong_picture

from restride.errors import printable
from restride_conformance.case import OPERATIONS
from restride_conformance.record import Outcome, ShaderUnderTest, Target, Verdict
from restride_conformance.report.page import REASONS, page, write_page
from restride_conformance.report.pictures import draw_wrong
from restride_conformance.report.summary import headline

pytestmark = pytest.mark.slow

NARROW, WIDE = 375, 1280


@pytest.fixture
def visit(browser, tmp_path):
    """Opens a record's page; at the end, nothing was logged, requested or thrown."""
    contexts, complaints = [], []

    def open_page(record, width=WIDE, scheme="light"):
        path = tmp_path / "report.html"
        write_page(record, path)
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.on("request", lambda request: None if local(request.url) else complaints.append(request.url))
        page.goto(path.as_uri())
        return page

    def local(url):
        return url.startswith(("data:", (tmp_path / "report.html").as_uri()))

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def section(page, title):
    return page.locator("section").filter(has=page.get_by_role("heading", name=title))


def bad_cases(page):
    return page.locator(".cases summary code").all_text_contents()


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("record", [example(), PERF, example(outcomes=many(3000))], ids=["bad", "perf", "many"])
def test_the_page_fits_its_window(visit, record, width, scheme):
    page = visit(record, width, scheme)
    assert page.locator("#headline").inner_text() == headline(record)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_run_says_what_ran_on_what(visit):
    record = example()
    page = visit(record)
    run = section(page, "Run")
    for said in (DEVICE["name"], "llvmpipe Mesa 22.3.6", "1.3.230", "vulkan", "sync", "2.4.0", "smoke mine.txt"):
        assert said in run.inner_text()
    assert record.command in run.inner_text()
    run.locator("summary").click()
    assert "max_buffer_range\n134,217,728" in run.locator("details").inner_text()
    assert "65,535 x 65,535 x 65,535" in run.locator("details").inner_text()
    slowest = section(page, "Slowest cases").locator("li").first.inner_text()
    assert slowest == "reorder u8[8,3]{1,0} -> u8[8,3]{0,1} 10.00 s"
    reasons = section(page, "Why cases were skipped").locator("li").all_inner_texts()
    assert reasons == ["1: strided_copy_32 takes no part in it"]


def test_the_head_names_the_shader_under_test(visit):
    shader = ShaderUnderTest("my/copy.comp", "strided_copy_32", "copy.spv")
    record = example(target=Target(shader=shader))
    page = visit(record)
    assert page.locator("h1 span").inner_text().endswith(f"{record.driver}, shader my/copy.comp as strided_copy_32")


def test_the_matrices_have_a_row_for_each_type_and_layout(visit):
    types, layouts = visit(example()).locator("table").all()
    assert types.locator("thead th").all_inner_texts() == ["type", "slice", "reorder", "resample"]
    assert types.locator("tbody th").all_inner_texts() == ["u8", "u16", "bf16", "f32", "f64"]
    cells = types.locator("td").all_inner_texts()
    assert cells[:3] == ["✗ 1 of 2", "✗ 2 of 2, 1 crashed, 1 timeout", "✗ 1 of 1"]
    assert cells[6:9] == ["", "✓ 1", ""]
    assert cells[12:] == ["", "1 skipped", "✗ 1 of 1, 1 unimplemented"]
    assert "row-major → flipped" in layouts.locator("tbody th").all_inner_texts()
    assert types.locator("td").first.get_attribute("class") == "FAILED"


def test_a_cell_says_what_was_skipped_apart_from_what_ran(visit):
    line = "slice f32[4]{0} -> f32[2]{0} offsets=(0) sizes=(2) strides=(1)"
    skipped = [outcome("SKIPPED", seconds=99), *[outcome("SKIPPED", line, seconds=99)] * 2]
    page = visit(example(outcomes=(*skipped, outcome("FAILED"), outcome("PASSED", line))))
    cells = page.locator("table").first.locator("td").all_inner_texts()
    assert cells == ["", "✗ 1 of 1, 1 skipped", "✓ 1, 2 skipped", ""]
    assert section(page, "Slowest cases").locator("li").count() == 2


def test_every_failure_shows_its_message_and_the_command_that_reruns_it(visit):
    record = example()
    page = visit(record)
    assert bad_cases(page) == [one.case for one in record.bad]
    shown = page.locator(".cases details[open]")
    assert shown.count() == 6
    for place, one in enumerate(record.bad):
        assert shown.nth(place).locator(".message").text_content() == printable(one.message, has_lines=True)
        assert shown.nth(place).locator(".repro").text_content() == record.repro(one)


def test_the_reduced_case_and_its_command_come_before_the_message():
    reduced = "reorder u8[1,2]{1,0} -> u8[1,2]{0,1}"
    text = page(example(outcomes=(replace(outcome("FAILED", message="6 are wrong"), reduced=reduced),)))
    places = [
        text.index(words) for words in (f"reduced to {escape(reduced)}", "test --repro", "before it", "6 are wrong")
    ]
    assert places == sorted(places)


def test_the_smallest_failure_comes_first_with_its_wrong_elements(visit):
    right = np.ones((6, 4), np.bool_)
    right[:, 2] = False
    large = outcome("FAILED", "reorder u8[60,40]{1,0} -> u8[60,40]{0,1}")
    small = replace(
        outcome("FAILED", "reorder u8[6,4]{1,0} -> u8[6,4]{0,1}", "6 are wrong"), wrong=draw_wrong(right, right)
    )
    page = visit(example(outcomes=(large, *passed("reorder u8[2,3]{1,0} -> u8[2,3]{0,1}"), small)))
    assert bad_cases(page) == [small.case, large.case]
    image = page.locator("main > section").first.locator("figure img")
    assert image.evaluate("one => one.decode().then(() => [one.naturalWidth, one.naturalHeight])") == [104, 156]
    assert section(visit(example(outcomes=passed(small.case))), "Not right").count() == 0


def test_cases_that_passed_open_with_a_key(visit):
    page = visit(example())
    folded = section(page, "Cases").locator("details").first
    assert folded.locator("summary").inner_text() == "reorder, f32: ✓ 1"
    assert folded.locator("code").is_hidden()
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    assert folded.locator("code").text_content() == example().outcomes[0].case


def test_pictures_are_shown_with_their_gain(visit):
    figures = visit(example(), NARROW).locator("figure")
    assert figures.locator("figcaption").all_inner_texts() == ["expected", "actual", "difference x 64"]
    for place in range(3):
        image = figures.nth(place).locator("img")
        assert image.evaluate("one => one.decode().then(() => [one.naturalWidth, one.naturalHeight])") == [120, 90]
        assert image.get_attribute("alt") == ("expected", "actual", "difference x 64")[place]
    wrong = wrong_picture()
    huge = (replace(wrong, pictures=replace(wrong.pictures, gain=2**193)),)
    assert visit(example(outcomes=huge)).locator("figcaption").last.inner_text() == "difference x 2^193"


def test_text_is_never_markup(visit):
    shader = "</style></title><script>document.title = 'owned'</script>"
    page = visit(example(command=HOSTILE, platform=shader, device=DEVICE | {"name": f"@@STYLE@@ {HOSTILE}"}))
    assert page.title().startswith("restride test: @@STYLE@@ </script>")
    assert page.locator("script").count() == 0
    assert page.locator("img").count() == 3
    assert HOSTILE.split("\u2028")[0] in section(page, "Run").text_content()
    assert HOSTILE.split("\u2028")[0] in page.locator(".message").first.text_content()


def test_no_text_of_a_measurement_is_markup():
    texts = {HOSTILE: HOSTILE}
    goals = {HOSTILE: {"met": False, "measured": HOSTILE}}
    rows = (
        Outcome(HOSTILE, Verdict.FAILED, HOSTILE, group=HOSTILE, figures=texts | {"goals": goals}),
        Outcome(HOSTILE, Verdict.PASSED, group=HOSTILE, figures={"resident": {"restride": 1.0, HOSTILE: 2.0}}),
    )
    record = example(
        kind="bench",
        options={"peers": texts, "runtime": HOSTILE},
        versions=texts,
        processor=HOSTILE,
        warnings=(HOSTILE,),
        notes=(HOSTILE,),
        not_run=texts,
        problems=({"case": HOSTILE, "message": HOSTILE},),
        broken_off=HOSTILE,
        outcomes=rows,
    )
    text = page(record)
    assert text.count("&lt;/script&gt;&lt;script&gt;") > 15
    assert "<script" not in text
    assert 'onerror="' not in text


def test_speeds_stand_beside_their_cases():
    assert "0.10 ms" not in (text := page(PERF))
    assert "-&gt; u8[64,64]{0,1}</code> 100.0 ms, 0.100 ms 80.0 MB/s 40.0% of copy" in text


def test_of_many_failures_the_first_are_open(visit):
    record = example(outcomes=many(20_000), selected=20_000)
    page = visit(record)
    assert page.locator(".cases details").count() == len(record.bad) > 100
    assert page.locator(".cases details[open]").count() == 100


def test_a_run_without_outcomes_is_a_page_too(visit):
    page = visit(example(outcomes=(), broken_off="interrupted"))
    assert page.locator("#headline").inner_text() == "INTERRUPTED: 0 of 10 cases done"
    assert page.locator("#headline").get_attribute("class") == "EARLY"


def test_of_many_reasons_for_skipping_the_most_frequent_are_shown(visit):
    skipped = tuple(outcome("SKIPPED", message=f"reason {number}") for number in (*range(30), 7))
    reasons = section(visit(example(outcomes=skipped)), "Why cases were skipped").locator("li").all_inner_texts()
    assert (reasons[0], len(reasons), reasons[-1]) == ("2: reason 7", REASONS + 1, "... and 15 more reasons")


def test_the_file_needs_nothing_else():
    text = page(example(outcomes=(*example().outcomes, outcome("FAILED", message="http://example.org"))))
    assert "@@" not in text
    assert not re.search(r"https?://(?!example\.org)|url\(|@import|<script[ >]", text)


@pytest.mark.parametrize("width", [400, 1024, 1600])
def test_the_tables_of_all_operations_are_whole(visit, width):
    skipped = (outcome("SKIPPED", line, "takes no part in it") for line in ALL_OPERATIONS)
    page = visit(example(outcomes=(*example().outcomes, *passed(*ALL_OPERATIONS), *skipped)), width)
    heads = page.locator("thead th")
    assert heads.count() == 2 * (1 + len(OPERATIONS))
    cut = "(head) => head.scrollWidth > head.clientWidth"
    assert [head.text_content() for head in heads.all() if head.evaluate(cut)] == []


def test_the_page_has_one_row_for_what_a_type_becomes():
    lines = ["reorder u8[4] -> f32[4]", "reorder u8[4] -> s8[4]", "reorder f32[4] -> u8[4]", "reorder u8[4] -> u8[4]"]
    text = page(example(outcomes=passed(*lines), selected=4))
    (types, _) = re.findall(r"<tbody>(.*?)</tbody>", text)
    assert re.findall(r'<th scope="row">(.*?)</th>', types) == ["u8", "u8 to others", "f32 to others"]
    assert Verdict.PASSED in types
