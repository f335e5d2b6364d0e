"""A small coding agent without a model: it knows four kinds of task and does them the obvious way.

It stands where your agent would: it is told a task, asks a question, edits files, runs a command and says what it used.
`quintain_agent` speaks the protocol; the driver puts it in reach.
"""

import re
import subprocess
import sys
from pathlib import Path

import quintain_agent

ADD = re.compile(
    r"Add a function `(?P<name>\w+)\((?P<args>[\w, ]*)\)` to (?P<file>[\w./]+) that returns (?P<what>.+?)\."
)
RENAME = re.compile(r"Rename the function `(?P<old>\w+)` to `(?P<new>\w+)` in (?P<file>[\w./]+)")
GUARD = re.compile(r"Make `(?P<name>\w+)` in (?P<file>[\w./]+) raise ValueError when (?P<arg>\w+) is zero")

BODIES = {
    "their sum": "{0} + {1}",
    "the arithmetic mean of the numbers": "sum({0}) / len({0})",
}


def add(agent, match):
    """Append a function; how to compute it is looked up by its description."""
    name, args = match["name"], [part.strip() for part in match["args"].split(",")]
    body = BODIES.get(match["what"])
    if body is None:
        agent.fail(f"I don't know how to compute {match['what']}")
    wish = agent.ask(f"Shall `{name}` have a docstring?", options=["yes, one line", "no"])
    lines = [f"def {name}({', '.join(args)}):"]
    if wish and wish.startswith("yes"):
        lines.append(f'    """Return {match["what"]}."""')
    lines.append(f"    return {body.format(*args)}")
    path = Path(match["file"])
    write(agent, path, path.read_text().rstrip("\n") + "\n\n\n" + "\n".join(lines) + "\n")


def rename(agent, match):
    """Rename a function where it is defined and wherever it is called."""
    for path in sorted(Path().glob("*.py")):
        old = path.read_text()
        new = re.sub(rf"\b{match['old']}\b", match["new"], old)
        if new != old:
            write(agent, path, new)


def guard(agent, match):
    """Put a check at the beginning of a function."""
    path, name, arg = Path(match["file"]), match["name"], match["arg"]
    check = f'    if {arg} == 0:\n        raise ValueError("{arg} must not be zero")\n'
    new = re.sub(rf"(def {name}\(.*\):\n(?:    \"\"\".*\"\"\"\n)?)", lambda found: found[1] + check, path.read_text())
    write(agent, path, new)


def write(agent, path, text):
    """Change a file, after asking for permission."""
    if not agent.approve(f"Write {path}?", payload={"tool": "write", "path": str(path)}):
        agent.fail(f"I may not write {path}")
    with agent.tool("write", {"path": str(path)}) as tool:
        path.write_text(text)
        tool.result(f"{len(text)} characters")


def main():
    agent = quintain_agent.start(name="little-coder", version="1.0")
    agent.use(input=len(agent.prompt), output=0, cost_usd=0.0001, id="plan")
    for pattern, work in ((ADD, add), (RENAME, rename), (GUARD, guard)):
        match = pattern.search(agent.prompt)
        if match:
            work(agent, match)
            break
    else:
        agent.fail("I don't understand the task")
    with agent.tool("shell", {"command": "python -m compileall"}) as tool:
        done = subprocess.run([sys.executable, "-m", "py_compile", "calculator.py"], capture_output=True, text=True)
        tool.result(done.stderr or "ok", error=done.returncode != 0)
    agent.use(input=40, output=25, cost_usd=0.0002, id="report")
    agent.done("Done: calculator.py compiles.")


main()
