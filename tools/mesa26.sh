#!/usr/bin/env bash
# Fetch Mesa 26's compilers for GPUs that are not here, of Debian 13's backports, and run a command with them.
#
#   bash tools/mesa26.sh                                                  AMD, NVIDIA, Qualcomm, Apple
#   bash tools/mesa26.sh --arm64                                          and Arm, Imagination: with `apt install qemu-user`
#   bash tools/mesa26.sh --intel                                          and Intel, whose shim is built: two minutes
#   bash tools/mesa26.sh .venv/bin/restride audit -k transpose            restride finds .cache/mesa26 without it, too
#
# Nothing is installed, and apt's own lists stay as they are. The packages come with the C library that they need: 61 MiB,
# 302 MiB unpacked; of arm64, with a Python, 67 MiB. --intel builds the one shim that no package has, from Debian 13's
# source of Mesa 25, which serves Mesa 26's driver. It needs gcc, ninja-build, flex, bison, pkg-config, libdrm-dev,
# libexpat1-dev and zlib1g-dev, and fetches meson for itself.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

FOLDER="$ROOT/.cache/mesa26"
SUITE=trixie
SHIM=libintel_noop_drm_shim.so
MACHINE="$(dpkg --print-architecture)" || fail "no dpkg: this is not Debian, and has no packages for it"

# fill_with FOLDER ARCHITECTURE PACKAGES...: the drivers and all that they need, since nothing counts as installed.
fill_with() {
    local uri
    uri="$(archive)"
    [ -n "$uri" ] || fail "apt has no source of main here: this is not Debian"
    printf 'deb %s %s main\n' "$uri" "$SUITE" "$uri" "$SUITE-backports" >"$1/sources.list"
    : >"$1/status"
    unpack "$1" "$2" "$1/status" "mesa-vulkan-drivers/$SUITE-backports" "mesa-drm-shim/$SUITE-backports" "${@:3}"
    rm -r "$1"/usr/share
}
fill() { fill_with "$1" "$MACHINE"; }
fill_arm64() { fill_with "$1" arm64 python3-minimal libpython3-stdlib; }

fill_intel() {
    local new="$1" options
    mkdir -p "$new"/lists/partial "$new"/source
    echo "deb-src $(archive) $SUITE main" >"$new/sources.list"
    own_apt "$new" "$MACHINE" /var/lib/dpkg/status update
    (cd "$new" && own_apt "$new" "$MACHINE" /var/lib/dpkg/status source --download-only mesa)
    tar -xf "$new"/mesa_*.orig.tar.xz -C "$new/source" --strip-components 1
    python3 -m venv "$new/venv"
    "$new"/venv/bin/python -m pip install --quiet 'meson>=1.4' mako pyyaml packaging
    options="-Dvulkan-drivers= -Dgallium-drivers= -Dplatforms= -Dglx=disabled -Degl=disabled -Dgbm=disabled -Dopengl=false"
    options="$options -Dgles1=disabled -Dgles2=disabled -Dllvm=disabled -Dshared-glapi=disabled -Dosmesa=false"
    # shellcheck disable=SC2086 # the options are words
    PATH="$new/venv/bin:$PATH" meson setup "$new/build" "$new/source" --buildtype release -Dtools=drm-shim,intel $options
    ninja -C "$new/build" "src/intel/tools/$SHIM"
    strip -o "$new/$SHIM" "$new/build/src/intel/tools/$SHIM"
    rm -r "$new"/source "$new"/build "$new"/venv "$new"/mesa_* "$new"/lists
}

once "$FOLDER" "Mesa 26 of Debian's $SUITE-backports" fill
while [ "${1:-}" = --arm64 ] || [ "${1:-}" = --intel ]; do
    if [ "$1" = --arm64 ]; then
        once "$FOLDER-arm64" "Mesa 26 of Debian's $SUITE-backports for arm64" fill_arm64
    else
        once "$FOLDER-intel" "the source of Mesa and meson to build $SHIM" fill_intel
        cp "$FOLDER-intel/$SHIM" "$FOLDER/usr/lib/$(libraries "$FOLDER")/"
    fi
    shift
done
export RESTRIDE_MESA="$FOLDER"
[ $# = 0 ] || exec "$@"
