"""The hooks of Quintain, all of them. A plugin is a module or object with one of them, named by an entry point.

```toml
[project.entry-points."quintain.driver"]
mine = "my_package.driver"
```

```python
from quintain import DriverSpec, hookimpl

@hookimpl
def quintain_driver():
    return DriverSpec(name="mine", ...)
```

The entry point's name is the plugin's name, so plugins are listed without being imported, and only those that are used
are loaded. Hooks are plain functions without arguments that return declarations: nothing happens in them. They are
called once, when the plugin is first used.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from quintain.contracts.answerer import AnswererSpec
    from quintain.contracts.assertion import AssertionSpec
    from quintain.contracts.command import Commands
    from quintain.contracts.driver import DriverSpec
    from quintain.contracts.sink import SinkSpec

hookspec = pluggy.HookspecMarker("quintain")
hookimpl = pluggy.HookimplMarker("quintain")


@hookspec
def quintain_driver() -> DriverSpec[Any] | Iterable[DriverSpec[Any]]:  # type: ignore[empty-body]
    """Declare a way to run one kind of agent. Group `quintain.driver`."""


@hookspec
def quintain_answerer() -> AnswererSpec[Any] | Iterable[AnswererSpec[Any]]:  # type: ignore[empty-body]
    """Declare somebody who answers agents. Group `quintain.answerer`."""


@hookspec
def quintain_assertion() -> AssertionSpec[Any] | Iterable[AssertionSpec[Any]]:  # type: ignore[empty-body]
    """Declare types of assertion. Group `quintain.assertion`; one entry point for each type's name."""


@hookspec
def quintain_sink() -> SinkSpec[Any] | Iterable[SinkSpec[Any]]:  # type: ignore[empty-body]
    """Declare a receiver of what happens. Group `quintain.sink`."""


@hookspec
def quintain_command(cli: Commands) -> None:
    """Add a subcommand to the command line. Group `quintain.command`; the entry point's name is the subcommand's."""
