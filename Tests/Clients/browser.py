"""A page of Examples/web in headless Chromium, used as a user does: with clicks and keys."""

import atexit
import os
import re
import subprocess
import tempfile
import time

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.remote_connection import ChromeRemoteConnection
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.client_config import ClientConfig

# What the user can reach: visible, not covered, and the page is not waiting for an answer.
LIVE = """
const live = element => element.checkVisibility() && !element.closest('[inert]')
    && (document.getElementById('phone').ariaBusy !== 'true' || element.closest('#note'));
const name = element => element.getAttribute('aria-label')
    ?? (element.closest('.tabbar') ? element.querySelector('span') : element).innerText.trim();
const inside = document.querySelector('#phone');
"""

# A limit that only finds hangs, in seconds.
LONG = 600


class Driver:
    """chromedriver, which selenium itself would give only half a minute to start."""

    running = []

    def __init__(self):
        self.log = tempfile.NamedTemporaryFile("r", prefix="chromedriver-")
        self.process = subprocess.Popen(
            ["/usr/bin/chromedriver", "--port=0"], stdin=subprocess.DEVNULL, stdout=open(self.log.name, "w"),
            stderr=subprocess.STDOUT)
        Driver.running.append(self)
        end = time.monotonic() + LONG
        while not (found := re.search(r"started successfully on port (\d+)", open(self.log.name).read())):
            assert self.process.poll() is None and time.monotonic() < end, open(self.log.name).read()
            time.sleep(0.02)
        self.url = f"http://127.0.0.1:{found[1]}"

    def stop(self):
        self.process.terminate()
        self.process.wait()


# Also if a page could not be made.
atexit.register(lambda: [driver.stop() for driver in Driver.running])


class Page:
    def __init__(self, origin, server):
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars", "--lang=en"):
            options.add_argument(argument)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.add_experimental_option("browserStartupTimeout", 1000 * LONG)
        url = Driver().url
        connection = ChromeRemoteConnection(url, client_config=ClientConfig(url, timeout=LONG))
        self.driver = webdriver.Remote(connection, options=options)
        self.driver.set_page_load_timeout(LONG)
        self.driver.set_script_timeout(LONG)
        self.origin, self.server = origin, server
        self.size(360, 740)
        self.prefer()

    def tell(self, command, parameters):
        """A command of Chrome's own protocol."""
        self.driver.execute("executeCdpCommand", {"cmd": command, "params": parameters})

    def size(self, width, height, scale=1):
        self.tell("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": False})

    def prefer(self, scheme="light", motion="reduce"):
        self.tell("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}]})

    def open(self, app, title, back=None, **query):
        """Opens a new session of an app."""
        self.driver.get(f"{self.origin}/none")
        self.run("sessionStorage.clear()")
        more = "".join(f"&{name}={value}" for name, value in query.items())
        self.driver.get(f"{self.origin}/index.html?server={self.server}&app={app}{more}")
        self.shows(title, back)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, what, condition):
        """Waits for a condition. What changes while it is looked at is looked at again."""
        limit = time.monotonic() + LONG
        while True:
            try:
                if found := condition():
                    return found
                fault = f"{what() if callable(what) else what}; the page shows: {self.text()!r}"
            except WebDriverException as error:
                fault = f"{what}: {error.msg}"
            assert time.monotonic() < limit, fault
            time.sleep(0.02)

    def text(self):
        return self.run("return document.getElementById('phone').innerText")

    def button(self, title, within):
        return self.run(LIVE + """
            return [...inside.querySelectorAll(arguments[1] + ' button')]
                .filter(element => live(element) && name(element).split('\\n')[0] === arguments[0]).at(-1)
            """, title, within)

    def pressed(self, title, within="main"):
        """Whether a row has a check mark: "true" or "false"; nothing while it cannot be tapped."""
        row = self.button(title, within)
        return row and row.get_attribute("aria-pressed")

    def click(self, title, within=""):
        def clicked():
            button = self.button(title, within)
            if button:
                button.click()
            return button
        self.until(f"no button “{title}”", clicked)

    def field(self, label, within=""):
        return self.until(f"no field “{label}”", lambda: self.run(LIVE + """
            return [...inside.querySelectorAll(`${arguments[1]} :is(input, select, textarea)`)].filter(live).find(
                input => (input.ariaLabel ?? input.closest('label').innerText.split('\\n')[0]) === arguments[0])
            """, label, within))

    def fill(self, label, text, within=""):
        def filled():
            field = self.field(label, within)
            field.clear()
            field.send_keys(text)
            return True
        self.until(f"no field “{label}” to write into", filled)

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def escape(self):
        self.until("the page is busy", lambda: self.run(LIVE + "return live(inside)"))
        self.press(Keys.ESCAPE)

    def shows(self, title, back=None):
        """The title of the screen in front, and the title that its back button has, if it has one."""
        found = lambda: self.run(LIVE + """
            const screen = [...inside.querySelectorAll('.screen')].filter(live).at(-1);
            return screen && [screen.querySelector('h1').innerText, screen.querySelector('.back')?.innerText ?? null]
            """)
        self.until(lambda: f"not at “{title}”, back to {back}, but {found()}", lambda: found() == [title, back])

    def alert(self, title, message=None):
        found = lambda: self.run(LIVE + """
            const alert = [...inside.querySelectorAll('[role=alertdialog]')].filter(live).at(-1);
            return alert && [alert.querySelector('h2').innerText, alert.querySelector('p')?.innerText ?? null]""")
        self.until(f"no alert “{title}”, “{message}”", lambda: found() == [title, message])

    def tab(self, title):
        self.until(f"tab “{title}” is not selected", lambda: self.run(
            "return document.querySelector('.tabbar [aria-current] span')?.innerText") == title)

    def row(self, label, value):
        self.until(f"no row “{label}: {value}”", lambda: [label, value] in self.run(LIVE + """
            return [...inside.querySelectorAll('main .row')].filter(live)
                .map(row => [...row.children].slice(0, 2).map(part => part.innerText))"""))

    def note(self, words):
        self.until(f"no note “{words}”", lambda: words in self.run(
            "return document.getElementById('note').innerText"))

    def fault(self, label, within=""):
        """What is wrong at a field."""
        return self.until(f"no fault at “{label}”", lambda: self.run("""
            return arguments[0].ariaInvalid === 'true' && document.activeElement === arguments[0]
                && arguments[0].closest('form').querySelector('.fault')?.innerText""", self.field(label, within)))

    def count(self, selector):
        return self.run("return document.querySelectorAll('#phone ' + arguments[0]).length", selector)

    def saved(self):
        """The id and the token of the session."""
        return self.run("return JSON.parse(Object.values(sessionStorage)[0])")

    def address(self, fragment, entry):
        """The address, after the page's own, and which entry of the page's history is shown."""
        found = lambda: self.run("return [location.hash, history.state?.path?.length]")
        self.until(lambda: f"not at {fragment}, entry {entry}, but {found()}", lambda: found() == [fragment, entry])

    def answer(self, count, body):
        """
        Replaces the answers to the next events, or to all until `answer_again`: `body` is JavaScript, with the request as
        `real()`. The page's clock stands still, so that no deadline of an event passes while they are lost.
        """
        self.run("""
            const fetch = window.fetch, now = Date.now();
            let left = arguments[0] ?? Infinity;
            window.answerAgain = () => { left = 0; };
            Date.now = () => now;
            const body = new Function('real', `return (async () => { ${arguments[1]} })()`);
            window.keys = [], window.bodies = [];
            window.fetch = (url, options) => {
                if (!url.includes('/events')) return fetch(url, options);
                window.keys.push(options.headers['Idempotency-Key']);
                window.bodies.push(options.body);
                return left-- > 0 ? body(() => fetch(url, options)) : fetch(url, options);
            };""", count, body)

    def answer_again(self):
        self.run("window.answerAgain()")

    def errors(self):
        """What the browser complains about, other than statuses that the page handles."""
        return [entry["message"] for entry in self.driver.execute("getLog", {"type": "browser"})["value"]
                if entry["level"] in ("WARNING", "SEVERE")
                and not re.search(r"the server responded with a status of \d+", entry["message"])]
