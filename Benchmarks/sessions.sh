# Opens sessions and puts load on them. The scripts source it after `start_server` of scripts/common.sh has set
# SERVER_URL.

LOAD_THREADS=2
LOAD_CONNECTIONS=64

# Opens `$1` sessions of the app `$3` at `$4` or SERVER_URL, and writes a line "id token" for each into the file `$2`. The
# default is `tabs`, whose sessions are logged in.
open_sessions() {
    curl -fsS --json "{\"app\":\"${3:-tabs}\"}" "${4:-$SERVER_URL}/v1/sessions#[1-$1]" -w '\n' |
        jq -r '"\(.session.id) \(.token)"' > "$2"
    [ "${3:-tabs}" = tabs ] || return 0
    local id token
    while read -r id token; do
        printf 'next\nsilent\nfail\noutput=/dev/null\nheader="Authorization: Bearer %s"\njson="%s"\nurl=%s\n' \
            "$token" '{\"type\":\"login\"}' "$SERVER_URL/v1/sessions/$id/events"
    done < "$2" | sed 1d | curl -K -
}

# Posts events to the server at `$1` for `$2` seconds, in the sessions of the file `$3`, of the app `$4` or of `tabs`, and
# prints the result. An answer that takes longer than LOAD_TIMEOUT, or 2 s, is an error.
post_events() {
    SESSIONS=$3 APP=${4:-tabs} THREADS=$LOAD_THREADS wrk --threads "$LOAD_THREADS" --connections "$LOAD_CONNECTIONS" \
        --duration "$2s" --timeout "${LOAD_TIMEOUT:-2s}" --script Benchmarks/events.lua "$1" | tail -n 1
}

# Creates a session of `numbers` with the program `$1`, in the directory `$2`. Leaves its token in TOKEN, and what it is
# exported as in the file `$2/record`.
make_session() {
    start_server "$1" "$2/log" --store "sqlite:$2/one" --data-directory "$2/apps"
    curl -fsS --json '{"app":"numbers"}' "$SERVER_URL/v1/sessions" > "$2/session"
    stop_children
    "$1" sessions export --store "sqlite:$2/one" > "$2/record"
    TOKEN=$(jq -r .token "$2/session")
    export TOKEN
}

# Prints what copies of the session of `make_session` in the directory `$1` are imported from. Their ids are numbered, from
# s_0000000000000 + `$2` to below `$3`, and they share its token.
copies() {
    local id
    id=$(jq -r .session.id "$1/session")
    awk -v at="$(awk -v id="$id" '{ print index($0, id) }' "$1/record")" -v size=${#id} -v first="$2" -v end="$3" '{
        for (i = first; i < end; i++) print substr($0, 1, at - 1) sprintf("s_%013d", i) substr($0, at + size)
    }' "$1/record"
}
