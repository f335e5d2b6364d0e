"""What a report says of a campaign, from its ledger; of one that has no decision yet, what it comes to so far."""

from __future__ import annotations

from collections import Counter

from attrs import frozen

from quintain.campaign.account import Charge
from quintain.campaign.ledger import Ledger
from quintain.campaign.state import State, read_state
from quintain.errors import StoreError
from quintain.model.campaign import Budget, Campaign, Candidate
from quintain.model.codec import from_plain
from quintain.model.decision import Decision


@frozen
class CampaignReport:
    """The facts of a report.

    Attributes:
        name: of the campaign's directory.
        campaign: what was measured, and how it is decided.
        candidates: those that were admitted, the baseline first.
        rejected: why the others were refused, by id.
        decision: recorded, or made of what there is so far.
        recorded: whether it is recorded.
        status: how the last session ended, or "running".
        reason: why, if it is not finished.
        spent: what was charged.
        open: promises that are not settled, at their bounds.
        budget: as it was stated last.
        wall_s: seconds of all sessions.
        sessions: how often it was begun or taken up.
        reused: trials that were taken from other campaigns.
        identity: root digest of the conditions.
        head: digest of the ledger's last entry.
    """

    name: str
    campaign: Campaign
    candidates: tuple[Candidate, ...]
    rejected: dict[str, tuple[str, ...]]
    decision: Decision
    recorded: bool
    status: str
    reason: str | None
    spent: Charge
    open: int
    budget: Budget
    wall_s: float
    sessions: int
    reused: int
    identity: str
    head: str


def report_of(ledger: Ledger) -> CampaignReport:
    """The facts of a campaign's report.

    Raises:
        StoreError: the campaign had not begun, or its ledger can't be understood.
    """
    state = read_state(ledger)
    if state.campaign is None:
        raise StoreError("the campaign was killed before it had begun", where=str(ledger.directory))
    campaign = from_plain(state.campaign["campaign"], Campaign)
    recorded = state.decision is not None and state.status != "running"
    decision = state.decision if recorded and state.decision is not None else _so_far(campaign, state)
    return CampaignReport(
        name=ledger.directory.name,
        campaign=campaign,
        candidates=tuple(state.candidates.values()),
        rejected=dict(state.rejected),
        decision=decision,
        recorded=recorded,
        status=state.status,
        reason=state.reason,
        spent=state.spent,
        open=len(state.open),
        budget=state.budget,
        wall_s=state.wall_s,
        sessions=state.sessions,
        reused=sum(one.reused is not None for one in state.settled.values()),
        identity=state.campaign["identity"],
        head=ledger.head,
    )


def _so_far(campaign: Campaign, state: State) -> Decision:
    """What the settled trials come to, counted against those of them that were begun."""
    # Statistics take a while to import, and a decision that is recorded needs none.
    from quintain.campaign.outcome import decision_of

    begun = Counter(one.figures.candidate for one in state.settled.values())
    begun.update(trial.partition(":")[0] for trial in state.open)
    return decision_of(campaign, state, begun)
