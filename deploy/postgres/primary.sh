#!/bin/sh
# Sets up the primary at its first start: the role of the servers, the role of the standby, and that each commit waits
# for the standby.
set -eu

psql --username postgres --no-psqlrc --quiet --set ON_ERROR_STOP=1 << SQL
CREATE ROLE coordinatord LOGIN PASSWORD '$(cat /run/secrets/database)';
CREATE DATABASE coordinatord OWNER coordinatord;
CREATE ROLE replicator LOGIN REPLICATION PASSWORD '$(cat /run/secrets/replication)';
-- From the next start on, which follows this script.
ALTER SYSTEM SET synchronous_standby_names = 'standby';
SQL
echo 'host replication replicator samenet scram-sha-256' >> "$PGDATA/pg_hba.conf"
