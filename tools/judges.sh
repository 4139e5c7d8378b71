#!/usr/bin/env bash
# What `make test-judges` runs. It installs the judges that are too large to ask everybody for (torch, jax, dask), then runs mypy
# and every test that the last `make test` skipped because a judge was missing. No such skip is allowed here. If there was none,
# this fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/workers.sh

SKIPPED=.cache/judge_tests.txt
if [ ! -s "$SKIPPED" ]; then
    echo "restride: $SKIPPED names no test that was skipped for a judge: run \`make test\` first, without the judges" >&2
    exit 1
fi
echo "restride: installing the judges into .venv" >&2
.venv/bin/python -m pip --disable-pip-version-check install --quiet --group judges
.venv/bin/python -m mypy
export RESTRIDE_REQUIRE_RUNTIMES=vulkan,kompute RESTRIDE_REQUIRE_JUDGES=1
sort -u "$SKIPPED" >"$SKIPPED.sorted"
.venv/bin/python -m pytest "${WORKERS[@]}" "@$SKIPPED.sorted"
# Some of the faults that only these tests show; elsewhere they are left out.
.venv/bin/python tools/mutate.py --sample 20 --seed "${RESTRIDE_TEST_SEED:-1}0" --jobs 2
