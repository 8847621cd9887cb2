"""Programs: run to their end or ended, with all that they started, whatever they do with their output."""

import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from routines.tools import processes
from routines.tools.processes import Finished
from tests.acceptance.processes import until

ENV = {"PATH": os.environ["PATH"]}


def python(code: str, *arguments: str, **given: Any) -> Finished:
    options: dict[str, Any] = {
        "cwd": None,
        "env": ENV,
        "seconds": 30,
        "most_output": 1000,
        "cancelled": threading.Event(),
        **given,
    }
    return processes.run([sys.executable, "-c", code, *arguments], **options)


def test_it_ends_by_itself_with_its_code_and_all_it_said() -> None:
    done = python("import sys; print('out', flush=True); print('err', file=sys.stderr); raise SystemExit(7)")
    assert done == Finished(code=7, output="out\nerr\n")


def test_its_arguments_are_no_shells() -> None:
    assert python("import sys; print(sys.argv[1])", "$HOME; `id` *").output == "$HOME; `id` *\n"


def test_its_environment_is_what_it_is_given() -> None:
    done = python("import os; print(os.environ.get('MY_KEY'), os.environ.get('HOME'))", env={**ENV, "MY_KEY": "mine"})
    assert done.output == "mine None\n"


def test_it_reads_what_it_is_given_and_else_an_end() -> None:
    count = "import sys; print(len(sys.stdin.buffer.read()))"
    assert python(count, stdin=b"x" * 1_000_000).output == "1000000\n"
    assert python(count).output == "0\n"


def test_one_that_does_not_read_its_input_still_ends() -> None:
    assert python("print('done')", stdin=b"x" * 1_000_000) == Finished(code=0, output="done\n")


def test_much_output_keeps_its_beginning_and_its_end() -> None:
    done = python("print('begin' + 'x' * 3_000_000 + 'end')")
    assert done.code == 0
    assert done.output.startswith("beginxxx")
    assert done.output.endswith("xxxend\n")
    assert f"[{3_000_009 - 1000} bytes are cut out here]" in done.output
    assert len(done.output) < 1100


@pytest.mark.parametrize("size", [999, 1000, 1001])
def test_output_is_cut_only_where_it_is_too_much(size: int) -> None:
    output = python(f"print('x' * {size - 1})").output
    assert (output == "x" * (size - 1) + "\n") is (size <= 1000)


def test_output_that_is_no_text_is_shown_all_the_same() -> None:
    assert python(r"import sys; sys.stdout.buffer.write(b'a\xff\x00b')").output == "a\ufffd\0b"


def test_one_that_takes_too_long_is_ended() -> None:
    done = python("import time; print('begun', flush=True); time.sleep(600)", seconds=1)
    assert done == Finished(code=None, output="begun\n", timed_out=True)


def test_one_that_will_not_end_is_killed() -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('no', flush=True)"
    done = python(f"{stubborn}\nwhile True: time.sleep(600)", seconds=1)
    assert (done.code, done.timed_out, done.output) == (None, True, "no\n")


def test_one_that_nobody_waits_for_any_more_is_ended() -> None:
    cancelled = threading.Event()
    cancelled.set()
    assert python("import time; time.sleep(600)", cancelled=cancelled) == Finished(code=None, output="", cancelled=True)


def test_what_it_started_is_ended_with_it(tmp_path: Path) -> None:
    child = "import time; open('child', 'w').write(str(__import__('os').getpid())); time.sleep(600)"
    parent = (
        "import os, subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "while not (os.path.exists('child') and open('child').read()): time.sleep(0.01)\n"
        "print('done')"
    )
    done = python(parent, cwd=str(tmp_path))
    assert (done.code, done.output) == (0, "done\n")
    pid = int((tmp_path / "child").read_text())
    until(lambda: is_gone(pid))


def test_a_child_that_fled_its_group_and_holds_the_pipe_is_not_waited_for() -> None:
    fled = "import subprocess, sys; p = subprocess.Popen(['sleep', '20'], start_new_session=True); print(p.pid)"
    done = python(fled)
    assert done.code == 0
    os.kill(int(done.output), 9)


@pytest.mark.parametrize(
    ("argv", "cwd"),
    [
        (["/no/such/program"], None),
        (["no-such-program"], None),
        (["a\0b"], None),
        ([sys.executable, "\ud800"], None),
        ([sys.executable, "x" * 300_000], None),
        ([sys.executable, "-c", ""], "/no/such/folder"),
        (["/"], None),
    ],
)
def test_one_that_cannot_start_is_missing(argv: list[str], cwd: str | None) -> None:
    done = processes.run(argv, cwd=cwd, env=ENV, seconds=5, most_output=10, cancelled=threading.Event())
    assert done == Finished(code=None, output="", missing=True)


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has reaped counts."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True
