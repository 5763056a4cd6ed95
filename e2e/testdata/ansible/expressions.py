"""Reads {"Variables": ..., "Answers": {expression: ...}}, and writes what Ansible prints for each in a text."""
import json
import sys
import warnings

warnings.filterwarnings("ignore")

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

recorded = json.load(sys.stdin)
templar = Templar(loader=DataLoader(), variables=recorded["Variables"])
for expression, answer in recorded["Answers"].items():
    try:
        # With something before it, since a text that is nothing else keeps its type.
        new = {"Text": str(templar.template("= {{ " + expression + " }}"))[2:]}
    except Exception:
        new = {"Text": "", "Error": True}
    if "Here" in answer:
        new["Here"] = answer["Here"]
    recorded["Answers"][expression] = new
json.dump(recorded, sys.stdout, indent=1, ensure_ascii=False)
print()
