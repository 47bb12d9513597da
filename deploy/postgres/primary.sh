#!/bin/sh
# Sets up the primary at its first start: the role that owns the tables and upgrades them, the role of the servers, which
# may only read and write them, the role of the standby, and that each commit waits for the standby.
set -eu

psql --username postgres --no-psqlrc --quiet --set ON_ERROR_STOP=1 << SQL
CREATE ROLE coordinatord_owner LOGIN PASSWORD '$(cat /run/secrets/owner)';
CREATE ROLE coordinatord LOGIN PASSWORD '$(cat /run/secrets/database)';
CREATE DATABASE coordinatord OWNER coordinatord_owner;
CREATE ROLE replicator LOGIN REPLICATION PASSWORD '$(cat /run/secrets/replication)';
-- From the next start on, which follows this script.
ALTER SYSTEM SET synchronous_standby_names = 'standby';
\connect coordinatord
ALTER DEFAULT PRIVILEGES FOR ROLE coordinatord_owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO coordinatord;
SQL
echo 'host replication replicator samenet scram-sha-256' >> "$PGDATA/pg_hba.conf"
