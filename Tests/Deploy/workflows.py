"""Checks in the workflows what their schema does not know.

    workflows.py FILE…
"""
import pathlib
import re
import subprocess
import sys

import yaml

faults = []


def check_job(file, name, job, jobs):
    needed = job.get("needs", [])
    for other in [needed] if isinstance(needed, str) else needed:
        if other not in jobs:
            faults.append(f"{file}: {name} needs {other}, which is no job")
    for step in job["steps"]:
        if uses := step.get("uses"):
            if not re.fullmatch(r"(actions|sigstore)/[a-z-]+@v\d+", uses):
                faults.append(f"{file}: {uses} in {name} is no release of an action that is known")
            continue
        script = re.sub(r"\$\{\{.*?\}\}", "value", step["run"])
        outcome = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
        if outcome.returncode != 0:
            faults.append(f"{file}: {name}: {outcome.stderr}")
        if "github.event" in step["run"]:
            faults.append(f"{file}: {name} puts what a stranger wrote into a script")
        for command in re.findall(r"(?<![\w/])(?:\./)?(scripts/[a-z-]+)", script):
            if not pathlib.Path(command).is_file():
                faults.append(f"{file}: {name} runs {command}, which is not there")


for file in sys.argv[1:]:
    workflow = yaml.safe_load(pathlib.Path(file).read_text())
    if workflow["permissions"] != {"contents": "read"}:
        faults.append(f"{file}: jobs may do more than read, unless they say so")
    for name, job in workflow["jobs"].items():
        check_job(file, name, job, workflow["jobs"])
    # The parts of scripts/test-release that the workflow runs are all that there are.
    for job in workflow["jobs"].values():
        if "part" in (matrix := job.get("strategy", {}).get("matrix", {})):
            head = pathlib.Path("scripts/test-release").read_text()
            parts = set(re.search(r"^all=\(([^)]*)\)$", head, re.MULTILINE)[1].split())
            if set(matrix["part"]) != parts:
                faults.append(f"{file} and scripts/test-release differ: {set(matrix['part']) ^ parts}")
sys.exit("\n".join(faults) or 0)
