"""Clients over plain HTTP that post to a session of `marks`, read, wait and watch it, whichever server answers, and
write down what they did and saw, as `checker` reads it."""

import hashlib
import http.client
import json
import random
import threading
import time

from network import LATEST

PROBLEM = "urn:coordinatord:problem:"
# Problems of a server that has no time or no store now, and has changed nothing.
LATER = {"not-applied", "unknown", "handler-deadline", "overloaded", "draining", "storage-full", "newer-app"}
# A session has at most so many entries: it stays below 64 KiB, and its keys below 256.
ENTRIES = 180
# How often a device does what, before a session draws its own weights.
DOINGS = {"mark": 8, "slow": 2, "work": 2, "time": 2, "refuse": 1, "dry": 1, "invalid": 1, "match": 2, "unkeyed": 2,
          "everywhere": 2, "give_up": 2, "repeat": 2, "read": 4, "revalidate": 2, "wait": 2}
KINDS = {"mark": "m", "slow": "s", "work": "w", "time": "t", "refuse": "r", "dry": "y"}


class Answer:
    def __init__(self, status, headers, text):
        self.status, self.headers, self.text = status, headers, text
        self.body = json.loads(text) if text else {}
        kind = self.body.get("type", "") if status >= 400 else ""
        self.problem = kind.removeprefix(PROBLEM)


class Broken(Exception):
    """Nothing can be learned any more."""


class Counts:
    """Figures of a run, by name."""

    def __init__(self):
        self.turn, self.values, self.wrong = threading.Lock(), {}, []
        # Set when it makes no sense to go on.
        self.is_broken = threading.Event()

    def add(self, name, number=1):
        with self.turn:
            self.values[name] = self.values.get(name, 0) + number

    def fault(self, text):
        """An answer that no server may give here."""
        with self.turn:
            self.wrong.append(text)


class Session:
    """A session of `marks`, and its history. `now()` is the time of the run."""

    def __init__(self, number, doors, now, counts, seed):
        self.number, self.doors, self.now, self.counts = number, doors, now, counts
        self.random = random.Random(f"{seed} session {number}")
        # Some sessions do a thing often, and some never.
        self.weights = {doing: weight * self.random.choice([0, 0.3, 1, 1, 3]) for doing, weight in DOINGS.items()}
        self.weights["mark"] += 1
        self.turn, self.lines, self.marks, self.entries = threading.Lock(), [], 0, 0
        self.is_over, self.id, self.devices = threading.Event(), None, 1

    def next_mark(self):
        with self.turn:
            self.marks += 1
            return self.marks

    def note(self, line):
        with self.turn:
            self.lines.append(line)
            self.entries = max(self.entries, line.get("version", 0))
        self.counts.add(f"{line['op']} {line['outcome']}")
        if self.entries > ENTRIES or self.marks > ENTRIES:
            self.is_over.set()

    def dump(self):
        with self.turn:
            return "".join(json.dumps(line) + "\n" for line in self.lines)


def shown(state):
    """What a state shows, for a line; nothing if it is no state of `marks`."""
    log = state["stack"][0]["tabs"]["items"][0]["stack"][0]["params"]["log"]
    copy = state["stack"][0]["tabs"]["items"][1]["stack"][0]["params"]["log"]
    found = {"version": state["session"]["version"], "log": log}
    return found if copy == log else found | {"copy": copy}


class Device:
    """A client with a token of its own, which does one thing after the other."""

    def __init__(self, session, name):
        self.session, self.name, self.token, self.connections = session, f"{session.number}.{name}", None, {}
        self.random = random.Random(f"{session.random.random()} {name}")
        # The state that `tag` names, and the events that were answered.
        self.shown, self.tag, self.answered = {}, None, []

    # Requests

    def send(self, method, path, body=None, key=None, door=None, headers=None, patience=None):
        """The answer, or None if there is none: the outcome is open then. `UNSENT` if no connection could be made."""
        door = door or self.random.choice(self.session.doors)
        fields = dict(headers or {})
        if self.token:
            fields["Authorization"] = f"Bearer {self.token}"
        if key:
            fields["Idempotency-Key"] = key
        if body is not None:
            body, fields["Content-Type"] = json.dumps(body).encode(), "application/json"
        connection = self.connections.pop(door, None)
        if not connection:
            connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=1)
        connection.timeout = patience or self.random.choice([0.5, 2, 5, 15])
        if connection.sock:
            connection.sock.settimeout(connection.timeout)
        try:
            connection.request(method, path, body, fields)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            self.session.counts.add("requests without an answer")
            return None
        self.connections[door] = connection
        self.session.counts.add("requests with an answer")
        return Answer(answer.status, answer.headers, text)

    def may_go_on(self):
        if self.session.counts.is_broken.is_set():
            raise Broken
        return True

    def pause(self):
        time.sleep(self.random.uniform(0.01, 0.2))

    def until_answered(self, method, path, body=None, key=None, headers=None):
        """Sends a request, to any server, until it is answered and the answer says what happened."""
        while self.may_go_on():
            answer = self.send(method, path, body, key, headers=headers)
            if answer and answer.status != 429 and answer.problem not in LATER:
                return answer
            if answer and answer.problem:
                self.session.counts.add(f"answer {answer.problem}")
            self.pause()

    # The session

    def note(self, op, start, outcome="ok", answer=None, **more):
        """Writes a line, with the state that the answer shows, if it has one."""
        line = {"process": self.name, "op": op, "start": start, "end": self.session.now(), "outcome": outcome, **more}
        state = answer.body.get("state", answer.body) if answer else {}
        if "stack" in state:
            try:
                line |= shown(state)
            except (KeyError, IndexError, TypeError):
                return self.wrong(answer)
            if "ETag" in answer.headers:
                self.shown, self.tag = shown(state), answer.headers["ETag"]
        self.session.note(line)
        return line

    def wrong(self, answer):
        self.session.counts.fault(f"{self.name} got {answer.status}: {answer.text[:500]}")

    def key(self):
        return f"{self.session.number}-{self.random.getrandbits(80):020x}"

    def create(self):
        start, key = self.session.now(), self.key()
        answer = self.until_answered("POST", "/v1/sessions", {"app": "marks"}, key)
        if answer.status != 201:
            return self.wrong(answer)
        self.token, self.session.id = answer.body["token"], answer.body["session"]["id"]
        self.path = f"/v1/sessions/{self.session.id}"
        self.note("create", start, answer=answer)

    def add_device(self, name):
        """Another device, paired by a code of this one."""
        other = Device(self.session, name)
        other.path = self.path
        while True:
            self.session.devices += 1
            number = self.session.devices
            code = self.until_answered("POST", f"{self.path}/pairings", {"label": str(number)}, self.key())
            if code.status != 201:
                return self.wrong(code)
            start = self.session.now()
            answer = other.until_answered("POST", "/v1/pairings", {"code": code.body["code"]}, other.key())
            if answer.status == 201:
                other.token = answer.body["token"]
                other.note("join", start, "ok", answer, kind="d", mark=number)
                return other
            # A single server forgets its codes when it ends, used ones too.
            other.note("join", start, "unknown", kind="d", mark=number)
            if answer.problem != "unknown-code" or number > 7:
                return self.wrong(answer)

    def run(self):
        session = self.session
        while not session.is_over.is_set():
            self.do(*self.random.choices(list(session.weights), session.weights.values()))
            if self.random.random() < 0.1:
                self.pause()

    # What a device does

    def do(self, doing):
        if doing in KINDS or doing in ("invalid", "match", "unkeyed", "everywhere", "give_up"):
            self.post(doing)
        elif doing == "repeat":
            self.repeat()
        else:
            self.read(doing)

    def event(self, doing):
        """The kind, the mark and the rest of a line, and what is posted."""
        mark = self.session.next_mark()
        if doing == "time":
            delay = self.random.choice([0.001, 0.2, 1, 3])
            body = {"type": doing, "payload": {"mark": mark, "milliseconds": round(1000 * delay)}}
            return {"kind": "t", "mark": mark, "delay": delay}, body
        if doing == "invalid":
            return {"kind": "m", "mark": mark}, {"type": "mark", "payload": str(mark)}
        name = doing if doing in KINDS else self.random.choice(["mark", "mark", "slow", "work"])
        return {"kind": KINDS[name], "mark": mark}, {"type": name, "payload": mark}

    def post(self, doing):
        what, body = self.event(doing)
        path, key, start = f"{self.path}/events", self.key(), self.session.now()
        headers, answer = {}, None
        if doing == "dry":
            # Carried out by nobody, whatever is answered.
            answer = self.send("POST", f"{path}?dryRun=true", body)
            return self.session.note({"process": self.name, "op": "post", "start": start, "end": self.session.now(),
                                      "outcome": "failed", **what})
        if doing == "match":
            headers, what["match"] = {"If-Match": self.tag}, self.shown["version"]
        if doing == "everywhere":
            answers = self.everywhere(path, body, key)
            answer = answers[0] if answers else None
        if doing == "give_up":
            return self.give_up(path, body, key, what, start)
        if doing == "unkeyed":
            return self.unkeyed(path, body, what, start)
        answer = answer or self.until_answered("POST", path, body, key, headers)
        if answer.status == 200:
            line = self.note("post", start, "ok", answer, key=key, digest=digest(answer), **what)
            self.answered.append((key, body, line, headers))
            return
        expected = {"invalid": 422, "refuse": 500, "match": 412}.get(doing)
        if answer.status != expected:
            self.wrong(answer)
        self.note("post", start, "failed", answer, key=key, **what)

    def everywhere(self, path, body, key):
        """Posts one event to all servers at once; the answers that say what happened."""
        answers = []

        def send(door):
            other = Device(self.session, f"{self.name} everywhere")
            other.token = self.token
            answer = other.send("POST", path, body, key, door, patience=5)
            if answer and answer.status == 200:
                answers.append(answer)
            other.close()

        threads = [threading.Thread(target=send, args=(door,)) for door in self.session.doors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len({digest(answer) for answer in answers}) > 1:
            self.session.counts.fault(f"{self.name}: one key has two answers: {[a.text[:300] for a in answers]}")
        if sum("Idempotency-Replayed" not in answer.headers for answer in answers) > 1:
            self.session.counts.fault(f"{self.name}: one key was carried out twice: {[a.text[:300] for a in answers]}")
        return answers

    def unkeyed(self, path, body, what, start):
        """Without a key, an event is sent once, and perhaps nobody will know what became of it."""
        answer = self.send("POST", path, body)
        if answer is None or answer.problem == "unknown":
            return self.note("post", start, "unknown", **what)
        if answer.status != 200 and answer.status != 429 and answer.problem not in LATER:
            self.wrong(answer)
        self.note("post", start, "ok" if answer.status == 200 else "failed", answer, **what)

    def give_up(self, path, body, key, what, start):
        """Sends an event once, and then withdraws it: after that it is carried out, or never will be."""
        self.send("POST", path, body, key, patience=self.random.uniform(0.005, 0.3))
        if self.random.random() < 0.3:
            asked = self.send("GET", f"{self.path}/outcomes/{key}")
            if asked and asked.status == 200:
                return self.note("post", start, "ok", asked, key=key, digest=digest(asked), **what)
        if self.random.random() < 0.2:
            return self.note("post", start, "unknown", key=key, **what)
        settled = self.until_answered("DELETE", f"{self.path}/outcomes/{key}")
        if settled.status == 200:
            return self.note("post", start, "ok", settled, key=key, digest=digest(settled), **what)
        if settled.status != 204:
            self.wrong(settled)
        self.note("post", start, "failed", key=key, **what)
        if self.random.random() < 0.3:
            again = self.until_answered("POST", path, body, key)
            if again.problem != "key-withdrawn":
                self.wrong(again)

    def repeat(self):
        """Posts an event again that was answered, or asks for its outcome."""
        if not self.answered:
            return
        key, body, _, headers = self.random.choice(self.answered[-100:])
        start = self.session.now()
        if self.random.random() < 0.5:
            answer = self.until_answered("POST", f"{self.path}/events", body, key, headers)
        else:
            answer = self.until_answered("GET", f"{self.path}/outcomes/{key}")
        if answer.status != 200:
            return self.wrong(answer)
        self.note("repeat", start, "ok", answer, key=key, digest=digest(answer))

    def read(self, doing="read"):
        headers = {}
        if doing != "read" and self.tag:
            headers["If-None-Match"] = self.tag
        if doing == "wait":
            headers["Prefer"] = f"wait={self.random.choice([1, 2, 4])}"
        while self.may_go_on():
            # Of a request that is repeated, only the last one has read anything.
            start = self.session.now()
            answer = self.send("GET", self.path, headers=headers, patience=10 if doing == "wait" else None)
            if answer and answer.status in (200, 304):
                # Nothing has changed since the state of the tag, or here is another one.
                return self.note("read", start, "ok", answer, **(self.shown if answer.status == 304 else {}))
            if answer and answer.status != 429 and answer.problem not in LATER:
                return self.wrong(answer)
            self.pause()

    def read_past(self):
        """A version of the past, of those that are kept."""
        newest = self.shown["version"]
        for version in self.random.sample(range(max(1, newest - 90), newest + 1), min(newest, 8)):
            start = self.session.now()
            answer = self.until_answered("GET", f"{self.path}/history/{version}")
            if answer.status != 200:
                self.wrong(answer)
            else:
                self.note("history", start, "ok", answer)

    def close(self):
        for connection in self.connections.values():
            connection.close()


class Watcher(Device):
    """A client that follows the session by a stream, and connects again when that is cut."""

    def run(self):
        self.seen, self.is_needed, self.streams, self.open = 0, True, 0, None
        tag = None
        while self.is_needed:
            self.streams += 1
            self.open = f"{self.name}-{self.streams}"
            tag = self.follow(tag)
            self.open = None
            self.pause()

    def follow(self, tag):
        """One stream, to its end. Returns the last tag."""
        start, door = self.session.now(), self.random.choice(self.session.doors)
        connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=45)
        fields = {"Authorization": f"Bearer {self.token}"} | ({"Last-Event-ID": tag} if tag else {})
        try:
            connection.request("GET", f"{self.path}/updates", headers=fields)
            answer = connection.getresponse()
            if answer.status != 200:
                answer = Answer(answer.status, answer.headers, answer.read())
                if answer.status != 429 and answer.problem not in LATER | {"too-many-watchers-in-all"}:
                    self.wrong(answer)
                return tag
            self.session.counts.add("streams")
            message = {}
            while self.is_needed and (text := answer.readline()):
                name, _, value = text.decode().rstrip("\n").partition(": ")
                if name:
                    message[name] = value
                    continue
                if message.get("event") == "state":
                    tag = message["id"]
                    self.see(json.loads(message["data"]), tag, start)
                elif message.get("event") == "end":
                    self.session.counts.fault(f"{self.name}: the stream has ended: {message['data']}")
                message = {}
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        return tag

    def see(self, state, tag, start):
        line = shown(state)
        self.session.note({"process": self.name, "op": "stream", "stream": self.open, "tag": tag, "start": start,
                           "end": self.session.now(), "outcome": "ok", **line})
        self.seen = line["version"]


def digest(answer):
    """Of what an answer says. Tokens are replaced in none of these sessions."""
    return hashlib.sha256(answer.text).hexdigest()[:16]
