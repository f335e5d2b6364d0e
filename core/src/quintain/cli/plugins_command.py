"""`quintain plugins`."""

from __future__ import annotations

import argparse

from quintain.cli.project import add_project_options, open_context
from quintain.model.codec import dumps


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_project_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    checked = open_context(args).plugins.check()
    if args.json:
        print(
            dumps(
                [
                    {
                        "kind": one.plugin.kind,
                        "name": one.plugin.name,
                        "distribution": one.plugin.distribution,
                        "version": one.plugin.version,
                        "target": one.plugin.target,
                        "error": one.error,
                        "summary": one.summary,
                    }
                    for one in checked
                ]
            )
        )
        return 0
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for one in checked:
        plugin = one.plugin
        line = Text(f"{plugin.kind:10} {plugin.name:28} {plugin.distribution} {plugin.version}")
        if one.error:
            line.append(f"\n    broken: {one.error}", style="red")
        elif one.summary:
            line.append(f"  {one.summary}", style="dim")
        console.print(line)
    return 0
