"""Renders the Kubernetes installations, validates what comes out, and checks what the schemas do not know.

    manifests.py KUBECTL COORDINATORD
"""
import pathlib
import re
import subprocess
import sys

import kubernetes_validate
import yaml

kubectl, program = sys.argv[1:]
root = pathlib.Path("deploy/kubernetes")
KUBERNETES = "1.31"
# Of operators that are not part of Kubernetes, and so without a schema.
FOREIGN = {
    "PodMonitor": "monitoring.coreos.com/v1",
    "PrometheusRule": "monitoring.coreos.com/v1",
    "Cluster": "postgresql.cnpg.io/v1",
    "ScheduledBackup": "postgresql.cnpg.io/v1",
    "ObjectStore": "barmancloud.cnpg.io/v1",
}
# Made by hand, as docs/kubernetes.md says, or by the operator of PostgreSQL.
SECRETS = {
    "one-server": {"coordinatord-console", "coordinatord-tls"},
    "replicas": {"coordinatord-console", "coordinatord-tls", "database-app", "database-ca", "database-server"},
}
faults = []


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


def render(directory):
    text = subprocess.run([kubectl, "kustomize", directory], check=True, capture_output=True, text=True).stdout
    return list(yaml.safe_load_all(text))


def files(directory):
    """The files that an installation is made of."""
    found = {(directory / "kustomization.yaml").resolve()}
    kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text())
    paths = kustomization.get("resources", []) + kustomization.get("components", [])
    paths += [patch["path"] for patch in kustomization.get("patches", [])]
    for path in (directory / path for path in paths):
        found |= files(path) if path.is_dir() else {path.resolve()}
    return found


class Installation:
    def __init__(self, name):
        self.name = name
        self.manifests = {(each["kind"], each["metadata"]["name"]): each for each in render(root / name)}
        self.of_kind = lambda kind: [each for each in self.manifests.values() if each["kind"] == kind]
        self.settings = {map_["metadata"]["name"]: map_["data"] for map_ in self.of_kind("ConfigMap")}
        self.server = self.manifests["Deployment", "coordinatord"]
        # Each pod with the kind that makes it.
        self.pods = [(each["kind"], pod) for each in self.manifests.values() for pod in values(each, "template")
                     if "containers" in pod.get("spec", {})]

    def fault(self, text):
        faults.append(f"{self.name}: {text}")

    def check(self):
        for each in self.manifests.values():
            if FOREIGN.get(each["kind"]) != each["apiVersion"]:
                kubernetes_validate.validate(each, KUBERNETES, strict=True)
            if each["kind"] != "Namespace" and each["metadata"].get("namespace") != "coordinatord":
                self.fault(f"{each['kind']} is in no namespace")
        for kind, pod in self.pods:
            self.check_pod(kind, pod)
        self.check_references()
        self.check_selectors()
        self.check_ports()
        self.check_updates()
        self.check_room()
        self.check_alerts()

    def check_pod(self, kind, pod):
        """Its containers run the program as the program can be run, and with no right that they do not need."""
        spec = pod["spec"]
        volumes = {volume["name"] for volume in spec["volumes"]}
        user = spec["securityContext"]
        if not user["runAsNonRoot"] or user["seccompProfile"] != {"type": "RuntimeDefault"} \
                or spec["automountServiceAccountToken"]:
            self.fault(f"the pod of {kind} has too many rights")
        for container in spec.get("initContainers", []) + spec["containers"]:
            name = f"{kind} {container['name']}"
            rights = container["securityContext"]
            if rights["allowPrivilegeEscalation"] or not rights["readOnlyRootFilesystem"] \
                    or rights["capabilities"] != {"drop": ["ALL"]}:
                self.fault(f"{name} has too many rights")
            if "memory" not in container["resources"]["limits"]:
                self.fault(f"{name} has no limit of memory")
            if missing := {mount["name"] for mount in container["volumeMounts"]} - volumes:
                self.fault(f"{name} mounts {missing}, which the pod does not have")
            if not re.fullmatch(r"registry\.example\.com/coordinatord:\d+\.\d+\.\d+", container["image"]):
                self.fault(f"{name} runs {container['image']}, which is no release")
            self.check_command(name, container)

    def check_command(self, name, container):
        settings = {}
        for source in container.get("envFrom", []):
            settings |= self.settings.get(source["configMapRef"]["name"], {})
        settings |= {each["name"]: each["value"] for each in container.get("env", [])}
        command, *rest = container["args"]
        offered = subprocess.run([program, command, "--help"], capture_output=True, text=True).stdout
        for flag in (argument for argument in rest if argument.startswith("--")):
            if not re.search(rf"{flag}\b", offered):
                self.fault(f"{name} uses {flag}, which `{command}` does not have")
        # Which settings there are, their values, and which contradict each other.
        outcome = subprocess.run([program, "config"], env=settings, capture_output=True, text=True)
        if outcome.returncode != 0:
            self.fault(f"{name}: {outcome.stderr}")
        if command == "migrate":
            without_user = [re.sub("//.*?@", "//", each["COORDINATORD_STORE"]) for each in
                            (settings, self.settings_of_server())]
            if without_user[0] != without_user[1] or settings["COORDINATORD_STORE"] == \
                    self.settings_of_server()["COORDINATORD_STORE"]:
                self.fault(f"{name} has another database than the servers, or the same role")
        for setting, value in settings.items():
            mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
            if setting.endswith("_FILE") and not any(value.startswith(mount + "/") for mount in mounts) \
                    and (command == "serve" or "STORE" in setting):
                self.fault(f"{name} has {setting}={value}, which is in no volume")

    def check_references(self):
        known = {"secretName": SECRETS[self.name], "claimName": {n for k, n in self.manifests if
                 k == "PersistentVolumeClaim"}, "configMapRef": self.settings.keys()}
        for (kind, name), manifest in self.manifests.items():
            for key, names in known.items():
                for reference in values(manifest, key):
                    reference = reference["name"] if isinstance(reference, dict) else reference
                    if reference not in names:
                        self.fault(f"{kind} {name} needs {reference}, which nobody makes")
        for cluster in self.of_kind("Cluster"):
            plugin, = cluster["spec"]["plugins"]
            schedule, = self.of_kind("ScheduledBackup")
            if not plugin["isWALArchiver"] or schedule["spec"]["cluster"]["name"] != cluster["metadata"]["name"] \
                    or schedule["spec"]["pluginConfiguration"]["name"] != plugin["name"] \
                    or ("ObjectStore", plugin["parameters"]["barmanObjectName"]) not in self.manifests:
                self.fault("the database is not backed up")
            if len(schedule["spec"]["schedule"].split()) != 6:
                self.fault("the schedule of the backup has no seconds")

    def check_selectors(self):
        labels = [pod["metadata"]["labels"] for _, pod in self.pods]
        where = {"Service": "selector", "PodDisruptionBudget": "selector", "PodMonitor": "selector",
                 "NetworkPolicy": "podSelector", "Deployment": "selector"}
        for (kind, name), manifest in self.manifests.items():
            if kind in where:
                selector = manifest["spec"][where[kind]]
                selector = selector.get("matchLabels", selector)
                if not any(selector.items() <= each.items() for each in labels):
                    self.fault(f"{kind} {name} selects no pod")

    def check_ports(self):
        """Those of the container have names, and whoever may reach them does so by these or by their numbers."""
        container, = self.server["spec"]["template"]["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        service = self.manifests["Service", "coordinatord"]
        used = {port["targetPort"] for port in service["spec"]["ports"]}
        used |= {each["port"] for each in self.manifests["PodMonitor", "coordinatord"]["spec"]["podMetricsEndpoints"]}
        probed = {probe: container[probe]["httpGet"]["port"]
                  for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
        used |= set(probed.values())
        if probed["startupProbe"] != "metrics" or probed["livenessProbe"] != "metrics":
            self.fault("clients that take all connections of the port for clients get the pod restarted")
        if not used <= ports.keys():
            self.fault(f"no port is named {sorted(used - ports.keys())}")
        rules = self.manifests["NetworkPolicy", "coordinatord"]["spec"]["ingress"]
        allowed = {port["port"] for rule in rules for port in rule["ports"]}
        settings = self.settings_of_server()
        listened = {int(settings["COORDINATORD_PORT"]), int(settings["COORDINATORD_ADMIN_PORT"])}
        if not allowed == listened == set(ports.values()):
            self.fault(f"the network policy allows {allowed}, the pods have {ports}, and listen on {listened}")
        offered = {port["name"] for port in service["spec"]["ports"]}
        ingress = self.manifests["Ingress", "coordinatord"]
        for backend in values(ingress, "service"):
            if backend["name"] != "coordinatord" or backend["port"]["name"] not in offered:
                self.fault(f"the ingress needs {backend}, which is not there")
        for path in values(ingress, "path"):
            if any(private.startswith(path) for private in ("/console", "/metrics", "/readyz")):
                self.fault(f"the ingress passes {path} to everybody")

    def settings_of_server(self):
        container, = self.server["spec"]["template"]["spec"]["containers"]
        return self.settings[container["envFrom"][0]["configMapRef"]["name"]]

    def check_updates(self):
        """A new release replaces the old one without losing requests, and so does the old one the new one."""
        if self.of_kind("Job"):
            self.fault("a Job cannot be changed: the next release, or a return to the last one, is refused")
        if "coordinatord" in self.settings:
            self.fault("the settings have no name of their own: changed ones do not reach the servers")
        spec, settings = self.server["spec"], self.settings_of_server()
        # A pod that is killed while it drains cuts requests: after the drain the server needs 3 s.
        drain = sum(int(settings[f"COORDINATORD_DRAIN_{part}"].removesuffix("s")) for part in ("DELAY", "TIME"))
        grace = spec["template"]["spec"]["terminationGracePeriodSeconds"]
        if drain + 3 >= grace:
            self.fault(f"a drain of {drain} s and 3 s more do not end within {grace} s")
        commands = [each["args"] for each in spec["template"]["spec"].get("initContainers", [])]
        if settings["COORDINATORD_STORE"].startswith("sqlite:"):
            if spec["replicas"] != 1 or spec.get("strategy") != {"type": "Recreate"}:
                self.fault("two servers would open one store")
            if not any("persistentVolumeClaim" in volume for volume in spec["template"]["spec"]["volumes"]
                       if volume["name"] == "data"):
                self.fault("the store is gone with its pod")
        elif ["migrate"] not in commands or spec.get("strategy", {}).get("rollingUpdate", {}).get("maxUnavailable") != 0:
            self.fault("servers would start before the tables are upgraded, or too few would be left")

    def check_room(self):
        """The volumes have room for a restored store beside a damaged one, and for a backup beside those kept."""
        settings = self.settings_of_server()
        if not settings["COORDINATORD_STORE"].startswith("sqlite:"):
            return
        sizes = {name: int(manifest["spec"]["resources"]["requests"]["storage"].removesuffix("Gi"))
                 for (kind, name), manifest in self.manifests.items() if kind == "PersistentVolumeClaim"}
        store = int(settings["COORDINATORD_STORE_SIZE"].removesuffix("G"))
        job = self.manifests["CronJob", "coordinatord-backup"]["spec"]["jobTemplate"]
        backup, = job["spec"]["template"]["spec"]["containers"]
        kept = int(backup["args"][backup["args"].index("--keep") + 1])
        # A tenth more: for the write-ahead log, the apps' own data, and what the file system takes for itself.
        for claim, stores in (("coordinatord-data", 2), ("coordinatord-backups", kept + 1)):
            if sizes[claim] < 1.1 * stores * store:
                self.fault(f"{claim} has {sizes[claim]} GiB, too few for {stores} stores of {store} GiB")

    def check_alerts(self):
        rules = yaml.safe_load(pathlib.Path("deploy/prometheus/alerts.yaml").read_text())
        if self.manifests["PrometheusRule", "coordinatord"]["spec"] != rules:
            self.fault("the alerts are not those of deploy/prometheus: run scripts/describe")


used = set()
for name in SECRETS:
    Installation(name).check()
    used |= files(root / name)
if unused := {file.resolve() for file in root.rglob("*.yaml")} - used:
    faults.append(f"used by no installation: {sorted(map(str, unused))}")
sys.exit("\n".join(faults) or 0)
