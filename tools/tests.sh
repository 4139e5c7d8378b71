#!/usr/bin/env bash
# What `make test` runs: lint and mypy, then pytest without the tests that are marked `slow`, and beside it a part of the
# conformance cases and ten planted faults. `make check` runs the rest (check.sh).
#
# With options, as in `make test PYTEST='tests/plan -x'`, it runs pytest with them and nothing else.
#
# What the cases and faults say is shown when pytest is through. RESTRIDE_TEST_SEED=N draws other parts of what is sampled,
# here and in the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/beside.sh
source tools/workers.sh

PYTHON=.venv/bin/python
export RESTRIDE_REQUIRE_RUNTIMES=vulkan,kompute
mkdir -p .cache

if [ $# -gt 0 ]; then
    $PYTHON tools/build_kp.py >&2
    exec $PYTHON -m pytest "$@"
fi

run_beside .cache/build_kp.txt $PYTHON tools/build_kp.py
make --no-print-directory lint
wait_beside

more_cases() {
    bash tools/conformance.sh test
    $PYTHON tools/mutate.py --sample 10 --seed "${RESTRIDE_TEST_SEED:-1}" --jobs 1
}

export RESTRIDE_JUDGE_TESTS=$PWD/.cache/judge_tests.txt # tests skipped for a judge, for `make test-judges`
rm -f "$RESTRIDE_JUDGE_TESTS"
run_beside .cache/conformance.txt more_cases
$PYTHON -m pytest tests -m "not slow" "${WORKERS[@]}"
wait_beside
