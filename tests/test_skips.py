"""An unexpected skip fails the run where runtimes are required, an expected one or a run without that does not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOOKS = (
    "from skips import pytest_collectreport, pytest_runtest_logreport, pytest_sessionfinish, pytest_terminal_summary\n"
)
IN_A_TEST = "import pytest\ndef test_one(): pass\ndef test_two(): pytest.skip('no runtime kompute (3 devices)')\n"
OF_A_MODULE = "import pytest\npytest.importorskip('no_such_module_at_all', reason='no runtime kompute (3 devices)')\n"
XFAIL = "import pytest\n@pytest.mark.xfail(reason='issue 7')\ndef test_one(): assert False\n"


def exit_status(folder, test, patterns, **environment):
    shutil.copy(Path(__file__).with_name("skips.py"), folder)
    (folder / "expected_skips.txt").write_text(patterns)
    (folder / "conftest.py").write_text(HOOKS)
    (folder / "test_inner.py").write_text(test)
    (folder / "test_other.py").write_text("def test_other(): pass\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    inherited = {name: value for name, value in os.environ.items() if name != "RESTRIDE_REQUIRE_RUNTIMES"}
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
