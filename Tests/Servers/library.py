"""Client libraries as clients of a session of `marks`: each posts, draws what comes, is killed and resumes.

`DRIVER marks --server URL --storage DIR [--code CODE]` resumes the session in DIR, or pairs. It prints lines of JSON:
`{"ready": …}` when the session is there, with what became of an event that was under way when the app was killed;
`{"drawn": {"version": 3, "log": […], "copy": […]}}` for each state; `{"settled": …}` for an event whose outcome was
unknown. It posts each line of its input, `{"type": …, "payload": …, "deadline": seconds}`, one after the other, and
prints `{"outcome": "accepted", "state": …}`, or another outcome: `carried-out`, `not-carried-out` or `unknown` after
its deadline, or `failed` with a `problem`.
"""

import json
import os
import queue
import random
import shlex
import subprocess
import threading
import time

OUTCOMES = {
    "accepted": "ok", "carried-out": "ok", "not-carried-out": "failed", "failed": "failed", "unknown": "unknown"}
# Longer than any fault.
LONG = 300


class Library:
    """A driver that does one thing after the other. `owner` is a device that pairs it."""

    def __init__(self, name, command, url, directory, owner):
        self.session, self.owner = owner.session, owner
        self.name, self.directory = f"{owner.session.number}.{name}", f"{directory}/{owner.session.number}-{name}"
        self.command = [*shlex.split(command), "marks", "--server", url, "--storage", self.directory]
        self.random = random.Random(f"{owner.session.random.random()} {name}")
        os.makedirs(self.directory)
        self.code = None

    def pair(self):
        session = self.session
        session.devices += 1
        number = session.devices
        start = session.now()
        path, label = f"{self.owner.path}/pairings", {"label": str(number)}
        self.code = self.owner.until_answered("POST", path, label, self.owner.key()).body["code"]
        self.begin()
        ready = self.wait("ready")
        session.note({"process": self.name, "op": "join", "kind": "d", "mark": number, "start": start,
                      "end": session.now(), "outcome": "ok" if ready else "unknown"})
        return ready is not None

    def begin(self):
        self.lines, self.begun = queue.Queue(), self.session.now()
        with open(f"{self.directory}/errors", "ab") as errors:
            self.process = subprocess.Popen([*self.command, "--code", self.code], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, text=True)
        self.reader = threading.Thread(target=self.read, args=(self.process, self.lines), daemon=True)
        self.reader.start()

    def read(self, process, lines):
        """Notes what is drawn, and hands on the rest."""
        for text in process.stdout:
            try:
                line = json.loads(text)
            except ValueError:
                continue  # It was killed while it wrote.
            if "drawn" in line:
                self.note("drawn", self.begun, line["drawn"])
            else:
                lines.put(line)
        lines.put({})

    def wait(self, *names):
        """The next line with one of these members; None if the driver has ended, or hangs."""
        end = time.monotonic() + LONG
        while True:
            try:
                line = self.lines.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                self.session.counts.fault(f"{self.name} hangs")
                return None
            if not line:
                return None
            if any(name in line for name in names):
                return line
            # A single server forgets its codes when it ends.
            if "ready" in names and "failed" in line and len(self.session.doors) == 1:
                return None
            if "ended" in line or "failed" in line:
                self.session.counts.fault(f"{self.name}: {line}")

    def note(self, op, start, state=None, outcome="ok", **more):
        line = {"process": self.name, "op": op, "start": start, "end": self.session.now(), "outcome": outcome, **more}
        if state:
            line |= {"version": state["version"], "log": state["log"]}
            if state["copy"] != state["log"]:
                line["copy"] = state["copy"]
        self.session.note(line)

    def run(self):
        while not self.session.is_over.is_set():
            if not self.post():
                break
            time.sleep(self.random.uniform(0, 0.2))
        self.process.kill()
        self.process.wait()

    def post(self):
        """One event. Returns whether the driver can go on."""
        doing = self.random.choice(["mark", "mark", "mark", "slow", "work", "time", "refuse"])
        what, event = self.owner.event(doing)
        start, is_killed = self.session.now(), self.random.random() < 0.05
        if self.random.random() < 0.1:
            event["deadline"] = 1
        try:
            self.process.stdin.write(json.dumps(event) + "\n")
            self.process.stdin.flush()
        except OSError:
            self.session.counts.fault(f"{self.name} has ended")
            return False
        if is_killed:
            time.sleep(self.random.uniform(0, 0.05))
            return self.kill(start, what)
        line = self.wait("outcome")
        if not line or line["outcome"] not in OUTCOMES:
            self.session.counts.fault(f"{self.name}: {line} to {event}")
            self.note("post", start, outcome="unknown", **what)
            return False
        if line["outcome"] == "failed" and doing != "refuse":
            self.session.counts.fault(f"{self.name}: {line} to {event}")
        if line["outcome"] == "unknown":
            self.session.counts.add("library unknown")
        self.note("post", start, line.get("state"), OUTCOMES[line["outcome"]], later=True, **what)
        return True

    def kill(self, start, what):
        """The app is killed and started again, and says what became of its event, if it had sent it."""
        self.process.kill()
        self.process.wait()
        self.reader.join()
        answered = None
        while not self.lines.empty():
            answered = self.lines.get().get("outcome", answered)
        self.session.counts.add("apps killed")
        self.begin()
        ready = self.wait("ready", "settled")
        settled = ready and ready.get("settled", ready.get("ready"))
        if ready and "settled" in ready:
            ready = self.wait("ready")
        self.note("post", start, outcome=OUTCOMES.get(answered or settled, "unknown"), later=True, **what)
        return ready is not None
