"""The decision that a ledger comes to; whoever only reads a campaign needs no more than this."""

from __future__ import annotations

from collections.abc import Mapping

from quintain.campaign.select import decide
from quintain.campaign.state import State
from quintain.model.campaign import Campaign
from quintain.model.decision import Decision


def decision_of(campaign: Campaign, state: State, planned: Mapping[str, int]) -> Decision:
    """What the settled trials of a ledger come to.

    Args:
        campaign: what is measured and how it is decided.
        state: its trials and candidates.
        planned: trials by candidate.
    """
    # The results of a test split that was not looked at are nobody's business.
    sealed = "test" not in state.looks
    figures = [one.figures for one in state.settled.values() if not (sealed and one.figures.split == "test")]
    return decide(
        campaign,
        tuple(state.candidates.values()),
        figures,
        planned=planned,
        looks=state.looks,
        stopped=state.stopped,
    )
