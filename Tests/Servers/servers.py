"""Servers and their database, which can be killed, stopped and cut off, and whose clocks can be moved."""

import glob
import os
import re
import signal
import struct
import subprocess
import time

from network import Link

# A limit that only finds hangs, in seconds.
LONG = 600


def until(what, condition):
    """Waits for a condition, and returns what it has returned."""
    end = time.monotonic() + LONG
    while not (found := condition()):
        assert time.monotonic() < end, f"not after {LONG} s: {what}"
        time.sleep(0.02)
    return found


class Server:
    """One server: behind `door`, through which its clients come, and with a clock of its own."""

    def __init__(self, name, program, directory, library, store, seed):
        self.name, self.program, self.store = name, program, store
        self.directory, self.starts = f"{directory}/{name}", 0
        os.makedirs(self.directory)
        self.port = None
        self.door = Link(lambda: ("127.0.0.1", self.port or 1), seed, source=True)
        self.environment = os.environ | {"LD_PRELOAD": library, "MOVED_CLOCK": f"{self.directory}/clock"}
        self.move_clock(0)
        self.start()

    def start(self):
        self.starts += 1
        path = f"{self.directory}/log-{self.starts}"
        with open(path, "wb") as log:
            self.process = subprocess.Popen(
                [self.program, "serve", "--port", "0", "--data-directory", f"{self.directory}/data", *self.store],
                env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

        def port():
            assert self.process.poll() is None, f"{self.name} has ended: {open(path).read()[-2000:]}"
            return re.search(r"listening on http://[^ ]*:(\d+)", open(path).read())

        self.port = int(until(f"{self.name} listens", port)[1])
        self.is_killed = False

    def kill(self):
        self.is_killed = True
        self.process.kill()
        self.process.wait()
        self.port = None

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def has_ended(self):
        """Whether it has ended by itself."""
        return not self.is_killed and self.process.poll() is not None

    def move_clock(self, seconds):
        # In one step, and never shorter: the server has mapped it.
        file = os.open(f"{self.directory}/clock", os.O_WRONLY | os.O_CREAT, 0o600)
        os.pwrite(file, struct.pack("q", seconds), 0)
        os.close(file)


class Postgres:
    """A PostgreSQL cluster, on a socket in its directory. PostgreSQL refuses to run as root: root's belongs to the user
    of Debian's package."""

    programs = max(glob.glob("/usr/lib/postgresql/*/bin"), default="", key=lambda path: int(path.split("/")[4]))

    def __init__(self, directory, primary=None):
        """A new cluster, or a standby of `primary` that confirms each of its commits."""
        self.directory, self.data = directory, f"{directory}/data"
        os.makedirs(directory)
        if os.geteuid() == 0:
            subprocess.run(["chown", "postgres:", directory], check=True)
        if primary:
            connection = f"host={primary.directory} user=postgres application_name=standby"
            self.run("pg_basebackup", "--pgdata", self.data, "--write-recovery-conf", "--checkpoint", "fast",
                     "--no-sync", "--dbname", connection)
        else:
            self.run("initdb", "--pgdata", self.data, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8",
                     "--locale", "C", "--no-sync", "--no-instructions")
        settings = [
            "listen_addresses = ''", f"unix_socket_directories = '{directory}'", "max_connections = 200",
            "max_wal_senders = 4", "wal_keep_size = 256MB", "shared_buffers = 64MB", "authentication_timeout = 600s",
            "wal_retrieve_retry_interval = 200ms", "synchronous_standby_names = ''"]
        with open(f"{self.data}/postgresql.conf", "a") as file:
            file.write("\n".join(["", *settings, ""]))
        open(f"{self.data}/postgresql.auto.conf", "a" if primary else "w").close()
        self.start()
        if primary:
            self._confirm(primary)

    def _confirm(self, primary):
        """Returns when every commit of the primary waits for this standby, which has all commits before."""
        primary.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        primary.run("pg_ctl", "reload", "--silent", "--pgdata", primary.data)
        until("the setting", lambda: primary.query("SHOW synchronous_standby_names") == "standby")
        # Whoever is connected may not have read it yet.
        primary.break_connections()
        position = primary.query("SELECT pg_current_wal_lsn()")
        has_all = f"SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND replay_lsn >= '{position}'"
        until("the standby confirms commits", lambda: primary.query(has_all) == "1")

    @property
    def socket(self):
        return f"{self.directory}/.s.PGSQL.5432"

    def run(self, program, *arguments):
        command = [f"{self.programs}/{program}", *arguments]
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]
        with open(f"{self.directory}/tools", "a+") as errors:
            # What pg_ctl leaves running would hold a pipe open.
            output = subprocess.PIPE if program == "psql" else subprocess.DEVNULL
            done = subprocess.run(
                command, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, text=True)
            errors.seek(0)
            assert done.returncode == 0, f"{command}: {errors.read()[-1000:]}"
        return (done.stdout or "").strip()

    def start(self):
        self.run("pg_ctl", "start", "--wait", "--timeout", str(LONG), "--silent", "--pgdata", self.data, "--log",
                 f"{self.directory}/log")

    def end(self, mode):
        self.run("pg_ctl", "stop", "--wait", "--timeout", str(LONG), "--silent", "--mode", mode, "--pgdata", self.data)

    def restart(self, mode):
        self.end(mode)
        self.start()

    def query(self, text):
        return self.run("psql", "--host", self.directory, "--username", "postgres", "--no-psqlrc", "--quiet",
                        "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", "--command", text)

    def break_connections(self):
        """Ends every connection of a server but one that waits for the standby, which would acknowledge without it."""
        self.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' "
                   "AND pid <> pg_backend_pid() AND wait_event IS DISTINCT FROM 'SyncRep'")

    def signal(self, number):
        """Sends a signal to all processes of the cluster."""
        with open(f"{self.data}/postmaster.pid") as file:
            main = int(file.readline())
        # So that it starts no others meanwhile.
        os.kill(main, signal.SIGSTOP)
        with open(f"/proc/{main}/task/{main}/children") as file:
            children = [int(child) for child in file.read().split()]
        for process in [*children, main]:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def promote(self):
        self.run("pg_ctl", "promote", "--wait", "--timeout", str(LONG), "--silent", "--pgdata", self.data)


class Replicas:
    """Servers on one store, in a file or in PostgreSQL, with a standby or without. `links` are between each server and
    the places of the clusters."""

    def __init__(self, count, store, program, directory, library, seed, has_standby=False):
        self.directory, self.servers, self.links = directory, [], []
        # The clusters, of which the one at `primary` is the primary.
        self.places, self.primary, self.made = [], 0, 0
        if store == "postgres":
            self.places.append(self._cluster())
            if has_standby:
                self.places.append(self._cluster(self.places[0]))
        for number in range(count):
            links = [
                Link(lambda at=at: self.places[at].socket, f"{seed} link {number} {at}")
                for at in range(len(self.places))]
            hosts = ",".join(f"127.0.0.1:{link.port}" for link in links)
            shared = ["--store", f"postgresql://postgres@{hosts}/postgres", "--create-store"]
            options = shared if links else ["--store", f"sqlite:{directory}/store"]
            self.links.append(links)
            name = f"server{number + 1}"
            self.servers.append(Server(name, program, directory, library, options, f"{seed} {name}"))

    def _cluster(self, primary=None):
        self.made += 1
        return Postgres(f"{self.directory}/postgres{self.made}", primary)

    @property
    def database(self):
        return self.places[self.primary]

    def fail_over(self):
        """The primary crashes, and the standby takes over."""
        for number in (signal.SIGSTOP, signal.SIGKILL):
            self.database.signal(number)
        self.primary = 1 - self.primary
        self.database.promote()

    def add_standby(self):
        """A standby in the place of the one that has taken over."""
        self.places[1 - self.primary] = self._cluster(self.database)

    def end(self):
        for server in self.servers:
            server.kill()
        for cluster in self.places:
            try:
                cluster.signal(signal.SIGKILL)
            except OSError:
                pass
