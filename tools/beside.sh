# To be sourced: one command in the background, while others run.
set -m # it gets a process group of its own, so that all of it can be stopped

BESIDE=
trap '[ -z "$BESIDE" ] || kill -- -"$BESIDE" 2>/dev/null || true' EXIT

# run_beside FILE COMMAND...: start it, with its output in FILE.
run_beside() {
    BESIDE_OUTPUT="$1"
    shift
    echo "restride: $* runs meanwhile, into $BESIDE_OUTPUT" >&2
    "$@" >"$BESIDE_OUTPUT" 2>&1 </dev/null &
    BESIDE=$!
}

# wait_beside: wait for its end, show its output, and fail as it did.
wait_beside() {
    local code=0
    wait "$BESIDE" || code=$?
    BESIDE=
    cat "$BESIDE_OUTPUT"
    return "$code"
}
