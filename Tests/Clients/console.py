"""Uses the console as a person does.

python console.py COORDINATORD ODDSERVER

The environment says more, see scripts/test-console.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from browser import LONG, Page
from relay import Relay
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

binary, odd = sys.argv[1:3]
work = Path(tempfile.mkdtemp(prefix="test-console-"))
screenshots, isPictured = os.environ.get("CONSOLE_SCREENSHOTS"), os.environ.get("CONSOLE_IMAGES")
images = Path(__file__).parents[2] / "docs/images"
operator = "operator-secret-of-tests"


class Server:
    """The server, which can be stopped and started again with what it has stored, then on another port."""

    def __init__(self, *options, port=0, binary=binary):
        self.first_port, self.options, self.binary = port, options, binary
        self.directory = Path(tempfile.mkdtemp(dir=work))
        self.start()

    def start(self):
        with open(self.directory / "log", "w") as log:
            self.process = subprocess.Popen([
                self.binary, "serve", "--port", str(self.first_port), "--development", "--data-directory", self.directory,
                "--store", f"sqlite:{self.directory}/store", *self.options], stdout=log, stderr=log)
        limit = time.monotonic() + LONG
        while not (found := re.search(r"listening on http://[^ ]*:(\d+)", text := (self.directory / "log").read_text())):
            assert self.process.poll() is None and time.monotonic() < limit, text
            time.sleep(0.02)
        self.port = int(found[1])

    def stop(self):
        self.process.terminate()
        self.process.wait(LONG)


class Console(Page):
    """A window with the console. What is clicked is named as a screen reader names it."""

    def __init__(self):
        super().__init__(base, base)
        self.size(1600, 1000)

    def go(self, path):
        self.driver.get(base + path)

    def text(self):
        return self.run("return document.body.innerText")

    def button(self, title, within="body"):
        return self.run("""
            const live = element => element.checkVisibility() && !element.closest('[inert]') && !element.disabled;
            const name = element => (element.getAttribute('aria-label') ?? element.innerText).trim().split(/[\\n,]/)[0];
            return [...document.querySelectorAll(arguments[1])]
                .flatMap(host => [...host.querySelectorAll('button, a, summary')])
                .find(element => live(element) && name(element) === arguments[0])""", title, within)

    def click(self, title, within=".phone"):
        return super().click(title, within)

    def field(self, label, within=".phone"):
        return self.until(f"no field “{label}”", lambda: self.run("""
            return [...document.querySelectorAll(`${arguments[1]} :is(input, select, textarea)`)]
                .filter(input => input.checkVisibility() && !input.closest('[inert]'))
                .find(input => (input.ariaLabel ?? input.closest('label')?.innerText.split('\\n')[0]) === arguments[0])
            """, label, within))

    def start(self, app):
        """Starts a session of an app, from the first page."""
        self.go("/console")
        self.click(f"Start {app}", "main")
        self.until("the session is not live", lambda: self.run("return !!document.querySelector('.status .live')"))
        return self.id()

    def id(self):
        return re.search(r"/console/sessions/(s_[\w-]{13})", self.driver.current_url)[1]

    def token(self, id=None):
        return json.loads(self.run("return sessionStorage.getItem(arguments[0])", f"console token {id or self.id()}"))

    def shows(self, title):
        """The title of the screen in front."""
        found = lambda: self.run("""
            return [...document.querySelectorAll('.left .phone .screen:not(.leaving)')]
                .at(-1)?.querySelector('h3').innerText""")
        self.until(lambda: f"not at “{title}”, but “{found()}”", lambda: found() == title)

    def alert(self, title):
        found = lambda: self.run("return document.querySelector('.left .phone [role=alertdialog] h3')?.innerText ?? null")
        self.until(lambda: f"no alert “{title}”, but {found()}", lambda: found() == title)

    def row(self, label, value):
        found = lambda: self.run("""return [...document.querySelectorAll('.phone .row')]
            .filter(row => !row.closest('.leaving, [inert]'))
            .map(row => [...row.children].map(part => part.innerText))""")
        self.until(lambda: f"no row “{label}: {value}”, but {found()}", lambda: [label, value] in found())

    def version(self, number):
        found = lambda: self.run("return document.querySelector('.status b')?.innerText ?? null")
        self.until(lambda: f"not version {number}, but {found()}", lambda: found() == f"v{number}")

    def says(self, words, within="body"):
        found = lambda: self.run("return document.querySelector(arguments[0])?.innerText ?? ''", within)
        self.until(lambda: f"no “{words}” in “{found()}”", lambda: words in found())

    def post(self, type, payload=None):
        """What another client of the same session does."""
        body = {"type": type} if payload is None else {"type": type, "payload": payload}
        return call("POST", f"/v1/sessions/{self.id()}/events", self.token(), body)

    def marked(self, selector):
        return self.run(
    "return [...document.querySelectorAll(arguments[0])].map(e => (e.innerText ?? e.textContent).trim())",
     selector)


def call(method, path, token=None, body=None, at=None):
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request((at or f"http://127.0.0.1:{server.port}") + path, data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or "null")


def shot(name, image=None, width=1440):
    """What is to be looked at: each state in three sizes, light and dark. `image` is a picture for docs."""
    if isPictured and image:
        page.size(width, width * 5 // 8)
        page.prefer(image)
        page.driver.save_screenshot(str(images / f"console-{name}.png"))
        page.prefer()
        page.size(1600, 1000)
    if not screenshots:
        return
    for width, height in [(360, 760), (900, 1100), (1600, 1000)]:
        for scheme in ("light", "dark"):
            page.size(width, height)
            page.prefer(scheme)
            page.driver.save_screenshot(f"{screenshots}/{name}-{width}-{scheme}.png")
            check(f"{name}, {width} px, {scheme}")
    page.size(1600, 1000)
    page.prefer()


ACCESSIBLE = """
const visible = element => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && !element.closest('[inert]');
const faults = [];
const name = element => (element.getAttribute('aria-label') ?? [...element.labels ?? []].map(label => label.innerText)
    .join(' ')    ?? '').trim() || element.innerText?.trim() || element.title;
for (const element of document.querySelectorAll('button, a[href], input, select, textarea, summary, [tabindex="0"]')) {
    if (visible(element) && !name(element)) faults.push(`no name: ${element.outerHTML.slice(0, 120)}`);
    if (element.tabIndex > 0) faults.push(`out of the order: ${element.outerHTML.slice(0, 120)}`);
    if (element.hasAttribute('style') && element.matches('[onclick]')) faults.push('a script in an attribute');
}
const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
if (new Set(ids).size < ids.length) faults.push(`an id twice: ${ids}`);
for (const selector of ['main', 'header.top', 'h1']) {
    if (document.querySelectorAll(selector).length !== 1) faults.push(`not one ${selector}`);
}
if (!document.title || !document.documentElement.lang) faults.push('no title or no language');
if (document.documentElement.scrollWidth > innerWidth) {
    const wide = [...document.querySelectorAll('body *')].filter(element =>
        element.getBoundingClientRect().right > innerWidth + 1
        && visible(element)).slice(0, 3).map(element => element.outerHTML.slice(0, 100));
    faults.push(`wider than the window: ${wide}`);
}
// Contrast: every visible text against what is painted behind it.
const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const parsed = new Map();
const parse = color => {
    if (!parsed.has(color)) {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        parsed.set(color, [r, g, b, a / 255]);
    }
    return parsed.get(color);
};
const over = ([r, g, b, a], [r2, g2, b2]) => [r * a + r2 * (1 - a), g * a + g2 * (1 - a), b * a + b2 * (1 - a), 1];
const behind = element => {
    const layers = [];
    for (let host = element; host; host = host.parentElement) {
        const style = getComputedStyle(host);
        const stops = style.backgroundImage.match(/rgba?\\([^)]*\\)|color\\([^)]*\\)/g) ?? [];
        layers.push(stops.length ? stops.map(parse) : [parse(style.backgroundColor)]);
        if (layers.at(-1).every(color => color[3] === 1)) break;
    }
    return layers.reverse().reduce((below, layer) => layer.flatMap(color => below.map(base => over(color, base))),
        [parse(getComputedStyle(document.documentElement).colorScheme.includes('dark')
            && matchMedia('(prefers-color-scheme: dark)').matches
            ? '#101216' : '#fff')]);
};
const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(value => value / 255).map(value =>
        value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const seen = new Set();
while (texts.nextNode()) {
    const text = texts.currentNode, element = text.parentElement;
    if (!text.data.trim() || seen.has(element) || !visible(element)
        || element.closest('noscript, :disabled, option')) continue;
    seen.add(element);
    const style = getComputedStyle(element), isDrawn = element.closest('svg');
    const color = parse(isDrawn ? style.fill : style.color);
    for (const back of behind(isDrawn ? isDrawn.parentElement : element)) {
        const [a, b] = [light(over(color, back)), light(back)].sort((a, b) => b - a);
        const contrast = (a + 0.05) / (b + 0.05);
        if (contrast < 4.5) faults.push(
            `contrast ${contrast.toFixed(2)}: “${text.data.trim().slice(0, 30)}” ${style.color} on ${back}`);
    }
}
return [...new Set(faults)];
"""


def check(what):
    """What a screen reader, a keyboard and weak eyes need."""
    faults.extend(f"{what}: {fault}" for fault in page.run(ACCESSIBLE))


def tabs():
    page.start("tabs")
    page.shows("로그인")
    page.click("로그인")
    page.shows("Home")
    page.click("Plus", ".tabbar")
    page.shows("Plus")
    page.click("Push")
    page.click("MyPage", ".tabbar")
    page.shows("MyPage")
    page.click("MyPage", ".screen")
    page.shows("로그인")
    page.click("Built-in events", "main")
    page.click("Relaunch", ".others")
    shot("tabs")


def shop():
    id = page.start("shop")
    page.click("Walnut desk lamp")
    page.shows("Product 42")
    page.click("Back to Home")
    page.shows("Home")
    shot("new")
    # The form begins with an example that works.
    assert page.field("Id").get_property("value") == "1"
    page.fill("Id", "", ".phone")
    page.click("Product")
    page.until("no fault", lambda: page.marked(".phone .fault"))
    shot("fault")
    page.fill("Id", "42", ".phone")
    page.click("Product")
    page.shows("Product 42")
    page.click("Add to cart")
    page.until("no badge", lambda: "1" in page.marked(".tabbar i"))
    page.click("Cart", ".tabbar")
    page.shows("Cart")
    page.click("Checkout")
    page.shows("Sign in")
    shot("session", "light")
    page.fill("E-mail", "ann@example.com", ".phone")
    page.fill("Password", "wrong", ".phone")
    page.click("Sign in")
    page.alert("Error")
    shot("alert")
    page.click("OK")
    assert page.field("E-mail").get_property("value") == "ann@example.com"
    page.fill("Password", "correct horse", ".phone")
    old = page.token()
    page.click("Sign in")
    page.shows("Address")
    assert page.token() != old, "the new token was not kept"
    page.until("the stream did not go on", lambda: page.run("return !!document.querySelector('.status .live')"))
    page.fill("Street", "1 Main Street", ".phone form:has(fieldset)")
    page.fill("City", "Springfield", ".phone")
    page.click("Submit address")
    page.shows("Payment")
    page.fill("Card number", "4242 4242 4242 4242", ".phone")
    page.click("Pay now")
    page.shows("Receipt")
    page.click("Done")
    page.shows("Cart")
    page.until("no tab for the order", lambda: "Orders" in page.marked(".tabbar button span:last-child"))
    shot("tab-came")
    last = int(page.run("return document.querySelector('.status b').innerText.slice(1)"))

    # The past: everything shows that version, and nothing can be posted.
    for _ in range(3):
        page.click("One version back", "footer")
    page.shows("Payment")
    assert shut() == ["Card number", "Pay now", "Read terms"], shut()
    page.click("One version back", "footer")
    page.says(f"Version {last - 4} of {last}", ".banner")
    page.shows("Address")
    assert page.driver.current_url.endswith(f"?v={last - 4}"), page.driver.current_url
    assert page.button("Submit address", ".phone") is None, "an event can be posted in the past"
    assert page.marked(".tree .mark.added"), "nothing is marked in the tree"
    shot("past", "dark")
    # A sign-in sealed what was before it: that can be seen in this tab, but nothing can begin there.
    page.click("One version back", "footer")
    page.says("sealed by a new token", "footer")
    assert page.button("Fork from here", "footer") is None and page.button("Fork", ".tools") is None
    page.press(Keys.ARROW_RIGHT)
    page.says(f"Version {last - 4} of {last}", ".banner")
    assert page.button("Fork from here", "footer")
    # After a reload the address still names the version; what is sealed cannot be opened any more.
    page.driver.refresh()
    page.says(f"Version {last - 4} of {last}", ".banner")
    page.shows("Address")
    assert page.button("Submit address", ".phone") is None, "an event can be posted in the past"
    # What the screen had is known from the app's description then.
    assert shut()[1:] == ["Street", "Keep as a draft", "Street", "City", "Note for the courier (optional)", "Submit address"], shut()
    assert page.button("One version back", "footer") is None, "a sealed version looks as if it could be opened"
    assert len(page.marked(".dots .closed")) == last - 5, page.marked(".dots i")
    page.press(Keys.ARROW_RIGHT)
    page.says(f"Version {last - 3} of {last}", ".banner")
    page.click("Now", "footer")
    page.shows("Cart")

    # What a person points at lights up at its owner, and the other way round.
    def lit():
        page.run("""document.querySelector('.tree [data-owner$="home"]')
            .dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))""")
        return page.marked(".plane.lit"), page.marked(".chip.lit")
    # What is still being read draws the page again.
    page.until(lambda: f"not two of each: {lit()}", lambda: [len(found) for found in lit()] == [2, 2])
    page.click("k3 home", ".tree")
    page.until("the screen is not found in the JSON", lambda: page.run(
        "return document.querySelector('.json summary.found')?.dataset.key") == "k3")

    # Nothing secret is on the page or in its address, and only the tab's storage has the token.
    page.run("document.querySelectorAll('.json details').forEach(fold => { fold.open = true; })")
    for secret in (page.token(), old, "correct horse"):
        assert secret not in page.run("return document.documentElement.outerHTML + location.href")
    assert "correct horse" not in page.run("return JSON.stringify({...sessionStorage, ...localStorage})")

    page.go(f"/console/apps/shop?session={id}")
    page.until("no map", lambda: page.marked(".map .node"))
    assert page.marked(".map .node.way") and page.marked(".map .label.way"), "the session's way is not on the map"
    assert not covered(), covered()
    looks_at_map()
    shot("map", "light", width=2000)
    page.field("Built-in events", "main").click()
    shot("map-built-in")


def shut():
    """The names of the fields and buttons on the screen in front; none of them can be used."""
    controls = page.run("""return [...document.querySelectorAll('.phone .layer:last-of-type .content :is(input, textarea, button)')]
        .map(element => [(element.closest('label') ?? element).innerText.split('\\n')[0], element.disabled])""")
    assert all(isDisabled for _, isDisabled in controls), controls
    return [name for name, _ in controls]


def looks_at_map():
    """The map fits its window; on a phone its beginning can be read. Buttons, keys, wheel and pointer change that."""
    scale = lambda: page.run("return document.querySelector('.map').getScreenCTM().a")
    def seen():
        return page.run("""
            const view = document.querySelector('.mapview').getBoundingClientRect();
            const nodes = [...document.querySelectorAll('.map .node')].map(node => node.getBoundingClientRect());
            return nodes.filter(({left, right, top, bottom}) => left >= view.left - 1 && right <= view.right + 1
                && top >= view.top - 1 && bottom <= view.bottom + 1).length / nodes.length""")
    page.until("a part of the map is outside", lambda: seen() == 1)
    page.size(390, 844)
    page.until("not readable on a phone", lambda: scale() >= 0.66 and seen() > 0.85)
    page.size(1600, 1000)
    page.until("the window is larger again", lambda: seen() == 1)
    first = scale()
    page.click("Zoom in", "main")
    assert scale() > first * 1.3
    page.run("document.querySelector('.mapview').focus()")
    page.press("-")
    assert abs(scale() - first) < 0.01
    page.run("""document.querySelector('.mapview').dispatchEvent(
        new WheelEvent('wheel', {deltaY: -300, clientX: 300, clientY: 300, cancelable: true}))""")
    assert scale() > first * 1.3
    place = lambda: page.run("return document.querySelector('.map .node').getBoundingClientRect().left")
    left = place()
    ActionChains(page.driver).drag_and_drop_by_offset(
        page.driver.find_element("css selector", ".mapview"), 80, 0).perform()
    assert abs(place() - left - 80) < 2, (place(), left)
    page.press(Keys.ARROW_RIGHT)
    assert abs(place() - left - 20) < 2, (place(), left)
    page.click("Show the whole map", "main")
    assert seen() == 1


def maps():
    """On the map of each app no label covers a box or another label, on a desk and on a phone."""
    for app in call("GET", "/v1/apps")["apps"]:
        page.go(f"/console/apps/{app['name']}")
        # The server explores the app first.
        page.until("no map", lambda: page.marked(".map .node"))
        for width, height in [(390, 844), (1280, 900)]:
            page.size(width, height)
            isTurned = width < 700
            page.until("not drawn for this window", lambda: page.run(
                "return document.querySelector('.map').classList.contains('turned')") == isTurned)
            for events in ("with", "without"):
                page.field("Built-in events", "main").click()
                assert not (hidden := covered()), f"{app['name']}, {width} px, {events} built-in events: {hidden}"
    page.size(1600, 1000)


def covered():
    return page.run("""
        const named = (selector, part) => [...document.querySelectorAll(selector)].map(element =>
            [element.textContent, (part ? element.querySelector(part) : element).getBoundingClientRect()]);
        const labels = named('.map :is(.label, .note)'), all = [...labels, ...named('.map .node', 'rect, path')];
        const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        return labels.flatMap(([name, label], at) => all.slice(at + 1).filter(([, other]) => meet(label, other))
            .map(([other]) => `“${name}” and “${other}”`))""")


def first_page():
    """The server's root says what runs there, and a code leads to a session from another device."""
    page.go("/")
    page.says("This is a development server", "main")
    assert page.marked(".apps b")[:2] == ["shop", "tabs default"], page.marked(".apps b")
    assert all(page.marked(".apps p"))
    assert page.run("return [...document.querySelectorAll('.welcome a')].every("
                    "({ target, rel }) => target === '_blank' && rel === 'noopener')"), "a file replaces the console"
    reachable("first page")
    shot("first")
    page.click("Try shop", "main")
    page.shows("Home")
    page.click("Product")
    page.shows("Product 1")
    id = page.id()
    page.click("On a phone", ".tools")
    code = page.until("no code", lambda: page.marked("dialog .code"))[0]
    call("POST", "/v1/pairings", body={"code": code})
    page.says("A device has joined the session.", "#note")
    assert not page.marked("dialog")
    page.click("On a phone", ".tools")
    code = page.until("no code", lambda: page.marked("dialog .code"))[0]
    assert re.fullmatch(r"\w{4}-\w{4}", code), code
    address = page.run("return document.querySelector('dialog a').href")
    assert address == f"{base}/console#{code}", address
    shot("code")
    page.run("sessionStorage.clear()")
    page.go("/livez")
    page.driver.get(address)
    page.shows("Product 1")
    assert page.id() == id
    # It is good for one device.
    page.go("/livez")
    page.driver.get(address)
    page.says("code", ".join .fault")
    assert page.driver.current_url == f"{base}/console", "a code stays in the address"
    code = page.field("The code", "main")
    assert code.get_property("ariaInvalid") == "true"
    code.send_keys("2")
    assert page.marked(".join .fault") == [""], "the fault of another code is still said"


def reachable(where):
    """On a phone what is tapped is 36 pixels high, and as wide."""
    page.size(390, 844)
    small = page.run("""
        return [...document.querySelectorAll('a, button, summary, .inline :is(input, select)')]
            .filter(element => element.checkVisibility() && !element.closest('.skip, .tree, .layers, .last, .json'))
            .map(element => [element.innerText || element.ariaLabel, element.getBoundingClientRect()])
            .filter(([, { width, height }]) => width < 36 || height < 36)
            .map(([name, { width, height }]) => `${name} ${width}×${height}`)""")
    page.size(1600, 1000)
    assert not small, f"{where}: {small}"


def phone_page():
    """A session's page on a phone: nothing is covered, the line with what has happened takes no taps."""
    page.start("shop")
    page.size(390, 844)
    page.until("the built-in events are covered", lambda: page.run("""
        const [more, line] = ['.others summary', 'footer.history'].map(name =>
            document.querySelector(name).getBoundingClientRect());
        return more.height && more.bottom <= line.top"""))
    page.run("document.getElementById('note').textContent = 'Something has happened. '.repeat(4)")
    assert page.run("""
        const { left, top, width, height } = document.getElementById('note').getBoundingClientRect();
        return !document.elementsFromPoint(left + width / 2, top + height / 2).some(({ id }) => id === 'note')""")
    page.run("document.getElementById('note').textContent = ''")
    page.click("Walnut desk lamp")
    page.shows("Product 42")
    page.click("Add to cart")
    look = "const { backgroundColor, color } = getComputedStyle(arguments[0]); return [backgroundColor, color]"
    related = page.button("Related", ".phone")
    assert page.run(look, related) != page.run(look, page.field("Id")), "an event looks like a caption"
    page.fill("Id", "3", ".phone")
    page.click("Related")
    page.shows("Product 3")
    page.click("Layers", ".switcher")
    page.until("the layers do not begin at the screen in front", lambda: page.run("""
        const { left, right } = document.querySelector('.plane.visible').getBoundingClientRect();
        return left >= 0 && right <= innerWidth"""))
    reachable("session")
    page.size(1600, 1000)


def address():
    """An address that names a version shows that version, also after the token was entered there."""
    page.start("numbers")
    for value in "12":
        page.fill("Push", value, ".phone")
        page.click("Push")
        page.row("Value", value)
    id, token = page.id(), page.token()
    page.go(f"/console/sessions/{id}?v=2")
    is_past()
    page.run("sessionStorage.clear()")
    page.driver.refresh()
    page.field("The session's token", "main").send_keys(token, Keys.ENTER)
    is_past()
    # What another client does changes nothing of that.
    page.post("push", 3)
    page.version(4)
    page.says("Version 2 of 4", ".banner")
    page.row("Value", "1")
    page.go(f"/console/sessions/{id}?v=7")
    page.row("Value", "3")
    assert not page.marked(".banner")[0]
    page.go(f"/console/sessions/{id}?v=1")
    page.says("Version 1 of 4", ".banner")
    page.row("Value", "0")
    page.until("the others cannot be opened", lambda: not page.marked(".dots .closed"))
    call("DELETE", f"/v1/sessions/{id}", token)
    page.says("This session has ended", ".banner")
    # Only the shown one and the newest were read.
    page.until("what cannot be read looks active", lambda: len(page.marked(".dots .closed")) == 2)


def is_past():
    page.says("Version 2 of 3. Nothing can be posted in the past.", ".banner")
    page.row("Value", "1")
    assert page.driver.current_url.endswith("?v=2"), page.driver.current_url
    assert page.button("Push", ".phone") is None, "an event can be posted in the past"


def numbers():
    page.start("numbers")
    page.fill("Sheet", "4", ".phone")
    page.click("Sheet")
    page.row("Value", "4")
    page.fill("Cover", "5", ".phone")
    page.click("Cover")
    page.row("Value", "5")
    page.fill("Push", "6", ".phone")
    page.click("Push")
    page.row("Value", "6")
    shot("numbers")
    page.click("Back to Number")
    page.row("Value", "5")
    page.fill("Alert", "<script>alert(1)</script>", ".phone")
    page.click("Alert")
    page.alert("<script>alert(1)</script>")
    page.click("OK")
    page.click("Fail")
    page.says("The app has failed; nothing has changed.", "#note")
    shot("failed")
    uncovered("footer.history")
    assert page.field("Push").get_property("placeholder") == "e.g. 1"
    # A number that JavaScript would round.
    page.fill("Push", "9007199254740993", ".phone")
    page.click("Push")
    page.row("Value", "9007199254740993")
    page.until("the failure is still said", lambda: not page.marked("#note")[0])
    # A flow that moves keeps its screen.
    page.fill("Push flow", "7", ".phone")
    page.click("Push flow")
    page.row("Value", "7")
    page.click("To sheet")
    page.until("no sheet for it", lambda: len(page.marked(".phone .layer.sheet:not(.leaving)")) == 2)
    page.row("Value", "7")
    page.fill("Deliver", "8", ".phone")
    page.click("Deliver")
    shot("moved")
    page.click("To stack")
    page.until("the sheet stays", lambda: len(page.marked(".phone .layer.sheet:not(.leaving)")) == 1)
    page.row("Value", "7")
    page.click("Back to Number")
    page.row("Value", "8")


def uncovered(selector):
    """On a small screen the line with what has happened covers nothing of this."""
    page.size(360, 760)
    covers = page.run("""
        const [a, b] = ['#note', arguments[0]].map(name => document.querySelector(name).getBoundingClientRect());
        return a.height === 0 || a.top < b.bottom && b.top < a.bottom""", selector)
    page.size(1600, 1000)
    assert not covers, f"#note covers {selector}"


def rows():
    """A list, whose rows send what they have; in the past they are drawn, and send nothing."""
    page.start("kiosk")
    page.click("Begin")
    page.fill("Booking code", "ABC123", ".phone")
    page.click("Look up")
    page.shows("Who checks in?")
    page.until("Bob is not chosen", lambda: page.pressed("Bob Smith", ".phone") == "true")
    last = int(page.run("return document.querySelector('.status b').innerText.slice(1)"))
    page.click("Bob Smith", ".phone")
    page.until("Bob is still chosen", lambda: page.pressed("Bob Smith", ".phone") == "false")
    assert page.run("return document.activeElement.innerText") == "Bob Smith", "the row has lost the focus"
    shot("rows")
    page.click("One version back", "footer")
    page.says(f"Version {last} of {last + 1}", ".banner")
    rows = page.run("return [...document.querySelectorAll('.phone .rows button')].map("
                    "({ ariaPressed, disabled }) => [ariaPressed, disabled])")
    assert rows == [["true", True], ["true", True]], rows


def hostile():
    """What looks like markup stays text, everywhere."""
    page.start("list-detail")
    page.fill("Id", "2", ".phone")
    page.click("Select")
    page.click("Edit")
    text = "<img src=x onerror=alert(1)><b>New</b>"
    page.fill("Title", text, ".phone")
    page.click("Save")
    page.shows(text)
    page.until("the layers do not show it", lambda: text in page.run(
        "return document.querySelector('.layers').innerText"))
    assert page.run("return document.querySelectorAll('img, .phone b, script:not([src])').length") == 0
    shot("hostile")


def script():
    """The walk as a script, run in bash. What the console was not told is a variable that the script asks for."""
    page.start("main")
    page.fill("Button 01 tapped", "3", ".phone")
    page.click("Button 01 tapped")
    page.shows("C")
    page.fill("Button 02 tapped", "It's $HOME `x` \\ \"y\"", ".phone")
    page.click("Button 02 tapped")
    page.shows("F")
    text = copied()
    assert "# Gap" not in text
    assert run_script(text).splitlines()[-1] == "3  F"
    page.click("Back to C")
    page.version(4)
    page.post("button01Tapped", 4)
    page.version(5)
    text = copied()
    assert text.count("# Gap") == 1
    known = len(sessions())
    assert "PAYLOAD_5: is missing" in run_script(text, fails=True)
    assert len(sessions()) == known, "the script creates a session before it asks for what is missing"
    assert run_script(text, PAYLOAD_5="1").splitlines()[-1].startswith("5  ")

    page.start("clean-login")
    page.fill("E-mail", "ann@example.com", ".phone")
    page.fill("Password", "correct horse", ".phone")
    page.click("Login")
    page.shows("Main")
    text = copied()
    assert "correct horse" not in text and page.token() not in text and "ann@example.com" in text, text
    payload = json.dumps({"email": "ann@example.com", "password": "correct horse"})
    assert run_script(text, PAYLOAD_2=payload).splitlines()[-1] == "2  Main"


def sessions():
    return call("GET", "/console/api/sessions?app=list-detail", operator)["sessions"]


def copied():
    page.run("""window.copied = undefined;
        Object.defineProperty(navigator, 'clipboard', { configurable: true, value: {
            writeText: async text => { window.copied = text; } } })""")
    page.click("Copy as curl", ".tools")
    return page.until("nothing was copied", lambda: page.run("return window.copied"))


def run_script(text, fails=False, **variables):
    done = subprocess.run(["bash", "-s"], input=text, capture_output=True,
                          text=True, timeout=LONG, env=os.environ | variables)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout


def fork():
    page.start("main")
    page.fill("Button 01 tapped", "3", ".phone")
    page.click("Button 01 tapped")
    page.shows("C")
    first, windows = page.id(), page.driver.window_handles
    page.click("One version back", "footer")
    page.shows("A")
    page.click("Fork from here", "footer")
    page.until("no window was opened", lambda: len(page.driver.window_handles) > len(windows))
    page.driver.switch_to.window(page.driver.window_handles[-1])
    page.size(1600, 1000)
    page.prefer()
    page.shows("A")
    assert page.id() != first
    page.fill("Button 01 tapped", "2", ".phone")
    page.click("Button 01 tapped")
    page.shows("B")
    page.driver.close()
    page.driver.switch_to.window(windows[0])
    assert page.run("return sessionStorage.length") > 0


def two_windows():
    """
    An event in one window is drawn in the other, by the stream: that window asks for nothing. How long it takes is printed,
    by the browsers' clocks, from the click to the frame.
    """
    page.start("numbers")
    other = Console()
    try:
        other.go("/console")
        other.run(
    "sessionStorage.setItem(arguments[0], JSON.stringify(arguments[1]))",
    f"console token {page.id()}",
     page.token())
        other.go(f"/console/sessions/{page.id()}")
        other.row("Value", "0")
        other.until("not live", lambda: other.run("return !!document.querySelector('.status .live')"))
        for window in (page, other):
            window.prefer(motion="no-preference")
        other.run("""
            window.drawn = {};
            const look = () => {
                const value = [...document.querySelectorAll('.phone .row')].at(-1)?.children[1]?.innerText;
                if (value !== undefined && !(value in window.drawn)) {
                    window.drawn[value] = 0;
                    requestAnimationFrame(() => { window.drawn[value] = performance.timeOrigin + performance.now(); });
                }
            };
            new MutationObserver(look).observe(document.querySelector('.phone'),
                { childList: true, subtree: true, characterData: true });""")
        page.run("""
            window.clicked = {};
            addEventListener('submit', ({ target }) => {
                window.clicked[target.querySelector('input').value] = performance.timeOrigin + performance.now();
            }, true);""")
        asked = lambda: other.run("""return performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)
            .filter(path => path.endsWith(arguments[0])).length""", f"/sessions/{page.id()}")
        before = asked()
        for value in range(1, 11):
            page.fill("Update", str(value), ".phone")
            page.click("Update")
            other.row("Value", str(value))
        page.row("Value", "10")
        clicked = page.run("return window.clicked")
        drawn = other.until(
    "not all is drawn", lambda: (
        lambda found: all(
            found.values()) and found)(
                other.run("return window.drawn")))
        delays = [drawn[value] - clicked[value] for value in clicked]
        median = statistics.median(delays)
        print(
            f"from a click to the other window: median {median:.0f} ms, "
            f"longest {max(delays):.0f} ms, {len(delays)} clicks")
        assert len(delays) == 10 and asked() == before, (delays, asked(), before)
        page.prefer()
        assert not other.errors(), other.errors()
    finally:
        other.driver.quit()


def devices():
    """What the other devices see is beside the phone, in their language and with what is for their role, and only to look at."""
    page.start("shop")
    id, token = page.id(), page.token()
    code = call("POST", f"/v1/sessions/{id}/pairings", token, {"role": "agent", "label": "Help desk"})["code"]
    agent = call("POST", "/v1/pairings", body={"code": code, "client": {"locale": "de"}})["token"]
    seen = lambda: page.run("""return [...document.querySelectorAll('.devices figure')].map(figure => [
        ...[...figure.querySelectorAll('figcaption > *')].map(part => part.innerText),
        [...figure.querySelectorAll('.screen:not(.leaving)')].at(-1)?.querySelector('h3').innerText])""")
    page.until(lambda: f"the agent sees {seen()}", lambda: seen() == [["Help desk · agent · de", "sees “Start”", "Start"]])
    page.shows("Home")
    call("POST", f"/v1/sessions/{id}/events", agent, {"type": "selectTab", "payload": {"tab": "cart"}})
    page.shows("Cart")
    page.until(lambda: f"the agent sees {seen()}", lambda: seen() == [
        ["Help desk · agent · de", "sees “Warenkorb”", "Warenkorb"]])
    assert page.button("Discount", ".devices") is None, "what another device does can be done here"
    shot("devices", "light")
    page.click("On a phone", ".tools")
    select = page.field("Role", "dialog")
    assert [option.text for option in select.find_elements("tag name", "option")] == ["customer", "agent"]
    select.send_keys("agent")
    code = page.until("no code", lambda: page.run("""
        return document.querySelector('dialog select').value === 'agent' && document.querySelector('.code').innerText"""))
    joined = call("POST", "/v1/pairings", body={"code": code.replace("-", "")})["token"]
    page.until("the code is still shown", lambda: not page.run("return document.querySelector('dialog')"))
    assert [token.get("role") for token in call("GET", f"/v1/sessions/{id}/tokens", token)["tokens"]][-1] == "agent"
    call("DELETE", f"/v1/sessions/{id}/tokens/3", joined)
    # An agent is not offered what its role may not do.
    keep = "sessionStorage.setItem(arguments[0], JSON.stringify(arguments[1]))"
    page.run(keep, f"console token {id}", agent)
    page.driver.refresh()
    page.shows("Warenkorb")
    page.until("an agent may end the session", lambda: page.button("On a phone", ".tools")
               and not page.button("End", ".tools") and not page.button("Fork", ".tools"))
    page.run(keep, f"console token {id}", token)
    # An operator's phone is that of the device that acted last.
    page.run("""
        sessionStorage.removeItem(arguments[0]);
        sessionStorage.setItem('console operator', JSON.stringify(arguments[1]))""", f"console token {id}", operator)
    page.driver.refresh()
    page.says("Read only.", ".banner")
    page.shows("Warenkorb")
    page.until(lambda: f"the customer sees {seen()}", lambda: seen() == [["Device 1 · customer", "sees “Cart”", "Cart"]])
    call("DELETE", f"/v1/sessions/{id}/tokens/2", token)
    page.until("a revoked device is shown", lambda: not page.run(
        "return document.querySelector('.devices').checkVisibility()"))
    page.run("sessionStorage.removeItem('console operator')")


def broken():
    """A cut stream, a restart, and a server that is gone: what is drawn stays, with its time."""
    page.start("numbers")
    page.fill("Push", "1", ".phone")
    page.click("Push")
    page.row("Value", "1")
    relay.cut(refuse=True)
    page.says("No connection to the server. This is the state of ", ".banner")
    shot("lost")
    page.post("push", 2)
    relay.open()
    page.row("Value", "2")
    page.until("the banner stays", lambda: not page.marked(".banner")[0])

    # The window's picture is old: the server refuses what the user did there, and the state that came is drawn.
    relay.cut(refuse=True)
    page.says("No connection to the server.", ".banner")
    page.fill("Push", "9", ".phone")
    page.post("push", 3)
    page.run("""window.fetch = (fetch => (url, options) =>
        url.includes('/updates') ? Promise.reject(new TypeError()) : fetch(url, options))(fetch)""")
    relay.open()
    page.click("Push")
    page.says("The session has moved on. This is where it is now: v4.", "#note")
    page.row("Value", "3")
    shot("stale")
    page.driver.refresh()
    page.row("Value", "3")

    page.until("no history", lambda: len(page.marked(".dots i")) == 4)
    server.stop()
    page.says("This is the state of ", ".banner")
    shot("server-gone")
    server.start()
    relay.target = server.port
    page.until("not live again", lambda: page.run(
        "return !!document.querySelector('.status .live')") and not page.marked(".banner")[0])
    page.fill("Push", "4", ".phone")
    page.click("Push")
    page.row("Value", "4")

    # Lost answers, one of them to a gateway that says so in JSON: the event is posted again with its key, and carried out
    # once.
    page.run("""const real = window.fetch, now = Date.now(); window.isLost = true; window.keys = [];
        Date.now = () => now; // No deadline passes.
        window.fetch = async (url, options) => {
            if (!url.includes('/events')) return real(url, options);
            window.keys.push(options.headers['Idempotency-Key']);
            const answer = await real(url, options);
            if (window.keys.length === 1) return Response.json({ message: 'Bad Gateway' }, { status: 502 });
            if (window.isLost) throw new TypeError('lost');
            return answer;
        }""")
    page.fill("Push", "5", ".phone")
    page.click("Push")
    page.says("No connection to the server. Trying again", "#note")
    shot("waiting")
    page.until("not sent again", lambda: len(page.run("return window.keys")) >= 2)
    page.run("window.isLost = false")
    page.version(6)
    assert len(set(page.run("return window.keys"))) == 1


def endings():
    page.start("numbers")
    id = page.id()
    page.click("End", ".tools")
    shot("end")
    page.click("End it", "dialog")
    page.says("This session has ended", ".banner")
    assert page.button("Fail", ".phone") is None
    shot("ended")
    page.driver.refresh()
    page.says("This session has ended", "main")
    shot("ended-before")

    page.start("numbers")
    call("DELETE", f"/v1/sessions/{page.id()}", page.token())
    page.says("This session has ended", ".banner")
    page.click("Start a new session", ".banner")
    page.until("the new session is not live", lambda: page.run("return !!document.querySelector('.status .live')"))
    assert page.id() != id

    # Another client signs in: it has the new token.
    page.start("clean-login")
    page.post("login", {"email": "ann@example.com", "password": "correct horse"})
    page.says("Another client has the session now", ".banner")
    shot("replaced")
    page.driver.refresh()
    page.says("The token does not fit", "main")
    shot("wrong-token")
    page.go(f"/console/sessions/{id}")
    page.run("sessionStorage.clear()")
    page.driver.refresh()
    page.says("This session needs its token", "main")
    shot("no-token")


def expiry():
    """A page that is open is told when its session expires. Sessions live longer where the page opens too late."""
    global server
    seconds, isLive = 4, False
    while not isLive:
        server.stop()
        server = Server(*options, "--absolute-expiry", f"{seconds}s")
        relay.target = server.port
        page.go("/console")
        page.click("Start numbers", "main")
        isLive = page.until("neither live nor expired", lambda: page.run("""
            return document.querySelector('.status .live') ? ['live']
                : document.querySelector('main')?.innerText.includes('has expired') && ['expired']""")) == ["live"]
        seconds *= 4
    page.says("This session has expired", ".banner")
    shot("expired")


def keyboard():
    """Everything by keys: start a session, post, go back, look at the past, fork is reachable."""
    page.go("/console")
    page.until("no apps", lambda: page.marked(".apps li"))
    focused = lambda: page.run(
        "const e = document.activeElement;"
        "return (e.ariaLabel ?? e.innerText ?? '').split('\\n')[0] || e.dataset.event")

    def tab_to(title, limit=60):
        for _ in range(limit):
            page.press(Keys.TAB)
            if focused() == title or page.run(
                "return document.activeElement.closest('label')?.innerText.split('\\n')[0]") == title:
                assert page.run(
                    "return getComputedStyle(document.activeElement).outlineStyle") != "none", f"no focus is seen at {title}"
                return
        raise AssertionError(f"“{title}” cannot be reached; at “{focused()}”")

    page.press(Keys.TAB)
    assert focused() == "To the page", focused()
    page.press(Keys.ENTER)
    tab_to("Start main")
    page.press(Keys.ENTER)
    page.until("not live", lambda: page.run("return !!document.querySelector('.status .live')"))
    tab_to("Button 01 tapped")
    page.press("3", Keys.ENTER)
    page.shows("C")
    page.press(Keys.ESCAPE)
    page.shows("A")
    page.press(Keys.ARROW_LEFT)
    page.says("Version 2 of 3", ".banner")
    tab_to("One version back", 80)
    page.press(Keys.SPACE)
    page.says("Version 1 of 3", ".banner")
    page.press(Keys.ESCAPE)
    page.until("still in the past", lambda: not page.marked(".banner")[0])
    # The focus goes from left to right and from top to bottom, part by part.
    order = page.run("""return [...document.querySelectorAll('button, a, input, summary')]
        .filter(e => e.checkVisibility() && !e.disabled && e.tabIndex >= 0)
        .map(e => e.closest('[data-part], footer, header')?.className)""")
    parts = [part for index, part in enumerate(order) if part and part != (order[index - 1] if index else None)]
    assert [part.split()[0] for part in parts] == ["top", "screenside",
                       "tree", "layers", "last", "json", "history"], parts


def pages():
    for app in ("shop", "main", "numbers"):
        page.start(app)
    page.click("Fail")
    page.go("/console")
    page.until("no apps", lambda: page.marked(".apps li"))
    shot("all")
    path = page.field("A link to begin at", "main")
    assert page.marked(".links select option") == ["shop", "kiosk"], page.marked(".links select option")
    links = page.run("return [...arguments[0].list.options].map(({ value }) => value)", path)
    assert links == call("GET", "/v1/apps/shop")["links"], links
    path.send_keys("/products/42", Keys.ENTER)
    page.shows("Product 42")
    page.go("/console/server")
    page.says("For the operator", "main")
    shot("operator")
    page.field("The operator's token", "main").send_keys("wrong", Keys.ENTER)
    page.says("does not fit", "#note")
    page.field("The operator's token", "main").send_keys(operator, Keys.ENTER)
    page.says("Slowest events", "main")
    page.until("the refusal is still said", lambda: not page.marked("#note")[0])
    width = page.run("return document.querySelector('h1').getBoundingClientRect().width")
    assert width <= 1, "the page's name is seen twice"
    page.run("document.getElementById('note').textContent = 'Something has failed. '.repeat(4)")
    uncovered(".figures")
    shot("server")
    page.go("/console")
    page.until("no sessions", lambda: page.marked("tbody tr"))
    assert page.marked(".search h2") == ["Sessions in memory"]
    page.size(390, 844)
    lines = page.run("return [...document.querySelectorAll('tbody td, thead th')].filter("
                     "cell => cell.checkVisibility()).map(({ clientHeight }) => clientHeight)")
    assert max(lines) < 60 and not page.run("return document.documentElement.scrollWidth > innerWidth"), lines
    page.size(1600, 1000)
    reachable("operator's list")
    page.fill("App version", "99", ".search")
    page.click("Search", ".search")
    page.says("No session is like that.", ".search")
    page.field("App version", ".search").clear()
    page.click("Search", ".search")
    page.until("no sessions", lambda: page.marked("tbody tr"))
    shot("search")
    # A session of somebody else, read only.
    state = call("POST", "/v1/sessions", body={"app": "shop"}, at=base)
    page.go("/console")
    link = page.until("the session is not found", lambda: page.button(state["session"]["id"], "table"))
    link.click()
    page.says("Read only.", ".banner")
    page.until("not live", lambda: page.run("return !!document.querySelector('.status .live')"))
    call("POST", f"/v1/sessions/{state['session']['id']}/events",
         state["token"], {"type": "product", "payload": {"id": 8}})
    page.shows("Product 8")
    shot("read-only")
    page.go("/console/apps/nothing")
    page.says("The server has no app with this name.", ".notice")
    shot("no-map")


def waiting():
    """What is under way, timers with the time that is left, the cause of what was no event, and signals."""
    global base, server
    usual = base, server
    key = "a-key-of-the-payment-provider-of-tests"
    (work / "services").write_text(f"payments {key}\n")
    server = Server(*options, "--service-key-file", str(work / "services"), binary=odd)
    base = f"http://127.0.0.1:{server.port}"
    try:
        page.start("booking")
        assert not page.marked(".work, .working")
        page.click("Hold")
        page.says("Working: Hold seat", ".phone .working")
        page.says("holdSeat for", ".tree")
        page.click("Remind")
        tree = lambda: page.marked(".tree")[0]
        page.until(lambda: f"no timer of 90 s: {tree()}", lambda: re.search(
            r"reminded (in (1 min( [12]?\d s| 30 s)?|[1-5]?\d s)|due)$", tree(), re.MULTILINE))
        page.until(lambda: f"no timer of an hour: {tree()}", lambda: re.search(
            r"nobodyThere idle in (1 h|[1-5]?\d min( [1-5]?\d s)?), if the user does nothing$", tree(), re.MULTILINE))
        left = page.marked(".tree [data-due]")
        page.until("the time does not go on", lambda: page.marked(".tree [data-due]") != left)
        shot("waiting")

        # Work that ends, and signals: of the console, and of a service.
        # It does not take long.
        page.run("""window.worked = [];
            new MutationObserver(() => window.worked.push(document.querySelector('.phone .working')?.textContent)).observe(
                document.querySelector('.phone'), { childList: true, subtree: true, characterData: true })""")
        page.click("Ask")
        page.until("it is not at work", lambda: "Working: Hold seat, Ask desk" in page.run("return window.worked"))
        page.says("answered (effect)", "footer")
        assert page.marked(".phone .working") == ["Working: Hold seat"], page.marked(".phone .working")
        page.click("Signals of other systems", ".screenside")
        page.fill("Reference", "r-7", ".others")
        page.click("Paid", ".others")
        page.says("paid (signal)", "footer")
        page.says("The session has received “paid”.", "#note")
        page.says("paid r-7", ".phone")
        page.click("Cancelled", ".others")
        page.says("cancelled (signal)", ".last")
        urllib.request.urlopen(urllib.request.Request(
            f"{base}/v1/sessions/{page.id()}/signals", b'{"type": "paid", "payload": {"reference": "r-8"}}',
            {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Idempotency-Key": "k"}))
        page.says("paid r-8", ".phone")
        shot("signals")
        text = copied()
        # The timer may have fired meanwhile.
        count = 4 + len(re.findall(r"# \d+: reminded", text))
        assert text.count("Not posted here.") == count and re.search(r"# \d+: answered, the end of work", text), text
        assert '"type":"paid"' not in text and run_script(text).splitlines()[-1].startswith("4  ")

        # In the past nothing is under way, and nothing can be sent.
        page.press(Keys.ARROW_LEFT)
        page.says("Nothing can be posted in the past.", ".banner")
        assert not page.marked(".work, .working") and page.button("Cancelled", ".others") is None
        page.press(Keys.ESCAPE)
        page.click("Release")
        page.until("the work is still shown", lambda: not page.marked(".working"))
        page.until("the tree shows it, too", lambda: "holdSeat" not in page.marked(".tree")[0])

        # In production signals need the operator's token.
        server.stop()
        server.options = (*server.options, "--no-development", "--public-console")
        server.start()
        base = f"http://127.0.0.1:{server.port}"
        page.start("booking")
        page.click("Signals of other systems", ".screenside")
        page.field("The operator's token", ".others").send_keys("wrong", Keys.ENTER)
        page.click("Cancelled", ".others")
        page.says("No right", "#note")
        page.field("The operator's token", ".others").send_keys(operator, Keys.ENTER)
        page.click("Cancelled", ".others")
        page.says("cancelled (signal)", "footer")
        # Without the session's token, the operator sends signals all the same.
        page.run("sessionStorage.removeItem(arguments[0])", f"console token {page.id()}")
        page.driver.refresh()
        page.says("Read only.", ".banner")
        page.click("Signals of other systems", ".screenside")
        page.click("Cancelled", ".others")
        page.version(3)
    finally:
        server.stop()
        base, server = usual


def motion():
    """Screens move as the operations say, in less than 200 ms, and not at all for those who prefer that."""
    page.start("main")
    page.run("""window.moves = [];
        const animate = Element.prototype.animate;
        Element.prototype.animate = function (frames, options) {
            window.moves.push([frames, options.duration]);
            return animate.call(this, frames, options);
        }""")
    page.post("button01Tapped", 3)
    page.shows("C")
    assert page.run("return window.moves") == []
    page.prefer(motion="no-preference")
    page.click("Back to A")
    page.shows("A")
    page.until("nothing moves", lambda: page.run("return window.moves.length") >= 2)
    assert all(duration < 200 for _, duration in page.run("return window.moves"))
    page.until("a screen stays behind", lambda: page.run("return document.querySelectorAll('.leaving').length") == 0)
    page.prefer()


faults = []
walks = {walk.__name__: walk for walk in [
    first_page, maps, phone_page, tabs, shop, address, numbers, rows, hostile, script, fork, waiting, motion, keyboard, two_windows, devices, broken, endings, pages]}
chosen = os.environ.get("CONSOLE_WALKS", " ".join(walks)).split()
(work / "operator").write_text(operator)
options = ["--console", "--console-token-file", str(work / "operator")]
server = Server(*options, port=int(os.environ.get("CONSOLE_PORT", 0)))
front = int(os.environ["CONSOLE_URL"].rsplit(":", 1)[1]) if "CONSOLE_URL" in os.environ else server.port
relay = Relay(front)
base = f"http://127.0.0.1:{relay.port}"
page = Console()
try:
    started = time.monotonic()
    for name in chosen:
        walks[name]()
        assert not faults, "\n".join(faults)
        errors = [error for error in page.errors() if "net::ERR_" not in error]
        assert not errors, f"{name}: {errors}"
        print(f"{name}: fine ({time.monotonic() - started:.0f} s)", flush=True)
    if chosen == list(walks):
        expiry()
        print(f"the console does what it should ({time.monotonic() - started:.0f} s)")
finally:
    page.driver.quit()
    server.process.terminate()
