#!/usr/bin/env bash
# What `make check` runs: all that `make test` leaves out. CI runs both.
#
#   tests marked `slow` and those of lab/, beside them all cases of ci on two drivers, both runtimes and under validation,
#   and ten planted faults
#   the tests that need large judges (torch, jax, dask)
#   the wheels as they would be published, two minutes of random cases, others every day, and the runtime's tests on a driver
#   that poses as a discrete GPU; beside them the core of the suite on Mesa 25, and the audit: what Mesa 26's compilers for
#   GPUs make of the kernels, compared with the stored table
#   the site
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/beside.sh
source tools/workers.sh

PYTHON=.venv/bin/python
export RESTRIDE_REQUIRE_RUNTIMES=vulkan,kompute
mkdir -p .cache
step() { printf 'restride: %s, %d minutes after the beginning\n' "$*" $((SECONDS / 60)) >&2; }

$PYTHON tools/build_kp.py >&2

more_cases() {
    bash tools/conformance.sh check
    $PYTHON tools/mutate.py --sample 10 --seed $((${RESTRIDE_TEST_SEED:-1} + 1000)) --jobs 1 # others than `make test` draws
}

RESTRIDE_JUDGE_TESTS=$PWD/.cache/judge_tests.txt # of `make test`, if it ran; tests skipped here are added
export RESTRIDE_JUDGE_TESTS
run_beside .cache/conformance.txt more_cases
step "tests marked slow and those of lab/"
$PYTHON -m pytest -m "slow or lab" "${WORKERS[@]}"
wait_beside

step "the tests that need large judges"
bash tools/judges.sh

other_drivers() {
    # Mesa 25 beside the system's: its lavapipe runs the suite's core.
    mesa25 restride devices
    mesa25 restride test smoke --expect tools/expectations/lavapipe-25
    mesa25 pytest tests/ops/test_reorder.py tests/ops/test_resample.py tests/runtime tests/house/test_fork.py \
        tests/kernel/test_modules.py

    # Checks every kernel of the contract as Mesa 26 compiles it for GPUs of four makers: no error, no spills or scratch memory
    # but for the listed exceptions, and no count worse than in the stored table, if that is of the same version.
    bash tools/mesa26.sh
    bash tools/mesa26.sh $PYTHON -m pytest lab/tests/bench/audit/test_compiler.py -k mesa_26
    if ! bash tools/mesa26.sh $PYTHON -m restride audit navi21 ampere adreno-660 m1 --contract \
        --against docs/benchmarks/vendors.json >.cache/audit.txt; then
        sed -n '/^\(problem: \|against \)/,$p' .cache/audit.txt
        echo "restride: a kernel is worse for GPUs than in docs/benchmarks/vendors.json, which \`make audit\` stores, or is not compiled"
        exit 1
    fi
}
mesa25() { RESTRIDE_REQUIRE_RUNTIMES=vulkan,kompute bash tools/mesa25.sh $PYTHON -m "$@"; }

step "Mesa 25 and 26, beside the wheels, random cases and a driver that poses as a discrete GPU"
run_beside .cache/drivers.txt other_drivers

# Builds what would be published twice, compares the results, and tries them where nothing else is installed.
if git rev-parse --quiet --verify HEAD >/dev/null 2>&1; then
    $PYTHON tools/release_check.py
else
    echo "restride: no git here: the wheel is not checked"
fi

# The output has the seed; if a result is wrong, it has the command that repeats the case.
step "random cases"
$PYTHON lab/reliability/soak.py --minutes 2 --seed "$(date +%Y%m%d)"

step "a driver that poses as a discrete GPU: copies go through staging, kernels are those of GPUs"
RESTRIDE_TEST_AS_GPU=1 $PYTHON -m pytest "${WORKERS[@]}" tests/runtime/vulkan tests/runtime/test_heap.py \
    tests/runtime/test_interface_runtimes.py tests/runtime/kompute/test_runtime.py tests/runtime/kompute/test_device.py \
    tests/runtime/kompute/test_memory.py tests/tensor/test_device*.py tests/tensor/test_arrays.py tests/tensor/test_tensor.py \
    tests/plan/test_copy_runs.py tests/vision tests/house/test_large.py tests/house/test_churn.py \
    tests/runtime/test_choices_file.py \
    lab/tests/reliability/test_threads.py lab/tests/reliability/test_interrupts.py
wait_beside

step "the site"
make --no-print-directory docs
step "all is right"
