# Functions of tools/mesa25.sh and tools/mesa26.sh, which source it: unpack packages of Debian without installing them.
# apt works with lists and archives of its own; the system's stay as they are.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

say() { printf 'restride: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# archive [RELEASE]: prints where apt gets the main packages of that release, or of any. That archive has the other suites too.
archive() {
    apt-get indextargets --no-release-info --format "\$(RELEASE) \$(COMPONENT) \$(REPO_URI)" "Identifier: Packages" |
        awk -v release="${1:-}" '$2 == "main" && (release == "" ? $3 !~ /security/ : $1 == release) && !count++ { print $3 }'
}

# own_apt FOLDER ARCHITECTURE STATUS ARGUMENTS...: apt-get with the lists, archives and sources.list in FOLDER. STATUS has
# what counts as installed.
own_apt() {
    apt-get -qq -o APT::Architecture="$2" -o APT::Architectures="$2" -o Dir::Etc::SourceList="$1/sources.list" \
        -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$1" -o Dir::State::status="$3" -o Dir::Cache="$1" \
        -o Debug::NoLocking=true -o APT::Sandbox::User="$(id -un)" "${@:4}"
}

# unpack FOLDER ARCHITECTURE STATUS PACKAGES...: unpacks the packages, and those they need that are not installed, into FOLDER.
unpack() {
    local new="$1" package
    mkdir -p "$new"/lists/partial "$new"/archives/partial
    own_apt "${@:1:3}" update
    own_apt "${@:1:3}" install --download-only --reinstall -y --no-install-recommends "${@:4}"
    for package in "$new"/archives/*.deb; do
        dpkg -x "$package" "$new"
    done
    rm -r "$new"/lists "$new"/archives
}

# once FOLDER WHAT FUNCTION: unless FOLDER exists, prints that WHAT is fetched and lets FUNCTION fill a new folder.
once() {
    local folder="$1" log="$1.log" code
    [ ! -d "$folder" ] || return 0
    say "fetching $2 into ${folder#"$ROOT"/}"
    rm -rf "$folder.new"
    mkdir -p "$folder.new"
    set +e # because -e would be off inside a condition, too
    (set -e; "$3" "$folder.new") >"$log" 2>&1 </dev/null
    code=$?
    set -e
    if [ $code != 0 ]; then
        tail -n 25 "$log" >&2
        fail "$2 cannot be fetched (the whole output is in $log)"
    fi
    mv "$folder.new" "$folder"
}

# Prints the folder name of libraries: x86_64-linux-gnu, or that of another machine.
libraries() { basename "$(dirname "$(echo "$1"/usr/lib/*/libvulkan_lvp.so)")"; }
