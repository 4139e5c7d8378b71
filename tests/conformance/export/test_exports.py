"""``restride test --export``: which cases get a folder, and what is refused before anything runs."""

import json

import pytest
from support.devices import open_device
from support.faulty_runs import RIGHT, WRONG, plant, restride_test, wrong

from restride.command.process import UsageError
from restride.kernel import Choices, Limits
from restride_conformance.case import Case
from restride_conformance.export import exports
from restride_conformance.export.exports import Exports
from restride_conformance.record import Host, Outcome, Target, Verdict

FIXTURES = (plant, wrong)
HOST = Host({"name": "a device"}, Limits(offset_alignment=16, choices=Choices.usual("cpu")), "vulkan", {})


def name(line):
    return Case.parse(line).name


def names(folder):
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize(
    ("verdict", "failing", "all_of_them"),
    [
        (Verdict.PASSED, False, True),
        (Verdict.SKIPPED, False, False),
        (Verdict.UNIMPLEMENTED, False, False),
        (Verdict.MISTRUSTED, True, True),
        (Verdict.FLAKY, True, True),
        (Verdict.FAILED, True, True),
        (Verdict.TIMEOUT, True, True),
        (Verdict.CRASHED, True, True),
    ],
)
def test_what_fails_is_chosen_and_what_no_driver_was_given_is_not(tmp_path, verdict, failing, all_of_them):
    outcome = Outcome(RIGHT, verdict)
    assert Exports(tmp_path).is_chosen(outcome) is failing
    assert Exports(tmp_path, takes_all=True).is_chosen(outcome) is all_of_them


def test_each_chosen_case_gets_a_folder_and_its_outcome_the_name(tmp_path):
    folder = tmp_path / "bugs"
    outcomes = [Outcome(RIGHT, Verdict.PASSED), Outcome(WRONG, Verdict.CRASHED, "died")]
    exported = Exports(folder).write(outcomes, HOST, Target())
    assert [outcome.exported for outcome in exported.outcomes] == ["", name(WRONG)]
    assert exported.said == (f"exported {folder / name(WRONG)}",)
    assert names(folder) == [name(WRONG)]
    assert exported.error is None


def test_reduced_cases_get_folders_too_once_and_over_none(tmp_path):
    small, old = "reorder u8[1,3]{1,0} -> u8[1,3]{0,1}", "reorder u8[3,1]{1,0} -> u8[3,1]{0,1}"
    Exports(tmp_path).write([Outcome(old, Verdict.FAILED, "before")], HOST, Target())
    simplest = [Outcome(line, Verdict.FAILED, "now") for line in (RIGHT, small, small, old)]
    exported = Exports(tmp_path).write([Outcome(RIGHT, Verdict.FAILED)], HOST, Target(), simplest)
    assert exported.said == (
        f"exported {tmp_path / name(RIGHT)}",
        f"exported {tmp_path / name(small)}",
        f"not exported: {old}: --export: {tmp_path / name(old)} exists; --force replaces it",
    )
    messages = [json.loads((tmp_path / name(line) / "case.json").read_text())["message"] for line in (small, old)]
    assert messages == ["now", "before"]


def test_an_export_has_the_groups_of_the_outcome(tmp_path):
    Exports(tmp_path / "bugs").write([Outcome(WRONG, Verdict.CRASHED, "died", groups="8x8")], HOST, Target(groups=True))
    assert [file.name for file in (tmp_path / "bugs" / name(WRONG)).glob("*_in_groups_of_8x8.spv")]


def test_without_a_failure_no_folder_is_made_and_it_is_said(tmp_path):
    exported = Exports(tmp_path / "bugs").write([Outcome(RIGHT, Verdict.PASSED)] * 3, HOST, Target())
    assert exported.said == ("nothing to export: all 3 passed",)
    some = [Outcome(RIGHT, Verdict.PASSED), Outcome(WRONG, Verdict.SKIPPED)]
    assert Exports(tmp_path / "bugs").write(some, HOST, Target()).said == (
        "nothing to export: none of 2 cases failed on the device",
    )
    assert names(tmp_path) == []


def test_a_case_that_cannot_be_recorded_costs_its_own_export_only(tmp_path, monkeypatch):
    record = exports.program_of

    def recorded(case, *arguments):
        if str(case) == RIGHT:
            raise ZeroDivisionError("a mistake")
        return record(case, *arguments)

    monkeypatch.setattr(exports, "program_of", recorded)
    exported = Exports(tmp_path).write([Outcome(line, Verdict.FAILED) for line in (RIGHT, WRONG)], HOST, Target())
    assert exported.said[0] == f"not exported: {RIGHT}: a mistake"
    assert names(tmp_path) == [name(WRONG)]


def test_an_older_export_is_replaced_only_by_force(tmp_path):
    Exports(tmp_path).write([Outcome(WRONG, Verdict.FAILED)], HOST, Target())
    Exports(tmp_path).require_places([Case.parse(RIGHT)])
    with pytest.raises(UsageError, match="exists; --force replaces it"):
        Exports(tmp_path).require_places([Case.parse(RIGHT), Case.parse(WRONG)])
    Exports(tmp_path, replaces=True).require_places([Case.parse(WRONG)])


def test_what_is_no_export_is_refused_also_with_force(tmp_path):
    other = tmp_path / "other"
    Exports(other).write([Outcome(WRONG, Verdict.FAILED)], HOST, Target())
    folder = tmp_path / "bugs"
    (folder / name(RIGHT)).mkdir(parents=True)
    (folder / name(WRONG)).symlink_to(other / name(WRONG), target_is_directory=True)
    for line in (RIGHT, WRONG):
        with pytest.raises(UsageError, match="is no older export"):
            Exports(folder, replaces=True).require_places([Case.parse(line)])


def test_a_place_that_cannot_be_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="it is no folder"):
        Exports(tmp_path / "file").require_places([])
    with pytest.raises(UsageError, match="no such folder"):
        Exports(tmp_path / "absent" / "bugs").require_places([])


# The command as a whole.


@pytest.fixture
def _device(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    open_device("vulkan").close()


@pytest.mark.slow
@pytest.mark.usefixtures("_device")
def test_a_case_that_is_named_is_exported_whatever_its_verdict(capsys, tmp_path):
    folder = tmp_path / "bugs"
    arguments = ("--repro", RIGHT, "--export", folder, "--json", tmp_path / "report.json")
    code, _, err = restride_test(capsys, *arguments)
    assert code == 0
    assert f"exported {folder / name(RIGHT)}" in err
    (outcome,) = json.loads((tmp_path / "report.json").read_text())["outcomes"]
    assert outcome["exported"] == name(RIGHT)
    code, _, err = restride_test(capsys, *arguments)
    assert code == 2
    assert "--force replaces it" in err
    assert restride_test(capsys, *arguments, "--force")[0] == 0


@pytest.mark.slow
@pytest.mark.usefixtures("_device", "wrong")
def test_only_the_case_that_fails_is_exported_with_what_was_seen(capsys, tmp_path):
    (tmp_path / "cases").write_text(f"{RIGHT}\n{WRONG}\n")
    folder = tmp_path / "bugs"
    assert restride_test(capsys, tmp_path / "cases", "--export", folder)[0] == 1
    assert names(folder) == [name(WRONG)]
    record = json.loads((folder / name(WRONG) / "case.json").read_text())
    assert record["verdict"] == "FAILED"
    assert record["device"]["driver"]
    assert record["message"].splitlines()[0] in (folder / name(WRONG) / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("_device")
def test_reports_are_written_although_an_export_is_not(capsys, tmp_path, monkeypatch):
    def full(_program, _seen, folder, _form):
        raise UsageError(f"cannot write {folder}/repro.c: No space left on device")

    monkeypatch.setattr(exports, "write_folder", full)
    report = tmp_path / "report.json"
    code, out, err = restride_test(capsys, "--repro", RIGHT, "--export", tmp_path / "bugs", "--json", report)
    assert code == 2
    assert "PASSED: 1 case" in out
    assert "repro.c: No space left" in err
    assert json.loads(report.read_text())["outcomes"][0]["verdict"] == "PASSED"
