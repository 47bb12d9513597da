# Sessions to put a load on. Sourced, never run; `start_server` of scripts/common.sh has set SERVER_URL.

LOAD_THREADS=2
LOAD_CONNECTIONS=64

# Opens `$1` sessions of `tabs`, logs each in, and writes a line "id token" for each into the file `$2`.
open_sessions() {
    curl -fsS -X POST "$SERVER_URL/v1/sessions#[1-$1]" -w '\n' | jq -r '"\(.session.id) \(.token)"' > "$2"
    local id token
    while read -r id token; do
        printf 'next\nsilent\nfail\noutput=/dev/null\nheader="Authorization: Bearer %s"\njson="%s"\nurl=%s\n' \
            "$token" '{\"type\":\"login\"}' "$SERVER_URL/v1/sessions/$id/events"
    done < "$2" | sed 1d | curl -K -
}

# Posts events to the server at `$1` for `$2` seconds, in the sessions of the file `$3`, and prints what came of it.
post_events() {
    SESSIONS=$3 THREADS=$LOAD_THREADS wrk --threads "$LOAD_THREADS" --connections "$LOAD_CONNECTIONS" \
        --duration "$2s" --script Benchmarks/events.lua "$1" | tail -n 1
}
