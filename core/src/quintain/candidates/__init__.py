"""What is under test, in versions: captured, changed by variants, checked, laid out for a trial, and written back.

captured = capture_subject(subject, blobs, cache)         the source as it stands
candidate = candidate_of(variant, captured, subject, blobs)
await validate(candidate, captured, subject, blobs)       is it well-formed?
tree = materialise(candidate, captured, blobs)            what a trial lays out
apply_candidate(candidate, captured, subject, blobs)      write it back, if the source is still what was tested
"""

from __future__ import annotations

from quintain.candidates._apply import AppliedChange, apply_candidate, recover_apply
from quintain.candidates._capture import Captured, capture_subject, captured_of, store_captured, subject_unchanged
from quintain.candidates._digest import campaign_digest
from quintain.candidates._merge import baseline, components_digest, materialise, refuse_duplicates, staged_fixtures
from quintain.candidates._paths import Scope
from quintain.candidates._validate import Problem, validate
from quintain.candidates._variant import candidate_of

__all__ = [
    "AppliedChange",
    "Captured",
    "Problem",
    "Scope",
    "apply_candidate",
    "baseline",
    "campaign_digest",
    "candidate_of",
    "capture_subject",
    "captured_of",
    "components_digest",
    "materialise",
    "recover_apply",
    "refuse_duplicates",
    "staged_fixtures",
    "store_captured",
    "subject_unchanged",
    "validate",
]
