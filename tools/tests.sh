#!/usr/bin/env bash
# What `make test` runs: pytest, with the options given, and beside it the conformance cases that pytest leaves out and
# 40 planted faults.
#
# Both work on one core most of the time. Without options pytest is in two parts: the cases take less time, so the second
# part follows them. What they say is shown when the first part is through. RESTRIDE_TEST_SEED=N draws other parts of what
# is sampled, here and in the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
set -m # the cases in a process group of their own, so that all of it can be stopped

mkdir -p .cache
LOG=.cache/conformance.log
SECOND=()
[ $# -gt 0 ] || SECOND=(tests/test_{accessible_pages,audit,roofline_trust,conversion_bits,crop_like,crop_resize,interrupts,own_shader}.py
    tests/test_{plan*,properties,resample_backward,resample_kernels,resample_windows}.py)
export RESTRIDE_REQUIRE_RUNTIMES=vulkan,kompute
export RESTRIDE_JUDGE_TESTS=$PWD/.cache/judge_tests.txt # tests skipped for a judge, for `make test-judges`
rm -f "$RESTRIDE_JUDGE_TESTS"

beside() {
    bash tools/conformance.sh test
    .venv/bin/python tools/mutate.py --sample 40 --seed "${RESTRIDE_TEST_SEED:-1}" --jobs 1
    [ ${#SECOND[@]} -eq 0 ] || .venv/bin/python -m pytest "${SECOND[@]}"
}

beside >"$LOG" 2>&1 </dev/null &
BESIDE=$!
trap 'kill -- -"$BESIDE" 2>/dev/null || true' EXIT
echo "restride: conformance cases, on other drivers and under validation too, and planted faults run meanwhile, into $LOG" >&2
.venv/bin/python -m pytest "${SECOND[@]/#/--ignore=}" "$@"
echo "restride: waiting for what runs beside" >&2
CODE=0
wait "$BESIDE" || CODE=$?
cat "$LOG"
exit "$CODE"
