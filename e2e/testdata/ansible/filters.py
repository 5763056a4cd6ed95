"""Reads {"variables": ..., "answers": {expression: ...}}, and writes the answers of Ansible."""
import json
import sys
import warnings

warnings.filterwarnings("ignore")

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

recorded = json.load(sys.stdin)
templar = Templar(loader=DataLoader(), variables=recorded["variables"])
for expression in recorded["answers"]:
    try:
        # In a list, since what looks like a literal of Python would be read as one.
        answer = {"value": json.loads(json.dumps(templar.template("{{ [ " + expression + " ] }}")))[0]}
    except Exception:
        answer = {"error": True}
    recorded["answers"][expression] = answer
json.dump(recorded, sys.stdout)
