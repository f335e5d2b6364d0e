"""The tutorial of campaigns, followed from its first line to its last; its campaign is really killed in the middle."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from docs.pages import ROOT, blocks
from docs.shells import Step, environment, normal, run
from quintain.campaign.ledger import Ledger
from quintain.errors import StoreError
from quintain.runs.history import campaign_names

PAGE = "docs/tutorials/a-campaign.md"
KILLED = "timeout -s KILL "
SETTLED = 20
HANG_S = 120
CODES = {
    "quintain plan campaign.toml": 0,
    f"{KILLED}5 quintain experiment campaign.toml --quiet": -signal.SIGKILL,
    "quintain resume --quiet": 0,
    "quintain report": 0,
    "quintain verify": 0,
    "quintain apply": 0,
}
"""The exit code of each command, in the page's order."""

_VARYING = [
    (re.compile(r"sha256:[0-9a-f]{64}"), "DIGEST"),
    (re.compile(r"\S+T\d\d-\d\d-\d\d-triage-rules-[0-9a-f]+"), "CAMPAIGN"),
    (re.compile(r"\d+ trials are settled"), "N trials are settled"),
    (re.compile(r"\d+ s in all; spent \$\S+ of \$0.1000, \d+ tokens, \d+ attempts"), "WHAT IT TOOK"),
    (re.compile(r"looked at \d+ entries"), "looked at N entries"),
]


def _kill(command: str, folder: Path, home: Path) -> tuple[int, str]:
    """Run what the page runs under `timeout`, and kill it when enough of it is done, however slow the machine is."""
    words = command.removeprefix(KILLED).split()[1:]
    with subprocess.Popen(
        words,
        cwd=folder,
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        until = time.monotonic() + HANG_S
        while _settled(folder / ".quintain") < SETTLED and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, "Killed\n"


def _settled(store: Path) -> int:
    try:
        names = campaign_names(store)
        if not names:
            return 0
        with closing(Ledger(store / "campaigns" / names[-1])) as ledger:
            return sum(1 for _ in ledger.entries("settled"))
    except StoreError:
        return 0


def _follow(root: Path, home: Path) -> Iterator[Step]:
    folder, done = root, list[tuple[str, int, str]]()
    for block in blocks(PAGE):
        if block.language == "sh":
            for command in block.text.splitlines():
                if command.startswith("cd "):
                    folder = folder / command.removeprefix("cd ")
                elif command.startswith(KILLED):
                    done.append((command, *_kill(command, folder, home)))
                else:
                    done.append((command, *run(command, cwd=folder, home=home)))
        elif block.language == "text":
            yield Step(*done.pop(), block.text, folder)
    assert not done, f"the page does not show what {done} prints"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example was copied to."""
    root = tmp_path_factory.mktemp("a-campaign")
    (root / "home").mkdir()
    shutil.copytree(ROOT / "docs/examples/campaign", root / "campaign")
    return root


@pytest.fixture(scope="module")
def steps(place: Path) -> list[Step]:
    """The whole page, once."""
    return list(_follow(place, place / "home"))


def comparable(text: str, root: Path) -> list[str]:
    """Lines without what differs from run to run and from machine to machine."""
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return [line for line in normal(text, root) if line]


def test_every_command_returns_what_the_page_says(steps: list[Step]) -> None:
    assert {step.command: step.code for step in steps} == CODES, [step.printed for step in steps]


@pytest.mark.parametrize("number", range(len(CODES)), ids=list(CODES))
def test_every_command_prints_what_the_page_shows(steps: list[Step], place: Path, number: int) -> None:
    step = steps[number]
    assert comparable(step.printed, place / "campaign") == comparable(step.shown, place / "campaign")


def test_what_was_applied_is_the_promoted_variant(steps: list[Step], place: Path) -> None:
    assert len(steps) == len(CODES)
    written = (place / "campaign" / "agent" / "prompt.md").read_text()
    assert written == (ROOT / "docs/examples/campaign/variants/rules/prompt.md").read_text()


def test_the_page_shows_the_example_as_it_is() -> None:
    (shown,) = (block.text for block in blocks(PAGE, "toml"))
    file = re.sub(r" +#.*", "", (ROOT / "docs/examples/campaign/campaign.toml").read_text())
    for table in shown.strip().split("\n\n"):
        assert table in file
