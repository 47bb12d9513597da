"""Sessions of Examples/cinema under version 1, version 2, version 1 and version 2 again.

python cinema.py STEP SERVER FILE [REPORT]

FILE keeps the sessions from one step to the next. The steps:

open      creates sessions of version 1 and drives them to every screen and every alert
compare   reads each session from version 2, compares it with what `check --json` reported in REPORT, and posts an event
refused   reads each session from version 1 again: 503 `newer-app`
continued reads each session from version 2 again: nothing has changed, and it continues
"""

import collections
import concurrent.futures
import http.client
import json
import sys
import threading
import urllib.parse

COUNT = 1000
WORKERS = 8

step, server, file = sys.argv[1:4]
local = threading.local()


def request(method, path, token=None, body=None, expected=(200, 201)):
    """Sends a request on this thread's connection."""
    if not hasattr(local, "connection"):
        local.connection = http.client.HTTPConnection(urllib.parse.urlsplit(server).netloc, timeout=600)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    local.connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = local.connection.getresponse()
    text = answer.read()
    assert answer.status in expected, f"{method} {path} {body}: {answer.status} {text.decode()}"
    return json.loads(text)


def post(session, event, payload=None):
    body = {"type": event} if payload is None else {"type": event, "payload": payload}
    answer = request("POST", f"{session['path']}/events", session["token"], body)
    session["token"] = answer.get("token", session["token"])
    return answer


def read(session):
    """The state, and the names of the living coordinators."""
    state = request("GET", session["path"], session["token"])
    tree = request("GET", f"{session['path']}/coordinators", session["token"])["tree"]
    return {"state": state, "coordinators": names(tree)}


def names(tree):
    return [tree["name"]] + [name for child in tree.get("children", []) for name in names(child)]


def screens(stack):
    """The names of the screens of a stack, by their keys."""
    found = {}
    for screen in stack:
        found[screen["key"]] = screen["name"]
        for tab in screen.get("tabs", {}).get("items", []):
            found.update(screens(tab["stack"]))
    return found


def all_screens(state):
    found = screens(state["stack"])
    for flow in state.get("presented", []):
        found.update(screens(flow["stack"]))
    return found


def shown(state):
    return state["alert"]["title"] if "alert" in state else state["visible"]["name"]


# How a session gets to a screen or an alert of version 1; an event of version 2 that continues it, and what that shows.
ANN, BOB = {"name": "ann", "pin": "1234"}, {"name": "bob", "pin": "1234"}
OK = ("answer", {"button": "ok"})
# The first session that does this gets the seat.
TAKING = [("film", {"id": 3}), ("buy",), ("submit", ANN), ("choose", {"seat": 400}), ("confirm",)]


def at(tab):
    return ("selectTab", {"tab": tab})


def plans(number):
    seat = {"film": 1 + number % 3, "seat": 1 + number // 3}
    film = ("film", {"id": seat["film"]})
    choosing = [film, ("buy",), ("submit", ANN)]
    confirming = choosing + [("choose", {"seat": seat["seat"]})]
    booked = confirming + [("confirm",), at("tickets")]
    member = [at("account"), ("signIn",), ("submit", ANN)]
    return [
        ("films", [], ("film", {"id": 2}), "film"),
        ("detail", [film], ("book",), "signIn"),
        ("signIn", [film, ("buy",)], ("submit", ANN), "seats"),
        ("seats", choosing, ("choose", {"seat": seat["seat"]}), "confirm"),
        ("confirm", confirming, ("confirm",), "film"),
        ("Seat 400 is taken", TAKING, OK, "seats"),
        ("tickets", booked, ("cancel", seat), "Cancel this booking?"),
        ("Cancel this booking?", booked + [("cancel", seat)], ("cancel", seat), "Cancel this booking?"),
        ("offers", [at("tickets"), ("offers",), ("collect",)], at("films"), "films"),
        ("account", [at("account")], ("signIn",), "signIn"),
        ("account", member, ("signOut",), "account"),
        ("signIn", member[:2], ("submit", ANN), "account"),
        ("The name or the PIN is wrong", member[:2] + [("submit", {"name": "ann", "pin": "0"})], OK, "signIn"),
        ("sales", member[:2] + [("submit", BOB), ("sales",)], ("back",), "account"),
        ("Only the staff sees the sales", [("open", {"path": "/sales"})], OK, "account"),
        ("There is no such film", [("film", {"id": 99})], OK, "films"),
    ]


def new_session():
    answer = request("POST", "/v1/sessions", body={})
    return {"path": f"/v1/sessions/{answer['session']['id']}", "id": answer["session"]["id"], "token": answer["token"]}


def open_session(number):
    choices = plans(number)
    screen, events, following, after = choices[number % len(choices)]
    session = new_session()
    for event in events:
        post(session, *event)
    session["before"] = read(session)
    assert shown(session["before"]["state"]) == screen, (screen, session["before"]["state"])
    session.update(screen=screen, following=following, after=after)
    return session


def take_seat():
    """Books a seat that other sessions then find taken."""
    session = new_session()
    for event in TAKING:
        post(session, *event)


def losses(before, after):
    """What a session had and has no more, as `check` words it."""
    kept = all_screens(after["state"])
    lost = [f"screen “{name}”" for key, name in all_screens(before["state"]).items() if key not in kept]
    gone = collections.Counter(before["coordinators"]) - collections.Counter(after["coordinators"])
    lost += [f"coordinator “{name}”" for name in gone.elements()]
    if "alert" in before["state"] and "alert" not in after["state"]:
        lost.append("the alert")
    return sorted(lost)


def compare(session):
    report = reports[session["id"]]
    before, after = session["before"], read(session)
    outcome, lost = report["outcome"], losses(before, after)
    details = report["details"].replace(" (there is no such coordinator)", "")
    details = details.replace(", whose button sends “cancelBooking”", "")
    reported = details.split(", ") if outcome == "reduced" else []
    assert lost == sorted(reported), (session["screen"], lost, report)
    assert outcome == ("reduced" if session["screen"] in ["offers", "Cancel this booking?"] else "migrated"), report

    old, new = before["state"], after["state"]
    assert new["session"]["version"] == old["session"]["version"] + 1, (session["screen"], old, new)
    newest = request("GET", f"{session['path']}/history?limit=1", session["token"])["history"][0]
    assert newest["event"] == "migrate", newest
    if outcome == "migrated":
        assert new["visible"]["key"] == old["visible"]["key"] and new.get("alert") == old.get("alert"), (old, new)
        renamed = {key: {"detail": "film"}.get(name, name) for key, name in all_screens(old).items()}
        assert all_screens(new) == renamed, (old, new)

    answer = post(session, *session["following"])
    assert shown(answer) == session["after"], (session["screen"], answer)
    session["continued"] = read(session)
    return session


def refused(session):
    problem = request("GET", session["path"], session["token"], expected=[503])
    assert problem["type"].endswith(":newer-app"), problem
    problem = request("POST", f"{session['path']}/events", session["token"], {"type": "relaunch"}, expected=[503])
    assert problem["type"].endswith(":newer-app"), problem
    return session


def continued(session):
    state = read(session)
    assert state == session["continued"], (session["screen"], state)
    # In `check`, each of them is restored: nothing about it changes.
    assert reports[session["id"]]["outcome"] == "restored", reports[session["id"]]
    alert = state["state"].get("alert")
    answer = post(session, "answer", {"button": alert["buttons"][-1]["id"]}) if alert else post(session, "relaunch")
    assert answer["session"]["version"] == state["state"]["session"]["version"] + 1, answer
    return session


reports = {}
if len(sys.argv) > 4:
    for line in open(sys.argv[4]):
        report = json.loads(line)
        if "session" in report:
            reports[report["session"]] = report

if step == "open":
    take_seat()
    work, sessions = open_session, range(COUNT)
else:
    work, sessions = {"compare": compare, "refused": refused, "continued": continued}[step], json.load(open(file))

with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
    sessions = list(pool.map(work, sessions))
assert len(sessions) == COUNT and len({session["id"] for session in sessions}) == COUNT
json.dump(sessions, open(file, "w"))

if step == "open":
    counts = collections.Counter(session["screen"] for session in sessions)
    print(f"{len(sessions)} sessions of version 1: " + ", ".join(f"{n} at “{name}”" for name, n in counts.items()))
elif step == "compare":
    counts = collections.Counter(reports[session["id"]]["outcome"] for session in sessions)
    print("version 2 did what check had reported: " + ", ".join(f"{n} {name}" for name, n in counts.items()))
elif step == "refused":
    print(f"version 1 again: {len(sessions)} of {COUNT} sessions wait for version 2 (503 newer-app)")
else:
    print(f"version 2 again: {len(sessions)} of {COUNT} sessions were unchanged, and continue")
