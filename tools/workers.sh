# For scripts that source this file: how pytest uses all cores. Tests work on one core most of the time, or wait: there is a
# worker for each core, up to four, whose files are its own.
# shellcheck disable=SC2034 # scripts that source this file use it
WORKERS=(--numprocesses "$(nproc)" --maxprocesses 4 --dist loadfile --durations 20 --durations-min 5)
