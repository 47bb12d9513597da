"""Prints the configuration of HAProxy that its ingress controller would make of an ingress.

    ingress.py FILE PORT REPLICA-PORT…
"""
import pathlib
import sys

import yaml

file, port, *replicas = sys.argv[1:]
ingress = yaml.safe_load(pathlib.Path(file).read_text())
snippet, = ingress["metadata"]["annotations"].values()
rule, = ingress["spec"]["rules"]
MATCHES = {"Prefix": "path_beg", "Exact": "path"}
paths = "\n".join(
    f"  use_backend replicas if {{ {MATCHES[each['pathType']]} {each['path']} }}" for each in rule["http"]["paths"])
servers = "\n".join(f"  server replica{replica} 127.0.0.1:{replica}" for replica in replicas)
print(f"""\
defaults
  mode http
  option forwardfor
  timeout connect 600s
  timeout client 600s
  timeout server 600s
frontend all
  bind 127.0.0.1:{port}
{paths}
  default_backend none
backend none
  http-request return status 404
backend replicas
  balance roundrobin
{snippet}{servers}""")
