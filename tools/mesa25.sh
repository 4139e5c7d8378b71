#!/usr/bin/env bash
# Run a command with Mesa 25's drivers, of Debian 12's backports, beside the installed ones.
#
#   bash tools/mesa25.sh .venv/bin/restride test smoke                    on its lavapipe
#   bash tools/mesa25.sh .venv/bin/restride audit --family gfx1201        compiled by its RADV
#   bash tools/mesa25.sh make bench BENCH='--device llvmpipe'
#
# The first call fetches the packages and unpacks them in .cache/mesa25: nothing is installed, and apt's own lists stay
# as they are. The command gets lavapipe alone as its devices (VK_DRIVER_FILES); drivers that restride looks up by name,
# `--driver lavapipe` and the audit's RADV, are Mesa 25's too (XDG_DATA_DIRS).
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
FOLDER="$ROOT/.cache/mesa25"
LOG="$ROOT/.cache/mesa25.log"
SUITE=bookworm

say() { printf 'restride: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# apt with lists and archives of its own; what is installed is asked of the system's dpkg.
apt() {
    apt-get -qq -o Dir::Etc::SourceList="$1/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$1" \
        -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache="$1" -o Debug::NoLocking=true -o APT::Sandbox::User="$(id -un)" "${@:2}"
}

# The archive that has this release's main packages, as apt is configured, has its backports too.
archive() {
    apt-get indextargets --no-release-info --format "\$(RELEASE) \$(COMPONENT) \$(REPO_URI)" "Identifier: Packages" |
        awk -v suite=$SUITE '$1 == suite && $2 == "main" && !count++ { print $3 }'
}

unpack() {
    local new="$1" uri package file
    uri="$(archive)"
    [ -n "$uri" ] || fail "apt has no source of $SUITE main: this is not Debian 12; install Mesa 25 or newer as your system does"
    mkdir -p "$new"/lists/partial "$new"/archives/partial
    echo "deb $uri $SUITE-backports main" >"$new/sources.list"
    apt "$new" update
    apt "$new" install --download-only --reinstall -y --no-install-recommends "mesa-vulkan-drivers/$SUITE-backports"
    for package in "$new"/archives/*.deb; do
        dpkg -x "$package" "$new"
    done
    # The loader takes a path in a manifest as relative to it, and a bare name as one that is installed.
    for file in "$new"/usr/share/vulkan/icd.d/*.json; do
        sed -i "s#\"library_path\": *\".*/\?\(lib[^/\"]*\)\"#\"library_path\": \"../../../lib/$(libraries "$new")/\1\"#" "$file"
    done
    rm -r "$new"/lists "$new"/archives
}

# x86_64-linux-gnu, or that of another machine.
libraries() { basename "$(dirname "$(echo "$1"/usr/lib/*/libvulkan_lvp.so)")"; }

[ $# -gt 0 ] || fail "usage: bash tools/mesa25.sh COMMAND..."
if [ ! -d "$FOLDER" ]; then
    say "fetching Mesa 25 of Debian's $SUITE-backports into .cache/mesa25"
    rm -rf "$FOLDER.new"
    mkdir -p "$FOLDER.new"
    set +e # a condition would switch off -e inside, too
    (set -e; unpack "$FOLDER.new") >"$LOG" 2>&1 </dev/null
    code=$?
    set -e
    if [ $code != 0 ]; then
        tail -n 25 "$LOG" >&2
        fail "Mesa 25 cannot be fetched (the whole output is in $LOG)"
    fi
    mv "$FOLDER.new" "$FOLDER"
fi

lavapipe="$FOLDER/usr/share/vulkan/icd.d/lvp_icd.json"
export VK_DRIVER_FILES="$lavapipe" VK_ICD_FILENAMES="$lavapipe"
export XDG_DATA_DIRS="$FOLDER/usr/share:${XDG_DATA_DIRS:-/usr/local/share:/usr/share}"
LD_LIBRARY_PATH="$FOLDER/usr/lib/$(libraries "$FOLDER")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH
exec "$@"
