"""Makes the moving picture of README: a purchase that begins on a phone and is paid on a TV.

python picture.py ORIGIN SERVER GIF

Both devices are pages of Examples/web in a browser each; the picture is made of what they show. The page has no button
for a code, so the script asks for it and hands it in, as the two devices of a user do.
"""

import io
import json
import sys
import urllib.request

from browser import Page
from PIL import Image, ImageDraw, ImageFont

origin, server, target = sys.argv[1:4]
# Of the picture, and of each device in it: where its screen is, and how large.
WIDTH, HEIGHT = 800, 496
PHONE, TV = (28, 26, 216, 384), (288, 74, 484, 288)
PHONE_PAGE, TV_PAGE = (336, 597), (555, 330)
GROUND, BEZEL, DARK, TEXT, MUTED = "#eef0f4", "#1d1f24", "#0f1115", "#15171c", "#9aa2af"


def font(weight, size):
    return ImageFont.truetype(f"/usr/share/fonts/opentype/inter/Inter-{weight}.otf", size)


def post(path, body, token=None):
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(server + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


class Device:
    """A page, and where it is in the picture. Until it is opened, its screen is dark."""

    def __init__(self, place, size):
        self.page, self.place, self.shown, self.scale = Page(origin, server), place, None, place[2] / size[0]
        self.page.size(*size, scale=2)

    def look(self):
        picture = Image.open(io.BytesIO(self.page.driver.get_screenshot_as_png())).convert("RGB")
        self.shown = picture.resize(self.place[2:], Image.Resampling.LANCZOS)

    def find(self, title, within=""):
        """The middle of a button, in the picture, and the button."""
        button = self.page.until(f"no button “{title}”", lambda: self.page.button(title, within))
        self.page.run("arguments[0].scrollIntoView({block: 'nearest'})", button)
        box = self.page.run("return arguments[0].getBoundingClientRect().toJSON()", button)
        return (self.place[0] + (box["x"] + box["width"] / 2) * self.scale,
                self.place[1] + (box["y"] + box["height"] / 2) * self.scale), button


frames, lengths, caption = [], [], ""


def frame(seconds, finger=None, code=None):
    """What both devices show now, and where the user's finger is."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), GROUND)
    draw = ImageDraw.Draw(picture, "RGBA")
    x, y, width, height = TV
    draw.rounded_rectangle((x - 10, y - 10, x + width + 9, y + height + 9), 12, BEZEL)
    draw.rounded_rectangle((x + width / 2 - 70, y + height + 22, x + width / 2 + 70, y + height + 27), 2, BEZEL)
    draw.rectangle((x + width / 2 - 12, y + height + 9, x + width / 2 + 12, y + height + 22), BEZEL)
    x, y, width, height = PHONE
    draw.rounded_rectangle((x - 9, y - 9, x + width + 8, y + height + 8), 26, BEZEL)
    for device in (phone, tv):
        x, y, width, height = device.place
        if device.shown is None:
            draw.rectangle((x, y, x + width - 1, y + height - 1), DARK)
            continue
        mask = Image.new("L", (width, height), 0)
        ImageDraw.Draw(mask).rounded_rectangle((0, 0, width - 1, height - 1), 18 if device is phone else 3, 255)
        picture.paste(device.shown, (x, y), mask)
    if code:
        middle = TV[0] + TV[2] / 2
        draw.text((middle, TV[1] + 110), "The code of your phone", MUTED, font("Medium", 16), "mm")
        draw.text((middle, TV[1] + 155), code, "white", font("SemiBold", 40), "mm")
    if finger:
        across, down = finger
        draw.ellipse((across - 15, down - 15, across + 15, down + 15), (255, 255, 255, 150), (29, 31, 36, 255), 2)
    draw.text((WIDTH / 2, HEIGHT - 38), caption, TEXT, font("Medium", 19), "mm")
    frames.append(picture)
    lengths.append(int(seconds * 1000))


def look(seconds, **more):
    for device in (phone, tv):
        if device.shown is not None:
            device.look()
    frame(seconds, **more)


def tap(device, title, within=""):
    finger, button = device.find(title, within)
    look(0.6, finger=finger)
    button.click()


phone, tv = Device(PHONE, PHONE_PAGE), Device(TV, TV_PAGE)
try:
    caption = "A link opens a product on a phone."
    phone.page.open("shop", "Product 42", back="Home", link="/products/42")
    phone.look()
    look(1.6)
    caption = "Each tap is one request; its answer is the whole screen stack."
    tap(phone, "Add to cart")
    phone.page.until("the badge is missing", lambda: phone.page.count(".tabbar i") == 1)
    look(0.8)
    tap(phone, "Cart", ".tabbar")
    phone.page.shows("Cart")
    look(0.9)
    tap(phone, "Checkout")
    caption = "The user has to sign in first: a sheet."
    phone.page.shows("Sign in")
    look(1)
    phone.page.fill("E-mail", "ann@example.com")
    phone.page.fill("Password", "correct horse")
    look(0.7)
    tap(phone, "Sign in", "form")
    caption = "Then the checkout goes on by itself."
    phone.page.shows("Address")
    phone.page.until("the sheet is still there", lambda: phone.page.count(".sheet") == 0)
    look(1)
    phone.page.fill("Street", "1 Main Street", "form.card")
    phone.page.fill("City", "Springfield")
    look(0.6)
    tap(phone, "Submit address")
    phone.page.shows("Payment", back="Address")
    look(1)

    saved = phone.page.saved()
    code = post(f"/v1/sessions/{saved['id']}/pairings", {"label": "TV"}, saved["token"])["code"]
    caption = f"The phone gets a code, {code}, for another device."
    for length in (0, 4, 8):
        look(1.4 if length == 8 else 0.5, code=code[:length] or " ")
    joined = post("/v1/pairings", {"code": code})
    tv.page.driver.get(f"{origin}/none")
    tv.page.run("sessionStorage.setItem(arguments[0], arguments[1])", f"coordinatord {server} shop",
                json.dumps({"id": joined["session"]["id"], "token": joined["token"]}))
    tv.page.driver.get(f"{origin}/index.html?server={server}&app=shop")
    tv.page.shows("Payment", back="Address")
    tv.look()
    caption = "It shows the same screen, and goes on from there."
    look(1.8)
    tv.page.fill("Card number", "4242 4242 4242 4242")
    look(0.9)
    tap(tv, "Pay now")
    for device in (tv, phone):
        device.page.shows("Receipt")
    caption = "Paid on the TV. The phone follows."
    look(3.2)
finally:
    for device in (phone, tv):
        device.page.driver.quit()

# One palette for all frames, so that what does not change is not in the file again.
together = Image.new("RGB", (WIDTH, HEIGHT * len(frames)))
for number, picture in enumerate(frames):
    together.paste(picture, (0, HEIGHT * number))
palette = together.quantize(96, Image.Quantize.MEDIANCUT)
pictures = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in frames]
pictures[0].save(target, save_all=True, append_images=pictures[1:], duration=lengths, loop=0, optimize=False)
print(f"{target}: {len(frames)} frames, {sum(lengths) / 1000:.1f} s")
