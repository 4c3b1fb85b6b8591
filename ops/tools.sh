# shellcheck shell=bash
# Finds what the scripts of this project need, for them to source: find_jdk25 sets JDK25, find_maven sets MVN. Both
# print one line that says what to do, and return 1, where there is nothing. need_jars builds jars.

JDK25=
MVN=()

# The usual places of JDKs, those that Maven's toolchains plugin searches: the environment, PATH, package managers.
jdk_places() {
    local name java
    for name in JAVA_HOME "${!JDK@}" "${!JAVA@}"; do
        case $name in
            JAVA_HOME | JDK*_HOME | JAVA*_HOME | JAVA_HOME_*) printf '%s\n' "${!name:-}" ;;
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

find_jdk25() {
    local home
    while IFS= read -r home; do
        if [[ -x $home/bin/javac && -x $home/bin/java && -r $home/release ]] \
            && grep -q '^JAVA_VERSION="25[".+-]' "$home/release"; then
            JDK25=$home
            # Maven's toolchains plugin looks at such names too.
            export JAVA25_HOME=$home
            return 0
        fi
    done < <(jdk_places)
    echo "$0: no JDK 25 found (a whole JDK, with javac): install one under /usr/lib/jvm or ~/.jdks, or let JAVA_HOME name it" >&2
    return 1
}

# Maven 3.8 or newer. MVN is a command in an array: with a JAVA_HOME where Maven's own Java is missing or older than 17.
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

# jar_of MODULE, in the root of the repository: the path of its jar.
jar_of() {
    printf '%s' "$1/target/weir-${1//\//-}.jar"
}

# is_current MODULE...: whether their jars are there, and nothing that they are made of is newer.
is_current() {
    local module jar
    for module; do
        jar=$(jar_of "$module")
        [[ -f $jar && -z $(find pom.xml "$module/pom.xml" "$module/src/main" -newer "$jar" -print -quit) ]] || return 1
    done
}

# mark_current SINCE MODULE...: of what was built after that file was made. Maven leaves a jar as it is where a newer file
# changes nothing in it.
mark_current() {
    local since=$1 module
    shift
    for module; do
        touch -r "$since" "$(jar_of "$module")"
    done
}

# need_jars MODULE...: builds them if one is not current, in the root of the repository.
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
