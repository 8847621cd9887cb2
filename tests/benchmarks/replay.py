"""A full replay of a log from stored text, and the reference implementation's beside it in the same run."""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from schedules import clock
from schedules.domain import fold
from schedules.sessions import lossless
from tests.benchmarks import seeds

PEER = "@deepseek-ai/dsh-schedule@0.1.0-rc.8"
_RUNS = 3

# JSON.parse of each stored line, then the package's own fold, as its tools do when a session opens.
_SCRIPT = """
import { readFileSync } from 'node:fs'
import * as peer from '@deepseek-ai/dsh-schedule'
const lines = readFileSync(process.argv[2], 'utf8').split('\\n').filter(Boolean)
let best = Infinity
for (let run = 0; run < RUNS; run++) {
  const start = performance.now()
  const events = lines.map((line) => JSON.parse(line))
  peer.foldScheduleEvents(events, 0)
  best = Math.min(best, performance.now() - start)
}
console.log(lines.length / best * 1000)
"""


def events_per_second(owner_id: int, events: int) -> tuple[float, float | None]:
    """Ours from the database's rows in memory, and the reference's from the same events; None without Node."""
    now = clock.sample()
    rows = [(seq, kind, lossless.dumps(data)) for seq, (kind, data) in enumerate(seeds.changes(events, now))]
    best = min(_timed(rows) for _ in range(_RUNS))
    return events / best, _peer(rows, now)


def _timed(rows: list[tuple[int, str, str]]) -> float:
    start = time.perf_counter()
    fold.replay_text(rows, 0)
    return time.perf_counter() - start


def _peer(rows: list[tuple[int, str, str]], now: int) -> float | None:
    if shutil.which("npm") is None:
        return None
    with tempfile.TemporaryDirectory(prefix="wakeful-peer-") as folder:
        root = Path(folder)
        (root / "package.json").write_text('{"type": "module"}')
        (root / "fold.mjs").write_text(_SCRIPT.replace("RUNS", str(_RUNS)))
        with (root / "log.jsonl").open("w") as file:
            for seq, kind, data in rows:
                file.write(f'{{"type":"{kind}","seq":{seq},"time":{now},"data":{data}}}\n')
        subprocess.run(["npm", "install", "--silent", "--no-audit", PEER], cwd=root, check=True, timeout=300)
        done = subprocess.run(
            ["node", "--max-old-space-size=8192", "fold.mjs", "log.jsonl"],
            cwd=root,
            check=True,
            capture_output=True,
            text=True,
            timeout=600,
        )
        return float(done.stdout)
