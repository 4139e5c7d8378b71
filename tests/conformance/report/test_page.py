"""The HTML page in a real browser: Chromium without a window, the file opened as a user opens it."""

import json
import re
from dataclasses import replace
from urllib.parse import parse_qs

import numpy as np
import pytest
from support.report_examples import ALL_OPERATIONS, DEVICE, HOSTILE, PERF, example, many, outcome, passed, wrong_picture

from restride.errors import printable
from restride_conformance import Case
from restride_conformance.case import OPERATIONS
from restride_conformance.record import Outcome, ShaderUnderTest, Verdict
from restride_conformance.report import headline
from restride_conformance.report.page import write_page
from restride_conformance.report.pictures import draw_wrong

pytestmark = pytest.mark.slow

NARROW, WIDE = 375, 1280


@pytest.fixture
def visit(browser, tmp_path):
    """Opens a report's page; at the end, nothing was logged, requested or thrown."""
    contexts, complaints = [], []

    def open_page(report, width=WIDE, scheme="light", fragment=""):
        path = tmp_path / "report.html"
        write_page(report, path)
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=scheme, permissions=["clipboard-read"])
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.on("request", lambda request: None if local(request.url) else complaints.append(request.url))
        page.goto(f"{path.as_uri()}{fragment}")
        return page

    def local(url):
        return url.startswith(("data:", (tmp_path / "report.html").as_uri()))

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def lines(page):
    """The cases that the list shows."""
    return page.locator("#list summary code").all_text_contents()


def wanted(page):
    """What the address asks for."""
    return {name: values[0] for name, values in parse_qs(page.url.partition("#")[2]).items()}


def wait_for(page, count):
    page.wait_for_function("count => document.querySelectorAll('#list > li').length === count", arg=count)


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("report", [example(), PERF, example(outcomes=many(3000))], ids=["bad", "perf", "many"])
def test_the_page_fits_its_window(visit, report, width, scheme):
    page = visit(report, width, scheme)
    assert page.locator("#headline").inner_text() == headline(report)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_head_says_what_ran_on_what(visit):
    report = example()
    page = visit(report)
    facts = page.locator("#facts").inner_text()
    for said in (DEVICE["name"], "llvmpipe Mesa 22.3.6", "1.3.230", "vulkan", "sync", "2.4.0", "smoke mine.txt"):
        assert said in facts
    assert report.command in facts
    page.locator("#limits summary").click()
    assert "max_buffer_range\n134,217,728" in page.locator("#limits dl").inner_text()
    assert "65,535 x 65,535 x 65,535" in page.locator("#limits dl").inner_text()
    assert page.locator("#counts a").all_inner_texts()[:2] == ["all 10", "CRASHED 1"]
    slowest = page.locator("#slowest li").first.inner_text().split()
    assert slowest == ["10.00", "s", *lines(page)[1].split()]
    assert page.locator("#reasons li").all_inner_texts() == ["1\nstrided_copy_32 takes no part in it"]


def test_the_head_names_the_shader_under_test(visit):
    report = example()
    shader = ShaderUnderTest("my/copy.comp", "strided_copy_32", "copy.spv")
    page = visit(replace(report, target=replace(report.target, shader=shader)))
    assert page.locator("#device").inner_text().endswith(f"{report.driver}, shader my/copy.comp as strided_copy_32")


def test_the_matrices_have_a_row_for_each_type_and_layout(visit):
    page = visit(example())
    assert page.locator("#types thead th").all_inner_texts() == ["type", "slice", "reorder", "resample"]
    assert page.locator("#types tbody th").all_inner_texts() == ["u8", "u16", "bf16", "f32", "f64"]
    cells = page.locator("#types td").all_inner_texts()
    assert cells[:3] == ["✗ 1 of 2", "✗ 2 of 2\n1 crashed, 1 timeout", "✗ 1 of 1"]
    assert cells[6:9] == ["", "✓ 1", ""]
    assert cells[12:] == ["", "1 skipped", "✗ 1 of 1\n1 unimplemented"]
    assert "row-major\u00a0→ flipped" in page.locator("#layouts tbody th").all_inner_texts()
    cell = page.get_by_label("slice, u8: ✗ 1 of 2, 1 failed")
    assert cell.evaluate("one => one.parentElement.className") == "FAILED"


def test_a_cell_says_what_was_skipped_apart_from_what_ran(visit):
    line = "slice f32[4]{0} -> f32[2]{0} offsets=(0) sizes=(2) strides=(1)"
    skipped = [outcome("SKIPPED", seconds=99), *[outcome("SKIPPED", line, seconds=99)] * 2]
    page = visit(example(outcomes=(*skipped, outcome("FAILED"), outcome("PASSED", line))))
    assert page.locator("#types td").all_inner_texts() == ["", "✗ 1 of 1\n1 skipped", "✓ 1\n2 skipped", ""]
    assert page.locator("#slowest li").count() == 2
    assert "building pipelines included" in page.locator("#slowest-title + p").inner_text()


def test_a_click_on_a_cell_shows_its_cases(visit):
    page = visit(example())
    page.get_by_label("slice, u8: ✗ 1 of 2, 1 failed").click()
    wait_for(page, 2)
    assert wanted(page) == {"op": "slice", "type": "u8"}
    assert all(line.startswith("slice u8") for line in lines(page))
    assert page.locator("td a[aria-current]").count() == 1
    assert page.locator("select[name=op]").input_value() == "slice"
    assert page.locator("#found").inner_text() == "2 of 10 cases: 1 FAILED, 1 PASSED"
    page.locator("#layouts td a").filter(has_text="1 mistrusted").click()
    wait_for(page, 3)
    assert wanted(page) == {"op": "reorder", "layouts": "row-major → row-major"}
    page.go_back()
    wait_for(page, 2)


def test_filters_and_search_add_up_in_the_address(visit):
    page = visit(example())
    assert len(lines(page)) == 10
    page.select_option("select[name=op]", "reorder")
    wait_for(page, 6)
    page.select_option("select[name=verdict]", "not right")
    wait_for(page, 3)
    page.get_by_label("Search").fill("SIGSEGV reorder")
    wait_for(page, 1)
    assert wanted(page) == {"op": "reorder", "verdict": "not right", "search": "SIGSEGV reorder"}
    page.reload()
    assert len(lines(page)) == 1
    assert page.get_by_label("Search").input_value() == "SIGSEGV reorder"
    page.get_by_label("Search").fill("nothing has this")
    wait_for(page, 0)
    assert page.locator("#found").inner_text() == "No case is like that."
    page.get_by_role("link", name="Reset").click()
    wait_for(page, 10)
    assert page.locator("select[name=op]").input_value() == ""


def test_a_link_to_a_selection_opens_it(visit):
    page = visit(example(), fragment="#verdict=TIMEOUT&type=u8&unknown=1&page=99")
    assert lines(page) == ["reorder u8[8,3]{1,0} -> u8[8,3]{0,1}"]
    assert visit(example(), fragment="#%FF%&&=&page=-5&sort=constructor&verdict=").locator("#list > li").count() == 10


def test_every_failure_shows_its_message_and_the_command_that_reruns_it(visit):
    report = example()
    page = visit(report)
    assert lines(page)[:6] == [str(one.case) for one in report.bad]
    shown = page.locator("#list details[open]")
    assert shown.count() == 6
    for place, one in enumerate(report.bad):
        assert shown.nth(place).locator(".message").text_content() == printable(one.message, has_lines=True)
        assert shown.nth(place).locator(".repro code").text_content() == report.target.repro(one.case)


def test_the_smallest_failure_comes_first_with_its_wrong_elements(visit):
    right = np.ones((6, 4), np.bool_)
    right[:, 2] = False
    large = outcome("FAILED", "reorder u8[60,40]{1,0} -> u8[60,40]{0,1}")
    small = replace(outcome("FAILED", "reorder u8[6,4]{1,0} -> u8[6,4]{0,1}", "6 are wrong"), wrong=draw_wrong(right))
    report = example(outcomes=(large, *passed("reorder u8[2,3]{1,0} -> u8[2,3]{0,1}"), small))
    page = visit(report)
    assert lines(page)[:2] == [str(small.case), str(large.case)]
    shown = page.locator("main > section").first
    assert shown.locator("summary code").text_content() == str(small.case)
    assert shown.locator(".message").text_content() == "6 are wrong"
    image = shown.locator("figure.wrong img")
    assert image.evaluate("one => one.decode().then(() => [one.naturalWidth, one.naturalHeight])") == [104, 156]
    assert visit(example(outcomes=passed(str(small.case)))).locator("#smallest").is_hidden()


def test_a_case_that_passed_opens_with_a_key(visit):
    page = visit(example(), fragment="#verdict=PASSED")
    page.locator("#list summary").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#list details[open] .repro code")
    assert page.locator("#list .repro code").text_content() == example().target.repro(example().outcomes[0].case)


def test_the_copy_button_copies_the_command(visit):
    page = visit(example())
    button = page.locator("#list").get_by_role("button", name="Copy the command").nth(2)
    button.click()
    page.wait_for_function("() => document.querySelectorAll('#list .repro button')[2].textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == example().target.repro(example().bad[2].case)


def test_without_a_clipboard_the_command_is_selected(visit):
    page = visit(example())
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    page.evaluate("() => { document.execCommand = () => false; }")
    page.locator("#list").get_by_role("button", name="Copy the command").first.click()
    page.wait_for_function("() => getSelection().toString() !== ''")
    assert page.evaluate("getSelection().toString()") == example().target.repro(example().bad[0].case)


def test_pictures_are_shown_with_their_gain(visit):
    page = visit(example(), NARROW)
    figures = page.locator("#list figure")
    assert figures.locator("figcaption").all_inner_texts() == ["expected", "actual", "difference x 64"]
    for place in range(3):
        image = figures.nth(place).locator("img")
        assert image.evaluate("one => one.decode().then(() => [one.naturalWidth, one.naturalHeight])") == [120, 90]
        assert image.get_attribute("alt") == ("expected", "actual", "difference x 64")[place]
    wrong = wrong_picture()
    huge = (replace(wrong, pictures=replace(wrong.pictures, gain=2**193)),)
    assert visit(example(outcomes=huge)).locator("figcaption").last.inner_text() == "difference x 2^193"


def test_text_is_never_markup(visit):
    shader = "</noscript><script>document.title = 'owned'</script>"
    report = example(command=HOSTILE, platform=shader, device=DEVICE | {"name": f"@@DATA@@ {HOSTILE}"})
    page = visit(report)
    page.wait_for_function("() => document.querySelectorAll('#list > li').length === 10")
    assert "owned" not in page.title().replace(HOSTILE.strip(), "").replace("'owned'", "")
    assert page.title().startswith("restride test: @@DATA@@ </script>")
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 3
    assert HOSTILE.split("\u2028")[0] in page.locator("#facts").text_content()
    assert HOSTILE.split("\u2028")[0] in page.locator("#list .message").first.text_content()


def test_speeds_have_columns_and_orders(visit):
    page = visit(PERF)
    numbers = page.locator(".numbers").first.inner_text().split("\n")
    assert numbers == ["100.0 ms", "call 100 µs", "80.0 MB/s", "40% of copy"]
    page.select_option("select[name=sort]", "call")
    page.wait_for_function("() => document.querySelector('#list code').textContent.includes('256')")
    page.select_option("select[name=sort]", "copy")
    page.wait_for_function("() => document.querySelector('#list code').textContent.includes('[64,')")
    assert visit(example()).locator("select[name=sort] option").count() == 3


def test_twenty_thousand_cases_are_paged_and_found(visit):
    report = example(outcomes=many(20_000), selected=20_000)
    page = visit(report)
    assert page.locator("#list > li").count() == 100
    assert page.locator("#counts a").first.inner_text() == "all 20,000"
    last = str(report.outcomes[-2].case)
    assert last not in lines(page)
    page.get_by_label("Search").fill(last)
    wait_for(page, 1)
    assert lines(page) == [last]
    page.get_by_role("link", name="Reset").click()
    wait_for(page, 100)
    page.get_by_role("link", name="Next").click()
    page.wait_for_function("() => document.getElementById('page').textContent === '101 to 200 of 20,000'")
    assert wanted(page) == {"page": "2"}
    page.select_option("select[name=verdict]", Verdict.MISTRUSTED)
    wait_for(page, sum(one.verdict is Verdict.MISTRUSTED for one in report.outcomes))
    assert wanted(page) == {"verdict": "MISTRUSTED"}


def test_a_run_without_outcomes_is_a_page_too(visit):
    page = visit(example(outcomes=(), broken_off="interrupted"))
    assert page.locator("#headline").inner_text() == "INTERRUPTED: 0 of 10 cases done"
    assert page.locator("#headline").get_attribute("class") == "EARLY"
    assert page.locator("#list > li").count() == 0


def test_of_many_reasons_for_skipping_the_most_frequent_are_shown(visit):
    skipped = tuple(outcome("SKIPPED", message=f"reason {number}") for number in (*range(30), 7))
    reasons = visit(example(outcomes=skipped)).locator("#reasons li").all_inner_texts()
    assert (reasons[0], len(reasons), reasons[-1]) == ("2\nreason 7", 16, "15\nfor other reasons")


def test_without_scripts_the_summary_is_there(browser, tmp_path):
    write_page(example(), tmp_path / "report.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    assert headline(example()) in page.locator("noscript").inner_text()
    context.close()


def test_the_file_needs_nothing_else(tmp_path):
    write_page(example(outcomes=(*example().outcomes, outcome("FAILED", message="http://example.org"))), tmp_path / "a")
    text = (tmp_path / "a").read_text(encoding="utf-8")
    markup, data, script = re.split(r"<script[^>]*>", text)
    assert "@@" not in text
    for part in (markup, script):
        assert not re.search(r"https?://(?!example\.org)|url\(|@import|fetch\(|XMLHttpRequest|innerHTML", part)
    assert json.loads(data.partition("</script>")[0])["cases"][-1]["message"] == "http://example.org"


@pytest.mark.parametrize("width", [400, 1024, 1200, 1600])
def test_the_tables_of_all_operations_are_whole(visit, width):
    skipped = (outcome("SKIPPED", line, "takes no part in it") for line in ALL_OPERATIONS)
    page = visit(example(outcomes=(*example().outcomes, *passed(*ALL_OPERATIONS), *skipped)), width)
    heads = page.locator("thead th")
    assert heads.count() == 2 * (1 + len(OPERATIONS))
    cut = "(head) => head.scrollWidth > head.clientWidth"
    assert [head.text_content() for head in heads.all() if head.evaluate(cut)] == []
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every((one) => one.scrollWidth <= one.clientWidth)")


def test_the_page_has_one_row_for_what_a_type_becomes(tmp_path):
    lines = ["reorder u8[4] -> f32[4]", "reorder u8[4] -> s8[4]", "reorder f32[4] -> u8[4]", "reorder u8[4] -> u8[4]"]
    outcomes = tuple(Outcome(Case.parse(line), Verdict.PASSED) for line in lines)
    write_page(example(outcomes=outcomes, selected=4), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '"types":["u8","u8 to others","f32 to others"]' in page
