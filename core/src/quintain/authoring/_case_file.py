"""Case files: one case, or many with what they share; parameters multiply them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, field, frozen

from quintain.authoring._document import Document, is_file, read_text
from quintain.authoring._folders import FOLDERS, case_folders
from quintain.authoring._lines import Key
from quintain.authoring._parameters import Row, combine, dataset_rows, matrix_problem, matrix_rows
from quintain.authoring._placeholders import Placeholders
from quintain.authoring._structure import structure
from quintain.authoring._tables import contradictions, dataset_path, idle_parameters, merge
from quintain.authoring.sources import LISTS, Origin, TableOrigin
from quintain.errors import AuthoringError
from quintain.model.bounds import above_zero
from quintain.model.case import Assertion, Case
from quintain.model.limits import LimitOverrides
from quintain.model.plain import Json, Plug, quoted

_TEXTS = ("id", "prompt", "prompt_file", "persona", "cluster", "tags", "reference_answer", "protected", *FOLDERS)
_PLUGINS = ("driver", "answerer")


@frozen
class CaseTable:
    """The keys of a case, as they are written; the last three have been taken out before."""

    id: str | None = None
    prompt: str | None = None
    prompt_file: str | None = None
    persona: str | None = None
    tags: tuple[str, ...] = ()
    cluster: str | None = None
    fixtures: str | None = None
    hidden: str | None = None
    reference: str | None = None
    reference_answer: str | None = None
    protected: tuple[str, ...] = ()
    driver: Plug | None = None
    answerer: Plug | None = None
    limits: LimitOverrides = field(factory=LimitOverrides)
    timeout_s: float | None = field(default=None, validator=above_zero)
    assertions: tuple[Assertion, ...] = ()
    matrix: Json = None
    dataset: Json = None
    case: Json = None


@frozen
class Found:
    """A case that was read, and where; `row` is the place of its row in a dataset."""

    case: Case
    origin: Origin
    row: str | None = None

    @property
    def place(self) -> str:
        """Where it was read, for people."""
        return f"{self.origin.where()} ({self.row})" if self.row else self.origin.where()


@frozen
class CaseFile:
    """One file of cases.

    Attributes:
        document: its content.
        name: what the ids of its cases begin with, unless it says otherwise.
        source: the file as records name it.
        surroundings: what driver and answerer configurations may name beside parameters.
        errors: gets what is wrong.
    """

    document: Document
    name: str
    source: str
    surroundings: Mapping[str, str]
    errors: list[AuthoringError]

    def cases(self) -> Iterator[Found]:
        """All cases that are right."""
        shared = dict(self.document.data)
        if "case" not in shared:
            yield from _Table(self, (), {}, shared, self.name).cases()
            return
        tables = shared.pop("case")
        name = shared.pop("id", self.name)
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            where = self.document.where(("case",))
            self.errors.append(AuthoringError("`case` is no list of tables", where=where, hint="write [[case]]"))
        elif not isinstance(name, str):
            where = self.document.where(("id",))
            self.errors.append(AuthoringError(f"text is wanted here, not {quoted(name)}", where=where))
        else:
            for number, own in enumerate(tables):
                yield from _Table(self, ("case", number), shared, own, name).cases()


@frozen
class _Table:
    """One table of a case, with what it shares with others of its file."""

    file: CaseFile
    key: Key
    shared: Mapping[str, Any]
    own: Mapping[str, Any]
    name: str
    origin: TableOrigin = field(init=False)

    @origin.default
    def _origin(self) -> TableOrigin:
        before = {key: len(self.shared[key]) for key in LISTS if isinstance(self.shared.get(key), list)}
        return TableOrigin(self.file.document, self.key, before)

    def cases(self) -> Iterator[Found]:
        """A case for each set of parameters, up to the first that can't be."""
        errors = self.file.errors
        document = self.file.document
        errors.extend(contradictions(document, (), self.shared))
        errors.extend(contradictions(document, self.key, self.own))
        stated = merge(self.shared, self.own)
        try:
            rows = self._rows(stated)
            errors.extend(self._idle(stated, rows[0]))
            for row in rows:
                yield self._case(stated, row)
        except AuthoringError as error:
            errors.append(error)
        except _Several as several:
            errors.extend(several.errors)

    def _rows(self, stated: Mapping[str, Any]) -> list[Row]:
        matrix = stated.get("matrix", {})
        problem = matrix_problem(matrix)
        if problem is not None:
            raise self._error(("matrix", *problem[0]), problem[1])
        rows = [Row()]
        if "dataset" in stated:
            rows = dataset_rows(dataset_path(stated["dataset"], self.file.document.path, self.origin))
        for name in matrix:
            if name in rows[0].values:
                raise self._error(("matrix", name), f"`{name}` is a column of the dataset too")
        return list(combine(rows, list(matrix_rows(matrix))))

    def _idle(self, stated: Mapping[str, Any], row: Row) -> Iterator[AuthoringError]:
        texts = {key: value for key, value in stated.items() if key not in ("matrix", "dataset")}
        named = stated.get("prompt_file")
        if row.values and isinstance(named, str):
            texts["prompt in the file"] = self._prompt_file(Placeholders(row.values).text(named))
        return idle_parameters(texts, stated.get("matrix", {}), row, self.origin)

    def _case(self, stated: Mapping[str, Any], row: Row) -> Found:
        errors: list[AuthoringError] = []
        table = structure(self._filled(stated, row), CaseTable, self.origin.where, errors)
        if table is None:
            raise _Several(errors)
        if table.case is not None:
            raise self._error(("case",), "a case can't hold other cases")
        document = self.file.document
        stated_folders = {name: getattr(table, name) for name in FOLDERS}
        folders, errors = case_folders(document.path, stated_folders, self.origin.where)
        if errors:
            raise _Several(errors)
        limits = table.limits if table.timeout_s is None else evolve(table.limits, timeout_s=table.timeout_s)
        case = Case(
            id=self._id(table, stated.get("id", ""), row),
            prompt=self._prompt(table, row),
            persona=table.persona,
            tags=tuple(dict.fromkeys(table.tags)),
            cluster=table.cluster,
            fixtures=folders.get("fixtures"),
            hidden=folders.get("hidden"),
            reference=folders.get("reference"),
            reference_answer=table.reference_answer,
            protected=table.protected,
            assertions=table.assertions,
            driver=table.driver,
            answerer=table.answerer,
            limits=limits,
            parameters=row.values,
            source=f"{self.file.source}:{document.line(self.key)}",
        )
        return Found(case, self.origin, row.place)

    def _filled(self, stated: Mapping[str, Any], row: Row) -> dict[str, Any]:
        parameters = Placeholders(row.values)
        around = Placeholders({**self.file.surroundings, **row.values})
        filled = {}
        for key, value in stated.items():
            if key in _PLUGINS:
                filled[key] = around.fill(value)
            elif key in _TEXTS:
                filled[key] = _texts(value, parameters)
            elif key not in ("matrix", "dataset"):
                filled[key] = parameters.fill(value)
        return filled

    def _id(self, table: CaseTable, stated: str, row: Row) -> str:
        if not self.key:
            id = table.id or self.name
        elif table.id:
            id = f"{Placeholders(row.values).text(self.name)}/{table.id}"
        else:
            raise self._error((), "`id` is missing", hint="each [[case]] needs an id of its own")
        if row.label and not Placeholders(row.values).used([stated, self.name if self.key else ""]):
            id = f"{id}[{row.label}]"
        problem = id_problem(id)
        if problem is not None:
            raise self._error(("id",), problem)
        return id

    def _prompt(self, table: CaseTable, row: Row) -> str:
        if table.prompt_file is not None:
            prompt = Placeholders(row.values).text(self._prompt_file(table.prompt_file))
        elif table.prompt is not None:
            prompt = table.prompt
        else:
            raise self._error((), "a case needs `prompt` or `prompt_file`")
        if not prompt.strip():
            raise self._error(("prompt",) if table.prompt is not None else ("prompt_file",), "the prompt is empty")
        return prompt

    def _prompt_file(self, stated: str) -> str:
        path = self.file.document.path.parent / stated
        if not is_file(path):
            raise self._error(("prompt_file",), f"`{stated}` doesn't exist")
        return read_text(path)

    def _error(self, key: Key, message: str, *, hint: str | None = None) -> AuthoringError:
        return AuthoringError(message, where=self.origin.where(key), hint=hint)


class _Several(Exception):
    def __init__(self, errors: list[AuthoringError]) -> None:
        super().__init__()
        self.errors = errors


def read_cases(file: CaseFile) -> list[Found]:
    """All cases of a file that are right; what is wrong is in the file's `errors` afterwards."""
    return list(file.cases())


def id_problem(id: str) -> str | None:
    """Why a text can't be the id of a case, or None."""
    if not id.isprintable() or id != id.strip():
        return f"{id!r} can't be an id: it has invisible characters, or blanks at an end"
    if any(part in ("", ".", "..") for part in id.split("/")):
        return f"{id!r} can't be an id: between slashes there has to be a name"
    return None


def _texts(value: Any, parameters: Placeholders) -> Any:
    if isinstance(value, str):
        return parameters.text(value)
    return [_texts(inner, parameters) for inner in value] if isinstance(value, list) else value
