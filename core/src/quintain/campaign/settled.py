"""What the ledger says of a trial that came to its end.

Written and read field by field: a campaign of ten thousand trials is read as a whole each time it is opened, and a codec
that checks every type takes longer for that than everything else together. What is read was written by us, or `verify`
tells.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from quintain.campaign.account import NOTHING, Charge
from quintain.model.decision import TrialFigures
from quintain.model.plain import Json
from quintain.model.usage import NO_SPEND, Cost, CostState, Spend, Tokens


@frozen
class Settled:
    """A trial that came to its end.

    Attributes:
        figures: what is counted of it.
        key: digest of everything that decides its result; trials with one key are one trial.
        report: digest of its stored report.
        traces: digests of the stored evidence of its attempts, by `attempt.kind`.
        charge: what the attempts cost that were made for this entry.
        reused: the campaign that it was taken from, or None.
    """

    figures: TrialFigures
    key: str
    report: str
    traces: Mapping[str, str] = field(factory=dict)
    charge: Charge = NOTHING
    reused: str | None = None


def settled_body(settled: Settled) -> Json:
    """As the ledger keeps it, under the name of the trial."""
    figures = settled.figures
    body: dict[str, Json] = {
        "candidate": figures.candidate,
        "profile": figures.profile,
        "split": figures.split,
        "case": figures.case,
        "cluster": figures.cluster,
        "repetition": figures.repetition,
        "outcome": figures.outcome,
        "scored": figures.scored,
        "metrics": dict(figures.metrics),
        "spend": _spend_body(figures.spend),
        "key": settled.key,
        "report": settled.report,
        "traces": dict(settled.traces),
        "charge": charge_body(settled.charge),
    }
    if settled.reused is not None:
        body["reused"] = settled.reused
    return body


def settled_from(trial: str, body: Json) -> Settled:
    """What the ledger kept. Raises KeyError, TypeError or ValueError for what was never written like that."""
    figures = TrialFigures(
        candidate=body["candidate"],
        profile=body["profile"],
        split=body["split"],
        case=body["case"],
        repetition=body["repetition"],
        scored=body["scored"],
        metrics=body["metrics"],
        cluster=body["cluster"],
        spend=_spend_from(body["spend"]),
        outcome=body["outcome"],
        trial=trial,
    )
    charge = charge_from(body["charge"])
    return Settled(figures, body["key"], body["report"], body["traces"], charge, body.get("reused"))


def charge_body(charge: Charge) -> Json:
    """A charge as a list of its numbers."""
    return [
        charge.attempts,
        charge.usd,
        charge.tokens,
        charge.unpriced,
        charge.judge_calls,
        charge.proposal_calls,
    ]


def charge_from(body: Json) -> Charge:
    """A charge from the list of its numbers."""
    return Charge(*body)


def _spend_body(spend: Spend) -> Json:
    if spend is NO_SPEND:
        return None
    tokens = spend.tokens
    counts = (
        None
        if tokens is None
        else [tokens.input, tokens.cache_read, tokens.cache_write, tokens.output, tokens.reasoning]
    )
    return [counts, spend.cost.state.value, spend.cost.usd, spend.calls, spend.complete, list(spend.problems)]


def _spend_from(body: Json) -> Spend:
    if body is None:
        return NO_SPEND
    counts, state, usd, calls, complete, problems = body
    tokens = None if counts is None else Tokens(*counts)
    return Spend(tokens, Cost(CostState(state), usd), calls, complete, tuple(problems))
