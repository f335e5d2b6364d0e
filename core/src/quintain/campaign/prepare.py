"""Loads, captures and checks everything of a campaign that can be before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import anyio.to_thread
from attrs import evolve

from quintain.campaign.ready import AA, Ready
from quintain.candidates import Captured, baseline, campaign_digest, candidate_of, capture_subject, refuse_duplicates
from quintain.conditions import conditions_of, project_salt
from quintain.identity.cache import DigestCache
from quintain.model.campaign import BASELINE, Campaign, Candidate
from quintain.plugins import Plugins
from quintain.runs.plan import make_plan
from quintain.trial.prepare import Places
from quintain.workspace.blobs import BlobStore

CACHE = "digests.json"


async def prepare_campaign(
    campaign: Campaign,
    plugins: Plugins,
    store: Path,
    host: Mapping[str, str],
    *,
    root: Path | None = None,
    places: Places | None = None,
) -> Ready:
    """Make a campaign ready to run.

    Args:
        campaign: what is to be measured.
        plugins: where drivers, answerers and assertions come from.
        store: directory that holds campaigns and blobs.
        host: environment variables of the host.
        root: the project's folder, whose place is of no account.
        places: where cases and profiles were written, for errors.

    Raises:
        QuintainError: something in it can't be run, or could not be reproduced.
    """
    blobs = BlobStore(store / "blobs")
    cases = [case for split in campaign.splits.values() for case in split.cases]
    plan = await anyio.to_thread.run_sync(lambda: make_plan(cases, campaign.profiles, plugins, blobs, places=places))
    cache = await anyio.to_thread.run_sync(DigestCache.load, store / CACHE)
    captured = await anyio.to_thread.run_sync(capture_subject, campaign.subject, blobs, cache)
    conditions = await conditions_of(
        plan.templates, plugins, host, cache, project_salt(store), root=root, places=places
    )
    with suppress(OSError):
        # It only saves time; what can't be done without says so itself.
        await anyio.to_thread.run_sync(cache.save, store / CACHE)
    authored = await anyio.to_thread.run_sync(_authored, campaign, captured, blobs)
    return Ready(
        campaign=campaign,
        digest=campaign_digest(campaign),
        captured=captured,
        conditions=conditions,
        templates=conditions.templates,
        blobs=blobs,
        authored=authored,
        clusters={case.id: case.cluster for case in cases},
    )


def _authored(campaign: Campaign, captured: Captured, blobs: BlobStore) -> tuple[Candidate, ...]:
    """The baseline, and the candidates that a person wrote."""
    base = baseline(captured)
    if campaign.aa:
        return base, evolve(base, id=AA, parents=(BASELINE,), rationale="to see what noise alone finds")
    variants = (candidate_of(variant, captured, campaign.subject, blobs) for variant in campaign.variants)
    found = (base, *variants)
    refuse_duplicates(found)
    return found
