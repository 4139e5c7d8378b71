#!/usr/bin/env bash
# The conformance cases: those of ci, whole or in parts, on the default device, kompute and SwiftShader, and under validation.
#
#   bash tools/conformance.sh test    what `make test` runs beside pytest, which runs smoke on both runtimes: a tenth of
#                                     ci, and smoke on SwiftShader. RESTRIDE_TEST_SEED (1 if it is not set) draws parts
#   bash tools/conformance.sh check   what `make check` runs: all of ci, an eighth of full's conversions, and parts of ci on
#                                     kompute, on SwiftShader, with a phone's limits and under validation: minutes
#   bash tools/conformance.sh full    the catalogue full, and ci twice for its bits and under every profile, on each runtime
#                                     and driver: hours
#
# Without SwiftShader its part is left out, and said to be; with CI=true that fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHON=.venv/bin/python
PROCESSES=$(($(nproc) < 8 ? $(nproc) : 8))
SEED="${RESTRIDE_TEST_SEED:-1}"

# one_of N: prints the options for the one of N parts that the seed draws.
one_of() { echo "--shard $((SEED % $1 + 1))/$1"; }

# What the drivers are known to fail is in tools/expectations.
cases() {
    local known=lavapipe-22
    case " $* " in *" --driver swiftshader "*) known=swiftshader ;; esac
    echo "restride test $*" >&2
    $PYTHON -m restride test -n "$PROCESSES" --expect "tools/expectations/$known" "$@"
}

has_swiftshader() {
    $PYTHON -c 'from restride.command.drivers import driver_file; driver_file("swiftshader")' 2>/dev/null && return
    echo "restride: SwiftShader is not installed (Debian: apt install chromium-common); its cases are left out" >&2
    [ "${CI:-}" != true ] || exit 1
    return 1
}

case "${1:-}" in
test)
    # shellcheck disable=SC2046 # one_of prints an option and its value
    cases ci $(one_of 10)
    if has_swiftshader; then cases smoke --driver swiftshader; fi
    ;;
check)
    # Resamplings other than nearest are compiled for each pair of types and way to round: this takes a twentieth of a second on
    # llvmpipe and a fifth on SwiftShader. kompute creates a pipeline for every set of buffers, so it compiles for every case. It
    # runs the same kernels as the direct runtime and differs only in how it binds buffers.
    folder=src/restride_conformance/catalogue/ci
    conversions=("$folder"/{conversion,arithmetic,crop,resample,resampling,gradients}*.txt)
    copies=()
    for file in "$folder"/*.txt; do
        case " ${conversions[*]} " in *" $file "*) ;; *) copies+=("$file") ;; esac
    done
    # shellcheck disable=SC2046 # one_of prints an option and its value
    {
        cases ci
        cases "${folder/%ci/full}/conversion.txt" $(one_of 8)
        cases "${copies[@]}" --runtime kompute $(one_of 8)
        cases "${conversions[@]}" --runtime kompute $(one_of 24)
        if has_swiftshader; then # `make test` runs smoke on it
            cases "${copies[@]}" --driver swiftshader $(one_of 32)
            cases "${conversions[@]}" --driver swiftshader $(one_of 64)
        fi
        cases smoke --limits mobile
        cases ci --validate sync $(one_of 24)
        cases smoke --validate practices # which is sync and more
        cases smoke --validate gpu --timeout 120 $(one_of 16) # it makes modules larger, and their first compile slow
    }
    ;;
full)
    targets=("" "--runtime kompute")
    if has_swiftshader; then targets+=("--driver swiftshader"); fi
    for target in "${targets[@]}"; do
        # shellcheck disable=SC2086 # a target is an option and its value, or nothing
        cases full $target
        # shellcheck disable=SC2086
        cases ci $target --repeat 2
        for profile in core sync gpu; do
            # shellcheck disable=SC2086
            cases ci $target --validate $profile
        done
    done
    ;;
*)
    echo "usage: bash tools/conformance.sh test|check|full" >&2
    exit 2
    ;;
esac
