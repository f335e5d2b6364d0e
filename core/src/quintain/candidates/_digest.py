"""What a campaign measures and how it decides, as one digest."""

from __future__ import annotations

from typing import Any

from quintain.identity.canonical import digest
from quintain.model.campaign import Campaign, Variant
from quintain.model.case import Case
from quintain.model.codec import to_plain
from quintain.model.project import Profile

_DECIDING = ("objectives", "constraints", "repetitions", "alpha", "finalists", "coverage", "seed", "stopping", "aa")
_OF_CASES = ("id", "prompt", "persona", "cluster", "protected", "assertions", "limits", "reference_answer")
_OF_SUBJECTS = ("mutable", "exclude", "may_add", "may_delete", "place", "into", "validate")


def campaign_digest(campaign: Campaign) -> str:
    """Digest of everything that is measured and of how it is decided.

    Not in it: the id, the budget, places of files, and what is told better by the digests of candidates and the identity
    of the conditions: contents of files, configurations of drivers and answerers, isolation.
    """
    plain = to_plain(campaign)
    return digest(
        {
            "subject": {name: plain["subject"][name] for name in _OF_SUBJECTS},
            "profiles": [_profile(profile) for profile in campaign.profiles],
            "splits": {name: sorted(map(_case, split.cases), key=_id) for name, split in campaign.splits.items()},
            "variants": [_variant(variant) for variant in campaign.variants],
            **{name: plain[name] for name in _DECIDING},
        }
    )


def _profile(profile: Profile) -> dict[str, Any]:
    plain = to_plain(profile)
    return {
        "name": profile.name,
        "driver": profile.driver.name,
        "answerer": profile.answerer.name,
        "limits": plain.get("limits"),
        "retry": plain.get("retry"),
    }


def _case(case: Case) -> dict[str, Any]:
    plain = to_plain(case)
    return {name: plain.get(name) for name in _OF_CASES}


def _id(case: dict[str, Any]) -> str:
    return str(case["id"])


def _variant(variant: Variant) -> dict[str, Any]:
    return {
        "id": variant.id,
        "revision": variant.revision,
        "directory": variant.directory is not None,
        "files": sorted(variant.files),
        "text": dict(variant.text),
        "delete": sorted(variant.delete),
        "parents": list(variant.parents),
    }
