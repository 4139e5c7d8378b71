# For scripts that source this file: functions that run one command in the background, while other commands run.
set -m # the command gets a process group of its own, so that it and its children can be stopped

BESIDE=
trap '[ -z "$BESIDE" ] || kill -- -"$BESIDE" 2>/dev/null || true' EXIT

# run_beside FILE COMMAND...: starts the command, with its output in FILE.
run_beside() {
    BESIDE_OUTPUT="$1"
    shift
    echo "restride: $* runs meanwhile, into $BESIDE_OUTPUT" >&2
    "$@" >"$BESIDE_OUTPUT" 2>&1 </dev/null &
    BESIDE=$!
}

# wait_beside: waits for the command's end, shows its output, and fails if it failed.
wait_beside() {
    local code=0
    wait "$BESIDE" || code=$?
    BESIDE=
    cat "$BESIDE_OUTPUT"
    return "$code"
}
