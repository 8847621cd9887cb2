"""Crontabs as manifests."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routines.domain import crontab, dispatchable, manifest, parse
from routines.domain.slots import fields


def routines(text: str, timezone: str = "UTC") -> list[manifest.Routine]:
    read = crontab.read(text, timezone)
    found = [parse.parse_routine(imported.text, imported.name) for imported in read.manifests]
    assert [routine.id for routine in found] == [imported.name for imported in read.manifests]
    return found


def notes(text: str) -> list[tuple[int, str]]:
    return [(note.line, note.message) for note in crontab.read(text).notes]


def call(routine: manifest.Routine) -> object:
    assert isinstance(routine.target, manifest.ToolTarget)
    assert routine.target.tool == "command_execute"
    return routine.target.inputs


def times(routine: manifest.Routine) -> tuple[str, str]:
    assert isinstance(routine.schedule, manifest.CronSchedule)
    return routine.schedule.cron, routine.schedule.timezone


def test_an_entry_calls_its_command_without_a_shell() -> None:
    [routine] = routines("30\t2  * * MON-FRI   /usr/local/bin/Backup.sh --full 'two words'\r\n", "Europe/Paris")
    assert (routine.id, times(routine)) == ("backup.sh", ("30 2 * * MON-FRI", "Europe/Paris"))
    assert call(routine) == {"command": "/usr/local/bin/Backup.sh", "args": ("--full", "two words")}
    assert routine.description == "From a crontab: /usr/local/bin/Backup.sh --full 'two words'"
    assert routine.enabled


def test_comments_right_above_become_the_description() -> None:
    text = "# unrelated\n\n# Back up\n## the database\n0 2 * * * backup\n0 3 * * * other"
    first, second = routines(text)
    assert first.description == "Back up the database"
    assert second.description == "From a crontab: other"


@pytest.mark.parametrize(("macro", "cron"), fields.MACROS.items())
def test_a_macro_is_written_out(macro: str, cron: str) -> None:
    assert [times(routine)[0] for routine in routines(f"{macro} run")] == [cron]


def test_a_zone_holds_for_the_entries_below_it() -> None:
    text = """\
0 1 * * * aa
TZ=Asia/Tokyo
0 1 * * * bb
CRON_TZ = "europe/paris"
0 1 * * * cc
TZ=Asia/Tokyo
0 1 * * * dd
CRON_TZ=EST
0 1 * * * ee
"""
    zones = [times(routine)[1] for routine in routines(text)]
    assert zones == ["UTC", "Asia/Tokyo", "Europe/Paris", "Europe/Paris", "Europe/Paris"]
    assert [line for line, _ in notes(text)] == [8]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("MAILTO=ops@example.invalid", "on_failure.notify"),
        ("PATH=/usr/bin", "PATH is not carried over"),
        ("SHELL=/bin/bash", "SHELL is not carried over"),
        ("@reboot /x", "workspace-open"),
        ("0 1 * * * mail ops%Hello%there", "after %"),
        ("0 0 30 2 * x", "left out"),
        ("*/90 * * * * x", "left out"),
        ("0~9 1 * * * x", "left out"),
        ("@fortnightly x", "left out"),
        ("junk", "neither"),
        ("0 1 * * *", "neither"),
        ("0 1 * * * \ud800", "left out"),
    ],
)
def test_what_cannot_be_carried_over_is_noted_with_its_line(line: str, words: str) -> None:
    [(number, message)] = notes(f"# c\n{line}\n")
    assert (number, words in message) == (2, True), message
    assert routines(line) == []


@pytest.mark.parametrize(
    ("command", "script", "name"),
    [
        ("cd /srv && ./run.sh > /dev/null 2>&1", "cd /srv && ./run.sh > /dev/null 2>&1", "cd"),
        ("LANG=C ls /tmp", "LANG=C ls /tmp", "ls"),
        ("rm /tmp/*.tmp", "rm /tmp/*.tmp", "rm"),
        ("echo 'open", "echo 'open", "echo"),
        ("echo ${{ now }}", "echo $${{ now }}", "echo"),
    ],
)
def test_a_command_that_needs_a_shell_says_so_and_means_the_same(command: str, script: str, name: str) -> None:
    [routine] = routines(f"0 1 * * * {command}")
    assert call(routine) == {"command": "/bin/sh", "args": ("-c", script)}
    assert routine.id == name
    assert "needs a shell" in notes(f"0 1 * * * {command}")[0][1]


def test_an_escaped_percent_sign_is_one() -> None:
    [routine] = routines(r"0 1 * * * date +\%F")
    assert call(routine) == {"command": "date", "args": ("+%F",)}


def test_names_are_distinct_and_can_be_addressed() -> None:
    names = [
        routine.id
        for routine in routines(
            "".join(f"{n} 1 * * * {c}\n" for n, c in enumerate(["next", "next", "x", "/", "é", "run", "run", "run-2"]))
        )
    ]
    assert names == ["cron-next", "cron-next-2", "cron-x", "cron-job", "cron-job-2", "run", "run-2", "run-2-2"]
    assert all(dispatchable.unaddressable(name) is None for name in names)


def test_the_user_of_a_system_crontab_is_not_guessed() -> None:
    [routine] = routines("0 1 * * * root /bin/true")
    assert call(routine) == {"command": "root", "args": ("/bin/true",)}


LINES = st.lists(
    st.sampled_from(
        [
            "0 1 * * *",
            "@daily",
            "@reboot",
            "\t",
            " ",
            "%",
            "\\%",
            "\\",
            "=",
            "TZ",
            "#",
            "'",
            '"',
            "$",
            "\r",
            "\x00",
            "é",
        ]
    )
    | st.text(max_size=5),
    max_size=12,
).map("".join)


@given(st.lists(LINES, max_size=6).map("\n".join))
@settings(max_examples=200, deadline=None)
def test_any_text_gives_good_manifests_and_notes(text: str) -> None:
    routines(text)
