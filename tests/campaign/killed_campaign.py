"""A campaign in a process of its own, to be killed: `python killed_campaign.py FOLDER [DIRECTORY]`.

Its agents are real processes, which write down that they ran; what they do follows from the case and the candidate alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
from quintain import (
    Allowance,
    Assertion,
    Budget,
    Campaign,
    Case,
    Objective,
    Plug,
    Profile,
    Repetitions,
    Split,
    Subject,
    Variant,
    run_campaign,
)
from quintain.cli.signals import obey_signals
from quintain.errors import QuintainError, ungrouped
from quintain.runs.control import Control

CASES = 6
USD = 0.01
LIMIT_USD = 1.0

AGENT = """\
import hashlib, json, os, sys, time
start = json.loads(sys.stdin.readline())
say = lambda **message: print(json.dumps(message), flush=True)
say(type="ready")
style = open("prompt.md").read().strip()
fd = os.open(RAN, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(fd, f"{style} {start['case']} {start['seed']}\\n".encode())
time.sleep(600 if os.path.exists(f"{RAN}.slow") else 0.02)
say(type="usage", cost_usd=0.01, input=10, output=5)
luck = hashlib.sha256(f"{start['case']} {start['seed']}".encode()).digest()[0]
if style == "careful" or luck < {"plain": 100, "sloppy": 30}[style]:
    open("out.txt", "w").write("done")
say(type="done", text="done")
"""


def campaign_in(folder: Path) -> Campaign:
    """The campaign; makes its files if they are not there."""
    subject, agent = folder / "subject", folder / "agent"
    subject.mkdir(parents=True, exist_ok=True)
    if not agent.exists():
        (subject / "prompt.md").write_text("plain\n")
        agent.write_text(f"#!{sys.executable} -IS\nRAN = {str(folder / 'ran')!r}\n{AGENT}")
        agent.chmod(0o755)
    check = Assertion("file_exists", {"path": "out.txt"})

    def split(name: str) -> Split:
        return Split(tuple(Case(f"{name}/{n}", f"Do {name} {n}.", assertions=(check,)) for n in range(CASES)))

    profile = Profile("default", Plug("subprocess", {"command": [str(agent)]}))
    return Campaign(
        "killed",
        Subject(subject, ("*.md",)),
        (profile,),
        {"validation": split("validation"), "test": split("test")},
        variants=(
            Variant("careful", text={"prompt.md": "careful\n"}),
            Variant("sloppy", text={"prompt.md": "sloppy\n"}),
        ),
        objectives=(Objective("pass_rate"),),
        repetitions=Repetitions(search=1, promotion=2),
        budget=Budget(usd=LIMIT_USD, bounds={"default": Allowance(usd=USD)}),
    )


async def main(folder: Path, directory: Path | None) -> int:
    """Begin or take up the campaign as the command line does; 0 if it is finished."""
    control = Control()
    async with anyio.create_task_group() as group:
        group.start_soon(obey_signals, control, 30.0)
        result = await run_campaign(
            campaign_in(folder), store=folder / "store", resume=directory, concurrency=4, control=control
        )
        group.cancel_scope.cancel()
    print(result.status, result.reason, flush=True)
    return 0 if result.status == "finished" else 4


if __name__ == "__main__":
    try:
        with ungrouped():
            sys.exit(anyio.run(main, Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None))
    except QuintainError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        sys.exit(error.exit_code)
