"""Does what a guide says, from top to bottom: writes its files, runs its commands, compares what they print.

python authoring.py GUIDE DIRECTORY PORT [BUILD_FOLDER]

DIRECTORY has a link `coordinatord` to the checkout, and PORT is free. With BUILD_FOLDER, where the checkout's tests have been built, most of
the new package is built already.

A `swift` block is the file that the words before it name: “`Sources/App.swift`:”. A `diff` block changes such a file;
`@@` separates its parts. Of a `console` block, what follows `$ ` is a command, and the lines after it are its output,
if there are any. Every command has to succeed. A server gets that port, and its output is not compared. `sh` blocks
are not run.
"""

import re
import subprocess
import sys
from pathlib import Path

SEPARATOR = "----- next -----"


def change(text, diff):
    """The text after the change; what is replaced has to occur once."""
    for part in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = part.splitlines()
        old = "".join(line[1:] + "\n" for line in lines if line[:1] != "+")
        new = "".join(line[1:] + "\n" for line in lines if line[:1] != "-")
        assert text.count(old) == 1, f"this occurs {text.count(old)} times:\n{old}"
        text = text.replace(old, new)
    return text


def shape(text):
    text = re.sub(r"\bs_[A-Za-z0-9_-]{13}", "<id>", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


class Shell:
    """One bash for the whole guide, in its directory."""

    def __init__(self, directory):
        self.process = subprocess.Popen(
            ["bash"], cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.run("set -m; trap 'kill $(jobs -p) 2> /dev/null; wait' EXIT")
        if build_folder:
            # For scripts that build.
            self.run(f"export SWIFTPM_BUILD_DIR='{build_folder}'")

    def run(self, command):
        """What the command prints. Its input is empty, so that it cannot read the next commands."""
        self.process.stdin.write(f"{{ {command}\n}} < /dev/null\necho \"{SEPARATOR}$?\"\n")
        self.process.stdin.flush()
        printed = []
        for line in self.process.stdout:
            if SEPARATOR in line:
                before, code = line.split(SEPARATOR)
                printed = "".join(printed) + before
                assert code.strip() == "0", f"{command}\nexits with {code}{printed}"
                return printed
            printed.append(line)
        raise AssertionError(f"{command}\nends the shell:\n{''.join(printed)}")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def perform(command, shell, port):
    command = command.replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    if build_folder:
        command = re.sub(r"^swift (build|test)", rf"swift \1 --scratch-path {build_folder}", command)
        command = re.sub(r"^(cp )?\.build/", rf"\1{build_folder}/", command)
    return shell.run(command.replace(" & ready", f" --port {port} > server.log 2>&1 & ready"))


def console(text, shell, port):
    """Runs the commands, and returns how many there are."""
    steps = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    for command, shown in steps:
        print(f"$ {command}", flush=True)
        printed, shown = shape(perform(command, shell, port)), shape("\n".join(shown))
        assert not shown or printed == shown, f"{command}\nprints\n{printed}\nbut the guide says\n{shown}"
    return len(steps)


def write(language, text, before, shell):
    named = re.search(r"`([\w./-]+)`:$", before.strip())
    assert named, f"it is not said which file this is:\n{text}"
    path = Path(shell.run("pwd").strip(), named[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(change(path.read_text(), text) if language == "diff" else text)


guide, (directory, port) = Path(sys.argv[1]).read_text(), sys.argv[2:4]
build_folder = Path(sys.argv[4]).resolve() if len(sys.argv) > 4 else None
shell = Shell(directory)
commands = files = 0
try:
    end = 0
    for block in re.finditer(r"^```(\w+)\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL):
        language, text = block.groups()
        if language == "console":
            commands += console(text, shell, port)
        elif language != "sh":
            write(language, text, guide[end:block.start()], shell)
            files += 1
        end = block.end()
finally:
    shell.end()
assert commands >= 40 and files >= 12, "the guide has lost its examples"
print(f"{files} files were written as the guide says, and {commands} commands did what it says")
