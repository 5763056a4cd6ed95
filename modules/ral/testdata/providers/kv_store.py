"""What kv.prov needs beside it."""
import json
import os

HERE = os.path.dirname(os.path.realpath(__file__))


def path(name):
    return os.path.join(HERE, name)


def load():
    try:
        with open(path("store.json")) as f:
            return json.load(f)
    except FileNotFoundError:
        return {}


def save(store):
    with open(path("store.json"), "w") as f:
        json.dump(store, f, sort_keys=True)


def note(text):
    with open(path("calls"), "a") as f:
        f.write(text + "\n")
