#!/usr/bin/env bash
# Run a command with Mesa 25's drivers, of Debian 12's backports, beside the installed ones.
#
#   bash tools/mesa25.sh .venv/bin/restride test smoke                    on its lavapipe
#   bash tools/mesa25.sh make bench BENCH='--device llvmpipe'
#
# The first call fetches the packages and unpacks them in .cache/mesa25: nothing is installed, and apt's own lists stay
# as they are. The command gets lavapipe alone as its devices (VK_DRIVER_FILES); drivers that restride looks up by name,
# such as `--driver lavapipe`, are Mesa 25's too (XDG_DATA_DIRS).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

FOLDER="$ROOT/.cache/mesa25"
SUITE=bookworm

fill() {
    local new="$1" uri file
    uri="$(archive $SUITE)"
    [ -n "$uri" ] || fail "apt has no source of $SUITE main: this is not Debian 12; install Mesa 25 or newer as your system does"
    echo "deb $uri $SUITE-backports main" >"$new/sources.list"
    unpack "$new" "$(dpkg --print-architecture)" /var/lib/dpkg/status "mesa-vulkan-drivers/$SUITE-backports"
    # The loader takes a path in a manifest as relative to it, and a bare name as one that is installed.
    for file in "$new"/usr/share/vulkan/icd.d/*.json; do
        sed -i "s#\"library_path\": *\".*/\?\(lib[^/\"]*\)\"#\"library_path\": \"../../../lib/$(libraries "$new")/\1\"#" "$file"
    done
}

[ $# -gt 0 ] || fail "usage: bash tools/mesa25.sh COMMAND..."
once "$FOLDER" "Mesa 25 of Debian's $SUITE-backports" fill

lavapipe="$FOLDER/usr/share/vulkan/icd.d/lvp_icd.json"
export VK_DRIVER_FILES="$lavapipe" VK_ICD_FILENAMES="$lavapipe"
export XDG_DATA_DIRS="$FOLDER/usr/share:${XDG_DATA_DIRS:-/usr/local/share:/usr/share}"
LD_LIBRARY_PATH="$FOLDER/usr/lib/$(libraries "$FOLDER")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH
exec "$@"
