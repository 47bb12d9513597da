"""Walks through apps with the client that openapi-python-client generates: nothing of an answer may be lost.

python walk.py URL DESCRIPTION ANSWERS

Writes every answer into ANSWERS, with the name of its schema, for the tests of other clients.
"""

import json
import re
import sys
import time

import yaml
from coordinatord_client import AuthenticatedClient, Client, models
from coordinatord_client.api.apps import get_app, list_apps
from coordinatord_client.api.sessions import (
    create_session,
    end_session,
    get_coordinators,
    get_history,
    get_outcome,
    get_screen_content,
    get_session,
    get_version,
    post_event,
    withdraw_key,
)
from coordinatord_client.types import UNSET

url, description, recorded = sys.argv[1:]
answers = []
password = {"email": "ann@example.com", "password": "correct horse"}


def check_kept(answer):
    """Nothing of an answer is lost in the generated type."""
    # The client writes times with another name of the same zone.
    sent = json.loads(re.sub(r'(\d\d:\d\d:\d\d)Z"', r'\1+00:00"', answer.content.decode()))
    read = answer.parsed.to_dict()
    assert read == sent, f"{sent} was read as {read}"
    # Any object is the content of a screen: other generators make no type for it.
    if not isinstance(answer.parsed, models.ScreenContent):
        answers.append({"schema": type(answer.parsed).__name__, "body": json.loads(answer.content)})
    return answer.parsed


class Session:
    def __init__(self, app):
        info = models.ClientInfo(locale="en-GB", platform="test")
        body = models.NewSession(app=app, client=info)
        created = check_kept(create_session.sync_detailed(client=Client(url), body=body, include=models.CreateSessionInclude.CONTROLS))
        assert [control.type_ for control in created.controls] == created.events
        assert created.token and created.transition
        self.id, self.state = created.session.id, created
        self.client = AuthenticatedClient(url, token=created.token)

    def post(self, type_, payload=UNSET):
        event = models.NavigationEvent(type_=type_, payload=payload)
        answer = check_kept(post_event.sync_detailed(self.id, client=self.client, body=event, include=models.PostEventInclude.CONTROLS))
        if isinstance(answer, models.NavigationState):
            assert answer.transition
            self.state = answer
            if answer.token:
                self.client = AuthenticatedClient(url, token=answer.token)
        return answer

    def expect(self, *names):
        flows = self.state.presented or []
        stack = flows[-1].stack if flows else self.state.stack
        assert [screen.name for screen in stack] == list(names), self.state

    def wait_for(self, name):
        """Waits for the effects under way to lead to a screen."""
        end = time.monotonic() + 600
        while self.state.visible.name != name:
            assert time.monotonic() < end, self.state
            time.sleep(0.05)
            self.state = check_kept(get_session.sync_detailed(self.id, client=self.client))

    def end(self):
        assert end_session.sync_detailed(self.id, client=self.client).status_code == 204
        gone = check_kept(get_session.sync_detailed(self.id, client=self.client))
        assert isinstance(gone, models.Problem) and gone.type_.endswith(":session-ended")


tabs = Session("tabs")
tabs.expect("login")
posted = tabs.post("login")
assert [operation.op for operation in posted.transition.operations[:2]] == ["pop", "push"]
assert posted.transition.operations[2].stack == "k2/home"
tabs.post("selectTab", {"tab": "plus"})
assert tabs.state.stack[0].tabs.selected == "plus"
problem = tabs.post("selectTab", {"index": 7})
assert isinstance(problem, models.Problem) and problem.pointer == "/payload/index"
assert [fault.pointer for fault in problem.errors] == ["/payload/index"]
assert tabs.post("login").state.visible.name == "plus"
check_kept(get_coordinators.sync_detailed(tabs.id, client=tabs.client))
history = check_kept(get_history.sync_detailed(tabs.id, client=tabs.client, limit=2))
assert [entry.version for entry in history.history] == [3, 2] and history.next_
check_kept(get_version.sync_detailed(tabs.id, 1, client=tabs.client))
relaunch = models.NavigationEvent(type_="relaunch")
carried_out = check_kept(post_event.sync_detailed(tabs.id, client=tabs.client, body=relaunch, idempotency_key="relaunched"))
assert check_kept(get_outcome.sync_detailed(tabs.id, "relaunched", client=tabs.client)) == carried_out
assert check_kept(withdraw_key.sync_detailed(tabs.id, "relaunched", client=tabs.client)) == carried_out
missing = check_kept(get_outcome.sync_detailed(tabs.id, "given-up", client=tabs.client))
assert missing.type_.endswith(":not-carried-out")
assert withdraw_key.sync_detailed(tabs.id, "given-up", client=tabs.client).status_code == 204
refused = check_kept(post_event.sync_detailed(tabs.id, client=tabs.client, body=relaunch, idempotency_key="given-up"))
assert refused.type_.endswith(":key-withdrawn")
tabs.end()

items = Session("list-detail")
items.post("select", {"id": 2})
detail = items.state.visible
assert detail.has_content
content = check_kept(get_screen_content.sync_detailed(items.id, detail.key, client=items.client))
assert content["letters"] == 4
missing = check_kept(get_screen_content.sync_detailed(items.id, "k99", client=items.client))
assert missing.type_.endswith(":unknown-screen")
items.end()

numbers = Session("numbers")
for event, effect in [("push", "pop"), ("sheet", "dismiss")]:
    # Its payload is a number without a name.
    numbers.post(event, 2)
    assert numbers.state.back.effect == effect, numbers.state
numbers.end()

shop = Session("shop")
for event in [("product", {"id": 1}), ("addToCart",), ("related", {"id": 2}), ("selectTab", {"tab": "cart"})]:
    assert isinstance(shop.post(*event), models.NavigationState), event
shop.post("checkout")
shop.expect("signIn")
shop.post("submit", password)
shop.expect("address")
problem = shop.post("submitAddress", {"street": ""})
assert [(fault.pointer, fault.code) for fault in problem.errors] == [
    ("/payload/street", "minLength"),
    ("/payload/city", "required"),
]
shop.post("type", "Main St")
assert shop.state.back.asks
shop.post("dismiss")
assert shop.state.alert and shop.state.back.effect == "dismissAlert"
shop.post("answer", {"button": "cancel"})
shop.post("submitAddress", {"street": "1 Main Street", "city": "Springfield"})
shop.expect("address", "payment")
shop.post("pay", {"card": "4242"})
shop.expect("address", "payment", "paying")
shop.wait_for("receipt")
assert shop.post("back").type_.endswith(":nothing-to-go-back")
shop.post("done")
shop.end()

check_kept(list_apps.sync_detailed(client=Client(url)))
for app in list_apps.sync(client=Client(url)).apps:
    check_kept(get_app.sync_detailed(app.name, client=Client(url)))

# An operation of a later version, and each that there is: one that a client does not know costs it nothing else.
with open(description) as file:
    schema = yaml.safe_load(file)["components"]["schemas"]["ScreenOperation"]["properties"]["op"]
operations = [{"op": op, "key": "k1", "stack": "main", "replaced": "k2", "style": "sheet", "tab": "plus"}
              for op in [*schema["examples"], "unheardOf"]]
transition = {"operations": operations, "finished": [], "dismissed": []}
assert models.StateTransition.from_dict(transition).to_dict() == transition
answers.append({"schema": "StateTransition", "body": transition})

with open(recorded, "w") as file:
    json.dump(answers, file)
print("the Python client walked tabs and shop")
