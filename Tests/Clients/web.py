"""Walks through every app with Examples/web, and through what can go wrong.

python web.py ORIGIN SERVER [images]
"""

import json
import os
import sys
import time
import urllib.request
from pathlib import Path

from browser import Page
from selenium.webdriver.common.keys import Keys

origin, server = sys.argv[1:3]
page = Page(origin, server)
screenshots = os.environ.get("WEB_SCREENSHOTS")
images = Path(__file__).parents[2] / "docs/images"
pictured = ["shop-product", "shop-sign-in", "shop-alert", "shop-receipt"]


def shot(name):
    """A moment that is worth a look, in several sizes; with `images`, as the documentation shows it."""
    if "images" in sys.argv:
        if name in pictured:
            page.driver.save_screenshot(str(images / f"{name}.png"))
    elif screenshots:
        for width, height, scheme in [(360, 740, "light"), (360, 740, "dark"), (768, 1024, "light"),
                                      (1600, 1000, "light"), (1600, 1000, "dark")]:
            page.size(width, height)
            page.prefer(scheme)
            page.driver.save_screenshot(f"{screenshots}/{name}-{width}-{scheme}.png")
        page.size(360, 740)
        page.prefer()


def call(method, path, token, body=None):
    """What another client of the same session does."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(server + path, data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or "null")


def post_elsewhere(body):
    saved = page.saved()
    return call("POST", f"/v1/sessions/{saved['id']}/events", saved["token"], body)


def tabs():
    page.open("tabs", "로그인")
    shot("tabs-login")
    page.click("로그인")
    page.shows("Home")
    page.tab("Home")
    shot("tabs-home")
    page.click("Home", "main")
    page.tab("Plus")
    page.click("Push", "main")
    page.tab("MyPage")
    page.click("Home", ".tabbar")
    page.tab("Home")
    page.click("MyPage", ".tabbar")
    page.click("MyPage", "main")
    page.shows("로그인")
    page.click("로그인")
    page.click("Menu")
    shot("tabs-menu")
    page.click("Relaunch", ".menu")
    page.tab("Home")


def login_home(app):
    page.open(app, "Login")
    page.click("로그인")
    page.shows("Home", back="Login")
    page.click("Back to Login")
    page.shows("Login")
    page.click("로그인")
    page.click("로그아웃")
    page.shows("Login")


def list_detail():
    page.open("list-detail", "Items")
    shot("list-detail-items")
    page.fill("Id", "99")
    page.click("Select")
    page.alert("Not found")
    page.click("OK")
    # A row of the list leads to its item.
    page.until("no second row", lambda: page.driver.find_elements("css selector", "main button.row")[1].click() or True)
    page.until("not at the item", lambda: page.count("button.back") == 1)
    page.click("Edit")
    page.shows("Edit")
    assert page.count(".sheet") == 1
    shot("list-detail-edit")
    # What looks like markup stays text, in titles and in parameters.
    hostile = "<img src=x onerror=alert(1)><b>New</b>"
    page.fill("Title", hostile)
    page.click("Save")
    page.shows(hostile, back="Items")
    shot("list-detail-hostile")
    page.click("Edit")
    page.click("Close")
    page.until("the sheet is still there", lambda: page.count(".sheet") == 0)
    page.shows(hostile, back="Items")
    page.escape()
    page.shows("Items")
    page.row(hostile, "2")
    assert page.count("img, b > b, main b") == 0, "a title was read as HTML"


def main():
    page.open("main", "A")
    page.click("Button 01 tapped")
    assert page.fault("Button 01 tapped")
    shot("main-fault")
    page.fill("Button 01 tapped", "3")
    page.press(Keys.ENTER)
    page.shows("C", back="A")
    page.row("Number", "3")
    page.fill("Button 02 tapped", "hello")
    page.click("Button 02 tapped")
    page.shows("F", back="C")
    page.row("Text", "hello")
    page.click("Menu")
    page.click("Back to root", ".menu")
    page.shows("A")


def clean_login():
    page.open("clean-login", "Login")
    page.fill("E-mail", "ann@example.com")
    page.fill("Password", "wrong")
    page.click("Login")
    page.alert("Error", "Fail To Login")
    page.click("OK")
    assert page.field("E-mail").get_property("value") == "ann@example.com"
    assert page.field("Password").get_property("value") == ""
    assert page.field("Password").get_property("type") == "password"
    page.fill("Password", "correct horse")
    page.click("Login")
    page.shows("Main")
    page.click("Logout")
    page.shows("Login")


def shop():
    page.open("shop", "Home")
    page.tab("Home")
    # Goods are cards that lead to their page, which has the price, and the session has not.
    page.click("Walnut desk lamp", "main")
    page.shows("Product 42", back="Home")
    page.until("no price", lambda: "€53" in page.text() and page.count(".goods .picture"))
    page.click("Back to Home")
    page.shows("Home")
    assert page.count(".shelf button") == 8
    shot("shop-home")
    page.click("Product")
    assert page.fault("Id")
    page.fill("Id", "42")
    page.click("Product")
    page.shows("Product 42", back="Home")
    shot("shop-product")
    page.click("Add to cart")
    page.click("Cart", ".tabbar")
    page.shows("Cart")
    page.row("Walnut desk lamp", "€53")
    page.row("Total", "€53")
    shot("shop-cart")
    page.click("Checkout")
    page.shows("Sign in")
    assert page.count(".sheet") == 1
    shot("shop-sign-in")
    page.fill("E-mail", "ann@example.com")
    page.fill("Password", "wrong")
    page.click("Sign in", "form")
    page.alert("Error", "Fail To Login")
    shot("shop-alert")
    page.escape()
    page.fill("Password", "correct horse")
    page.click("Sign in", "form")
    page.shows("Address")
    page.until("the sheet is still there", lambda: page.count(".sheet") == 0)
    assert page.count(".fullScreen") == 1
    shot("shop-address")
    assert page.button("Walnut desk lamp", "main"), "an item can be looked at again"
    # Every field has its own fault.
    page.click("Submit address")
    assert page.fault("Street", "form.card") == "Must not be empty."
    assert page.count(".fault") == 2
    shot("shop-faults")
    page.fill("Street", "Main", "form.short")
    page.click("Keep as a draft")
    page.click("Close")
    page.alert("Discard your input?")
    shot("shop-discard")
    page.click("Cancel", ".alert")
    page.fill("Street", "1 Main Street", "form.card")
    page.fill("City", "Springfield")
    page.click("Submit address")
    page.shows("Payment", back="Address")
    # The form comes back filled, and the app refuses a value in its own words.
    page.click("Back to Address")
    page.shows("Address")
    assert page.field("Street", "form.card").get_property("value") == "1 Main Street"
    page.fill("City", "Atlantis")
    page.click("Submit address")
    assert page.fault("City", "form.card") == "We do not deliver to Atlantis."
    shot("shop-refused")
    page.fill("City", "Springfield")
    page.click("Submit address")
    page.shows("Payment", back="Address")
    page.click("Read terms")
    page.shows("Terms of sale")
    assert "within 14 days" in page.text()
    shot("shop-terms")
    page.click("Close")
    page.shows("Payment", back="Address")
    page.fill("Card number", "4242 4242 4242 4242")
    shot("shop-payment")
    page.click("Pay now")
    page.shows("Receipt")
    page.row("Walnut desk lamp", "€53")
    assert page.button("Close", "") is None, "a receipt cannot be left but with “Done”"
    shot("shop-receipt")
    page.click("Done")
    page.shows("Cart")
    assert "None" in page.text()
    # The tab has come with the order, and goes with the user.
    page.click("Orders", ".tabbar")
    page.row("1 item", "1 Main Street")
    shot("shop-orders")
    page.click("Search", ".tabbar")
    page.fill("Product", "product 4")
    page.click("Search", "form")
    page.until("nothing is found", lambda: page.button("Walnut desk lamp", "main"))
    shot("shop-search")
    page.click("Walnut desk lamp", "main")
    page.shows("Product 42", back="Home")
    page.click("Menu")
    page.click("Sign out", ".menu")
    page.tab("Home")
    page.until("the tab stays", lambda: page.button("Orders", ".tabbar") is None)


def kiosk():
    page.open("kiosk", "Check in here")
    page.click("Begin")
    page.shows("Your booking", back="Check in here")
    page.fill("Booking code", "ABC123")
    page.click("Look up")
    # The airline takes its time; the screen follows by itself.
    page.shows("Who checks in?", back="Your booking")
    page.until("Ann is not chosen", lambda: page.pressed("Ann Smith") == "true")
    page.click("Ann Smith")
    page.until("Ann is still chosen", lambda: page.pressed("Ann Smith") == "false")
    shot("kiosk-passengers")
    page.click("Ann Smith")
    page.until("Ann is not chosen again", lambda: page.pressed("Ann Smith") == "true")
    page.click("Next")
    page.shows("Your seats", back="Who checks in?")
    # The free seats are the screen's content, which is another one once a seat is held.
    page.until("no seats are shown", lambda: "12A" in page.text() and "14F" in page.text())
    shot("kiosk-free-seats")
    page.fill("Seat", "12A")
    page.click("Choose")
    page.until("no seat is held", lambda: "Held until" in page.text())
    page.until("the seat is still free", lambda: page.text().count("12A") == 1)
    shot("kiosk-seats")
    page.escape()
    page.alert("Give up your seat?")
    page.click("Give it up", ".alert")
    page.shows("Who checks in?", back="Your booking")


def numbers():
    page.open("numbers", "Number")
    shot("numbers")
    page.fill("Sheet", "4")
    page.click("Sheet")
    page.row("Value", "4")
    page.fill("Cover", "5")
    page.click("Cover")
    page.row("Value", "5")
    shot("numbers-cover")
    page.fill("Push", "6")
    page.click("Push")
    page.shows("Number", back="Number")
    page.row("Value", "6")
    page.fill("Set stack 1", "1")
    page.click("Add")
    page.fill("Set stack 2", "2")
    page.click("Set stack")
    page.row("Value", "2")
    page.fill("Alert", "<script>alert(1)</script>")
    page.click("Alert")
    page.alert("<script>alert(1)</script>")
    shot("numbers-alert")
    page.click("OK")
    page.click("Fail")
    page.note("The app has failed; nothing has changed.")
    shot("numbers-failed")
    for _ in range(3):
        page.escape()
        page.until("nothing in front", lambda: page.button("Menu", ""))
    page.row("Value", "0")


def moves():
    """A flow that moves keeps its screens, and what leaves its old place takes nothing along."""
    page.prefer(motion="no-preference")
    page.open("numbers", "Number")
    page.fill("Push flow", "6")
    page.click("Push flow")
    page.row("Value", "6")
    for event, sheets in [("To sheet", 1), ("To stack", 0), ("To sheet", 1)]:
        page.click(event)
        page.until(f"not {sheets} sheets", lambda: page.count(".sheet:not([inert])") == sheets)
        page.until("it still moves", lambda: not page.run("return document.getAnimations().length"))
        page.row("Value", "6")
        shot(f"moved-{sheets}")
    page.fill("Deliver", "8")
    page.click("Deliver")
    page.click("Close")
    page.until("the sheet is still there", lambda: page.count(".sheet") == 0)
    page.row("Value", "8")
    page.prefer()


def forms():
    """What no app has: every kind of field, a fault within a list, and a sheet that cannot be dismissed."""
    address = {"type": "object", "properties": {"street": {"type": "string", "minLength": 1}}, "required": ["street"]}
    amount = {"type": "integer", "minimum": 0}
    schema = {"type": "object", "required": ["name", "size", "lines", "gift", "stock", "notes"], "properties": {
        "name": {"type": "string", "title": "Your name", "description": "As on the card."},
        "amount": {"type": "number", "minimum": 0}, "size": {"type": "string", "enum": ["small", "extraLarge"]},
        "gift": {"type": "boolean"}, "news": {"type": ["boolean", "null"]}, "day": {"type": "string", "format": "date"},
        "stock": {"type": "object", "propertyNames": {"enum": ["small", "large"]}, "additionalProperties": amount},
        "notes": {"type": "object", "additionalProperties": {"type": "string"}},
        "home": address, "lines": {"type": "array", "items": address}, "other": {},
        # What the form begins with.
        "from": {"type": "object", "properties": {"city": {"type": "string"}}, "default": {"city": "Rome"}},
        "times": {"type": "integer", "default": 3}, "isFast": {"type": "boolean", "default": True},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "blue"},
        "tags": {"type": "array", "items": {"type": "string"}, "default": ["a", "b"]},
        "letter": {"type": "string", "default": "Dear Ann,\nall is well."}}}
    screen = {"key": "k9", "name": "order", "title": "Order", "coordinator": "number", "params": {
        "sender": {"first": "Ann", "isNew": True}, "note": "A text that is so long that it has a line of its own"}}
    flow = {"key": "p8", "style": "sheet", "detent": "large", "isDismissable": False, "stack": [screen]}
    change = {"presented": [flow], "visible": screen, "events": ["order", "remove"], "controls": [
        {"type": "order", "title": "Order", "coordinator": "number", "role": "primary", "place": "screen",
         "schema": schema, "example": {"name": "Ann"}},
        {"type": "remove", "title": "Remove", "coordinator": "number", "role": "destructive", "place": "screen"}]}
    page.open("numbers", "Number")
    page.answer(1, f"""const state = {{...await (await real()).json(), ...{json.dumps(change)}}};
        delete state.back;
        state.session.version = 99; // The stream has nothing newer.
        return Response.json(state)""")
    page.fill("Update", "1")
    page.click("Update")
    page.shows("Order")
    page.row("Is new", "Yes")
    assert page.button("Close", "") is None and page.count(".grip") == 0 and page.count(".large") == 1
    assert page.field("Your name").get_property("placeholder") == "Ann"
    page.fill("Your name", "Ben")
    page.fill("Amount (optional)", "2.5")
    page.field("Size").send_keys("e")
    page.field("Gift").click()
    page.fill("Street (optional)", "Main")
    page.fill("Small (optional)", "18446744073709551615")
    page.fill("Notes", '{"a": "b"}')
    page.fill("Street", "First", ".items")
    page.click("Add", "[data-pointer='/payload/lines']")
    shot("form")
    fault = {"pointer": "/payload/lines/1/street", "code": "minLength", "detail": "Must not be empty."}
    problem = {"type": "urn:coordinatord:problem:invalid-event", "errors": [fault]}
    page.answer(1, f"return Response.json({json.dumps(problem)}, {{status: 422}})")
    page.click("Order", "form")
    page.until("no fault at the second line", lambda: page.run("""
        const input = document.activeElement;
        return input.ariaInvalid === 'true' && input === document.querySelectorAll('.sheet .items input')[1]"""))
    assert json.loads(page.run("return window.bodies.at(-1)"))["payload"] == {
        "name": "Ben", "amount": 2.5, "size": "extraLarge", "gift": True, "home": {"street": "Main"},
        "lines": [{"street": "First"}, {"street": ""}], "stock": {"small": 18446744073709551615}, "notes": {"a": "b"},
        "from": {"city": "Rome"}, "times": 3, "isFast": True, "color": "blue", "tags": ["a", "b"],
        "letter": "Dear Ann,\nall is well."}


def rows():
    """What no app has: rows with details, of every role, disabled, or only text, and buttons that carry a payload."""
    screen = {"key": "k9", "name": "library", "title": "Library", "coordinator": "number", "rows": [
        {"title": "A Pattern Language", "detail": "Alexander", "type": "show", "payload": {"id": 7}},
        {"title": "A title that is so long that it needs more than a line of its own", "detail": "Two authors, together",
         "type": "show", "payload": {"id": 8}, "role": "navigation"},
        {"title": "Lent", "detail": "until Friday", "type": "show", "payload": {"id": 9}, "isEnabled": False},
        {"title": "With pictures", "isSelected": True, "type": "filter", "payload": "pictures", "role": "secondary"},
        {"title": "In Korean", "isSelected": False, "type": "filter", "payload": "ko", "role": "secondary"},
        {"title": "Give all back", "type": "clear", "role": "destructive"}, {"title": "Together", "detail": "3 books"}]}
    change = {"stack": [screen], "visible": screen, "events": ["show", "filter", "clear", "sort"], "controls": [
        {"type": "sort", "payload": {"by": by}, "title": f"By {by}", "coordinator": "number", "role": role,
         "place": "screen"} for by, role in [("title", "primary"), ("author", "secondary")]]}
    page.open("numbers", "Number")
    page.answer(9, f"""window.first ??= await (await real()).json();
        const state = {{...window.first, ...{json.dumps(change)}}};
        delete state.back;
        window.first.session.version += 99; // The stream has nothing newer.
        return Response.json(state)""")
    page.fill("Update", "1")
    page.click("Update")
    page.shows("Library")
    shot("rows")
    assert page.pressed("With pictures") == "true" and page.pressed("In Korean") == "false"
    assert page.run("return [...document.querySelectorAll('main .row')].map(row => row.disabled ?? row.tagName)") == [
        False, False, True, False, False, False, "DIV"]
    for title, posted in [("A Pattern Language", {"type": "show", "payload": {"id": 7}}),
                          ("Give all back", {"type": "clear"}),
                          ("By author", {"type": "sort", "payload": {"by": "author"}})]:
        page.click(title, "main")
        page.until(f"“{title}” posts something else", lambda: json.loads(
            page.run("return window.bodies.at(-1)")) == {**posted, "screen": "k9"})


def long_numbers():
    """Numbers that JavaScript would round, typed in a form and posted from a list, also where JSON has no `rawJSON`."""
    number, price = 9007199254740993, "0.12345678901234567891"
    control = {"type": "push", "title": "Show", "coordinator": "number", "role": "input", "place": "screen", "schema": {
        "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}
    for prepare in ("", "delete JSON.rawJSON"):
        page.open("numbers", "Number")
        page.run(prepare)
        page.fill("Push", str(number))
        page.click("Push")
        page.row("Value", str(number))
        saved = page.saved()
        state = call("GET", f"/v1/sessions/{saved['id']}?include=controls", saved["token"])
        assert state["visible"]["params"]["value"] == number, state["visible"]
        state["session"]["version"] = 99  # The stream has nothing newer.
        screen = {"key": "k9", "name": "list", "coordinator": "number", "params": {
            "price": "PRICE", "products": [{"id": number, "title": "Bolt"}]}}
        state.update(stack=[screen], visible=screen, controls=[control])
        text = json.dumps(state).replace('"PRICE"', price)
        page.answer(1, f"return new Response({json.dumps(text)})")
        page.fill("Push", "1")
        page.click("Push")
        page.row("Price", price)
        page.run("[...document.querySelectorAll('main button.row')].at(-1).click()")
        page.until("the row posts another id", lambda: f'"payload":{{"id":{number}}}' in page.run(
            "return window.bodies.at(-1)"))


def problems():
    # The answer is lost: the page repeats the event with its key, and it is applied once.
    page.open("numbers", "Number")
    page.answer(None, "await real(); throw new TypeError('the connection is lost')")
    page.fill("Push", "1")
    page.click("Push")
    page.note("No connection to the server.")
    shot("problem-offline")
    page.run("addEventListener('click', window.answerAgain, { once: true, capture: true })")
    page.click("Try now", "#note")
    page.row("Value", "1")
    keys = page.run("return window.keys")
    assert len(keys) >= 2 and len(set(keys)) == 1, keys
    page.click("Back to Number")
    page.shows("Number")
    page.row("Value", "0")

    # Too fast, and not now: the page waits, and tries again.
    for status, name, words in [(429, "too-many-events", "That was too fast."), (503, "not-applied", "The server is busy.")]:
        problem = json.dumps({"type": f"urn:coordinatord:problem:{name}"})
        page.answer(None, f"return Response.json({problem}, {{status: {status}, headers: {{'Retry-After': '1'}}}})")
        page.fill("Update", str(status))
        page.click("Update")
        page.note(words)
        page.answer_again()
        page.row("Value", str(status))

    # An answer that is older than what is drawn is not drawn.
    page.answer(1, """const first = await (await real()).json();
        first.session.version = 1; first.visible.title = first.stack[0].title = 'Old';
        return Response.json(first)""")
    page.fill("Update", "8")
    page.click("Update")
    page.row("Value", "8")
    page.shows("Number")

    # Another client is faster: the page draws the state that came with the refusal.
    saved = page.saved()
    page.answer(1, f"""await fetch("{server}/v1/sessions/{saved["id"]}/events", {{method: "POST",
            headers: {{Authorization: "Bearer {saved["token"]}", "Content-Type": "application/json"}},
            body: JSON.stringify({{type: "push", payload: 9}})}});
        return real()""")
    page.fill("Push", "2")
    page.click("Push")
    page.note("The app has moved on.")
    page.row("Value", "9")
    shot("problem-stale")

    # What another client does is drawn at once.
    post_elsewhere({"type": "update", "payload": 10})
    page.row("Value", "10")
    call("DELETE", f"/v1/sessions/{saved['id']}", saved["token"])
    page.alert("This session has ended", "A new one begins at the start.")
    shot("problem-ended")
    page.click("Start again")
    page.row("Value", "0")

    page.run("Object.keys(sessionStorage).forEach(key => sessionStorage.setItem(key, "
             "JSON.stringify({id: JSON.parse(sessionStorage[key]).id, token: 'x'.repeat(43)})))")
    page.driver.refresh()
    page.alert("This session is not yours any more", "A new one begins at the start.")
    page.click("Start again")
    page.row("Value", "0")

    # A reload goes on where the session is.
    page.fill("Push", "3")
    page.click("Push")
    page.row("Value", "3")
    page.driver.refresh()
    page.row("Value", "3")

    page.driver.get(f"{origin}/index.html?server={server}&app=nothing")
    page.alert("There is no such app", "Choose one that the server has.")
    shot("problem-app")
    page.click("main")
    page.shows("A")


def addresses():
    """The address is that of the screen, and the browser's back and forward do what users expect."""
    page.open("shop", "Home")
    page.address("", 1)
    page.fill("Id", "42")
    page.click("Product")
    page.shows("Product 42", back="Home")
    page.address("#/products/42", 2)
    page.click("Add to cart")
    page.click("Cart", ".tabbar")
    page.address("#/cart", 3)
    page.driver.back()
    page.shows("Product 42", back="Home")
    page.address("#/products/42", 2)
    page.driver.back()
    page.shows("Home")
    # What has gone can be opened again, if it has a link.
    page.driver.forward()
    page.shows("Product 42", back="Home")
    page.address("#/products/42", 2)
    # The page's own back button goes back in the history, too.
    page.click("Back to Home")
    page.shows("Home")
    page.address("", 1)
    page.driver.forward()
    page.shows("Product 42", back="Home")
    page.click("Cart", ".tabbar")
    page.click("Checkout")
    page.shows("Sign in")
    page.driver.back()
    page.address("#/cart", 3)
    page.until("the sheet is still there", lambda: page.count(".sheet") == 0)
    page.click("Checkout")
    page.fill("E-mail", "ann@example.com")
    page.fill("Password", "correct horse")
    page.click("Sign in", "form")
    page.fill("Street", "Main", "form.short")
    page.click("Keep as a draft")
    # The app asks before the address is left: the history stays where the screen is.
    page.driver.back()
    page.alert("Discard your input?")
    page.address("", 4)
    page.click("Discard", ".alert")
    page.shows("Cart")
    page.address("#/cart", 3)
    page.click("Checkout")
    page.fill("Street", "1 Main Street", "form.card")
    page.fill("City", "Springfield")
    page.click("Submit address")
    page.fill("Card number", "4242 4242 4242 4242")
    page.click("Pay now")
    page.shows("Receipt")
    # A receipt cannot be left backwards. That is said once; it is no trap.
    page.driver.back()
    page.note("There is nothing to go back to.")
    page.address("", 4)
    page.driver.back()
    page.address("", 3)
    page.driver.refresh()
    page.shows("Receipt")
    page.address("", 3)
    page.click("Done")
    page.address("#/cart", 3)
    # An address that the user types, or comes from elsewhere, is opened in the session; a reload stays.
    page.run("location.hash = '/products/7'")
    page.shows("Product 7", back="Home")
    page.address("#/products/7", 4)
    session = page.saved()["id"]
    page.run("addEventListener('unload', () => {})")  # So that the browser does not keep the page.
    page.driver.get(f"{origin}/none")
    post_elsewhere({"type": "selectTab", "payload": {"tab": "search"}})
    page.driver.back()
    page.shows("Search")
    time.sleep(0.3)
    page.shows("Search")
    page.driver.get(f"{origin}/none")
    page.driver.get(f"{origin}/index.html?server={server}&app=shop#/cart")
    page.shows("Cart")
    assert page.saved()["id"] == session
    page.driver.get(f"{origin}/none")
    page.run("sessionStorage.clear()")
    page.driver.get(f"{origin}/index.html?server={server}&app=shop#/products/8")
    page.shows("Product 8", back="Home")
    page.address("#/products/8", 1)
    assert page.saved()["id"] != session
    # The step back from the first screen leaves the page, and a step forward finds it again.
    page.driver.back()
    page.until("the page is still there", lambda: page.run("return location.pathname") == "/none")
    page.driver.forward()
    page.shows("Product 8", back="Home")


def copies():
    """A tab that is duplicated goes on as a second view of the session, and learns of a new token."""
    page.open("clean-login", "Login")
    page.answer(1, "await real(); window.isCarriedOut = true; return new Promise(() => {})")
    page.fill("E-mail", "ann@example.com")
    page.fill("Password", "wrong")
    page.click("Login")
    page.until("not carried out", lambda: page.run("return window.isCarriedOut"))
    original, here = page.saved(), page.driver.current_window_handle
    assert original["tap"] == page.run("return window.keys[0]")
    page.run("window.open(location.href)")
    there = next(handle for handle in page.driver.window_handles if handle != here)
    page.driver.switch_to.window(there)
    page.alert("Error", "Fail To Login")
    copy = page.saved()
    assert copy["id"] == original["id"] and copy["tab"] != original["tab"] and "tap" not in copy, (original, copy)
    asked = "return performance.getEntriesByType('resource').filter(({ name }) => name.includes('/outcomes/')).length"
    assert page.run(asked) == 0, "the copy has asked for the outcome of the original's event"
    page.click("OK")
    page.fill("E-mail", "ann@example.com")
    page.fill("Password", "correct horse")
    page.click("Login")
    page.shows("Main")
    assert page.saved()["token"] != original["token"]
    page.driver.switch_to.window(here)
    page.driver.refresh()
    page.shows("Main")
    renewed = page.saved()
    assert renewed["tab"] == original["tab"], "a reload has made another tab of this one"
    page.click("Logout")
    page.shows("Login")
    page.driver.switch_to.window(there)
    page.shows("Login")
    page.driver.refresh()
    page.shows("Login")
    page.driver.close()
    page.driver.switch_to.window(here)
    assert page.saved()["token"] not in (original["token"], renewed["token"])


def devices():
    """Two windows with one session: a customer who reads English, and an agent who reads German and may do other things."""
    page.open("shop", "Home")
    here, saved = page.driver.current_window_handle, page.saved()
    code = call("POST", f"/v1/sessions/{saved['id']}/pairings", saved["token"], {"role": "agent"})["code"]
    address = page.run("return location.href.split('#')[0]")
    page.driver.switch_to.new_window("window")
    page.size(360, 740)
    page.driver.get(f"{address}&code={code}&locale=de")
    page.shows("Start")
    assert "code" not in page.driver.current_url, page.driver.current_url
    page.click("Warenkorb", ".tabbar")
    page.shows("Warenkorb")
    page.driver.switch_to.window(here)
    page.shows("Cart")
    page.click("Home", ".tabbar")
    page.shows("Home")
    page.driver.switch_to.window(next(handle for handle in page.driver.window_handles if handle != here))
    page.shows("Start")
    page.driver.refresh()
    page.shows("Start")
    # A code that is wrong costs nothing.
    page.driver.get(f"{address}&code=00000000&locale=de")
    page.alert("No such pairing code",
               "The code is wrong, was used, or has expired. Ask for another one on the first device.")
    page.click("Go on without the code")
    page.shows("Start")
    assert "code" not in page.driver.current_url, page.driver.current_url
    page.click("Menu")
    page.click("Leave", ".menu")
    page.alert("This device has left the session", "A new one begins at the start.")
    page.driver.close()
    page.driver.switch_to.window(here)


def motion():
    """Screens move unless the user prefers otherwise; keys are enough."""
    page.open("main", "A")
    page.run("""window.animated = [];
        const animate = Element.prototype.animate;
        Element.prototype.animate = function (frames, options) {
            window.animated.push([frames[0].transform, options.duration]);
            return animate.call(this, frames, options);
        }""")
    page.field("Button 01 tapped").send_keys("2", Keys.TAB, Keys.ENTER)
    page.shows("B", back="A")
    assert all(duration == 0 for _, duration in page.run("return window.animated"))
    page.prefer(motion="no-preference")
    page.escape()
    page.shows("A")
    page.field("Button 01 tapped").send_keys("2", Keys.ENTER)
    page.shows("B", back="A")
    moves = page.run("return window.animated")
    assert ["translateX(-25%)", 180] in moves and ["translateX(100%)", 180] in moves, moves
    page.until("a screen stays behind", lambda: page.count(".screen") == 1)
    page.prefer()


def widths():
    """Nothing is cut off, from 320 px on."""
    page.open("numbers", "Number")
    for width in (320, 360, 768, 1040, 1600):
        page.size(width, 800)
        wide = page.run("""return [...document.querySelectorAll('html, main, .card, form')]
            .filter(element => element.scrollWidth > element.clientWidth)
            .map(element => element.outerHTML.slice(0, 80))""")
        assert not wide, f"too wide at {width}: {wide}"
    page.size(360, 740)


walks = [shop] if "images" in sys.argv else [
    tabs, lambda: login_home("login-home"), lambda: login_home("login-home-delegate"), list_detail, main, clean_login,
    shop, numbers, kiosk, moves, forms, rows, long_numbers, problems, addresses, copies,
    devices, motion, widths]
if "images" in sys.argv:
    page.size(360, 640, scale=2)
try:
    started = time.monotonic()
    for walk in walks:
        walk()
    errors = page.errors()
    assert not errors, errors
    print(f"the web page draws every app ({time.monotonic() - started:.0f} s)")
finally:
    page.driver.quit()
