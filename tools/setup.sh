#!/usr/bin/env bash
# Bring this checkout to where `make demo` or `make test` can run, and say each step before it is done.
#
#   bash tools/setup.sh demo    Vulkan loader and drivers, .venv with restride, shaders
#   bash tools/setup.sh lab     also restride-lab, of the folder lab/, and its shaders
#   bash tools/setup.sh lint    .venv with restride, shaders, ruff and mypy; no Vulkan loader, no drivers
#   bash tools/setup.sh test    the same as demo, and the test tools, validation layers, glslang and spirv-tools
#
# System packages come through apt where this is Debian or Ubuntu and root or passwordless sudo is there; elsewhere
# they are named, and the set-up goes on. A second run finds everything in place and takes well under two seconds.
# PYTHON=/path/to/python3 chooses the interpreter for .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

LEVEL="${1:-}"
VENV=.venv
STAMP="$VENV/.restride-$LEVEL"
LOG=.cache/setup.log
NEW_ENOUGH='import sys; assert sys.version_info >= (3, 11)'

DEMO_PACKAGES=(libvulkan1 mesa-vulkan-drivers)
TEST_PACKAGES=(vulkan-validationlayers glslang-tools spirv-tools g++ make cmake libvulkan-dev libfmt-dev)
# The report's page is tested in chromium, and chromium-common has SwiftShader, a second driver. Ubuntu has neither package.
BROWSER_PACKAGES=(chromium chromium-common)

say() { printf 'restride: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# step TEXT COMMAND...: prints the text, runs the command, and shows the end of its output if it fails.
step() {
    say "$1"
    shift
    mkdir -p .cache
    if ! "$@" >"$LOG" 2>&1 </dev/null; then
        tail -n 25 "$LOG" >&2
        fail "this step failed: $* (the whole output is in $LOG)"
    fi
}

has_apt() { [ -e /etc/debian_version ] && command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }
is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Prints the words before a command that needs root: env if we are root, else sudo; nothing if there is no way.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        echo env
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        echo "sudo -n env"
    fi
}

APT_LISTS_ARE_NEW=
apt_install() {
    local missing=() package root
    for package in "$@"; do
        is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    root="$(as_root)"
    if [ -z "$root" ]; then
        fail "please run this, then try again: sudo apt-get install ${missing[*]}"
    fi
    if [ -z "$APT_LISTS_ARE_NEW" ]; then
        # shellcheck disable=SC2086 # $root is a command and its arguments
        step "fetching Debian's package lists" $root apt-get update
        APT_LISTS_ARE_NEW=yes
    fi
    # shellcheck disable=SC2086
    step "installing Debian packages: ${missing[*]}" \
        $root DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}

# Installs Debian's chromium, if there is one; elsewhere the tests that need it are skipped.
install_browser() {
    if is_installed chromium || apt-cache policy chromium 2>/dev/null | grep 'Candidate: [0-9]' >/dev/null; then
        apt_install "${BROWSER_PACKAGES[@]}"
    elif [ ! -f "$STAMP" ]; then
        say "no package chromium here: tests of the report's page, and those on SwiftShader, are left out"
    fi
}

name_system_packages() {
    case "$(uname -s)$(. /etc/os-release 2>/dev/null && echo " ${ID:-} ${ID_LIKE:-}")" in
    *fedora* | *rhel*)
        say "this is not Debian; packages it needs: dnf install vulkan-loader mesa-vulkan-drivers"
        say "  for the tests also: vulkan-validation-layers glslang spirv-tools gcc-c++ cmake vulkan-loader-devel vulkan-headers fmt-devel python3-devel chromium" ;;
    *arch*)
        say "this is not Debian; packages it needs: pacman -S vulkan-icd-loader vulkan-swrast (or your GPU's: vulkan-radeon, vulkan-intel, nvidia-utils)"
        say "  for the tests also: vulkan-validation-layers glslang spirv-tools gcc cmake vulkan-headers fmt chromium" ;;
    Darwin*)
        say "packages it needs: brew install molten-vk vulkan-loader"
        say "  for the tests also: brew install vulkan-validationlayers glslang spirv-tools cmake vulkan-headers fmt; brew install --cask chromium" ;;
    *)
        say "this is not Debian; it needs a Vulkan loader (libvulkan) and a driver, such as Mesa's lavapipe"
        say "  for the tests also: the Vulkan validation layers, glslang, spirv-tools, a C++ compiler, cmake, Vulkan headers, fmt, chromium" ;;
    esac
}

# Debian's python3 can lack ensurepip, and then creates no virtual environments.
can_make_venv() { "$1" -c "$NEW_ENOUGH; import ensurepip, venv" >/dev/null 2>&1; }

find_python() {
    local candidate
    for candidate in python3 python3.13 python3.12 python3.11 python3.14; do
        if can_make_venv "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
}

install_python() {
    local root found version candidate
    found="$(command -v python3 >/dev/null && python3 --version || echo 'no python3 at all')"
    has_apt || fail "Python 3.11 or newer is needed, here is $found. Install one, or say PYTHON=/path/to/python3"
    root="$(as_root)"
    [ -n "$root" ] || fail "a Python 3.11 or newer that can make virtual environments is needed: sudo apt-get install python3-venv"
    # shellcheck disable=SC2086
    step "fetching Debian's package lists" $root apt-get update
    APT_LISTS_ARE_NEW=yes
    for version in 3 3.13 3.12 3.11; do
        # "python3" is whatever this release calls so; Ubuntu 22.04 has 3.10 there and a python3.11 beside it.
        candidate="$(apt-cache policy "python$version-venv" 2>/dev/null | sed -n 's/^ *Candidate: //p')"
        if [[ "$candidate" =~ ^3\.(1[1-9]|[2-9][0-9]) ]]; then
            apt_install "python$version-venv"
            return
        fi
    done
    fail "this release offers no Python 3.11 or newer, and here is $found. Install one, or say PYTHON=/path/to/python3"
}

make_venv() {
    local python
    if [ -x $VENV/bin/python ] && $VENV/bin/python -c "$NEW_ENOUGH" 2>/dev/null; then
        return
    fi
    python="${PYTHON:-$(find_python)}"
    if [ -n "${PYTHON:-}" ]; then
        can_make_venv "$PYTHON" || fail "PYTHON=$PYTHON is no Python 3.11 or newer that can make virtual environments"
    elif [ -z "$python" ]; then
        install_python
        python="$(find_python)"
        [ -n "$python" ] || fail "no Python 3.11 or newer that can make virtual environments, after installing one"
    fi
    step "making a virtual environment in $VENV with $("$python" --version)" "$python" -m venv --clear $VENV
}

# Debian keeps Python.h apart; kp is compiled against it.
python_headers() {
    $VENV/bin/python - <<'PYTHON'
import pathlib, sys, sysconfig
if not pathlib.Path(sysconfig.get_path("include"), "Python.h").is_file():
    print(f"python{sys.version_info.major}.{sys.version_info.minor}-dev")
PYTHON
}

build_requirements() {
    $VENV/bin/python -c 'import tomllib
for line in tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"]: print(line)'
}

is_stamped() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

install_package() {
    local fingerprint package='.[demo]' more=() pip=($VENV/bin/python -m pip --disable-pip-version-check)
    fingerprint="$(pwd; cksum pyproject.toml lab/pyproject.toml tools/setup.sh; $VENV/bin/python --version)"
    if is_stamped "$STAMP" "$fingerprint"; then
        return
    fi
    if [ "$LEVEL" = lint ] && is_stamped "$VENV/.restride-test" "$fingerprint"; then
        return # the test tools have ruff and mypy
    fi
    # The compiler stays in .venv, where a changed shader needs it; so the package is built without an environment of
    # its own. Dependency groups need pip 25.1.
    mkdir -p .cache
    build_requirements >.cache/build-requirements.txt
    step "installing the build tools into $VENV" "${pip[@]}" install 'pip>=25.1' -r .cache/build-requirements.txt
    case "$LEVEL" in
    lint) package=. more=(--group lint) ;;
    lab) more=(-e ./lab) ;;
    test) more=(--group dev) ;;
    esac
    step "installing restride into $VENV" "${pip[@]}" install --no-build-isolation -e "$package" ${more[@]+"${more[@]}"}
    echo "$fingerprint" >"$STAMP"
}

case "$LEVEL" in demo | lint | lab | test) ;; *) fail "usage: bash tools/setup.sh demo|lint|lab|test" ;; esac

make_venv
if [ "$LEVEL" != lint ]; then
    if has_apt; then
        apt_install "${DEMO_PACKAGES[@]}"
        if [ "$LEVEL" = test ]; then
            apt_install "${TEST_PACKAGES[@]}" $(python_headers)
            install_browser
        fi
    elif [ ! -f "$STAMP" ]; then
        name_system_packages
    fi
fi
install_package
$VENV/bin/python tools/compile_shaders.py >&2
if [ "$LEVEL" = lab ]; then
    $VENV/bin/python tools/compile_shaders.py --shaders lab/shaders --target lab/src/restride_bench/spirv >&2
fi
