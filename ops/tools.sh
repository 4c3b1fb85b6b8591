# shellcheck shell=bash
# Functions for the scripts of this project: find_jdk25 sets JDK25, find_maven sets MVN. If nothing is found,
# both print one line with advice and return 1. need_jars builds jars.

JDK25=
MVN=()

# shellcheck source=ops/jdks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/jdks.sh"

find_jdk25() {
    local home
    while IFS= read -r home; do
        if [[ -x $home/bin/javac ]] && is_java25 "$home"; then
            JDK25=$home
            # Maven's toolchains plugin reads such variables too.
            export JAVA25_HOME=$home
            return 0
        fi
    done < <(jdk_places)
    echo "$0: no JDK 25 found (a whole JDK, with javac): install one under /usr/lib/jvm or ~/.jdks, or let JAVA_HOME name it" >&2
    return 1
}

# Finds Maven 3.8 or newer. MVN is a command array; it sets JAVA_HOME if Maven's Java is missing or older than
# 17.
find_maven() {
    local mvn version java
    for mvn in "$(command -v mvn)" "${MAVEN_HOME:-}/bin/mvn" "${M2_HOME:-}/bin/mvn" /opt/maven/bin/mvn \
        /opt/apache-maven*/bin/mvn /usr/share/maven/bin/mvn "${HOME:-/nonexistent}"/.sdkman/candidates/maven/current/bin/mvn; do
        [[ -n $mvn && -x $mvn ]] || continue
        MVN=("$mvn")
        java=$(java_of_maven)
        if [[ -z $java ]] || ((java < 17)); then
            MVN=(env "JAVA_HOME=$JDK25" "$mvn")
        fi
        version=$("${MVN[@]}" -v 2>/dev/null | sed -n 's/.*Apache Maven \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
        if [[ -n $version ]] && ((${version% *} * 1000 + ${version#* } >= 3008)); then
            return 0
        fi
        echo "$0: $mvn is Maven ${version:-of an unknown version} (expected: 3.8 or newer): install a newer one" >&2
        return 1
    done
    echo "$0: no Maven found: install Maven 3.8 or newer, so that mvn is on the PATH, or let MAVEN_HOME name it" >&2
    return 1
}

java_of_maven() {
    "${MVN[@]}" -v 2>/dev/null | sed -n 's/^Java version: \(1\.\)\{0,1\}\([0-9]*\).*/\2/p'
}

# jar_of MODULE: the path of its jar, relative to the root of the repository.
jar_of() {
    printf '%s' "$1/target/weir-${1//\//-}.jar"
}

# is_current MODULE...: whether their jars exist and no source is newer.
is_current() {
    local module
    for module; do
        is_newest "$module" "$(jar_of "$module")" || return 1
    done
}

# is_newest MODULE JAR: whether this jar of the module exists and no source is newer.
is_newest() {
    local module=$1 jar=$2
    # Spring Boot sets the time of its jar to project.build.outputTimestamp; the jar that it began with has
    # the time of the build.
    [[ ! -f $jar || ! $jar.original -nt $jar ]] || jar+=.original
    [[ -f $jar && -z $(find pom.xml "$module/pom.xml" "$module/src/main" -newer "$jar" -print -quit) ]]
}

# mark_current SINCE MODULE...: sets the jars' times to that of the file SINCE. Maven does not rewrite a jar
# if a newer source does not change its contents.
mark_current() {
    local since=$1 module
    shift
    for module; do
        touch -r "$since" "$(jar_of "$module")"
    done
}

# need_jars MODULE...: builds the jars if one is outdated; call it in the root of the repository.
need_jars() {
    local since status=0
    ! is_current "$@" || return 0
    find_jdk25 && find_maven || return 1
    echo "building $* (the first time takes minutes)"
    since=$(mktemp)
    "${MVN[@]}" -q -B -am -pl "$(IFS=,; printf '%s' "$*")" -Dmaven.test.skip=true package || status=$?
    ((status != 0)) || mark_current "$since" "$@"
    rm -f "$since"
    return "$status"
}
