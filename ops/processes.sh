# shellcheck shell=bash
# Functions for ops/up: its processes. Each has a log and a file with its process id in the directory run.

# ---------------------------------------------------------------- progress

# progress NAME STATE SECONDS: on a terminal overwrites one line, otherwise prints a line every 15 s.
said_at=-1
progress() {
    if [[ -t 1 ]]; then
        printf '\r\033[K%-12s %s, %s s' "$1" "${2:0:90}" "$3"
    elif (($3 % 15 == 0 && $3 != said_at)); then
        said_at=$3
        printf '%-12s %s, %s s\n' "$1" "$2" "$3"
    fi
}

finished() {
    [[ ! -t 1 ]] || printf '\r\033[K'
    printf '%-12s %s, %s s\n' "$1" "$2" "$3"
    said_at=-1
}

# ---------------------------------------------------------------- processes

declare -A pids=() # process ids of the running processes, by name

# A signal ends the script, by the trap of EXIT.
end_by_signal() {
    trap exit INT TERM HUP PIPE
}

# background NAME COMMAND...: starts the command in its own process group, so that Ctrl-C reaches only this
# script, which then stops the processes in order. A signal waits until the process is known.
background() {
    local name=$1 signalled=false
    shift
    trap 'signalled=true' INT TERM HUP PIPE
    set -m
    "$@" </dev/null &
    pids[$name]=$!
    set +m
    printf '%s\n' "${pids[$name]}" >"$run/$name.pid"
    end_by_signal
    ! $signalled || exit
}

# launch NAME COMMAND...: the same with a log.
launch() {
    # Create the log first: this script reads it before the process may have created it.
    : >"$run/$1.log"
    background "$1" logged "$@"
}

logged() {
    local name=$1
    shift
    exec "$@" >"$run/$name.log" 2>&1
}

is_alive() {
    [[ -n ${pids[$1]:-} ]] && kill -0 "${pids[$1]}" 2>/dev/null
}

forget() {
    unset "pids[$1]"
    rm -f "$run/$1.pid"
}

# signal SIGNAL NAME: signals single processes; only build and logs as groups, since PostgreSQL's processes
# share the group of the process that started them, which stops them. A training run has nothing to finish.
signal() {
    case $2 in
        build | logs) kill "-$1" -- "-${pids[$2]}" ;;
        train) kill -KILL -- "-${pids[$2]}" ;;
        *) kill "-$1" "${pids[$2]}" ;;
    esac 2>/dev/null
}

# stop NAME...: sends SIGTERM to all, waits, and kills processes that do not stop in time.
stop() {
    local name began=$SECONDS
    for name; do
        is_alive "$name" && signal TERM "$name"
    done
    for name; do
        while is_alive "$name"; do
            if ((SECONDS - began >= stop_seconds_max)); then
                printf '%-12s did not stop within %s s and is killed\n' "$name" "$stop_seconds_max" >&2
                signal KILL "$name"
            fi
            sleep 0.1
        done
        [[ -z ${pids[$name]:-} ]] || wait "${pids[$name]}" 2>/dev/null
        forget "$name"
    done
}

# failed NAME CAUSE: prints the last lines of the log, and exits.
failed() {
    [[ ! -t 1 ]] || printf '\r\033[K'
    printf '\n%s %s. Last lines of its log:\n\n' "$1" "$2" >&2
    tail -n 20 "$run/$1.log" | sed 's/^/    /' >&2
    stop_all
    printf '\n' >&2
    die "$1 $2; all logs are in ops/.run"
}

# await NAME STATE SECONDS CONDITION...: waits until the condition holds.
await() {
    local name=$1 state=$2 limit=$3 began=$SECONDS
    shift 3
    until "$@"; do
        check_alive
        ((SECONDS - began < limit)) || failed "$name" "was not ready within $limit s"
        progress "$name" "$state" "$((SECONDS - began))"
        sleep 0.2
    done
}

# The others end by themselves.
check_alive() {
    local name
    for name in "${!pids[@]}"; do
        case $name in
            build | unpack-* | train) ;;
            *) is_alive "$name" || ended "$name" ;;
        esac
    done
}

ended() {
    wait "${pids[$1]}"
    local status=$?
    forget "$1"
    failed "$1" "ended unexpectedly with status $status"
}

# ---------------------------------------------------------------- conditions

# answers PORT PATH: whether the answer is 200. Uses bash's sockets, so that no other program is needed.
answers() {
    local status
    status=$(
        { exec 3<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || exit 0
        printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" >&3
        IFS=' ' read -r -t 5 -u 3 _ code _ && printf '%s' "$code"
    )
    [[ $status == 200 ]]
}

is_taken() {
    if [[ -r /proc/net/tcp ]]; then
        grep -q -s -E "^ *[0-9]+: [0-9A-F]+:$(printf '%04X' "$1") [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6
    else
        (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
    fi
}
