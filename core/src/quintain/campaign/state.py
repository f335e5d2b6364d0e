"""Where a campaign stands, read from its ledger; a campaign that is taken up again knows nothing else."""

from __future__ import annotations

from attrs import define, field

from quintain.campaign.account import NOTHING, Charge
from quintain.campaign.ledger import Entry, Ledger
from quintain.campaign.settled import Settled, charge_from, settled_from
from quintain.errors import RecordError, StoreError
from quintain.model.campaign import BASELINE, Budget, Candidate
from quintain.model.codec import from_plain
from quintain.model.decision import Decision
from quintain.model.plain import Json


@define
class State:
    """What the entries of a ledger come to.

    Attributes:
        settled: trials that came to their end, with or without a verdict, by name.
        open: promises of trials that did not, by name.
        spent: what was spent, abandoned promises at their bound.
        candidates: admitted versions, by id, in the order of their admission.
        rejected: why the other versions were refused, by id.
        looks: how often the results of each split were looked at.
        stopped: candidates that are run no further, and why.
        finalist: the candidate that the test split is to confirm.
        budget: as it was stated last.
        wall_s: seconds of all sessions, as far as the entries tell.
        sessions: how often it was begun or taken up.
        campaign: the digest of what is measured and how it is decided, with the root of its identity.
        decision: the last decision.
        status: "running", or how the last session ended.
    """

    settled: dict[str, Settled] = field(factory=dict, repr=False)
    open: dict[str, Charge] = field(factory=dict)
    spent: Charge = NOTHING
    candidates: dict[str, Candidate] = field(factory=dict)
    rejected: dict[str, tuple[str, ...]] = field(factory=dict)
    looks: dict[str, int] = field(factory=dict)
    stopped: dict[str, str] = field(factory=dict)
    finalist: str | None = None
    budget: Budget = field(factory=Budget)
    wall_s: float = 0.0
    sessions: int = 0
    campaign: Json = None
    decision: Decision | None = None
    status: str = "running"
    reason: str | None = None
    _session_s: float = 0.0

    def take(self, entry: Entry) -> None:
        """Go one entry further. Raises RecordError if it can't be understood."""
        body, name = entry.body, entry.name
        if entry.kind == "session":
            self.wall_s += self._session_s
            self._session_s = 0.0
            self.sessions += 1
            self.status, self.reason = "running", None
        self._session_s = max(self._session_s, body["t"])
        match entry.kind:
            case "reserved" | "preflight_began":
                self.open[name] = charge_from(body["charge"])
            case "settled":
                settled = settled_from(name, body)
                self.settled[name] = settled
                self.open.pop(name, None)
                self.spent += settled.charge
            case "abandoned" | "preflight":
                self.spent += charge_from(body["charge"])
                self.open.pop(name, None)
            case "released":
                self.open.pop(name, None)
            case "candidate":
                self.candidates[name] = from_plain(body["candidate"], Candidate)
            case "rejected":
                self.rejected[name] = tuple(body["problems"])
            case "look":
                self.looks[name] = self.looks.get(name, 0) + 1
            case "stopped":
                self.stopped[name] = body["why"]
            case "finalist":
                self.finalist = name
            case "budget":
                self.budget = from_plain(body["budget"], Budget)
            case "campaign":
                self.campaign = body
            case "decision":
                self.decision = from_plain(body["decision"], Decision)
            case "ended":
                self.status, self.reason = body["status"], body.get("reason")

    def gives_up(self, candidate: str, split: str) -> bool:
        """A candidate runs no further on a split; one that is found better early must still be confirmed by the test.

        The baseline has nobody left to be compared with once all others are given up.
        """
        if split == "test":
            return False
        if candidate != BASELINE:
            return candidate in self.stopped
        others = self.candidates.keys() - {BASELINE}
        return bool(others) and others <= self.stopped.keys()

    def close(self) -> None:
        """After the last entry."""
        self.wall_s += self._session_s
        self._session_s = 0.0


def read_state(ledger: Ledger) -> State:
    """Where a campaign stands.

    Raises:
        StoreError: an entry can't be understood.
    """
    state = State()
    for entry in ledger.entries():
        try:
            state.take(entry)
        except (RecordError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(
                f"entry {entry.seq} of the ledger can't be understood: {error}",
                where=str(ledger.directory),
                hint="quintain verify names what was changed",
            ) from error
    state.close()
    return state
