"""Judges what clients have done to a session and seen of it, and names whatever one honest server could not have done.

    checker.py HISTORY…        prints what is wrong with each file, and exits with 1 if anything is

A history is a file of JSON lines about one session of the app `marks`, which keeps a log of all that has happened to
it: version n shows a log of n − 1 entries. Times are seconds of one monotonic clock. Of each operation:

    process   who: what one process does, it does one after the other
    op        create, join  the session is opened, or a device added
              post          an event, with its `kind` and `mark`, its `key` if it had one, `match` if it had
                            If-Match, and `later` if the state that it shows may be a later one than its own
              repeat        an event again under its `key`, after it was answered
              read          the state, asked for once, or waited for
              stream        a state that came by a stream, `stream`, that began at `start`
              drawn         a state that a client library has drawn, which began at `start`
              history       the state of a past version
              final         the state after everything
    start, end
    outcome   ok: carried out; failed: certainly not, and never; unknown: perhaps, perhaps later
    version, log, copy    the state of the answer. `copy` is there if the session's second log is not equal to the first
    tag       of a state that came by a stream
    digest    of the answer to an event with a key

A kind of event is the first letter of its entry: `m` and `s` (slow) only add it. `w` begins work, whose outcome adds
`W`, and `t` sets a timer, for after `delay` seconds, which adds `T`. `r` adds its entry and then throws, `y` is a dry
run, and `d` is the entry of a device.
"""

import bisect
import collections
import json
import sys

Anomaly = collections.namedtuple("Anomaly", "name, text")
# Timers may be late by this, in seconds: one is promised, the rest is for a busy machine.
LATE = 10
# Servers know the database's clock as exactly as it takes to ask for it, in seconds.
EARLY = 0.02
HAS_OUTCOME = {"w": "W", "t": "T"}


class Session:
    """The lines of one session. `calm` are the times, (from, to), in which every server was up and could do all."""

    def __init__(self, lines, calm=(), late=LATE):
        self.lines = sorted(lines, key=lambda line: line["end"])
        self.calm, self.late = calm, late
        self.shown = [line for line in self.lines if "version" in line]
        self.events = {f"{line['kind']}{line['mark']}": line for line in self.lines if "mark" in line}
        self.anomalies = []
        # The longest time from which a timer was due and could fire until somebody saw that it had.
        self.latest = 0
        finals = [line for line in self.shown if line["op"] == "final"]
        self.final = finals[-1]["log"] if finals else max((line["log"] for line in self.shown), key=len, default=[])
        self.has_ended = bool(finals)
        # The version that each entry has made, and when the newest version that anybody knew of became a newer one.
        self.made = {entry: number + 2 for number, entry in enumerate(self.final)}
        self.ends, self.newest = [], []
        for line in self.lines:
            is_done = "mark" in line and line["outcome"] == "ok"
            version = line.get("version", self.made.get(f"{line['kind']}{line['mark']}", 0) if is_done else 0)
            if version > (self.newest[-1][0] if self.newest else 0):
                self.ends.append(line["end"])
                self.newest.append((version, line))

    def check(self):
        self.versions()
        self.entries()
        self.answers()
        self.real_time()
        self.processes()
        self.outcomes()
        return self.anomalies

    def found(self, name, text):
        self.anomalies.append(Anomaly(name, text))

    def versions(self):
        """Each version is one state, whole, and has one entry more than the one before."""
        states = {}
        for line in self.shown:
            version, log = line["version"], line["log"]
            if "copy" in line:
                self.found("torn", f"{of(line)} shows {difference(log, line['copy'])} in one place only")
            first = states.setdefault(version, line)
            if first["log"] != log:
                entries = difference(first["log"], log)
                self.found("two-states", f"version {version} has {entries} for {of(first)} or {of(line)} only")
            elif first is line and len(log) != version - 1:
                self.found("not-counted", f"{of(line)} shows {len(log)} entries in version {version}")
        before = None
        for version in sorted(states):
            line = states[version]
            if before and line["log"][:len(before["log"])] != before["log"]:
                entries = difference(before["log"], line["log"])
                self.found("rewritten", f"{of(before)} and {of(line)} have different entries at one place: {entries}")
            before = line

    def entries(self):
        """What was acknowledged is there once, what was refused is not, and nobody else has added anything."""
        counts = collections.Counter(self.final)
        for entry, count in counts.items():
            if count > 1:
                self.found("twice", f"{entry} is there {count} times")
            kind, cause = entry[0], entry[0].lower() + entry[1:]
            if kind.isupper():
                if kind not in HAS_OUTCOME.values() or cause not in self.final[:self.final.index(entry)]:
                    self.found("invented", f"{entry} is there, and not what causes it")
            elif entry not in self.events:
                self.found("invented", f"{entry} is there, and nobody has posted it")
            elif self.events[entry]["outcome"] == "failed":
                self.found("refused-applied", f"{of(self.events[entry])} has failed, and {entry} is there")
        for entry, line in self.events.items():
            if line["outcome"] == "ok" and entry not in counts:
                self.found("lost", f"{of(line)} was acknowledged, and {entry} is not there")

    def answers(self):
        """An answer shows its event, as the last one if it is the event's own, and is the same for each repetition."""
        first = {}
        for line in self.lines:
            if "mark" in line and line["outcome"] == "ok" and "log" in line:
                entry = f"{line['kind']}{line['mark']}"
                is_own = not line.get("later")
                if entry not in line["log"] or is_own and line["log"][-1] != entry:
                    self.found("not-in-answer", f"{of(line)} shows {line['log'][-3:]} at its end")
                elif "match" in line and is_own and line["version"] != line["match"] + 1:
                    versions = f"was for version {line['match']}, and made {line['version']}"
                    self.found("condition-ignored", f"{of(line)} {versions}")
            if line["op"] in ("post", "repeat") and "digest" in line:
                known = first.setdefault(line["key"], line)
                if known["digest"] != line["digest"]:
                    self.found("other-answer", f"{of(line)} got another answer than {of(known)}")

    def real_time(self):
        """What ended before another began comes before it; and nothing is seen before it has begun."""
        for line in self.shown:
            # Of an event with another outcome than ok it is the state that a refusal shows. A library that resumes may
            # draw the answer to its last event before it reads.
            is_refusal = line["op"] == "post" and line["outcome"] != "ok"
            is_now = is_refusal or line["op"] not in ("history", "repeat", "post", "drawn")
            newest, known = self.newest_before(line["start"])
            if is_now and line["version"] < newest:
                self.found("stale", f"{of(line)} shows {line['version']} after {of(known)}, when there was {newest}")
            for entry in reversed(line["log"]):
                event = self.events.get(entry)
                if event and event["end"] < line["start"]:
                    break
                if event and event["start"] > line["end"]:
                    self.found("from-the-future", f"{of(line)} shows {entry} before {of(event)} began")
        for entry, version in self.made.items():
            if event := self.events.get(entry):
                newest, known = self.newest_before(event["start"])
                if version <= newest:
                    self.found("out-of-order", f"{of(event)} made {version} after {of(known)}, when there was {newest}")

    def newest_before(self, time):
        """The newest version that was known before a time, and from which line."""
        index = bisect.bisect_left(self.ends, time)
        return self.newest[index - 1] if index else (0, None)

    def processes(self):
        """What one client sees never goes back, and a stream brings no version twice and not the last one never."""
        seen, streams = {}, {}
        for line in self.shown:
            if line["op"] in ("history", "repeat"):
                continue
            # Streams and libraries draw beside what they do otherwise, a library anew each time that it starts.
            who = line.get("stream") or (line["process"], line["op"] == "drawn" and line["start"])
            last = seen.get(who)
            if last and line["version"] < last["version"]:
                self.found("went-back", f"{of(line)} shows {line['version']} after {of(last)} with {last['version']}")
            elif last and line["op"] == "stream" and line.get("tag") == last.get("tag"):
                self.found("stream-twice", f"{of(line)} brings version {line['version']} again")
            seen[who] = line
        for line in self.lines:
            if line["op"] == "stream-open":
                last = seen.get(line["stream"])
                if self.has_ended and (last["version"] if last else 0) < len(self.final) + 1:
                    self.found("stream-stuck", f"the stream {line['stream']} is open without the last version")

    def outcomes(self):
        """Work has one outcome; a timer fires once, not early, and not late while a server could fire it."""
        for entry in self.final:
            if entry[0] not in HAS_OUTCOME or entry not in self.events:
                continue
            event, result = self.events[entry], HAS_OUTCOME[entry[0]] + entry[1:]
            if self.has_ended and result not in self.final:
                self.found("no-outcome", f"{of(event)} has begun, and {result} is not there in the end")
            if entry[0] == "t" and result in self.final:
                self.timer(event, result)

    def timer(self, event, result):
        version = self.made[result]
        first = next(line for line in self.shown if line["version"] >= version)
        early = event["start"] + event["delay"] - first["end"]
        if early > EARLY:
            self.found("early", f"{of(first)} shows {result} {early:.3f} s before it can be due")
        if event["outcome"] != "ok":
            return
        due = event["end"] + event["delay"]
        for begin, end in self.calm:
            could = max(due, begin)
            if could > end or first["end"] < could:
                continue
            self.latest = max(self.latest, min(first["end"], end) - could)
            late = next((line for line in self.shown if line["op"] == "read" and line["version"] < version
                         and could + self.late < line["start"] and line["end"] < end), None)
            if late:
                self.found("late", f"{of(late)} shows no {result} {late['start'] - could:.3f} s after it was due")
            return


def difference(one, other):
    """The entries from where two logs differ."""
    at = next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    return f"{' '.join(one[at:at + 3]) or 'nothing'}, {' '.join(other[at:at + 3]) or 'nothing'} (entry {at})"


def of(line):
    what = f" {line['kind']}{line['mark']}" if "mark" in line else ""
    return f"{line['op']}{what} of {line['process']} ({line['start']:.3f}–{line['end']:.3f})"


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


if __name__ == "__main__":
    wrong = False
    for path in sys.argv[1:]:
        for name, text in Session(read(path)).check():
            wrong = True
            print(f"{path}: {name}: {text}")
    sys.exit(wrong)
