#!/usr/bin/env bash
# What `make test` runs: pytest, with the options given, and beside it the conformance cases that pytest leaves out.
#
# Both work on one core most of the time. What the cases say is shown when pytest is through.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
set -m # the cases in a process group of their own, so that all of it can be stopped

mkdir -p .cache
LOG=.cache/conformance.log
bash tools/conformance.sh test >"$LOG" 2>&1 </dev/null &
CASES=$!
trap 'kill -- -"$CASES" 2>/dev/null || true' EXIT
echo "restride: conformance cases on other drivers and under validation run meanwhile, into $LOG" >&2
RESTRIDE_REQUIRE_RUNTIMES=vulkan,kompute .venv/bin/python -m pytest "$@"
echo "restride: waiting for the conformance cases" >&2
CODE=0
wait "$CASES" || CODE=$?
cat "$LOG"
exit "$CODE"
