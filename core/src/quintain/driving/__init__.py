"""What most drivers of command-line agents are made of: public, and free to be left aside.

- a process: `lines_of` reads it, `beside` speaks while it is read, `Speaker` says messages in order, `Events` iterates;
- lines of JSON: `read` and `Read`, with `DEPTH`, `QUOTED` and `LOGGED`; `visible`, `deeper_than` and `log_of` for readers of one's own;
- fields that may be anything: `text`, `table`, `items`, `need_text`, `need_table`, `WrongField`;
- a private home: `HomeError`;
- experiments and identities: `is_option`, `find_program`, `interpreter_of`, `server_programs`, `definition_digest`,
  `digest_if_there`.
"""

from quintain.driving._fields import WrongField, items, need_table, need_text, table, text
from quintain.driving._home import HomeError
from quintain.driving._lines import DEPTH, LOGGED, QUOTED, Read, deeper_than, log_of, read, visible
from quintain.driving._programs import (
    definition_digest,
    digest_if_there,
    find_program,
    interpreter_of,
    is_option,
    server_programs,
)
from quintain.driving._talk import Events, Speaker, beside, lines_of, prompt_bytes

__all__ = [
    "DEPTH",
    "LOGGED",
    "QUOTED",
    "Events",
    "HomeError",
    "Read",
    "Speaker",
    "WrongField",
    "beside",
    "deeper_than",
    "definition_digest",
    "digest_if_there",
    "find_program",
    "interpreter_of",
    "is_option",
    "items",
    "lines_of",
    "log_of",
    "need_table",
    "need_text",
    "prompt_bytes",
    "read",
    "server_programs",
    "table",
    "text",
    "visible",
]
