"""Validates the Kubernetes manifests, and checks what their schemas do not know.

    manifests.py DIRECTORY PODMONITOR HELP    HELP is a file with the help of `coordinatord serve` and `migrate`
"""
import pathlib
import re
import sys

import kubernetes_validate
import yaml

directory, monitor, help_file = (pathlib.Path(argument) for argument in sys.argv[1:])
KUBERNETES = "1.31"
# Made by the operator of PostgreSQL, and by the operator of the service: see docs/scaling.md.
MADE_ELSEWHERE = {"database-app", "database-ca", "coordinatord-console", "coordinatord-tls"}
flags = set(re.findall(r"--[a-z-]+", help_file.read_text()))


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
manifests["PodMonitor", "coordinatord"] = yaml.safe_load(monitor.read_text())

pods = [manifest["spec"]["template"]["metadata"]["labels"] for manifest in manifests.values()
        if manifest["kind"] in ("Deployment", "Job")]
SELECTING = {
    "Service": "selector", "PodDisruptionBudget": "selector", "PodMonitor": "selector", "NetworkPolicy": "podSelector"}
for (kind, name), manifest in manifests.items():
    if kind not in SELECTING:
        continue
    selector = manifest["spec"][SELECTING[kind]]
    selector = selector.get("matchLabels", selector)
    if not any(selector.items() <= labels.items() for labels in pods):
        faults.append(f"{kind} {name} selects no pod")

# The ports: those of the container have names, and whoever may reach them does so by these or by their numbers.
deployment = manifests["Deployment", "coordinatord"]["spec"]["template"]["spec"]
container = deployment["containers"][0]
ports = {port["name"]: port["containerPort"] for port in container["ports"]}
used = {
    "Service": {port["targetPort"] for port in manifests["Service", "coordinatord"]["spec"]["ports"]},
    "PodMonitor": {each["port"] for each in manifests["PodMonitor", "coordinatord"]["spec"]["podMetricsEndpoints"]},
    "probes": {container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")},
}
for user, names in used.items():
    if not names <= ports.keys():
        faults.append(f"{user}: no port is named {sorted(names - ports.keys())}")
ingress = manifests["NetworkPolicy", "coordinatord"]["spec"]["ingress"]
allowed = {port["port"] for rule in ingress for port in rule["ports"]}
if allowed != set(ports.values()):
    faults.append(f"the network policy allows the ports {allowed}, and the pods have {ports}")
offered = {port["name"] for port in manifests["Service", "coordinatord"]["spec"]["ports"]}
for service in values(manifests["Ingress", "coordinatord"], "service"):
    if service["name"] != "coordinatord" or service["port"]["name"] not in offered:
        faults.append(f"the ingress needs {service}, which is not there")

# A pod that is killed while it drains cuts requests: after the drain the server needs 3 s.
variables = {variable["name"]: variable.get("value") for variable in container["env"]}
drain = sum(int(variables[f"COORDINATORD_DRAIN_{part}"].removesuffix("s")) for part in ("DELAY", "TIME"))
if drain + 3 >= deployment["terminationGracePeriodSeconds"]:
    faults.append(f"a drain of {drain} s and 3 s more do not end within {deployment['terminationGracePeriodSeconds']} s")
sys.exit("\n".join(faults) or 0)
