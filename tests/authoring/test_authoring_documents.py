"""What can't be read is refused with file, line and column."""

from __future__ import annotations

import pytest
from authoring.conftest import Workshop

GOOD = 'prompt = "p"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD + "tags = [smoke]\n", ("x.case.toml:2:9: this is not TOML", "`tags = [smoke]`", "quotes")),
        (GOOD + 'id = "a\n', ("x.case.toml:2:", "not TOML", '`id = "a`')),
        (GOOD + "[[assertions]\n", ("x.case.toml:2:", "`[[assertions]`")),
        (GOOD + "\n" + GOOD, ("x.case.toml:3:", "overwrite", '`prompt = "p"`')),
        (GOOD + 'persona = """never\nends', ("x.case.toml:3:", "not TOML")),
        (GOOD + "id = \x1b[31m\n", ("x.case.toml:2:", "id = \ufffd[31m")),
        (GOOD.encode() + b'id = "caf\xe9"\n', ("x.case.toml:2", "0xe9", "UTF-8")),
        (GOOD + "timeout_s = 2024-01-01\n", ("x.case.toml:2: timeout_s", "2024-01-01", 'quotes: "2024-01-01"')),
        (GOOD + "cluster = 07:32:00\n", ("x.case.toml:2: cluster", "07:32:00", "date or time")),
        (GOOD + "limits.idle_s = inf\n", ("x.case.toml:2: limits.idle_s", "finite", "inf")),
        (GOOD + "limits.idle_s = nan\n", ("x.case.toml:2: limits.idle_s", "finite", "nan")),
        (GOOD + f"x = {'[' * 6000}{']' * 6000}\n", ("x.case.toml", "nested too deeply")),
        (GOOD + f"x = {'1' * 6000}\n", ("x.case.toml", "not TOML", "digits")),
    ],
)
def test_what_is_no_toml_or_has_values_that_nothing_takes(
    workshop: Workshop, text: str | bytes, words: tuple[str, ...]
) -> None:
    message = workshop.refused(text)
    for word in words:
        assert word in message
    assert "\x1b" not in message


def test_a_long_line_is_quoted_in_part(workshop: Workshop) -> None:
    message = workshop.refused(GOOD + f"id = {'x' * 5000}\n")
    assert len(message) < 300


def test_dates_inside_lists_are_found(workshop: Workshop) -> None:
    message = workshop.refused(GOOD + '[[assertions]]\ntype = "t"\nof = [\n  1,\n  2024-01-01,\n]\n')
    assert "x.case.toml:6: assertions.0.of.1" in message


def test_a_file_that_may_not_be_read_is_named(workshop: Workshop) -> None:
    workshop.write("cases/x.case.toml", GOOD)
    (workshop.root / "cases/y.case.toml").symlink_to("nowhere")
    message = workshop.refused()
    assert "y.case.toml: can't be read: No such file" in message
