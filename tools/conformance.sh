#!/usr/bin/env bash
# The conformance cases where pytest does not run them: on SwiftShader, under validation, in the specialised form.
#
#   bash tools/conformance.sh test    what `make test` adds: minutes
#   bash tools/conformance.sh full    every catalogue, on each runtime and driver, in each form, under each profile: hours
#
# Without SwiftShader its part is left out, and said to be; with CI=true that fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHON=.venv/bin/python

cases() {
    echo "restride test $*" >&2
    $PYTHON -m restride test "$@"
}

targets=("" "--runtime kompute")
if $PYTHON -c 'from restride.cli.drivers import driver_file; driver_file("swiftshader")' 2>/dev/null; then
    targets+=("--driver swiftshader")
    cases ci --driver swiftshader
elif [ "${CI:-}" = true ]; then
    echo "restride: SwiftShader is not installed (Debian: apt install chromium-common)" >&2
    exit 1
else
    echo "restride: SwiftShader is not installed; its cases are left out" >&2
fi

cases smoke --validate sync
cases smoke --validate gpu
cases smoke --form specialised --validate sync
[ "${1:-}" = full ] || exit 0

for target in "${targets[@]}"; do
    for form in generic specialised; do
        # shellcheck disable=SC2086 # a target is an option and its value, or nothing
        cases full $target --form $form
        # shellcheck disable=SC2086
        cases ci $target --form $form --mode bitwise
        for profile in core sync gpu; do
            # shellcheck disable=SC2086
            cases ci $target --form $form --validate $profile
        done
    done
done
