# Prints the things of a host that a role may change, as JSON: values by kind and name.
import glob, hashlib, json, os, pwd, grp, stat, subprocess

FOLDERS = ["etc", "usr/local", "opt", "srv", "var/www", "root", "home"]
# Caches, keys and what each host has for itself.
IGNORED = ["root/.ansible", "root/.cache", "root/.ssh/known_hosts", "etc/.pwd.lock", "etc/ld.so.cache", "etc/machine-id", "etc/resolv.conf",
           "etc/ssh/ssh_host_", "etc/ssh/fleet_keys", "etc/ssl/certs", "etc/ssl/private/ssl-cert-snakeoil.key", "etc/passwd", "etc/group", "etc/shadow", "etc/gshadow",
           "etc/subuid", "etc/subgid", "usr/local/lib/python3.11/dist-packages/__pycache__", "etc/systemd/system-generators"]

os.chdir("/")
hostname = os.uname().nodename.encode()
address = [l.split()[0] for l in open("/etc/hosts", "rb") if hostname in l.split()[1:] and not l.startswith(b"127.")]
state = {}


def own(data):
    data = data.replace(hostname, b"HOST")
    for a in address:
        data = data.replace(a, b"ADDRESS")
    return data


def name(look, number):
    try:
        return look(number)[0]
    except KeyError:
        return str(number)


def add(path):
    if any(path.startswith(i) for i in IGNORED) or path.endswith("-"):
        return
    s = os.lstat(path)
    value = "%s %o %s:%s" % (stat.filemode(s.st_mode)[0], stat.S_IMODE(s.st_mode), name(pwd.getpwuid, s.st_uid), name(grp.getgrgid, s.st_gid))
    if stat.S_ISLNK(s.st_mode):
        value += " " + os.readlink(path)
    if stat.S_ISREG(s.st_mode):
        with open(path, "rb") as f:
            data = own(f.read())
        value += " " + hashlib.sha256(data).hexdigest()[:12]
        if len(data) < 200000 and b"\0" not in data:
            value += "\n" + data.decode("utf-8", "replace")
    state["file /" + path] = value


for folder in FOLDERS:
    for base, folders, files in os.walk(folder):
        add(base)
        for f in files + [d for d in folders if os.path.islink(os.path.join(base, d))]:
            add(os.path.join(base, f))


def lines(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.splitlines()


for kind, file in ("account", "/etc/passwd"), ("group", "/etc/group"):
    for line in open(file):
        state[kind + " " + line.split(":")[0]] = line.strip()
for line in open("/etc/shadow"):
    user, password = line.split(":")[:2]
    state["password " + user] = password[:3]
for line in lines("dpkg-query", "-W", "-f", "${Package} ${Status} ${Version}\n"):
    package, value = line.split(" ", 1)
    state["package " + package] = value
for path in glob.glob("/var/spool/cron/crontabs/*"):
    with open(path) as f:
        state["crontab " + os.path.basename(path)] = "\n".join(l.strip() for l in f if not l.startswith("# "))
for line in lines("systemctl", "list-unit-files", "--no-legend", "--no-pager", "--plain"):
    parts = line.split()
    if len(parts) > 1 and parts[1] != "transient":
        state["unit " + parts[0]] = parts[1]
for line in lines("systemctl", "list-units", "--all", "--no-legend", "--no-pager", "--plain", "--type=service,socket,timer,mount,path"):
    parts = line.split()
    if len(parts) > 3 and not parts[0].startswith(("session-", "user@", "user-runtime", "run-", "dev-", "systemd-", "apt-", "dpkg-", "ssh@")):
        state["active " + parts[0]] = parts[2]
print(json.dumps(state))
