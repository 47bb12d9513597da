"""Runs the examples of a page, and compares what they print with what the page says.

`console` blocks run in one shell: what follows `$ ` is a command, the lines after it are its output. A `js` or `swift`
block is a program, whose output is the `text` block after it, although a gateway loses the first answer to each of its
POSTs. Ids, tokens, keys and times differ from run to run; the
shape is compared.

python guide.py PAGE SERVER
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gateway import Gateway

client = Path(__file__).parents[2] / "Clients/TypeScript/coordinator-client.js"
page = Path(sys.argv[1]).read_text()
server = sys.argv[2]
gateway = Gateway(server)


def blocks(language):
    """The blocks in a language, each with the block after it."""
    fences = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [(text, following) for (name, text), (_, following) in zip(fences, [*fences[1:], ("", "")])
            if name == language]


def shape(text):
    text = re.sub(r"[A-Za-z0-9_-]{43}", "<token>", text)
    text = re.sub(r"\bs_[A-Za-z0-9_-]{13}", "<id>", text)
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>", text).strip()


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    # Programs; commands of the transcript may fail.
    assert "cwd" not in options or done.returncode == 0, f"{command} has failed: {done.stderr}"
    return done.stdout, done.stderr


def expect(what, printed, shown, errors=""):
    assert shape(printed) == shape(shown), f"{what}\nprints\n{printed}\nbut the page says\n{shown}\n{errors}"


def transcript():
    steps = []
    for text, _ in blocks("console"):
        for line in text.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
    separator = "----- next -----"
    script = "\n".join(f"{command}\necho '{separator}'" for command, _ in steps)
    printed, errors = run(["bash", "-c", script.replace("http://127.0.0.1:8080", server)])
    outputs = printed.split(separator)
    assert len(outputs) == len(steps) + 1, errors
    for (command, shown), output in zip(steps, outputs):
        expect(command, output, "\n".join(shown), errors)
    return len(steps)


def program(language, name, commands):
    if not blocks(language):
        return 0
    (text, shown), = blocks(language)
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(client, Path(directory, "client.mjs"))
        text = text.replace("./client.js", "./client.mjs")
        Path(directory, name).write_text(text.replace("http://127.0.0.1:8080", gateway.url))
        for command in commands:
            printed, errors = run(command, cwd=directory)
        expect(f"the {language} example", printed, shown, errors)
    return 1


steps = transcript()
assert steps >= 5, "the page has lost its transcript"
# Node 18 has no `crypto` without this flag.
programs = program("js", "example.mjs", [["node", "--experimental-global-webcrypto", "example.mjs"]])
programs += program("swift", "main.swift", [["swiftc", "-swift-version", "6", "main.swift", "-o", "client"], ["./client"]])
assert programs, "the page has lost its programs"
assert gateway.lost > programs, "the gateway has lost no answers"
print(f"{sys.argv[1]}: {steps} commands and {programs} programs print what it says")
