"""What the tests of campaigns share: a small campaign whose agent is a function that does what the prompt file says."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

from attrs import evolve, field, frozen
from quintain.api import run_campaign
from quintain.campaign.ledger import Ledger
from quintain.campaign.session import CampaignResult
from quintain.campaign.state import State, read_state
from quintain.contracts.driver import Launch
from quintain.functions import driver_of
from quintain.model.campaign import Budget, Campaign, Repetitions, Split, Subject, Variant
from quintain.model.case import Assertion, Case
from quintain.model.events import Done, Event, Message, Ready, Used
from quintain.model.outcome import Failure
from quintain.model.plain import Plug
from quintain.model.project import Profile
from quintain.model.usage import Cost, Tokens, Usage
from quintain.plugins import Plugins

USD = 0.01
"""What one attempt of the agent costs."""

Behaviour = Callable[[Launch], Failure | None]
"""Makes an attempt fail."""


def never(launch: Launch) -> Failure | None:
    """No attempt fails."""
    return None


@frozen
class Agent:
    """An agent that passes as often as its prompt file says, and writes down which attempts it made.

    Attributes:
        ran: names of trials, one for each attempt.
        behaviour: which attempts fail for reasons of infrastructure.
        cost: what an attempt costs.
    """

    ran: list[str]
    behaviour: Behaviour = never
    cost: Cost = field(factory=lambda: Cost.known(USD))

    async def __call__(self, launch: Launch) -> AsyncIterator[Event]:
        """Run."""
        self.ran.append(launch.trial)
        yield Ready(agent="agent")
        yield Used(Usage(tokens=Tokens(input=10, output=5), cost=self.cost))
        failure = self.behaviour(launch)
        if failure is not None:
            yield Done(None, failure=failure)
            return
        share = float((launch.workspace / "prompt.md").read_text())
        luck = int.from_bytes(hashlib.sha256(f"{launch.case.id} {launch.seed}".encode()).digest()[:4], "big") / 2**32
        if luck < share:
            (launch.workspace / "out.txt").write_text("done")
        yield Message("done")
        yield Done("done")


class Loud(Agent):
    """Says more than a record keeps, so that its evidence lies in files of its own."""

    async def __call__(self, launch: Launch) -> AsyncIterator[Event]:
        """Run."""
        async for event in super().__call__(launch):
            yield event
            for _ in range(20 if isinstance(event, Message) else 0):
                yield Message("much " * 1000)


def subject_in(folder: Path, share: float = 0.5) -> Subject:
    """A subject of one prompt file that says how often the agent passes."""
    root = folder / "subject"
    root.mkdir(parents=True, exist_ok=True)
    (root / "prompt.md").write_text(str(share))
    return Subject(root, ("*.md",))


def split(name: str, cases: int) -> Split:
    """Cases that pass if the agent writes `out.txt`."""
    check = Assertion("file_exists", {"path": "out.txt"})
    return Split(tuple(Case(f"{name}/{n}", f"Do {name} {n}.", assertions=(check,)) for n in range(cases)))


def campaign_in(folder: Path, *, cases: int = 6, test: int = 0, **changes: object) -> Campaign:
    """A campaign of a baseline that passes half of the time, a variant that always does and one that never does."""
    splits = {"validation": split("validation", cases), **({"test": split("test", test)} if test else {})}
    made = Campaign(
        "small",
        subject_in(folder),
        (Profile("default", Plug("agent")),),
        splits,
        variants=(Variant("best", text={"prompt.md": "1"}), Variant("worst", text={"prompt.md": "0"})),
        repetitions=Repetitions(search=1, promotion=2),
        budget=Budget(),
    )
    return evolve(made, **changes)  # type: ignore[arg-type]  # names of fields with their values


def plugins_with(agent: Agent) -> Plugins:
    """The installed plugins and the agent."""
    return Plugins.from_entry_points().with_(driver_of(agent, name="agent"))


async def run(
    campaign: Campaign, agent: Agent, folder: Path, *, resume: Path | None = None, concurrency: int = 4
) -> CampaignResult:
    """Run a campaign in a folder."""
    plugins = plugins_with(agent)
    return await run_campaign(campaign, plugins=plugins, store=folder / "store", resume=resume, concurrency=concurrency)


def state_of(directory: Path) -> State:
    """Where a campaign stands, as its ledger says."""
    with closing(Ledger(directory)) as ledger:
        assert ledger.broken() is None
        return read_state(ledger)
