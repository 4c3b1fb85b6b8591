# shellcheck shell=bash
# The usual places of JDKs, for ops/tools.sh and for bin/weir of a release.

# Prints them, one on a line: environment, PATH, package managers. Maven's toolchains plugin searches them
# too.
jdk_places() {
    local name java
    for name in WEIR_JAVA_HOME JAVA_HOME "${!JDK@}" "${!JAVA@}"; do
        case $name in
            WEIR_JAVA_HOME | JAVA_HOME | JDK*_HOME | JAVA*_HOME | JAVA_HOME_*) printf '%s\n' "${!name:-}" ;;
        esac
    done
    if java=$(readlink -f "$(command -v java)" 2>/dev/null); then
        printf '%s\n' "${java%/bin/java}"
    fi
    printf '%s\n' /usr/lib/jvm/* /usr/java/* /usr/jdk/* /opt/java/* /opt/jdk* "${HOME:-/nonexistent}"/.jdks/* \
        "${HOME:-/nonexistent}"/.sdkman/candidates/java/* "${HOME:-/nonexistent}"/.asdf/installs/java/* \
        "${HOME:-/nonexistent}"/.gradle/jdks/* "${HOME:-/nonexistent}"/.jbang/cache/jdks/* \
        "${HOME:-/nonexistent}"/.jenv/versions/* "${HOME:-/nonexistent}"/.jabba/jdk/* \
        {,"${HOME:-/nonexistent}"}/Library/Java/JavaVirtualMachines/*/Contents/Home
}

# is_java25 HOME: whether a Java 25 is there. It may have no compiler.
is_java25() {
    [[ -x $1/bin/java && -r $1/release ]] && grep -q '^JAVA_VERSION="25[".+-]' "$1/release"
}
