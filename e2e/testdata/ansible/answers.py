"""Answers many command lines of ansible, ansible-inventory and ansible-playbook in one go.

Reads one JSON list per line, an argument vector, and prints one JSON object per
line: stdout, stderr and the exit status. Each command line is the tool's own
main function in a process of its own, forked after the modules were imported,
which is what most of the time of a call goes into.
"""
import json
import os
import sys
import tempfile

import ansible.cli.adhoc
import ansible.cli.inventory
import ansible.cli.playbook

TOOLS = {"ansible": ansible.cli.adhoc, "ansible-inventory": ansible.cli.inventory, "ansible-playbook": ansible.cli.playbook}


def run(argv, out, err):
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    status = 250
    try:
        TOOLS[argv[0]].main(argv)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


for line in sys.stdin:
    argv = json.loads(line)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            run(argv, out, err)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        print(json.dumps({
            "stdout": out.read().decode(), "stderr": err.read().decode(), "code": os.waitstatus_to_exitcode(status),
        }), flush=True)
