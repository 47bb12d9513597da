# Shared by the scripts, which source it.

BUILD_PACKAGES=(libmicrohttpd-dev libsodium-dev libsqlite3-dev libpq-dev libjemalloc-dev zlib1g-dev pkg-config)
# The packages whose programs the Swift tests run.
TEST_PACKAGES=(groff openssl postgresql prometheus python3 sqlite3 strace util-linux)

# With the Swift library linked statically, the binary starts faster, calls faster, and runs without a toolchain. The
# debug information has only line numbers, for crash reports: the rest would take a tenth of the time of the build.
RELEASE=(-c release --static-swift-stdlib -Xswiftc -gline-tables-only)

# Says how to get Swift where it is missing or too old.
need_swift() {
    local version
    version=$(swift --version 2> /dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p')
    [ "$(printf '%s\n' 6.3 "${version:-0}" | sort -V | head -1)" = 6.3 ] && return
    cat >&2 << 'TEXT'
This needs Swift 6.3 or newer on PATH. Install it with swiftly, https://www.swift.org/install/linux/:

    curl -O https://download.swift.org/swiftly/linux/swiftly-$(uname -m).tar.gz
    tar zxf swiftly-$(uname -m).tar.gz
    ./swiftly init --quiet-shell-followup
    . ~/.local/share/swiftly/env.sh
TEXT
    exit 69
}

# Runs a command as root, or with sudo.
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo --preserve-env=PATH "$@"; fi; }

# Runs a command while no other script runs one with `alone`.
alone() (flock 9 && "$@") 9< scripts/common.sh

# Installs those of the Debian packages that are missing, as root or with sudo.
need_packages() {
    local package
    for package in "$@"; do
        is_installed "$package" || { alone install_packages "$@"; return; }
    done
}
is_installed() {
    dpkg-query --show --showformat '${db:Status-Status}\n' "$1" 2> /dev/null | grep -qx installed
}
install_packages() {
    local missing=() package
    for package in "$@"; do is_installed "$package" || missing+=("$package"); done
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "Installing ${missing[*]}" >&2
    as_root apt-get update -qq < /dev/null > /dev/null 9>&-
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "${missing[@]}" < /dev/null > /dev/null 9>&-
}

# Installs packages for Python in an environment of this project, and sets `venv` to its directory.
need_python() {
    need_packages python3-venv
    venv=$PWD/.build/venv
    alone install_python "$@"
}
install_python() {
    [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" < /dev/null
}

# Has a compiler, its standard library, coroutines and the serialization of JSON, for Kotlin on a Java runtime.
KOTLIN_PACKAGE=kotlin-jupyter-kernel==0.19.0.944

# Installs Kotlin, and sets `kotlin_libraries` to the class path with which programs are compiled and run.
need_kotlin() {
    need_packages default-jre-headless
    need_python "$KOTLIN_PACKAGE"
    kotlin=$(echo "$venv"/lib/python3*/site-packages/run_kotlin_kernel/jars)
    local coroutines=$venv/kotlinx-coroutines.jar
    [ -e "$coroutines" ] || alone take_coroutines "$kotlin"/kotlin-jupyter-kernel-*-all.jar "$coroutines"
    kotlin_libraries=$(printf '%s:' "$kotlin"/kotlin-stdlib-*.jar "$kotlin"/kotlinx-serialization-{core,json}-jvm-*.jar)$coroutines
}
# Coroutines are only in the jar of the compiler, whose 80 MB would make each start of a program slow.
take_coroutines() { # jar of the compiler, jar to make
    "$venv/bin/python" - "$1" "$2.part" << 'PYTHON'
import re, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as compiler, zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED) as jar:
    for name in filter(re.compile(r"kotlinx/coroutines/|META-INF/(services/)?kotlinx.coroutines").match, compiler.namelist()):
        jar.writestr(name, compiler.read(name))
PYTHON
    mv "$2.part" "$2"
}

# Compiles Kotlin sources into a jar; a warning is an error. Further class paths are added to that of `need_kotlin`. Run
# the result with `java -cp "$jar:$kotlin_libraries" NAME_OF_THE_FILE_Kt`.
kotlin_compile() { # jar, sources, folders or flags, [-cp class path]
    local jar=$1 sources=() classes=$kotlin_libraries
    shift
    while [ $# -gt 0 ]; do
        if [ "$1" = -cp ]; then classes=$2:$classes; shift; else sources+=("$1"); fi
        shift
    done
    java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$(echo "$kotlin"/kotlin-jupyter-kernel-*-all.jar)" \
        org.jetbrains.kotlin.cli.jvm.K2JVMCompiler \
        -Werror -no-stdlib -no-reflect -jvm-target 17 -cp "$classes" -d "$jar" "${sources[@]}"
}

# Compiles the client libraries that others are compiled against, once for all scripts: sets `kotlin_library` to the jar,
# and `swift_library` to the folder with the module.
need_kotlin_library() {
    need_kotlin
    kotlin_library=$PWD/.build/clients/$(hash_of "$KOTLIN_PACKAGE" Clients/Kotlin/src/main).jar
    alone once "$kotlin_library" kotlin_compile "$kotlin_library" -Xexplicit-api=strict Clients/Kotlin/src/main/kotlin
}
need_swift_library() {
    swift_library=$PWD/.build/clients/$(hash_of "$(swift --version 2> /dev/null)" Clients/Swift/Sources/CoordinatorClient)
    alone once "$swift_library/CoordinatorClient.swiftmodule" swiftc -emit-module -parse-as-library -swift-version 6 \
        -module-name CoordinatorClient -o "$swift_library/CoordinatorClient.swiftmodule" \
        Clients/Swift/Sources/CoordinatorClient/*.swift
}
hash_of() { # text, folder
    { echo "$1" && find "$2" -type f -print0 | sort -z | xargs -0 cat; } | sha256sum | cut -c 1-20
}
# Runs a command that makes a file, unless it has been made.
once() { # file, command
    [ ! -e "$1.made" ] || return 0
    mkdir -p "$(dirname "$1")"
    "${@:2}" && touch "$1.made"
}

# Has the servers of a test cut off nobody who waits for the processor: no result may depend on the machine's speed. What
# a server shall cut off is a flag of that one. Proxies that a test starts wait as long.
raise_time_limits() {
    time_limit=10m
    export COORDINATORD_{HEAD,BODY,ANSWER,IDLE}_TIME=$time_limit
}

# Runs a command again and again until it succeeds. The limit only finds what hangs.
wait_for() { # what is waited for, command
    local what=$1 end=$((SECONDS + 600))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || { echo "not after 10 minutes: $what" >&2; return 1; }
        sleep 0.05
    done
}
has_ended() { ! kill -0 "$1" 2> /dev/null; }

# The processes that this script has started and must stop: clients before their servers.
children=()
stop_children() {
    local at child
    for ((at = ${#children[@]} - 1; at >= 0; at--)); do
        child=${children[at]}
        kill "$child" 2> /dev/null && wait "$child" 2> /dev/null || true
    done
    children=()
}

# Starts `$1 serve` on a free port, with its log in `$2`, waits until it is ready, and sets SERVER_URL to its address.
start_server() {
    : > "$2"
    "$1" serve --port 0 "${@:3}" >> "$2" 2>&1 &
    children+=($!)
    wait_for "the server of $2 is ready" has_address "$2" && [ -n "$SERVER_URL" ] || { cat "$2" >&2; return 1; }
}
# Whether the server that was started last has written its address, or ended.
has_address() {
    local over=
    ! has_ended "${children[-1]}" || over=1
    SERVER_URL=$(sed -n 's/.*listening on \(http:[^ ]*\).*/\1/p' "$1")
    [ -n "$SERVER_URL$over" ]
}

# Prints a port of 127.0.0.1 on which nothing listens, below those that the system gives to outgoing connections. No two
# calls in this checkout print the same one, also from scripts that run at the same time.
free_port() (
    mkdir -p .build
    umask 0
    exec 9<> .build/port
    flock 9
    read -r port <&9 || port=$((RANDOM % 20000))
    while port=$(((port + 1) % 20000)) && is_listening $((port + 12000)); do :; done
    echo "$port" > .build/port
    echo $((port + 12000))
)

is_listening() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }
# Waits until the process that was started last listens on a port.
wait_for_port() {
    wait_for "something listens on port $1" is_listening_or_gone "$1" && is_listening "$1" ||
        { echo "nothing listens on port $1" >&2; return 1; }
}
is_listening_or_gone() { is_listening "$1" || has_ended "${children[-1]}"; }

# Starts nginx with deploy/nginx.conf on port `$2` of 127.0.0.1, in front of the ports after it; its files are in `$1`.
start_nginx() {
    local directory=$1 port=$2 replica
    for replica in "${@:3}"; do echo "server 127.0.0.1:$replica max_fails=0;"; done > "$directory/replicas.conf"
    sed -e "s|listen 8080;|listen 127.0.0.1:$port;|" -e "s|/tmp/nginx|$directory|" \
        -e "s|/dev/stdout|$directory/access.log|" -e "s|/dev/stderr|$directory/error.log|" \
        ${time_limit:+-e "s/_timeout [0-9]*m\?s;/_timeout $time_limit;/"} deploy/nginx.conf \
        > "$directory/nginx.conf"
    # The system's programs are not on every user's PATH.
    PATH=$PATH:/usr/sbin nginx -p "$directory" -c "$directory/nginx.conf" -g 'daemon off;' 2> "$directory/start.log" &
    children+=($!)
    wait_for_port "$port" || { cat "$directory/start.log" >&2; return 1; }
}

# Builds the Swift tests; the arguments are for `swift build`. A warning is an error.
build_tests() {
    local log
    log=$(mktemp)
    COORDINATORD_TESTS=1 swift build --build-tests "$@" 2>&1 | tee "$log" || return
    if grep -q "^$PWD/.*: warning:" "$log"; then echo 'there are warnings' >&2; return 1; fi
    rm "$log"
}

# Makes a root file system of a Debian release, without documentation but with the copyright files: as root only.
make_root() { # release, directory, packages
    local release=$1 directory=$2 log
    shift 2
    log=$(mktemp)
    mmdebstrap --quiet --variant=minbase --include="$*" --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --aptopt='Dir::Cache::pkgcache ""' --aptopt='Dir::Cache::srcpkgcache ""' "$release" "$directory" 2> "$log" ||
        { cat "$log" >&2; return 1; }
    rm "$log"
}

# Writes git's rules for local mirrors of Swift packages into a file, so that another root file system can use the
# mirrors, too; sets `mirrors` to their directories.
find_mirrors() { # file
    local rule address
    : > "$1"
    mirrors=()
    while IFS=$'\n' read -r -d '' rule address; do
        git config --file "$1" --add "$rule" "$address"
        rule=${rule#url.} rule=${rule%.insteadof} rule=${rule#file://}
        [ ! -d "$rule" ] || [[ " ${mirrors[*]} " == *" $rule "* ]] || mirrors+=("$rule")
    done < <(git config --null --get-regexp '^url\..*\.insteadof$')
}
