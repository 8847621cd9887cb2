"""What an owner costs while it waits: a real ``deliver`` process, watched from outside."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from schedules.models import OwnerHeartbeat

_START_SECONDS = 60
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """megabytes: resident memory. processor: share of one core. armed_after: seconds from start to its first step."""

    megabytes: float
    processor: float
    armed_after: float


def measure(*, seconds: float) -> Idle:
    """Start an owner on this database and watch it for so long."""
    OwnerHeartbeat.objects.all().delete()
    start = time.monotonic()
    with subprocess.Popen([sys.executable, "manage.py", "deliver"], stderr=subprocess.DEVNULL) as owner:
        try:
            while not OwnerHeartbeat.objects.exists():
                if time.monotonic() > start + _START_SECONDS:
                    raise TimeoutError("the owner did not start")
                time.sleep(0.01)
            armed_after = time.monotonic() - start
            time.sleep(1)
            before = _ticks(owner.pid)
            time.sleep(seconds)
            used = (_ticks(owner.pid) - before) / _TICKS / seconds
            return Idle(megabytes=_resident(owner.pid), processor=used, armed_after=armed_after)
        finally:
            owner.terminate()


def _ticks(process: int) -> int:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _resident(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024
