# Renders templates with ansible-core as its module "template" does, and values as its variables are evaluated.
# Reads {"variables": …, "folder": …, "templates": […], "values": […]} and writes a list of {"out": …} or {"error": …}.
import json
import os
import sys

os.environ["ANSIBLE_DEPRECATION_WARNINGS"] = "False"

from ansible.parsing.dataloader import DataLoader
from ansible.template import AnsibleEnvironment, Templar

request = json.load(sys.stdin)
loader = DataLoader()
loader.set_basedir(request["folder"])
variables = dict(request["variables"], ansible_managed="Ansible managed")


def template(text):
    search = [os.path.join(request["folder"], "templates"), request["folder"]]
    templar = Templar(loader=loader, variables=variables).copy_with_new_env(
        environment_class=AnsibleEnvironment, searchpath=search, newline_sequence="\n",
        trim_blocks=True, lstrip_blocks=False, available_variables=variables)
    return templar.do_template(text, preserve_trailing_newlines=True, escape_backslashes=False)


def value(text):
    return Templar(loader=loader, variables=variables).template(text)


def attempt(f, text):
    try:
        return {"out": f(text)}
    except RecursionError:
        return {"error": "RecursionError"}
    except Exception as e:
        return {"error": type(e).__name__}


def plain(o):
    if isinstance(o, tuple):
        return list(o)
    return str(o)


result = {
    "templates": [attempt(template, t) for t in request["templates"]],
    "values": [attempt(value, t) for t in request["values"]],
}
print(json.dumps(result, default=plain))
