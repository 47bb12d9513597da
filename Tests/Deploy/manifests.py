"""Validates the Kubernetes manifests, and checks what their schemas do not know.

    manifests.py DIRECTORY HELP    HELP is a file with the help of `coordinatord serve` and `migrate`
"""
import pathlib
import re
import sys

import kubernetes_validate
import yaml

directory, help_text = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text()
KUBERNETES = "1.31"
# Made by the operator of PostgreSQL, and by the operator of the service: see docs/scaling.md.
MADE_ELSEWHERE = {"database-app", "database-ca", "coordinatord-console", "coordinatord-tls"}
flags = set(re.findall(r"--[a-z-]+", help_text))


def values(of, name):
    """What has that name, anywhere in a manifest."""
    if isinstance(of, dict):
        for key, value in of.items():
            if key == name:
                yield value
            yield from values(value, name)
    elif isinstance(of, list):
        for value in of:
            yield from values(value, name)


manifests = {}
for file in sorted(directory.glob("*.yaml")):
    for manifest in yaml.safe_load_all(file.read_text()):
        manifests[manifest["kind"], manifest.get("metadata", {}).get("name")] = manifest
        if manifest["apiVersion"].startswith(("kustomize.config.k8s.io", "postgresql.cnpg.io")):
            continue
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)

faults = []
listed = set(manifests["Kustomization", None]["resources"])
files = {file.name for file in directory.glob("*.yaml")} - {"kustomization.yaml"}
if listed != files:
    faults.append(f"kustomization.yaml and the directory differ: {sorted(listed ^ files)}")
for (kind, name), manifest in manifests.items():
    for secret in values(manifest, "secretName"):
        if secret not in MADE_ELSEWHERE:
            faults.append(f"{kind} {name} needs the secret {secret}, which nobody makes")
    for reference in values(manifest, "configMapKeyRef"):
        if reference["key"] not in manifests.get(("ConfigMap", reference["name"]), {}).get("data", {}):
            faults.append(f"{kind} {name} needs {reference}, which nobody makes")
    for arguments in values(manifest, "args"):
        for flag in re.findall(r"--[a-z-]+", " ".join(arguments)):
            if flag not in flags:
                faults.append(f"{kind} {name} uses {flag}, which coordinatord does not have")
    for variables in values(manifest, "env"):
        for variable in variables:
            if "--" + variable["name"].removeprefix("COORDINATORD_").lower().replace("_", "-") not in flags:
                faults.append(f"{kind} {name} sets {variable['name']}, which is no setting of coordinatord")
pods = [manifest["spec"]["template"]["metadata"]["labels"] for manifest in manifests.values()
        if manifest["kind"] in ("Deployment", "Job")]
for (kind, name), manifest in manifests.items():
    selector = manifest["spec"].get("selector", {}) if kind in ("Service", "PodDisruptionBudget") else None
    selector = selector and selector.get("matchLabels", selector)
    if selector and not any(selector.items() <= labels.items() for labels in pods):
        faults.append(f"{kind} {name} selects no pod")
sys.exit("\n".join(faults) or 0)
