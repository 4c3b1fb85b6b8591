# shellcheck shell=bash
# Functions for ops/up: the programs that it starts. It builds them, unpacks their jars, and keeps AOT caches,
# all in the folder target/up of the two modules.

# The state of each module's program: building, built, unpacking, unpacked.
modules=(backends-sim gateway)
declare -A jars=() states=()
building=() # the modules in Maven's build
build_began=0

# JVM options for a short start: optimised code and a concurrent collector would take half of the processor
# time, and the default threshold of metadata makes a starting JVM collect its whole heap several times.
quick_start=(-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=128m)

# ---------------------------------------------------------------- build

# Takes the jars of a whole build if they are current, otherwise those of an earlier ops/up, and lets Maven
# build what is missing, with the profile up.
begin_build() {
    local module
    for module in "${modules[@]}"; do
        states[$module]=built
        jars[$module]=$(jar_of "$module")
        ! is_newest "$module" "${jars[$module]}" || continue
        jars[$module]=$module/target/up/${jars[$module]##*/}
        ! is_newest "$module" "${jars[$module]}" || continue
        states[$module]=building
        building+=("$module")
    done
    if ((${#building[@]} == 0)); then
        finished build "is current" 0
        return
    fi
    if ! find_maven; then
        failing=true
        exit 1
    fi
    : >"$run/tmp/build-began"
    build_began=$SECONDS
    launch build "${MVN[@]}" -B -pl "$(names_of_build)" -P up -Dmaven.test.skip=true package
}

names_of_build() {
    local IFS=,
    printf '%s' "${building[*]}"
}

# Notes the modules that Maven has built: each as soon as Spring Boot has written its jar.
watch_build() {
    local module status
    ((${#building[@]} > 0)) || return 0
    if is_alive build; then
        ((SECONDS - build_began < build_seconds_max)) || failed build "took longer than $build_seconds_max s"
        for module in "${building[@]}"; do
            if [[ ${states[$module]} == building ]] \
                && grep -q "Replacing main artifact .*/${jars[$module]} with repackaged archive" "$run/build.log"; then
                is_built "$module"
            fi
        done
        return
    fi
    wait "${pids[build]}"
    status=$?
    forget build
    if ((status != 0)); then
        [[ ! -t 1 ]] || printf '\r\033[K'
        grep -F '[ERROR]' "$run/build.log" | head -n 20 >&2
        stop_all
        die "the build failed (Maven's exit code $status); the whole log is ops/.run/build.log"
    fi
    for module in "${building[@]}"; do
        [[ ${states[$module]} != building ]] || is_built "$module"
    done
    finished build "$(names_of_build)" "$((SECONDS - build_began))"
    building=()
}

# A source may have changed during the build, so the jar gets the time at which it began.
is_built() {
    touch -r "$run/tmp/build-began" "${jars[$1]}"
    states[$1]=built
}

# The current step of Maven, and the number of downloads.
build_state() {
    local downloads step
    downloads=$(grep -c 'Downloaded from' "$run/build.log")
    step=$(sed -n 's/^\[INFO\] --- \([^:]*\):[^:]*:\([^ ]*\) .*@ \([^ ]*\) ---.*/\3 \1:\2/p' "$run/build.log" | tail -n 1)
    printf '%s' "${step:-Maven starts}"
    ((downloads == 0)) || printf ' (%s files downloaded)' "$downloads"
}

# ---------------------------------------------------------------- unpack

# The folder of a module's unpacked jar: its classes and libraries in jars of their own, from which a JVM
# starts faster and which an AOT cache needs.
folder_of() {
    printf '%s' "$1/target/up/unpacked"
}

# unpack MODULE: unpacks its jar unless that has happened before. The file key is written last, so an
# interrupted unpacking is repeated.
unpack() {
    local module=$1 folder key status
    folder=$(folder_of "$module")
    case ${states[$module]} in
        built)
            key=$(cksum <"${jars[$module]}")
            if [[ $(cat "$folder/key" 2>/dev/null) == "$key" ]]; then
                states[$module]=unpacked
                return
            fi
            rm -rf "$folder"
            printf '%s\n' "$key" >"$run/tmp/$module.key"
            states[$module]=unpacking
            launch "unpack-$module" "$JDK25/bin/java" "${quick_start[@]}" "-Djava.io.tmpdir=$run/tmp" -Djarmode=tools \
                -jar "${jars[$module]}" extract --destination "$folder"
            ;;
        unpacking)
            ! is_alive "unpack-$module" || return 0
            wait "${pids[unpack-$module]}"
            status=$?
            forget "unpack-$module"
            ((status == 0)) || failed "unpack-$module" "ended with status $status"
            mv "$run/tmp/$module.key" "$folder/key"
            states[$module]=unpacked
            ;;
    esac
}

# ---------------------------------------------------------------- commands

# The class path of a module's program; for the gateway with the extensions that Spring Boot's launcher would
# find.
class_path() {
    local element elements path
    path=$(folder_of "$1")/weir-$1.jar
    if [[ $1 == gateway ]]; then
        IFS=, read -r -a elements <<<"${LOADER_PATH:-extensions}"
        for element in "${elements[@]}"; do
            [[ $element == *.jar ]] || element="${element%/}/*"
            path+=:$element
        done
    fi
    printf '%s' "$path"
}

module_of() {
    if [[ $1 == gateway ]]; then printf gateway; else printf backends-sim; fi
}

# command_of NAME PORT MANAGEMENT-PORT OPTION...: sets command to that of a process, with further options of
# Java.
command=()
command_of() {
    local name=$1 module main=io.weir.sim.SimulatorApplication options=(-Xmx512m "-Djava.io.tmpdir=$run/tmp")
    local arguments=("--server.port=$2" "--management.server.port=$3")
    shift 3
    module=$(module_of "$name")
    case $name in
        postgres)
            # In the default temporary directory, where PostgreSQL's unpacked binaries stay for the next
            # start.
            options=(-Xmx256m)
            arguments=(keep-postgres "$run/database" 1000 until-stopped)
            ;;
        gateway)
            main=io.weir.WeirApplication
            arguments=("$configuration" "${arguments[@]}")
            ;;
        *)
            arguments+=(--server.address=127.0.0.1 "--sim.stack=$(stack_of "$name")" "--sim.database.url=$database")
            ;;
    esac
    command=("$JDK25/bin/java" "${quick_start[@]}" "${options[@]}" "$@" --enable-native-access=ALL-UNNAMED
        -cp "$(class_path "$module")" "$main" "${arguments[@]}")
}

# ---------------------------------------------------------------- AOT caches

# With an AOT cache a JVM starts in half of the time. A cache fits one Java, its options and one unpacked jar.
# So a cache is in the folder of that jar, and its name has the checksum of the others.
cache=
cache_key=
trainings=(gateway mvc reactive)
next_training=0
training= # the program in training
trained=false # whether it was told to stop

# cache_of NAME: sets cache to that of a process; all instances of mvc have the same.
cache_of() {
    if [[ -z $cache_key ]]; then
        read -r cache_key _ < <({
            cat "$JDK25/release" ops/programs.sh
            printf '%s' "$JDK25 ${JAVA_TOOL_OPTIONS:-} ${JDK_JAVA_OPTIONS:-}"
        } | cksum)
    fi
    cache=$(folder_of "$(module_of "$1")")/${1%%-*}-$cache_key.aot
}

# Makes the caches that are missing, one after the other, at the lowest priority and without a word: starts
# the program a second time, on free ports, and stops it once it is ready; at its end Java writes the cache.
train() {
    if [[ -n $training ]]; then
        if is_alive train; then
            if ! $trained && grep -q -E 'is ready on port|Started WeirApplication' "$run/train.log"; then
                trained=true
                kill "${pids[train]}"
            fi
            return
        fi
        forget train
        cache_of "$training"
        ! $trained || mv -f "$cache.new" "$cache"
        training=
    fi
    while ((next_training < ${#trainings[@]})); do
        training=${trainings[next_training++]}
        cache_of "$training"
        if [[ ! -e $cache ]]; then
            trained=false
            command_of "$training" 0 0 "-XX:AOTCacheOutput=$cache.new"
            launch train nice -n 19 "${command[@]}"
            # Otherwise bash reports its end by SIGKILL.
            disown "${pids[train]}"
            return
        fi
    done
    training=
}
