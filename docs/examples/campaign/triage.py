#!/usr/bin/env python3
"""A small agent without a model that reads its instructions: it rates a ticket by the rules in `prompt.md`.

It stands where your agent would. A rule is a line such as "- `crash`: high"; the first that fits the ticket decides.
Where none fits it guesses, as a model would, and not always alike: that is the noise which a comparison has to stand.
What it reads costs: the longer the instructions, the dearer the trial.
"""

import json
import random
import re
from pathlib import Path

import quintain_agent

RULE = re.compile(r"^- `(?P<word>[^`]+)`: (?P<severity>high|medium|low)$", re.MULTILINE)
PRICE_USD = 0.000_003

agent = quintain_agent.start(name="triage", version="1.0")
instructions = Path("prompt.md").read_text()
ticket = agent.prompt.lower()
severity = next((rule["severity"] for rule in RULE.finditer(instructions) if rule["word"] in ticket), None)
if severity is None:
    severity = random.Random(f"{agent.seed} {ticket}").choice(["high", "medium", "low", "low"])
read = len((instructions + ticket).split())
agent.use(input=read, output=8, cost_usd=round(PRICE_USD * (read + 40), 9), id="rate")
with agent.tool("write", {"path": "triage.json"}) as tool:
    Path("triage.json").write_text(json.dumps({"severity": severity}))
    tool.result("written")
agent.done(f"The ticket is {severity}.")
