"""One agent that writes so many MiB of messages: `big_output.py MIB`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import quintain
from _peak import peak_mib
from quintain_driver_subprocess import SubprocessConfig, subprocess_driver

AGENT = """
import sys
out = sys.stdout
out.write('{"type":"ready"}\\n')
line = '{"type":"message","text":"' + "x" * 1500 + '"}\\n'
for _ in range(int(sys.argv[1]) * 1024 * 1024 // len(line)):
    out.write(line)
out.write('{"type":"done","text":"ok"}\\n')
"""


def main() -> None:
    Path("agent.py").write_text(AGENT)
    config = SubprocessConfig(command=(sys.executable, str(Path("agent.py").absolute()), sys.argv[1]))
    case = quintain.Case("talkative", "Talk.", assertions=(quintain.check(lambda evidence: bool(evidence.trace)),))
    result = quintain.run_sync([case], driver=subprocess_driver(config), plugins=quintain.Plugins(), store=Path())
    assert result.passed, result.summary
    print(json.dumps({"peak_mib": peak_mib()}))


main()
