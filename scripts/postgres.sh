# A private PostgreSQL cluster for the scripts that source this file after common.sh. Debian's own cluster is not used.
#
# PostgreSQL refuses to run as root, so root's cluster belongs to Debian's user `postgres`, and is in a directory of
# that user. COORDINATORD_CLUSTERS names another directory.

if [ "$(id -u)" -eq 0 ]; then clusters_home=/var/lib/postgresql/coordinatord; else clusters_home=$PWD/data/postgres; fi
CLUSTERS=${COORDINATORD_CLUSTERS:-$clusters_home}

# Runs a command as the cluster's user, with PostgreSQL's programs on PATH.
as_postgres() (
    cd /
    PATH=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1):$PATH
    if [ "$(id -u)" -ne 0 ]; then exec "$@"; fi
    exec setpriv --reuid postgres --regid postgres --init-groups "$@"
)

# Runs SQL from standard input on the primary, as the superuser.
on_primary() {
    as_postgres psql --host "$sockets" --port "$primary_port" --dbname postgres --no-psqlrc --quiet --tuples-only \
        --no-align --set ON_ERROR_STOP=1
}

# Starts the cluster `$1`, `primary` or `standby`, on port `$2`, with further settings.
clusters=()
start_cluster() {
    local name=$1 port=$2
    shift 2
    if as_postgres pg_ctl status --pgdata "$CLUSTERS/$name" > /dev/null; then
        echo "the cluster $CLUSTERS/$name is in use: is this script running already?" >&2
        return 1
    fi
    as_postgres pg_ctl start --wait --timeout 600 --silent --pgdata "$CLUSTERS/$name" --log "$CLUSTERS/$name.log" \
        --options "-p $port -h 127.0.0.1 -k $sockets $*" || { tail "$CLUSTERS/$name.log" >&2; return 1; }
    clusters+=("$CLUSTERS/$name")
}

# Starts a primary with the role and the database `coordinatord`; makes it if there is none. Sets POSTGRES_URL to its
# address, and POSTGRES_PASSWORD_FILE to a file with its password.
start_primary() {
    local password
    sockets=$(mktemp -d)
    primary_port=$(free_port)
    [ "$(id -u)" -ne 0 ] || chown postgres: "$sockets"
    if [ "$(id -u)" -eq 0 ]; then install --directory --owner postgres --group postgres --mode 700 "$CLUSTERS"; fi
    mkdir -p "$CLUSTERS"

    # A standby that has been promoted is the primary from then on.
    if [ -d "$CLUSTERS/standby" ] && [ ! -e "$CLUSTERS/standby/standby.signal" ]; then
        as_postgres rm -rf "$CLUSTERS/primary"
        as_postgres mv "$CLUSTERS/standby" "$CLUSTERS/primary"
    fi
    [ -e "$CLUSTERS/primary/PG_VERSION" ] || as_postgres initdb --pgdata "$CLUSTERS/primary" --encoding UTF8 --locale C \
        --auth-local peer --auth-host scram-sha-256 --no-instructions > /dev/null
    # Removes what start_standby has set: without the standby, no commit would end.
    as_postgres truncate --size 0 "$CLUSTERS/primary/postgresql.auto.conf"
    start_cluster primary "$primary_port"

    password=$(head -c 24 /dev/urandom | base64)
    POSTGRES_PASSWORD_FILE=$CLUSTERS/password
    (umask 077 && echo "$password" > "$POSTGRES_PASSWORD_FILE")
    POSTGRES_URL=postgresql://coordinatord@127.0.0.1:$primary_port/coordinatord
    on_primary << SQL
SELECT 'CREATE ROLE coordinatord LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'coordinatord') \gexec
ALTER ROLE coordinatord PASSWORD '$password';
SELECT 'CREATE DATABASE coordinatord OWNER coordinatord'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'coordinatord') \gexec
SQL
}

# Copies the primary to a standby that confirms every commit, and starts it. POSTGRES_URL then names both.
start_standby() {
    local port
    port=$(free_port)
    as_postgres rm -rf "$CLUSTERS/standby"
    as_postgres pg_basebackup --host "$sockets" --port "$primary_port" --pgdata "$CLUSTERS/standby" --checkpoint fast
    as_postgres touch "$CLUSTERS/standby/standby.signal"
    start_cluster standby "$port" \
        "-c 'primary_conninfo=host=$sockets port=$primary_port application_name=standby' -c wal_retrieve_retry_interval=1s"
    on_primary > /dev/null << 'SQL'
ALTER SYSTEM SET synchronous_standby_names = 'standby';
SELECT pg_reload_conf();
SQL
    POSTGRES_URL=postgresql://coordinatord@127.0.0.1:$primary_port,127.0.0.1:$port/coordinatord
}

# Stops what has been started, and removes its sockets.
stop_clusters() {
    local cluster
    for cluster in "${clusters[@]}"; do
        as_postgres pg_ctl stop --timeout 600 --silent --mode fast --pgdata "$cluster" 2> /dev/null || true
    done
    clusters=()
    [ -z "${sockets:-}" ] || rm -rf "$sockets"
}
