#!/bin/sh
# Copies the primary at the first start, and follows it. `pg_ctl promote` makes it the primary.
set -eu

chmod 700 "$PGDATA"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    PGPASSWORD=$(cat /run/secrets/replication)
    export PGPASSWORD
    # If this is cut, the next start begins anew.
    find "$PGDATA" -mindepth 1 -delete
    pg_basebackup --dbname 'host=database user=replicator application_name=standby' --pgdata "$PGDATA" \
        --write-recovery-conf --checkpoint fast
fi
# The copy has the primary's settings. After a promotion there is no standby to wait for. While this one does not follow
# a primary that was restarted, commits wait, so it looks often.
exec postgres -c synchronous_standby_names= -c wal_keep_size=1GB -c wal_retrieve_retry_interval=1s
