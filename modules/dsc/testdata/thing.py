"""A DSC resource for tests: keeps the other properties of an instance in the file
that the property file names. What its manifest passes as arguments bends it."""
import argparse
import json
import os
import sys

parser = argparse.ArgumentParser()
parser.add_argument("operation")
parser.add_argument("--input")
parser.add_argument("--env", action="store_true", help="properties are variables: file, size, name")
parser.add_argument("--type")
parser.add_argument("--version")
parser.add_argument("--path")
parser.add_argument("--content")
parser.add_argument("--what-if", action="store_true")
parser.add_argument("--log", help="a file that gets a line for each call")
parser.add_argument("--prints", help="what to print instead of a state")
parser.add_argument("--also", help="JSON to lay over the state that is printed")
parser.add_argument("--diff", action="store_true", help="print the properties that differ, too")
parser.add_argument("--silent", action="store_true", help="print nothing")
parser.add_argument("--says", action="append", default=[], help="a line for standard error")
parser.add_argument("--ends", type=int, default=0, help="the exit code")
parser.add_argument("--lazy", action="store_true", help="set does nothing")
args = parser.parse_args()

text = sys.stdin.read()
wanted = json.loads(args.input or text or "{}")
if args.env:
    wanted = {key: os.environ[key] for key in ("file", "size", "name", "list", "on") if key in os.environ}
if args.content:
    wanted.update(json.loads(args.content))

if args.log:
    with open(args.log, "a") as log:
        log.write(args.operation + (" what-if" if args.what_if else "") + "\n")
for line in args.says:
    print(line, file=sys.stderr)
if args.ends:
    sys.exit(args.ends)


def read():
    try:
        with open(wanted["file"]) as f:
            return dict(json.load(f), file=wanted["file"])
    except FileNotFoundError:
        return {"file": wanted["file"], "_exist": False}


def show(state):
    if args.prints is not None:
        print(args.prints)
        return
    if args.silent:
        return
    if args.also:
        state = dict(state, **json.loads(args.also))
    print(json.dumps(state))
    if args.diff:
        actual = read()
        print(json.dumps([k for k in wanted if wanted[k] != actual.get(k)]))


def write():
    state = {k: v for k, v in wanted.items() if k not in ("file", "_exist", "_metadata")}
    if args.what_if:
        return dict(state, file=wanted["file"])
    if args.lazy:
        return read()
    if wanted.get("_exist") is False:
        remove()
        return read()
    with open(wanted["file"], "w") as f:
        json.dump(state, f)
    return read()


def remove():
    if not args.what_if and os.path.exists(wanted["file"]):
        os.remove(wanted["file"])


if args.operation == "get":
    show(read())
elif args.operation == "set":
    show(write())
elif args.operation == "test":
    show(read())
elif args.operation == "delete":
    remove()
    show({})
elif args.operation == "validate":
    bad = wanted.get("size") == 13
    show({"valid": not bad, "reason": "13 brings bad luck"} if bad else {"valid": True})
elif args.operation == "schema":
    show({"type": "object", "required": ["file"], "properties": {"file": {"type": "string"}, "size": {"type": "integer"}}})
elif args.operation == "seen":  # what it was called with
    print(json.dumps({"file": wanted.get("file"), "type": args.type, "version": args.version, "path": args.path,
                      "content": args.content, "cwd": os.getcwd(), "trace": os.environ.get("DSC_TRACE_LEVEL")}))
