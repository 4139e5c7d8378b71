"""array-api-tests on restride.xp: the functions of our field pass, but for those that docs/arrays.md names.

They are on no package index: ARRAY_API_TESTS_DIR names a checkout, with its submodule ``array-api``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.judges import judge

FIELD = ("manipulation_functions", "creation_functions", "data_type_functions", "indexing_functions", "dlpack")
FIELD += ("inspection_functions",)

FAIL = {
    "test_reshape": "some examples ask for 9 axes, and a tensor has 8 at most",
    "test_dunder_dlpack": "copy=False without max_version: a read-only tensor needs a consumer of DLPack 1.0",
}


def test_array_api_tests_pass():
    checkout = Path(os.environ.get("ARRAY_API_TESTS_DIR", "")).absolute()
    if "ARRAY_API_TESTS_DIR" not in os.environ:
        pytest.skip("ARRAY_API_TESTS_DIR names no checkout of array-api-tests")
    for needed in ("ndindex", "pytest_jsonreport"):
        judge(needed)
    here = Path(__file__).resolve().parents[1]
    environment = {
        "ARRAY_API_TESTS_MODULE": "support.array_api_shim",
        "ARRAY_API_TESTS_SKIP_DTYPES": "complex64,complex128",
        "ARRAY_API_TESTS_VERSION": "2024.12",
        "PYTHONPATH": os.pathsep.join([str(here.parent / "src"), str(here)]),
    }
    files = [f"array_api_tests/test_{name}.py" for name in FIELD]
    options = ["-v", "--disable-deadline", "--derandomize", "--max-examples", "20"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "support.array_api_shim", *options, *files],
        cwd=checkout,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    outcomes = re.findall(r"^\S+::(\w+)(?:\[.*\])? (PASSED|FAILED|SKIPPED|ERROR)", done.stdout, re.MULTILINE)
    passed = {name for name, outcome in outcomes if outcome == "PASSED"}
    failed = {name for name, outcome in outcomes if outcome in {"FAILED", "ERROR"}}
    assert failed <= FAIL.keys(), done.stdout[-8000:]
    assert len(passed - failed) >= 45, done.stdout[-8000:]
