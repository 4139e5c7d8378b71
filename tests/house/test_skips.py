"""An unexpected skip fails the run where runtimes are required, an expected one or a run without that does not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HOOKS = (
    "from skips import pytest_collectreport, pytest_runtest_logreport, pytest_sessionfinish, pytest_terminal_summary\n"
)
IN_A_TEST = "import pytest\ndef test_one(): pass\ndef test_two(): pytest.skip('no runtime kompute (3 devices)')\n"
OF_A_MODULE = "import pytest\npytest.importorskip('no_such_module_at_all', reason='no runtime kompute (3 devices)')\n"
FOR_A_JUDGE = """from judges import judge
def test_one(): pass
def test_two(): judge('no_such_judge')
def test_three(): judge('numpy', '1000')
"""
XFAIL = "import pytest\n@pytest.mark.xfail(reason='issue 7')\ndef test_one(): assert False\n"


def exit_status(folder, test, patterns, **environment):
    for name in ("skips.py", "judges.py"):
        shutil.copy(Path(__file__).parents[1] / "support" / name, folder)
    (folder / "expected_skips.txt").write_text(patterns)
    (folder / "conftest.py").write_text(HOOKS)
    (folder / "test_inner.py").write_text(test)
    (folder / "test_other.py").write_text("def test_other(): pass\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RESTRIDE_")}
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout


@pytest.mark.parametrize("test", [IN_A_TEST, OF_A_MODULE])
def test_unexpected_skip_fails_where_runtimes_are_required(tmp_path, test):
    status, output = exit_status(tmp_path, test, "# none\n", RESTRIDE_REQUIRE_RUNTIMES="vulkan,kompute")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "no runtime kompute (3 devices)" in output.split("unexpected skips")[1]


@pytest.mark.parametrize("test", [IN_A_TEST, OF_A_MODULE])
def test_expected_skip_passes(tmp_path, test):
    status, output = exit_status(tmp_path, test, "no runtime *\n", RESTRIDE_REQUIRE_RUNTIMES="vulkan,kompute")
    assert status == pytest.ExitCode.OK, output


def test_any_skip_passes_where_nothing_is_required(tmp_path):
    assert exit_status(tmp_path, IN_A_TEST, "")[0] == pytest.ExitCode.OK


def test_expected_failure_is_no_skip(tmp_path):
    status, output = exit_status(tmp_path, XFAIL, "", RESTRIDE_REQUIRE_RUNTIMES="vulkan")
    assert status == pytest.ExitCode.OK, output


def test_tests_without_their_judge_are_written_down_and_pass(tmp_path):
    noted = tmp_path / "noted"
    environment = {"RESTRIDE_REQUIRE_RUNTIMES": "vulkan", "RESTRIDE_JUDGE_TESTS": str(noted)}
    assert exit_status(tmp_path, FOR_A_JUDGE, "", **environment)[0] == pytest.ExitCode.OK
    assert noted.read_text().splitlines() == ["test_inner.py::test_two", "test_inner.py::test_three"]
    module = FOR_A_JUDGE + "judge('no_such_judge')\n"
    assert exit_status(tmp_path, module, "", **environment)[0] == pytest.ExitCode.OK
    assert noted.read_text().splitlines()[2:] == ["test_inner.py"]


def test_a_missing_judge_fails_where_judges_are_required(tmp_path):
    environment = {"RESTRIDE_REQUIRE_RUNTIMES": "vulkan", "RESTRIDE_REQUIRE_JUDGES": "1"}
    status, output = exit_status(tmp_path, FOR_A_JUDGE, "", **environment)
    assert status == pytest.ExitCode.TESTS_FAILED
    missing = output.split("unexpected skips")[1]
    assert "test_two: judge no_such_judge is not installed" in missing
    assert "test_three: judge numpy 1000 is not installed" in missing
    assert "judge tests: 2 ran, 2 were skipped" in output


def test_tests_of_an_optional_package_are_skipped_without_it():
    files = [
        "tests/root/test_progress.py",
        "tests/runtime/test_heap.py",
        "-k",
        "terminal or stream or text or elsewhere",
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.absent", "-p", "no:cacheprovider", *files]
    root = Path(__file__).resolve().parents[2]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RESTRIDE_")}
    environment = kept | {"RESTRIDE_TEST_WITHOUT": "rich,kp", "PYTHONPATH": str(root / "tests")}
    result = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == pytest.ExitCode.OK, result.stdout
    assert "judge rich is not installed" in result.stdout
    assert "runtime kompute is not available" in result.stdout
