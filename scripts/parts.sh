# Runs the parts of a test, for the scripts that source this file after common.sh. The output of each part goes into a
# file of its own, and one line says how the part has ended. Afterwards .build/parts/times has the times of all parts, and
# how much of them was of a processor.

parts=.build/parts
begin_parts() {
    rm -rf "$parts"
    mkdir -p "$parts"
    : > "$parts/times"
    : > "$parts/failed"
}

# Runs a command as a part. Shows the end of what a failed one has printed, and which Swift tests have failed.
part() { # name, command
    local name=$1 log="$parts/${1// /-}.log" start=$SECONDS status=0 processor TIMEFORMAT='%U %S'
    shift
    { time "$@" > "$log" 2>&1 < /dev/null; } 2> "$log.times" || status=$?
    processor=$(awk '{ printf "%d", $1 + $2 }' "$log.times")
    printf '%d\t%s\t%d\n' $((SECONDS - start)) "$name" "$processor" >> "$parts/times"
    if [ "$status" -eq 0 ]; then
        printf '%4d s  %s, %d s of a processor\n' $((SECONDS - start)) "$name" "$processor"
        return
    fi
    echo "$name" >> "$parts/failed"
    printf '\n== %s\n%s\n%s\n== %s has failed with %d, after %d s; all that it has printed is in %s\n' \
        "$name" "$(tail -n 120 "$log")" "$(grep -a '^✘' "$log" | tail -n 40)" \
        "$name" "$status" $((SECONDS - start)) "$log"
    return "$status"
}

# Runs functions at the same time, and ends the others as soon as one fails.
together() { # functions
    local lanes=() lane status=0
    # In process groups of their own, which can be ended with all that they have started.
    set -m
    for lane in "$@"; do
        ("$lane") &
        lanes+=($!)
    done
    set +m
    trap 'for lane in "${lanes[@]}"; do kill -- "-$lane" 2> /dev/null; done; exit 130' INT TERM HUP
    for lane in "${lanes[@]}"; do wait -n || { status=$? && break; }; done
    if [ "$status" -ne 0 ]; then
        for lane in "${lanes[@]}"; do kill -- "-$lane" 2> /dev/null || true; done
        wait
    fi
    trap - INT TERM HUP
    return "$status"
}

# The last line: how many parts and Swift tests have passed, and how many parts have failed.
sum_up() {
    awk -F '\t' -v failed="$(wc -l < "$parts/failed")" '
        FILENAME ~ /times$/ { passed++ }
        /Test run with [0-9]+ tests.* passed/ { sub(/.*Test run with /, ""); passed += $0 + 0 }
        END { print passed - failed " passed, " failed + 0 " failed"; exit failed > 0 }
    ' "$parts"/*.log "$parts/times"
}
