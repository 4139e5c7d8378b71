# For scripts that source this file: how pytest uses all cores. A test works on one core most of the time, or waits: so there
# is a worker for each core, up to four, and all tests of a file run in one worker.
# shellcheck disable=SC2034 # scripts that source this file use it
WORKERS=(--numprocesses "$(nproc)" --maxprocesses 4 --dist loadfile --durations 20 --durations-min 5)
