"""Case files in Python: a program that says in `cases` what the cases are."""

from __future__ import annotations

import ast
import contextlib
import inspect
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from attrs import asdict, evolve

from quintain.authoring._case_file import Found, id_problem
from quintain.authoring._document import place, shown
from quintain.authoring._folders import FOLDERS, case_folders
from quintain.authoring._structure import structure
from quintain.authoring.sources import FileOrigin
from quintain.errors import AuthoringError, QuintainError
from quintain.model.case import Case

_MODULE = "quintain_case_file"


def python_cases(path: Path, name: str, source: str, errors: list[AuthoringError]) -> list[Found]:
    """Run a Python file and take its cases.

    Args:
        path: of the file, absolute.
        name: what the ids of its cases begin with.
        source: the file as records name it.
        errors: gets what is wrong.
    """
    try:
        made, line = _made(path)
    except AuthoringError as error:
        errors.append(error)
        return []
    if not isinstance(made, list):
        what = f"`cases` is of type {type(made).__name__}, not a list of cases or a function that returns one"
        errors.append(AuthoringError(what, where=place(path, line)))
        return []
    found = []
    for number, item in enumerate(made):
        origin = FileOrigin(path, line, ("cases", number))
        case = _case(item, name, origin, errors)
        if case is not None:
            found.append(Found(evolve(case, source=f"{source}:{line}"), origin))
    return found


def _case(item: Any, name: str, origin: FileOrigin, errors: list[AuthoringError]) -> Case | None:
    if not isinstance(item, Case):
        errors.append(AuthoringError(f"it is of type {type(item).__name__}, not a Case", where=origin.where()))
        return None
    case = structure(asdict(item, recurse=False), Case, origin.where, errors)
    if case is None:
        return None
    id = f"{name}/{case.id}"
    problem = id_problem(id)
    if problem is not None:
        errors.append(AuthoringError(problem, where=origin.where(("id",))))
        return None
    if not case.prompt.strip():
        errors.append(AuthoringError("the prompt is empty", where=origin.where(("prompt",))))
        return None
    folders, problems = case_folders(origin.path, {name: getattr(case, name) for name in FOLDERS}, origin.where)
    errors.extend(problems)
    return evolve(
        case,
        id=id,
        fixtures=folders.get("fixtures"),
        hidden=folders.get("hidden"),
        reference=folders.get("reference"),
    )


def _made(path: Path) -> tuple[Any, int]:
    """What the file's `cases` is, a list if it can be one, and the line where it says so."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
        code = compile(tree, str(path), "exec")
    except OSError as error:
        raise AuthoringError(f"can't be read: {error.strerror or error}", where=shown(path)) from error
    except SyntaxError as error:
        raise AuthoringError(f"this is not Python: {error.msg}", where=place(path, error.lineno)) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise AuthoringError(f"this is not Python: {error}", where=shown(path)) from error
    module = ModuleType(_MODULE)
    module.__file__ = str(path)
    with _importable(module, path.parent), _told_where(path):
        exec(code, module.__dict__)
        made = module.__dict__.get("cases")
        if callable(made):
            made = made()
        if inspect.iscoroutine(made):
            made.close()
        elif isinstance(made, Iterable) and not isinstance(made, str | bytes | Mapping):
            made = list(made)
    if "cases" not in module.__dict__:
        raise AuthoringError("it has no `cases`", where=shown(path), hint="cases = [Case(...), ...]")
    return made, _line_of_cases(tree)


@contextlib.contextmanager
def _told_where(path: Path) -> Iterator[None]:
    """What goes wrong in a file is the user's affair: said with the line of their file, without a traceback."""
    try:
        # What a file prints must not get into output that machines read.
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None)
        said = str(error) if isinstance(error, QuintainError) else f"{type(error).__name__}: {error}"
        raise AuthoringError(said, where=place(path, line)) from error


@contextlib.contextmanager
def _importable(module: ModuleType, folder: Path) -> Iterator[None]:
    """Let a file import what lies beside it, without leaving it to other files with namesakes beside them."""
    before = set(sys.modules)
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if name == _MODULE or _lies_beside(name, sys.modules[name], folder):
                del sys.modules[name]


def _lies_beside(name: str, module: ModuleType, folder: Path) -> bool:
    """Whether a module was found in the folder itself; one of an environment that happens to lie in it was not."""
    top = name.partition(".")[0]
    file = getattr(module, "__file__", None)
    places = [file] if file else [*getattr(module, "__path__", ())]
    return any(Path(one) == folder / f"{top}.py" or Path(one).is_relative_to(folder / top) for one in places)


def _line_of_cases(tree: ast.Module) -> int:
    for statement in reversed(tree.body):
        if isinstance(statement, ast.FunctionDef) and statement.name == "cases":
            return statement.lineno
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "cases" for target in targets):
            return statement.lineno
    return 1
