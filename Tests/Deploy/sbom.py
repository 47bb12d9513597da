"""Validates the bill of materials of an image, and compares it with what the image was made of.

    sbom.py FILE ROOT BUILD    ROOT is the image's root file system, BUILD the folder that Swift has built in
"""
import hashlib
import json
import pathlib
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

text = pathlib.Path(sys.argv[1]).read_text()
root, build = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
    sys.exit(f"{sys.argv[1]} is not valid: {fault}")
bill = json.loads(text)
versions = {each["name"]: each["version"] for each in bill["components"]}
packages = {
    "Debian": {file.name for file in root.joinpath("var/lib/dpkg/status.d").iterdir()},
    "Swift": {folder.name for folder in build.joinpath("checkouts").iterdir()},
}
for kind, names in packages.items():
    if missing := names - versions.keys():
        sys.exit(f"not listed: {kind}'s {sorted(missing)}")
if more := versions.keys() - packages["Debian"] - packages["Swift"] - {"swift"}:
    sys.exit(f"listed, and not in the image: {sorted(more)}")
program = root.joinpath("usr/local/bin", bill["metadata"]["component"]["name"])
if bill["metadata"]["component"]["hashes"][0]["content"] != hashlib.sha256(program.read_bytes()).hexdigest():
    sys.exit(f"the hash is not that of {program}")
print(f"The bill of materials is valid, with {len(packages['Debian'])} Debian and {len(packages['Swift'])} Swift packages")
