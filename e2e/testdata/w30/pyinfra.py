# W30 for pyinfra: the same thirty resources as in site.yaml.
from io import StringIO

from jinja2 import Template
from pyinfra import host
from pyinfra.facts.server import Hostname, LinuxName
from pyinfra.operations import files, server

for path in ["/srv/w30", "/srv/w30/conf.d", "/srv/w30/state"]:
    files.directory(path=path, user="root", group="root", mode="755")

templates = {name: Template(open(f"templates/{name}.j2").read()) for name in ["app", "host"]}
facts = {"hostname": host.get_fact(Hostname), "distribution": host.get_fact(LinuxName)}
for item in range(1, 21):
    name = "app" if item <= 16 else "host"
    text = templates[name].render(item=item, ansible_facts=facts, workers=8)
    files.put(src=StringIO(text), dest=f"/srv/w30/conf.d/{name}{item}.conf", user="root", group="root", mode="644")

for name in ["one", "two", "three", "four"]:
    server.shell(commands=[f"test -e /srv/w30/state/{name} || touch /srv/w30/state/{name}"])

files.link(path="/srv/w30/current", target="conf.d/app1.conf")
files.line(path="/srv/w30/state/one", line="TZ=UTC")
files.put(src="motd", dest="/srv/w30/motd", user="root", group="root", mode="644")
