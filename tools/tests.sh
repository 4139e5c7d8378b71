#!/usr/bin/env bash
# What `make test` runs: pytest, with the options given, and beside it the conformance cases that pytest leaves out and
# 40 planted faults.
#
# Tests work on one core most of the time, or wait: pytest has a worker for each core, up to four, whose files are its own.
# What the cases and faults say is shown when pytest is through. RESTRIDE_TEST_SEED=N draws other parts of what is sampled,
# here and in the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
set -m # the cases in a process group of their own, so that all of it can be stopped

mkdir -p .cache
LOG=.cache/conformance.log
export RESTRIDE_REQUIRE_RUNTIMES=vulkan,kompute
export RESTRIDE_JUDGE_TESTS=$PWD/.cache/judge_tests.txt # tests skipped for a judge, for `make test-judges`
rm -f "$RESTRIDE_JUDGE_TESTS"

beside() {
    bash tools/conformance.sh test
    .venv/bin/python tools/mutate.py --sample 40 --seed "${RESTRIDE_TEST_SEED:-1}" --jobs 1
}

beside >"$LOG" 2>&1 </dev/null &
BESIDE=$!
trap 'kill -- -"$BESIDE" 2>/dev/null || true' EXIT
echo "restride: conformance cases, on other drivers and under validation too, and planted faults run meanwhile, into $LOG" >&2
.venv/bin/python -m pytest --numprocesses "$(nproc)" --maxprocesses 4 --dist loadfile "$@"
echo "restride: waiting for what runs beside" >&2
CODE=0
wait "$BESIDE" || CODE=$?
cat "$LOG"
exit "$CODE"
