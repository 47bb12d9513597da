"""Walks `shop` to the receipt with each client library, through all that can go wrong on the way.

python libraries.py COORDINATORD NAME=COMMAND… [--only=SCENARIO] [--rounds=NUMBER] [--steps=NUMBER] [--no-network=SECONDS]

COMMAND starts the driver of a library, which uses its public functions alone. `COMMAND walk --server URL --storage DIR
[--code CODE] [--deadline SECONDS] [--early]` resumes the session in DIR, or pairs, or opens a session, and walks on to
the receipt. It prints a line of JSON for each state that it draws, `{"version": 3, "visible": "cart", "early": false}`,
and `{"done": true, "visible": "receipt", "session": id}` at the end. If the session is over for it, it prints
`{"ended": "token-revoked"}` or another reason, and exits with 4. `{"withdrawn": key, "outcome": …}` is an event whose
deadline has passed.

`COMMAND predict` reads lines `{"state": …, "event": …}`, and prints for each what is drawn before the answer is there:
`{"visible": key, "stack": [keys], "tab": id or null}`, or `null` if it is nothing. `stack` is the innermost stack with
the visible screen, and `tab` the tab that is selected around it.

Whether there was exactly one purchase, is read from the server's store afterwards.
"""

import collections
import concurrent.futures
import http.client
import itertools
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import gateway
from gateway import Gateway
from relay import Relay

# A limit that only finds hangs, in seconds.
LONG = 600
# Why a session is over for a device that another one has revoked: only one that waits gets the reason.
REVOKED = ["token-revoked", "token-replaced", "unauthorized"]
# What an app does besides what `back`, `selectTab` and `dismiss` say, so that a prediction cannot be right:
# (app, event, name of the visible screen), and why.
UNPREDICTABLE = {}


def until(what, condition):
    """Waits for a condition, and returns what it has returned."""
    end = time.monotonic() + LONG
    while not (found := condition()):
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.01)
    return found


class Server:
    """A server with a SQLite store, which can be killed and started again, on another port."""

    running = []

    def __init__(self, program, directory):
        Server.running.append(self)
        self.program, self.directory, self.starts = program, directory, 0
        self.turn = threading.Lock()
        os.makedirs(directory)
        self.start()

    def start(self):
        self.starts += 1
        name = f"{self.directory}/log-{self.starts}"
        with open(name, "wb") as log:
            self.process = subprocess.Popen(
                [self.program, "serve", "--port", "0", "--development", "--store", f"sqlite:{self.directory}/store",
                 "--data-directory", f"{self.directory}/data"], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

        def address():
            is_over, text = self.process.poll() is not None, open(name).read()
            assert not is_over, text[-2000:]
            return re.search(r"listening on (http://[^ ]*:(\d+))", text)

        found = until("the server is not ready", address)
        self.url, self.port = found[1], int(found[2])

    def kill(self):
        """kill -9, and a start."""
        with self.turn:
            self.process.kill()
            self.process.wait()
            self.start()

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def sessions(self, *arguments):
        store = ["--store", f"sqlite:{self.directory}/store"]
        command = [self.program, "sessions", arguments[0], *store, *arguments[1:]]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    def events(self, session):
        """What led to each version of a session, of the stopped server."""
        return [line.split()[4] for line in self.sessions("show", session) if line.startswith(session)]

    def visible(self, session):
        """The name of the visible screen."""
        return json.loads(self.sessions("show", session)[-1])["visible"]["name"]


class Device:
    """A client of the test's own."""

    def __init__(self, url, code=None):
        self.url, self.token = urllib.parse.urlsplit(url), None
        status, answer = self.request("POST", "/v1/pairings", {"code": code}) if code else self.open("shop")
        assert status == 201, answer

    def open(self, app):
        status, answer = self.request("POST", "/v1/sessions?include=controls", {"app": app})
        self.id, self.token, self.state = answer["session"]["id"], answer["token"], answer
        return status, answer

    def request(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if method == "POST":
            headers |= {"Idempotency-Key": f"{random.getrandbits(128):032x}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(self.url.netloc, timeout=LONG)
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text else None

    def post(self, kind, payload=None):
        """The status and the answer. The state is that of the answer."""
        event = {"type": kind} | ({} if payload is None else {"payload": payload})
        status, answer = self.request("POST", f"/v1/sessions/{self.id}/events?include=controls", event)
        if status == 200:
            self.state, self.token = answer, answer.get("token", self.token)
        return status, answer

    def pairing(self):
        return self.request("POST", f"/v1/sessions/{self.id}/pairings", {})[1]["code"]


class Walk:
    """A library's driver on its way, from `start` on. `drawn` are its states."""

    def __init__(self, library, directory, url, *options):
        self.library, self.directory, self.drawn = library, directory, []
        self.command = [*shlex.split(libraries[library]), "walk", "--server", url, "--storage", f"{directory}/app", *options]
        os.makedirs(f"{directory}/app", exist_ok=True)
        self.withdrawn, self.result, self.turn = [], None, threading.Lock()

    def start(self):
        self.errors = open(f"{self.directory}/errors", "ab")
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self.reader.start()
        return self

    def _read(self, process):
        for text in process.stdout:
            try:
                line = json.loads(text)
            except ValueError:
                continue  # The driver was killed while it wrote.
            if "version" in line:
                self.drawn.append(line)
            elif "withdrawn" in line:
                self.withdrawn.append(line["outcome"])
            else:
                self.result = line

    def kill(self):
        """Kills the app and starts it again."""
        with self.turn:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.reader.join()
            self.start()

    def has_ended(self):
        with self.turn:  # While it is killed, it is not at its end.
            return self.process.poll() is not None

    def finish(self):
        """Waits for the end; the versions that were drawn never fell."""
        try:
            until(lambda: f"not at the receipt, but here: {self.drawn[-3:]}\n{self.log()}", self.has_ended)
        finally:
            self.process.kill()
        self.reader.join()
        versions = [line["version"] for line in self.drawn]
        assert versions == sorted(versions), f"an older state was drawn: {versions}"
        return self.process.wait()

    def arrive(self):
        """Waits for the receipt, and returns the session."""
        code = self.finish()
        done = self.result or {}
        assert code == 0 and done.get("done") and done["visible"] == "receipt", f"{code} {done}\n{self.log()}"
        assert self.drawn[-1]["visible"] == "receipt", self.drawn[-3:]
        return done["session"]

    def log(self):
        return open(f"{self.directory}/errors").read()[-3000:]


# What a scenario leads to: the sessions that must have one purchase, those that must have none, whether the library has
# done the same as without faults, and what is printed.
Outcome = collections.namedtuple("Outcome", "bought, empty, is_alone, note", defaults=((), (), True, ""))


def plain(library, directory, server):
    walk = Walk(library, directory, server.url).start()
    session = walk.arrive()
    return Outcome([session], note=f"{len(walk.drawn)} states")


def lost_answers(library, directory, server):
    """The answer to the first sending of each POST is lost."""
    seen = set()
    between = Gateway(server.url, lambda request: gateway.NOTHING if is_first(request, seen) else None)
    walk = Walk(library, directory, between.url).start()
    return Outcome([walk.arrive()], note=f"{between.lost} answers lost")


def has_drawn(walk):
    assert walk.process.poll() is None, f"{walk.result}\n{walk.log()}"
    return walk.drawn


def is_event(request):
    return request.method == "POST" and request.path.split("?")[0].endswith("/events")


def is_first(request, seen):
    """Whether a POST is sent for the first time, under whatever key."""
    what = request.path, request.body
    return request.method == "POST" and not (what in seen or seen.add(what))


def before_event(number, action):
    """A plan that does something when an event arrives that is the walk's first, second, … one. It is then forwarded."""
    seen = set()

    def plan(request):
        if is_event(request) and is_first(request, seen) and len(seen) == number:
            action()

    return plan


def foreign_answers(library, directory, server):
    """A gateway forwards everything, and answers the first two sendings itself."""
    errors = [(status, body) for body in [gateway.JSON, gateway.HTML, gateway.EMPTY] for status in [502, 503, 504]]
    faults = itertools.cycle([fault for error in errors for fault in [error, gateway.HALF]])
    tries = collections.Counter()

    def plan(request):
        what = request.key or (request.method, request.path)
        tries[what] += 1
        return next(faults) if tries[what] <= 2 else None

    between = Gateway(server.url, plan)
    walk = Walk(library, directory, between.url).start()
    session = walk.arrive()
    assert between.lost > len(errors), f"only {between.lost} faults"
    return Outcome([session], note=f"{between.lost} answers were the gateway's")


def killed_app(library, directory, server):
    """When the server has carried out a step, the app is killed before it has the answer, and started again."""
    seen, kills = set(), []

    def kill():
        kills.append(None)
        walk.kill()

    def plan(request):
        return kill if is_event(request) and is_first(request, seen) else None

    walk = Walk(library, directory, Gateway(server.url, plan).url)
    session = walk.start().arrive()
    assert len(kills) >= 6, f"the app was killed only {len(kills)} times"
    return Outcome([session], note=f"{len(kills)} times")


def killed_server(library, directory, _):
    """kill -9 of the server before and while it carries out the steps."""
    server = Server(program, f"{directory}/server")
    seen, steps, kills = set(), itertools.count(), []

    def plan(request):
        if is_first(request, seen):
            if next(steps) % 2:
                server.kill()
            else:
                kills.append(threading.Timer(random.random() * 0.006, server.kill))
                kills[-1].start()

    walk = Walk(library, directory, Gateway(lambda: server.url, plan).url).start()
    session = walk.arrive()
    for kill in kills:
        kill.join()
    server.stop()
    return Outcome(check(server, [session], "killed_server", library), note=f"{server.starts - 1} times")


def another_device(library, directory, server):
    """Another device uses the session until the sign-in, with which it loses it."""
    device, stop = Device(server.url), threading.Event()
    walk = Walk(library, directory, Gateway(server.url, lambda _: None, latency=0.03).url, "--code", device.pairing()).start()
    taps = [("selectTab", {"tab": "home"}), ("product", {"id": 7}), ("back",), ("selectTab", {"tab": "search"}), ("selectTab", {"tab": "cart"})]
    accepted = 0
    until("nothing is drawn", lambda: has_drawn(walk))
    for tap in taps * 6:
        status, _ = device.post(*tap)
        if status == 401:
            break
        accepted += status == 200
        time.sleep(0.02)
    session = walk.arrive()
    assert session == device.id and device.request("GET", f"/v1/sessions/{session}")[0] == 401
    return Outcome([session], is_alone=False, note=f"{accepted} of its events were accepted")


def two_devices(library, directory, server):
    """Two apps walk in one session: the one that signs in arrives, and the other one loses the session."""
    device, both, walks = Device(server.url), threading.Event(), []

    def hold(request):
        if is_event(request):
            both.wait()

    between = Gateway(server.url, hold, latency=0.03)
    for n in range(2):
        walks.append(Walk(library, f"{directory}/{n}", between.url, "--code", device.pairing()).start())
        until("nothing is drawn", lambda: has_drawn(walks[n]))
    both.set()
    codes = sorted(walk.finish() for walk in walks)
    assert codes == [0, 4], f"{codes} {[walk.result for walk in walks]}\n{walks[0].log()}\n{walks[1].log()}"
    ended = next(walk.result["ended"] for walk in walks if "ended" in walk.result)
    assert ended in REVOKED, ended
    return Outcome([device.id], is_alone=False, note=f"to the other one it is {ended}")


def revoked_token(library, directory, server):
    """The token is revoked on the way, and the app says so."""
    device = Device(server.url)
    revoke = before_event(3, lambda: device.request("DELETE", f"/v1/sessions/{device.id}/tokens/2"))
    walk = Walk(library, directory, Gateway(server.url, revoke).url, "--code", device.pairing()).start()
    assert walk.finish() == 4 and walk.result["ended"] in REVOKED, f"{walk.result}\n{walk.log()}"
    return Outcome((), [device.id], note=walk.result["ended"])


def cut_at_fourth_event(server, seconds):
    """A relay whose network is gone for so long from the fourth event on, whose answer is lost."""

    def cut():
        relay.cut(refuse=True)
        threading.Timer(seconds, relay.open).start()

    relay = Relay(Gateway(server.url, before_event(4, cut)).listener.server_port)
    return relay


def no_network(library, directory, server):
    """For some seconds, on the way, there is no network."""
    relay = cut_at_fourth_event(server, NO_NETWORK)
    walk = Walk(library, directory, f"http://127.0.0.1:{relay.port}", "--deadline", str(LONG)).start()
    session = walk.arrive()
    return Outcome([session], note=f"after {NO_NETWORK} s without it")


def passed_deadline(library, directory, server):
    """Without a network for longer than a tap may wait: the app gives it up, and goes on from what it finds."""
    relay = cut_at_fourth_event(server, 4)
    walk = Walk(library, directory, f"http://127.0.0.1:{relay.port}", "--deadline", "1.5").start()
    session = walk.arrive()
    assert walk.withdrawn, "no event was withdrawn"
    return Outcome([session], note=f"withdrawn: {', '.join(walk.withdrawn)}")


def late_request(library, directory, server):
    """The payment reaches the server after the app has given it up and paid again."""
    late, is_paid = [], threading.Event()

    def plan(request):
        if b'"pay"' in request.body and not late:
            late.append(request)
            is_paid.wait()
            return gateway.NOTHING

    between = Gateway(server.url, plan)
    walk = Walk(library, directory, between.url, "--deadline", "1.5").start()
    session = walk.arrive()
    is_paid.set()
    until("the late payment was not answered", lambda: late[0].status)
    assert late[0].status == 409 and b"key-withdrawn" in late[0].answer, late[0].answer
    assert walk.withdrawn, "the payment was not withdrawn"
    return Outcome([session], note=f"withdrawn: {', '.join(walk.withdrawn)}")


def open_sign_in(library, directory, server):
    """The sign-in replaces the token, and for some seconds no answer says so: the app is not told that it is over."""
    signed_in = []

    def plan(request):
        if b'"submit"' in request.body:
            signed_in.append(time.monotonic())
        is_about = b'"submit"' in request.body or "/outcomes/" in request.path
        # Longer than a library asks what became of a tap that it gives up.
        return gateway.NOTHING if is_about and signed_in and time.monotonic() < signed_in[0] + 8 else None

    walk = Walk(library, directory, Gateway(server.url, plan).url, "--deadline", "1.5").start()
    session = walk.arrive()
    assert walk.withdrawn, "the sign-in was not withdrawn"
    return Outcome([session], note=f"withdrawn: {', '.join(walk.withdrawn)}")


def early(library, directory, server):
    """What is drawn at once is drawn before the answer, which the gateway holds back so long."""
    waited = []

    def shown():
        return next((line for line in walk.drawn if line["visible"] == "cart"), None)

    def plan(request):
        if b'"selectTab"' in request.body and not waited:
            begun = time.monotonic()
            waited.append(until("the tab is not drawn before the answer", shown) and time.monotonic() - begun)

    between = Gateway(server.url, plan)
    walk = Walk(library, directory, between.url, "--early")
    session = walk.start().arrive()
    assert waited and shown()["early"], f"not before the answer: {shown()}"
    return Outcome([session], note=f"drawn {1000 * waited[0]:+.0f} ms after the request has arrived")


SCENARIOS = [
    no_network, killed_app, killed_server, foreign_answers, passed_deadline, late_request, open_sign_in, lost_answers, early, two_devices,
    revoked_token, another_device, plain,
]


def run(scenario, library):
    directory = f"{work}/{library}/{scenario.__name__}"
    os.makedirs(directory)
    begun = time.monotonic()
    outcome = scenario(library, directory, servers[library])
    return outcome, time.monotonic() - begun


def check(server, sessions, scenario, library, is_alone=True):
    """Each session has one purchase, of one product if nobody else put something into the cart, and is at the receipt."""
    for session in sessions:
        events = server.events(session)
        where = f"{library}, {scenario}: {events}"
        assert events.count("addToCart") == 1 or not is_alone, where
        assert events.count("pay") == 1 == events.count("effect:charged"), where
        assert events[-1] == "effect:charged" and server.visible(session) == "receipt", where
    return sessions


def check_all(server, library, outcomes):
    """No session has more than its purchase, and faults alone change nothing about what happens."""
    events = {line.split()[0]: server.events(line.split()[0]) for line in server.sessions("list")}
    for scenario, outcome in outcomes.items():
        if scenario is killed_server:
            continue
        check(server, outcome.bought, scenario.__name__, library, outcome.is_alone)
        usual = events[outcomes[plain].bought[0]] if plain in outcomes else None
        for session in outcome.bought:
            found = events[session]
            assert not outcome.is_alone or usual in (None, found), f"{library}, {scenario.__name__}: {found} and not {usual}"
        for session in outcome.empty:
            assert "pay" not in events[session], f"{library}, {scenario.__name__}: {events[session]}"
    used = {session for outcome in outcomes.values() for session in [*outcome.bought, *outcome.empty]}
    assert events.keys() <= used, f"sessions that no app has: {events.keys() - used}"


# Predictions: what `back`, `selectTab` and `dismiss` lead to, on random walks through all apps.

PREDICTED = ["back", "selectTab", "dismiss"]


def innermost(state):
    """The keys of the innermost stack with the visible screen, and the id of the tab that is selected around it."""
    stack, tab = (state["presented"][-1] if "presented" in state else state)["stack"], None
    while "tabs" in stack[-1]:
        tabs = stack[-1]["tabs"]
        tab = tabs["selected"]
        stack = next(item["stack"] for item in tabs["items"] if item["id"] == tab)
    return {"visible": state["visible"]["key"], "stack": [screen["key"] for screen in stack], "tab": tab}


def payload_of(control, pick):
    """A payload for a control, or None."""
    if "payload" in control:
        return control["payload"]
    properties = control.get("schema", {}).get("properties", {})
    if len(properties) == 1 and "enum" in (values := next(iter(properties.items())))[1]:
        return {values[0]: pick.choice(values[1]["enum"])}
    return control.get("example")


def walk_app(url, app, seed, steps):
    """(app, state, event, next state) of each predicted event on a random walk."""
    pick, device, found = random.Random(f"{app} {seed}"), Device(url), []
    device.open(app)
    for _ in range(steps):
        before = device.state
        controls = [control for control in before["controls"] if control["type"] not in ("describeClient", "open")]
        # Mostly into the app, where there is more to come back from.
        is_deep = len(innermost(before)["stack"]) > 1
        weights = {"back": 2, "selectTab": 3 if is_deep else 0.3, "dismiss": 0.7, "backTo": 0.3, "backToRoot": 0.2, "relaunch": 0.02}
        control = pick.choices(controls, [weights.get(control["type"], 2) for control in controls])[0]
        event = {"type": control["type"]}
        if (payload := payload_of(control, pick)) is not None:
            event["payload"] = payload
        status, answer = device.post(event["type"], event.get("payload"))
        if status in (401, 410):
            device.open(app)
        elif status != 200:
            # What happens meanwhile in the background, such as a timer, is part of the next state.
            device.state = device.request("GET", f"/v1/sessions/{device.id}?include=controls")[1]
        elif event["type"] in PREDICTED and answer["session"]["version"] <= before["session"]["version"] + 1:
            found.append((app, before, event, answer))
    return found


def record_walks(server, steps):
    apps = [app["name"] for app in Device(server.url).request("GET", "/v1/apps")[1]["apps"]]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        walks = pool.map(lambda walk: walk_app(server.url, *walk, steps), itertools.product(apps, range(2)))
        return [step for walk in walks for step in walk]


def compare_predictions(library, recorded):
    """What the library draws early is what came, or nothing."""
    lines = "".join(json.dumps({"state": before, "event": event}) + "\n" for _, before, event, _ in recorded)
    command = [*shlex.split(libraries[library]), "predict"]
    answers = subprocess.run(command, input=lines, check=True, capture_output=True, text=True, timeout=LONG).stdout.splitlines()
    assert len(answers) == len(recorded), f"{len(answers)} predictions of {len(recorded)}"
    counts, wrong = collections.Counter(), []
    for (app, before, event, after), answer in zip(recorded, answers):
        prediction, what = json.loads(answer), (app, event["type"], before["visible"]["name"])
        if prediction is None:
            counts["nothing"] += 1
        elif {name: prediction[name] for name in ("visible", "stack", "tab")} == innermost(after):
            counts["equal"] += 1
        elif what in UNPREDICTABLE:
            counts["unpredictable"] += 1
        else:
            wrong.append((what, event.get("payload"), prediction, innermost(after), after.get("alert"), after["transition"]))
    for step in wrong[:5]:
        print(f"{library} predicted wrongly: {step}")
    print(f"{library}: predicted equal {counts['equal']}, predicted nothing {counts['nothing']}, "
          f"corrected for a known reason {counts['unpredictable']}, wrong {len(wrong)}")
    return not wrong and counts["equal"] > len(recorded) / 2


def walk_all(scenarios):
    """Runs the scenarios, which mostly wait, at the same time, and returns whether all were as they must be."""
    global servers, work
    work = tempfile.mkdtemp(dir=folder)
    # A server for each: it takes only five pairing codes in a minute from one address.
    servers = {library: Server(program, f"{work}/server-{library}") for library in libraries}
    outcomes, failed = {}, 0
    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        running = {pool.submit(run, scenario, library): (library, scenario) for scenario in scenarios for library in libraries}
        for done in concurrent.futures.as_completed(running):
            library, scenario = running[done]
            try:
                outcome, seconds = done.result()
            except Exception as error:
                failed += 1
                print(f"{library}: {scenario.__name__} has FAILED: {type(error).__name__} {error}", flush=True)
                continue
            outcomes[library, scenario] = outcome
            print(f"{library}: {scenario.__doc__ or 'Without faults.'} {outcome.note} ({seconds:.1f} s)", flush=True)
    for server in servers.values():
        server.stop()
    if failed == 0:
        for library, server in servers.items():
            check_all(server, library, {scenario: outcomes[library, scenario] for scenario in scenarios})
        bought = sum(len(outcome.bought) for outcome in outcomes.values())
        print(f"{bought} walks of {len(libraries)} libraries have led to {bought} purchases")
    return failed == 0


if __name__ == "__main__":
    program = sys.argv[1]
    options = dict(text.split("=", 1) for text in sys.argv[2:] if text.startswith("--"))
    libraries = dict(text.split("=", 1) for text in sys.argv[2:] if not text.startswith("--"))
    only, NO_NETWORK = options.get("--only"), float(options.get("--no-network", 3))
    folder = tempfile.mkdtemp(prefix="libraries-")
    apps = Server(program, f"{folder}/apps")
    recording = concurrent.futures.ThreadPoolExecutor(1).submit(record_walks, apps, int(options.get("--steps", 150)))
    try:
        is_right = True
        for _ in range(int(options.get("--rounds", 1))):
            is_right &= only == "predict" or walk_all([scenario for scenario in SCENARIOS if only in (None, scenario.__name__)])
        recorded = recording.result()
        print(f"{len(recorded)} events on random walks through {len({app for app, *_ in recorded})} apps")
        is_right &= all([compare_predictions(library, recorded) for library in libraries])
    finally:
        for server in Server.running:
            server.process.kill()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(not is_right)
