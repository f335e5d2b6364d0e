"""Campaign files: what they say, and what they can't say."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from attrs import evolve, fields, frozen
from authoring.conftest import Workshop, said
from authoring.test_authoring_docs import rows
from quintain.authoring.campaign_file import (
    CampaignFile,
    LoadedCampaign,
    SplitTable,
    SubjectTable,
    VariantTable,
    check_campaign,
    open_campaign,
)
from quintain.candidates import campaign_digest
from quintain.model.campaign import (
    Budget,
    Campaign,
    Constraint,
    Objective,
    Repetitions,
    Split,
    Stopping,
    Subject,
    Validation,
    Variant,
)
from quintain.model.case import Case
from quintain.model.plain import Plug
from quintain.model.project import Profile
from quintain.model.trial import Allowance

PAGE = Path(__file__).parents[2] / "docs/reference/campaign-file.md"


@frozen
class Rule:
    unit_interval: bool = False
    direction: Literal["minimize", "maximize"] = "minimize"


METRICS = {"pass_rate": Rule(True, "maximize"), "tokens": Rule()}

FILE = """\
id = "shorter"
profiles = ["fast"]
subject = { root = "agent", mutable = ["prompts/*.md"] }

[splits.validation]
cases = ["v/*"]

[splits.test]
cases = ["t/*"]
"""


@pytest.fixture
def place(workshop: Workshop) -> Workshop:
    workshop.write("quintain.toml", '[profiles.fast]\ndriver = "d"\n[profiles.slow]\ndriver = "d"\n')
    workshop.write("agent/prompts/p.md", "Be brief.")
    for split in "vt":
        text = "".join(f'[[case]]\nid = "{n}"\nprompt = "{split} {n}"\ntags = ["tag-{split}"]\n' for n in "12")
        workshop.write(f"cases/{split}.case.toml", text)
    return workshop


def load(place: Workshop, text: str) -> LoadedCampaign:
    file = place.write("campaign.toml", text)
    return open_campaign(file, place.project().project, METRICS)


def refusal(place: Workshop, text: str) -> str:
    return said(lambda: load(place, text))


def test_a_small_file_is_enough(place: Workshop) -> None:
    loaded = load(place, FILE)
    campaign = loaded.campaign
    assert [case.id for case in campaign.splits["validation"].cases] == ["v/1", "v/2"]
    assert [profile.name for profile in campaign.profiles] == ["fast"]
    assert campaign.subject.root == place.root / "agent"
    assert campaign.objectives == (Objective("pass_rate"),)
    assert campaign.source == "campaign.toml"
    assert loaded.sources.where("v/1").startswith("cases/v.case.toml:")
    assert loaded.where(("splits", "test", "cases")) == "campaign.toml:9: splits.test.cases"


def test_everything_can_be_said(place: Workshop) -> None:
    place.write("v/prompts/p.md", "x")
    place.write("p.txt", "y")
    campaign = load(
        place,
        """\
id = "all"
profiles = ["fast", "slow"]
alpha = 0.1
finalists = 2
coverage = 0.8
seed = 7
[subject]
root = "agent"
mutable = ["prompts/*.md"]
exclude = ["tmp/**"]
may_add = true
may_delete = true
place = "workspace"
into = "agent"
[[subject.validate]]
command = ["check", "--strict"]
timeout_s = 5
[splits.validation]
tags = ["tag-v"]
exclude = ["v/2"]
[repetitions]
search = 2
promotion = 4
[[variants]]
id = "a"
text = { "prompts/p.md" = "Brief." }
rationale = "shorter"
[[variants]]
id = "b"
directory = "v"
files = { "prompts/p.md" = "p.txt" }
revision = "main"
delete = ["prompts/q.md"]
parents = ["a"]
[[constraints]]
metric = "pass_rate"
min = 0.5
min_difference = -0.1
confidence = 0.9
profile = "slow"
[[objectives]]
metric = "tokens"
direction = "minimize"
tolerance = 100
[budget]
trials = 100
usd = 5
[budget.bounds.fast]
usd = 0.5
tokens = 1000
[stopping]
anytime = true
""",
    ).campaign
    assert [case.id for case in campaign.splits["validation"].cases] == ["v/1"]
    assert campaign.subject.validate == (Validation(("check", "--strict"), 5.0),)
    assert campaign.variants[1].directory == place.root / "v"
    assert campaign.variants[1].files == {"prompts/p.md": place.root / "p.txt"}
    assert campaign.budget.bounds == {"fast": Allowance(0.5, 1000)}
    assert campaign.repetitions == Repetitions(2, 4)
    assert (campaign.alpha, campaign.finalists, campaign.coverage, campaign.seed) == (0.1, 2, 0.8, 7)
    assert campaign.stopping == Stopping(True)


WRONG = [
    (
        "0 cases fit",
        'cases = ["t/*"]',
        'cases = ["t/*", "x/*"]',
        "campaign.toml:9: splits.test.cases.1: 0 cases fit `x/*`",
    ),
    ("no case left", 'cases = ["t/*"]', 'cases = ["t/*"]\nexclude = ["t/*"]', "splits.test: 0 cases are in the split"),
    ("unknown tag", 'cases = ["t/*"]', 'tags = ["tag-x"]', "campaign.toml:9: splits.test.tags.0: no case has the tag"),
    (
        "a case in two splits",
        'cases = ["t/*"]',
        'cases = ["t/*", "v/1"]',
        "the case `v/1` is in the splits `validation`",
    ),
    ("no validation", "splits.validation", "splits.train", "there is no split `validation`"),
    ("unknown split", "splits.test", "splits.tset", "there is no split `tset`"),
    ("unknown profile", '"fast"', '"fats"', "campaign.toml:2: profiles.0: there is no profile `fats` in the project"),
    ("no id", 'id = "shorter"', 'id = "Shorter!"', "campaign.toml:1: id: "),
    ("no root", 'root = "agent"', 'root = "agnet"', "campaign.toml:3: subject.root: `agnet` is no folder here"),
    ("a date", 'id = "shorter"', "id = 2026-01-01", "campaign.toml:1: id: 2026-01-01 is a date or time"),
    ("a key", "mutable =", "mutabel =", "unknown key `mutabel`"),
    ("a way out", '["prompts/*.md"]', '["p.md", "../*.md"]', "subject.mutable.1: '../*.md' is no pattern"),
    ("nothing mutable", '["prompts/*.md"]', "[]", "subject.mutable: nothing is mutable"),
]


@pytest.mark.parametrize(("old", "new", "words"), [one[1:] for one in WRONG], ids=[one[0] for one in WRONG])
def test_a_mistake_is_told_with_its_place(place: Workshop, old: str, new: str, words: str) -> None:
    assert FILE.count(old) == 1
    assert words in refusal(place, FILE.replace(old, new))


ADDED = [
    (
        '[[variants]]\nid = "baseline"\ntext = { "a" = "b" }',
        "campaign.toml:12: variants.0.id: `baseline` is the source",
    ),
    ('[[variants]]\nid = "a"', "campaign.toml:11: variants.0: the variant `a` changes nothing"),
    ('[[variants]]\nid = "a"\nrevision = "x"\n' * 2, "campaign.toml:15: variants.1.id: the id `a` is used twice"),
    ('[[variants]]\nid = "a"\nrevision = "x"\nparents = ["b"]', "variants.0.parents.0: `b` is no other candidate"),
    ('[[variants]]\nid = "a"\ndirectory = "no"', "campaign.toml:13: variants.0.directory: `no` is no folder here"),
    ('[[variants]]\nid = "a"\nfiles = { "p" = "no.md" }', "variants.0.files.p: `no.md` is no file here"),
    ('[[constraints]]\nmetric = "pass_rat"\nmin = 1', "constraints.0.metric: there is no metric `pass_rat`"),
    (
        '[[constraints]]\nmetric = "pass_rate"\nmin = 2',
        "campaign.toml:13: constraints.0.min: `pass_rate` is from 0 to 1",
    ),
    ('[[constraints]]\nmetric = "pass_rate"\nmax_difference = -2', "so -2.0 is no bound of it"),
    ('[[constraints]]\nmetric = "tokens"\nmin = 3\nmax = 2', "nothing is at least 3.0 and at most 2.0"),
    ('[[constraints]]\nmetric = "tokens"', "a constraint has a bound"),
    ('[[constraints]]\nmetric = "tokens"\nmax = 1\nsplit = "train"', "constraints.0.split: the campaign has no split"),
    ('[[objectives]]\nmetric = "tokens"\nprofile = "slow"', "objectives.0.profile: the campaign has no profile `slow`"),
    (
        '[[objectives]]\nmetric = "tokens"\n' * 2,
        "campaign.toml:14: objectives.1.metric: `tokens` is an objective twice",
    ),
    ("[budget.bounds.slow]\nusd = 1", "campaign.toml:11: budget.bounds.slow: the campaign has no profile `slow`"),
    ("[budget.bounds.fast]\nusd = -1", "campaign.toml:12: budget.bounds.fast.usd: a number above 0 is wanted"),
    ("[repetitions]\nsearch = 4\npromotion = 2", "campaign.toml:13: repetitions.promotion: "),
]


@pytest.mark.parametrize(("text", "words"), ADDED)
def test_what_does_not_fit_together_is_told_with_its_place(place: Workshop, text: str, words: str) -> None:
    assert words in refusal(place, f"{FILE}\n{text}\n")


def test_all_mistakes_are_told_at_once(place: Workshop) -> None:
    words = refusal(place, FILE.replace('"fast"', '"fats"').replace('"agent"', '"agnet"').replace("v/*", "x/*"))
    assert all(one in words for one in ("`fats`", "`agnet`", "`x/*`"))


def test_a_cluster_stays_in_one_split(place: Workshop) -> None:
    for split in "vt":
        place.write(f"cases/{split}.case.toml", f'[[case]]\nid = "1"\nprompt = "{split}"\ncluster = "c"\n')
    words = refusal(place, FILE)
    assert "the cluster `c` is in two splits: `v/1` in `validation` and `t/1` in `test`" in words


@pytest.mark.parametrize("other", ["same", "different"])
def test_the_same_task_in_two_splits_is_a_leak(place: Workshop, other: str) -> None:
    place.write("cases/fv/a.py", "same")
    place.write("cases/ft/a.py", other)
    for split in "vt":
        place.write(f"cases/{split}.case.toml", f'[[case]]\nid = "1"\nprompt = "Do."\nfixtures = "f{split}"\n')
    if other == "different":
        load(place, FILE)
        return
    assert "`v/1` in `validation` and `t/1` in `test` are the same task" in refusal(place, FILE)


def test_cases_and_runs_are_no_part_of_the_subject(place: Workshop) -> None:
    wide = FILE.replace('root = "agent"', 'root = "."').replace("prompts/", "agent/prompts/")
    assert "agents would see how they are graded" in refusal(place, wide)
    subject = load(place, wide.replace("mutable", 'exclude = ["cases/**"], mutable')).campaign.subject
    assert subject.exclude == ("cases/**", "campaign.toml", "quintain.toml")


@pytest.mark.parametrize("pattern", ["cases", "cases/", "./cases/**", "**/cases/**", "c*s/**", "**/cases"])
def test_any_pattern_that_covers_the_cases_will_do(place: Workshop, pattern: str) -> None:
    wide = FILE.replace('root = "agent"', f'root = ".", exclude = ["{pattern}"]').replace("prompts/", "agent/prompts/")
    load(place, wide)


@pytest.mark.parametrize("pattern", ["cases/x/**", "x/cases/**", "*.md", "**/x/cases/**"])
def test_a_pattern_that_does_not_cover_them_will_not(place: Workshop, pattern: str) -> None:
    wide = FILE.replace('root = "agent"', f'root = ".", exclude = ["{pattern}"]').replace("prompts/", "agent/prompts/")
    assert "subject.exclude: the cases lie in the subject" in refusal(place, wide)


def made(**changes: Any) -> Campaign:
    campaign = Campaign(
        "c",
        Subject(Path("/s"), ("*.md",)),
        (Profile("fast", Plug("d")),),
        {"validation": Split((Case("a", "A", source="x:1"),))},
        (Variant("v", text={"p.md": "x"}),),
    )
    return evolve(campaign, **changes)


def test_a_campaign_that_a_program_made_is_checked_alike() -> None:
    check_campaign(made(), METRICS)
    wrong = made(objectives=(Objective("speed"),), constraints=(Constraint("pass_rate", min=2),))
    words = said(lambda: check_campaign(wrong, METRICS))
    assert "campaign c: objectives.0.metric: there is no metric `speed`" in words
    assert "campaign c: constraints.0.min" in words


@pytest.mark.parametrize(
    "change",
    [
        {"id": "other"},
        {"budget": Budget(trials=3)},
        {"source": "elsewhere.toml"},
        {"subject": Subject(Path("/other"), ("*.md",))},
        {"splits": {"validation": Split((Case("a", "A", source="y:9"),))}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_decides_nothing_is_not_in_the_digest(change: dict[str, Any]) -> None:
    assert campaign_digest(made(**change)) == campaign_digest(made())


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": 0.01},
        {"seed": 1},
        {"aa": True},
        {"finalists": 1},
        {"coverage": 0.5},
        {"variants": ()},
        {"stopping": Stopping(True)},
        {"repetitions": Repetitions(2, 3)},
        {"objectives": (Objective("tokens"),)},
        {"constraints": (Constraint("tokens", max=1),)},
        {"subject": Subject(Path("/s"), ("*.txt",))},
        {"profiles": (Profile("slow", Plug("d")),)},
        {"splits": {"validation": Split((Case("a", "B"),))}},
        {"splits": {"train": Split((Case("a", "A"),))}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_decides_is_in_the_digest(change: dict[str, Any]) -> None:
    assert campaign_digest(made(**change)) != campaign_digest(made())


@pytest.mark.parametrize(
    ("heading", "cls"),
    [
        ("The campaign file", CampaignFile),
        ("`[subject]`", SubjectTable),
        ("`[[subject.validate]]`", Validation),
        ("`[splits.NAME]`", SplitTable),
        ("`[repetitions]`", Repetitions),
        ("`[[variants]]`", VariantTable),
        ("`[[constraints]]`", Constraint),
        ("`[[objectives]]`", Objective),
        ("`[budget]`", Budget),
        ("`[budget.bounds.PROFILE]`", Allowance),
        ("`[stopping]`", Stopping),
    ],
)
def test_the_page_lists_every_key_and_no_other(heading: str, cls: Any) -> None:
    assert {row[0].strip("`") for row in rows(PAGE)[heading]} == {one.name for one in fields(cls)}


def test_the_example_of_the_page_can_be_read(place: Workshop) -> None:
    text = PAGE.read_text().split("```toml\n")[1].split("```")[0]
    place.write("agent/prompts/system.md", "x")
    place.write("shorter/prompts/system.md", "x")
    for split in ("train", "validation", "test"):
        place.write(f"cases/{split}.case.toml", f'[[case]]\nid = "1"\nprompt = "{split}"\ntags = ["{split}"]\n')
    campaign = load(place, text).campaign
    assert list(campaign.splits) == ["train", "validation", "test"]
    assert len(campaign.variants) == 3
