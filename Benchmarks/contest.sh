# Runs contenders against each other: all are running, and the load goes to one after the other, round by round. The
# scripts source it, set `rounds`, `seconds` and `work`, a directory for the results, and name each contender with
# `contend`.
source Benchmarks/sessions.sh

contenders=()
declare -A url sessions app processes
contend() { # name, address, file of sessions, app, processes (default: the last one that was started)
    contenders+=("$1") url[$1]=$2 sessions[$1]=$3 app[$1]=${4:-tabs} processes[$1]=${5:-${children[-1]}}
}

# The processor time that a contender's processes have used, and their children that have ended, in hundredths of a
# second.
ticks() {
    local process
    for process in ${processes[$1]}; do cat "/proc/$process/stat"; done |
        awk '{ sum += $14 + $15 + $16 + $17 } END { print sum }'
}

load() { post_events "${url[$1]}" "$seconds" "${sessions[$1]}" "${app[$1]}"; }

# Prints each round, then each contender's medians.
run_rounds() {
    local name round before result time
    echo "$LOAD_CONNECTIONS connections, $(nproc) processors, $rounds rounds of $seconds s"
    for name in "${contenders[@]}"; do load "$name" > /dev/null; done
    for round in $(seq "$rounds"); do
        for name in "${contenders[@]}"; do
            before=$(ticks "$name")
            result=$(load "$name")
            sleep 0.5
            time=$(awk -v ticks="$(($(ticks "$name") - before))" '{ printf "%.1f", ticks * 1e4 / $1 }' <<< "$result")
            printf 'round %d %-15s %s, %s µs of processor time each\n' "$round" "$name" "$result" "$time"
            sed 's/.* requests, \([0-9]*\)\/s.*/\1/' <<< "$result" >> "$work/$name.rates"
            sed 's/.* p50 \([0-9.]*\) ms.*/\1/' <<< "$result" >> "$work/$name.p50"
            sed 's/.* p99 \([0-9.]*\) ms.*/\1/' <<< "$result" >> "$work/$name.p99"
            echo "$time" >> "$work/$name.times"
        done
    done
    for name in "${contenders[@]}"; do
        printf 'median %-15s %6d/s, %5.1f µs of processor time each, p50 %.2f ms, p99 %.2f ms\n' "$name" \
            "$(median "$name.rates")" "$(median "$name.times")" "$(median "$name.p50")" "$(median "$name.p99")"
    done
}

median() { sort -n "$work/$1" | awk '{ values[NR] = $1 } END { print values[int((NR + 1) / 2)] }'; }
compare() { # contender, against
    [ -f "$work/$1.rates" ] || return 0
    local one other time other_time
    one=$(median "$1.rates") other=$(median "$2.rates") time=$(median "$1.times") other_time=$(median "$2.times")
    awk -v a="$1" -v b="$2" -v one="$one" -v other="$other" -v time="$time" -v other_time="$other_time" 'BEGIN {
        printf "%-15s %6d/s %6.1f µs, %-15s %6d/s %6.1f µs: ratio %.2f, of the times %.2f\n",
            a, one, time, b, other, other_time, one / other, time / other_time }'
}
