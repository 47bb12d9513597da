"""Has clients use sessions of `marks` at servers to which faults happen, and judges what they have seen.

    simulate.py PROGRAM CLOCK [NAME=DRIVER…] [OPTION…]         scripts/simulate-servers describes the options

PROGRAM is oddserver, CLOCK the library of Tests/MovedClock, and DRIVER the command of a client library's driver.
"""

import argparse
import collections
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

import checker
from clients import Broken, Counts, Device, Session, Watcher
from library import Library
from network import LATEST, Link
from servers import Replicas

# How many sessions are used at a time, and how many devices of each post events.
SESSIONS, DEVICES = 4, 3
# The share of all requests with which something happens on the way, always and in a lossy network.
LOSS, LOSSY = 0.01, 0.3
# So long after everything a stream may still lack the last version, in seconds.
STREAM = 60
FAULTS = {
    "sqlite": ["kill", "stop", "lossy", "cut", "clock"],
    "postgres": ["kill", "stop", "lossy", "cut", "clock", "backends", "restart", "freeze", "link", "failover"],
}


class Fault:
    """One fault: what happens, to which server, for how many seconds."""

    def __init__(self, pick, name, servers, store):
        self.name, self.seconds = name, round(pick.uniform(0.1, 3), 2)
        self.server = pick.randrange(servers)
        self.how = ""
        if name == "stop":
            self.seconds = round(pick.choice([pick.uniform(0.1, 3), pick.uniform(3, 15)]), 2)
        elif name == "clock":
            # A single server follows its own clock, and never goes back; several follow the database's.
            ahead = pick.choice([1, -1]) * pick.randrange(1, 60)
            self.how = -pick.randrange(1, 100_000) if store == "sqlite" else ahead
            self.seconds = round(pick.uniform(1, 12), 2)
        elif name == "link":
            self.how = pick.choice(["cut", "hold", "slow"])
            self.seconds = round(pick.uniform(0.5, 8), 2)
        elif name == "restart":
            self.how = pick.choice(["fast", "immediate"])

    def __str__(self):
        where = f" server{self.server + 1}" if self.name in ("kill", "stop", "lossy", "cut", "clock", "link") else ""
        return f"{self.name}{where}{f' {self.how}' if self.how else ''} for {self.seconds} s"

    @contextlib.contextmanager
    def happening(self, replicas):
        """The fault is there in the body, and has gone after it."""
        server = replicas.servers[self.server]
        links = replicas.links[self.server]
        match self.name:
            case "kill": server.kill()
            case "stop": server.stop()
            case "lossy": server.door.loss = LOSSY
            case "cut": server.door.cut()
            case "clock": server.move_clock(self.how)
            case "backends": replicas.database.break_connections()
            case "restart": replicas.database.end(self.how)
            case "freeze": replicas.database.freeze()
            case "failover": replicas.fail_over()
            case "link":
                for link in links:
                    getattr(link, self.how)()
        try:
            yield
        finally:
            match self.name:
                case "kill": server.start()
                case "stop": server.go_on()
                case "lossy": server.door.loss = LOSS
                case "cut": server.door.heal()
                case "clock": server.move_clock(0)
                case "backends": replicas.database.break_connections()
                case "restart": replicas.database.start()
                case "freeze": replicas.database.thaw()
                case "failover": replicas.add_standby()
                case "link":
                    for link in links:
                        link.heal()


def plan(pick, seconds, names, servers, store):
    """What happens one after the other: (pause, faults at the same time)."""
    found, time_used = [], 0
    # Some runs have a fault more often than others.
    weights = [pick.choice([0.3, 1, 3]) for _ in names]
    while time_used < seconds and names:
        pause = pick.uniform(0.5, 6)
        faults = [Fault(pick, name, servers, store) for name in pick.choices(names, weights, k=pick.choice([1, 1, 2]))]
        # A server is killed first, and starts again last, when it finds the store.
        faults.sort(key=lambda fault: fault.name != "kill")
        of_database = [fault for fault in faults if fault.name in ("backends", "restart", "freeze", "failover")]
        is_twice = len({(fault.name, fault.server) for fault in faults}) < len(faults)
        if is_twice or len(of_database) > 1 or {fault.name for fault in faults} == {"kill", "stop"}:
            faults = faults[:1]
        found.append((pause, faults))
        time_used += pause + max(fault.seconds for fault in faults)
    return found


class Run:
    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.begun, self.counts = time.monotonic(), Counts()
        self.is_ending = threading.Event()
        self.anomalies, self.numbers, self.turn = [], 0, threading.Lock()
        self.calm, self.latest, self.faults = [[0, None]], 0, collections.Counter()
        self.replicas = Replicas(
            options.replicas, options.store, options.program, directory, options.clock, options.seed,
            has_standby="failover" in options.faults)
        for server in self.replicas.servers:
            server.door.loss = LOSS
        # What libraries connect to: a proxy that knows nothing of its servers.
        self.front = Link(self.any_server, f"{options.seed} front", LOSS)
        self.drivers = dict(driver.split("=", 1) for driver in options.drivers)

    def any_server(self):
        return ("127.0.0.1", random.choice(self.replicas.servers).door.port)

    def now(self):
        return time.monotonic() - self.begun

    def run(self):
        workers = [threading.Thread(target=self.work) for _ in range(SESSIONS)]
        for worker in workers:
            worker.start()
        threading.Thread(target=self.look_after, daemon=True).start()
        self.watched(self.happen)
        self.is_ending.set()
        for worker in workers:
            worker.join()
        for text in self.counts.wrong:
            self.anomaly("answer", text)

    def look_after(self):
        while not self.counts.is_broken.wait(0.5):
            for server in self.replicas.servers:
                if server.has_ended():
                    self.anomaly("ended", f"{server.name} has ended with {server.process.returncode}")
                    self.counts.is_broken.set()

    def anomaly(self, name, text):
        with self.turn:
            self.anomalies.append((name, text))
        self.is_ending.set()
        print(f"FOUND {name}: {text}", flush=True)

    # Faults

    def happen(self):
        pick = random.Random(f"{self.options.seed} faults")
        options = self.options
        for pause, faults in plan(pick, options.seconds, options.faults, options.replicas, options.store):
            if self.is_ending.wait(pause) or self.now() > options.seconds:
                break
            self.calm[-1][1] = self.now()
            print(f"{self.now():8.1f} {', '.join(map(str, faults))}", flush=True)
            with contextlib.ExitStack() as stack:
                for fault in faults:
                    stack.enter_context(fault.happening(self.replicas))
                    self.faults[fault.name] += 1
                time.sleep(max(fault.seconds for fault in faults))
            self.wait_until_serving()
            self.calm.append([self.now(), None])
        self.is_ending.wait(max(0, options.seconds - self.now()))

    def wait_until_serving(self):
        """Returns when every server commits."""
        for server in self.replicas.servers:
            session = Session(0, [server.door], self.now, Counts(), self.options.seed)
            session.counts.is_broken = self.counts.is_broken
            Device(session, server.name).create()

    # Sessions

    def work(self):
        while not self.is_ending.is_set():
            with self.turn:
                self.numbers += 1
                number = self.numbers
            self.watched(self.use, number)

    def watched(self, body, *arguments):
        """A mistake of the simulator ends it."""
        try:
            body(*arguments)
        except Broken:
            pass
        except Exception:
            self.counts.is_broken.set()
            self.anomaly("trouble", traceback.format_exc())

    def use(self, number):
        """One session, from its creation to the judgement."""
        doors = [server.door for server in self.replicas.servers]
        session = Session(number, doors, self.now, self.counts, self.options.seed)
        owner = Device(session, "1")
        owner.create()
        devices = [owner, *(owner.add_device(str(n + 2)) for n in range(DEVICES - 1))]
        watchers = [Watcher(session, f"{device.name}-watcher") for device in devices[:2]]
        # One library a session, because each needs a processor.
        libraries = []
        if self.drivers:
            name = sorted(self.drivers)[number % len(self.drivers)]
            library = Library(name, self.drivers[name], f"http://127.0.0.1:{self.front.port}", self.directory, owner)
            if library.pair():
                libraries.append(library)
        for watcher, device in zip(watchers, devices):
            watcher.path, watcher.token = device.path, device.token
        threads = [threading.Thread(target=self.watched, args=(client.run,)) for client in devices + libraries]
        watching = [threading.Thread(target=self.watched, args=(watcher.run,), daemon=True) for watcher in watchers]
        for thread in threads + watching:
            thread.start()
        while not session.is_over.wait(0.2):
            if self.is_ending.is_set():
                session.is_over.set()
        for thread in threads:
            thread.join()
        # What the network holds back arrives by then.
        time.sleep(LATEST)
        self.finish(session, owner, watchers)
        for device in devices:
            device.close()
        self.judge(session)

    def finish(self, session, owner, watchers):
        """Waits for the outcomes of all work, reads the last state and some of the past, and ends the streams."""
        end = time.monotonic() + STREAM
        while True:
            line = owner.read()
            missing = [e for e in line["log"] if e[0] in "wt" and f"{e[0].upper()}{e[1:]}" not in line["log"]]
            if not missing or time.monotonic() > end:
                break
            time.sleep(0.1)
        owner.read_past()
        session.note({**owner.read(), "op": "final"})
        last = max(line["version"] for line in session.lines if "version" in line)
        for watcher in watchers:
            end = time.monotonic() + STREAM
            while watcher.seen < last and time.monotonic() < end:
                time.sleep(0.05)
            if watcher.seen < last and watcher.open:
                session.note({"process": watcher.name, "op": "stream-open", "stream": watcher.open, "start": self.now(),
                              "end": self.now(), "outcome": "ok"})
            watcher.is_needed = False

    def judge(self, session):
        path = f"{self.directory}/session-{session.number}.jsonl"
        text = session.dump()
        judged = checker.Session(session.lines, [(begin, end or self.now()) for begin, end in self.calm])
        found = judged.check()
        with self.turn:
            self.latest = max(self.latest, judged.latest)
        self.counts.add("versions", len(judged.final) + 1)
        if found or self.options.keep:
            with open(path, "w") as file:
                file.write(text)
        for name, what in found[:10]:
            self.anomaly(name, f"{path}: {what}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("clock")
    parser.add_argument("drivers", nargs="*")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--replicas", type=int)
    parser.add_argument("--store", choices=FAULTS, default="postgres")
    parser.add_argument("--faults")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.randrange(1_000_000)
    options.replicas = options.replicas or (3 if options.store == "postgres" else 1)
    possible = FAULTS[options.store]
    options.faults = possible if options.faults is None else [name for name in options.faults.split(",") if name]
    if unknown := set(options.faults) - set(possible):
        sys.exit(f"there is no fault {', '.join(unknown)} for {options.store}; there are: {', '.join(possible)}")
    print(f"seed {options.seed}: {options.seconds:.0f} s, {options.replicas} on {options.store}, "
          f"faults: {', '.join(options.faults) or 'none'}", flush=True)
    directory = tempfile.mkdtemp(prefix="coordinatord-servers-")
    os.chmod(directory, 0o711)
    run = Run(options, directory)
    try:
        run.run()
    finally:
        run.replicas.end()
        if run.anomalies or options.keep:
            print(f"the histories and logs are in {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)
    for name, number in sorted(run.counts.values.items()):
        print(f"{number:8} {name}")
    print(f"{sum(run.faults.values())} faults: {', '.join(f'{number} {name}' for name, number in run.faults.items())}")
    print(f"{run.numbers} sessions; the latest timer {run.latest:.1f} s after it could fire; "
          f"{len(run.anomalies)} anomalies; seed {options.seed}")
    return 1 if run.anomalies else 0


if __name__ == "__main__":
    # So that servers and databases end with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        code = main()
    except (SystemExit, KeyboardInterrupt) as end:
        code = getattr(end, "code", 128 + signal.SIGINT)
    if isinstance(code, str):
        print(code, file=sys.stderr)
    # Sockets and threads of clients need not end first.
    sys.stdout.flush()
    os._exit(1 if isinstance(code, str) else code or 0)
