"""The long form of the fuzz tests: random models and damaged files by the thousand, with figures of what came of them.

    python tests/fuzz/run.py --models 20000 --files 20000 --seed 0
    python tests/fuzz/run.py --models 100000 --minutes 30 --jobs 4 --out /tmp/findings
    python tests/fuzz/run.py --seed 0 --only model:1234

Trials run in child processes, which are replaced when they crash or hang. Every finding, and every damaged file that our own
check or comparison stopped, is written to a folder of its own in --out: the model, the inputs, what is wrong, and the command
that shows it. Exit status 1 where there are findings.
Trial number n of seed s is the same at any time and on any machine, with the same versions of onnx and of this project.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NamedTuple

import onnx
import trials
from trials import FINDINGS, STOPPED, Verdict

CHUNK = 250
"""Trials that one child does: what leaks in a library goes with it."""
LIMIT = 120.0
"""Seconds that one trial may take before it counts as hung; they take milliseconds, where nothing hangs."""
LAST_WORDS = 10.0
"""Seconds that a child has between its last verdict and its end: killed before, it would not say what it died of."""
MEMORY = 4 << 30
"""Bytes of address space of a child."""


class Task(NamedTuple):
    kind: str
    first: int
    stop: int


class Job:
    """A child process and what it is at."""

    def __init__(self, seed: int, task: Task) -> None:
        self.task = task
        self.at = task.first
        self.since = time.monotonic()
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_child, args=(theirs, seed, task), daemon=False)
        self.process.start()
        theirs.close()

    def rest(self) -> Task | None:
        """What is left to do when the trial at hand is given up."""
        task = self.task._replace(first=self.at + 1)
        return task if task.first < task.stop else None

    def end(self) -> int:
        """Kill the child with all that it started; its exit code."""
        if self.process.pid is not None and self.process.is_alive():
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                self.process.kill()
        self.process.join()
        self.pipe.close()
        return self.process.exitcode or 0


def _child(pipe: Connection, seed: int, task: Task) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for index in range(task.first, task.stop):
        pipe.send(_trial(seed, task.kind, index))
    trials.runner().close()
    pipe.send(None)


def _trial(seed: int, kind: str, index: int) -> Verdict:
    try:
        return (trials.try_model if kind == "model" else trials.try_file)((seed, kind, index))
    except MemoryError as error:
        return Verdict("discarded", f"out of memory: {error}")


class Tally:
    """What came of the trials so far."""

    def __init__(self, seed: int, out: Path) -> None:
        self._seed = seed
        self._out = out
        self._start = time.monotonic()
        self.outcomes: dict[str, Counter[str]] = {"model": Counter(), "file": Counter()}
        self.reasons: dict[str, Counter[str]] = {}
        self.findings = 0

    def add(self, kind: str, index: int, verdict: Verdict) -> None:
        outcome = verdict.kind
        if verdict.kind in FINDINGS or verdict.back in FINDINGS:
            self.findings += 1
            outcome = verdict.kind if verdict.kind in FINDINGS else f"{verdict.back} (on the way back)"
            self._save(f"{kind}-{self._seed}-{index}", kind, index, outcome, verdict)
        elif verdict.kind in STOPPED:
            self._save(f"{kind}-{self._seed}-{index}", kind, index, outcome, verdict)
        elif verdict.back:
            outcome = f"{verdict.kind}; and back: {verdict.back}"
        self.outcomes[kind][outcome] += 1
        first = outcome.partition(";")[0]
        if first not in ("equal", "converted", "unusable"):
            self.reasons.setdefault(f"{kind}s, {first}", Counter())[_gist(verdict.reason)] += 1

    def _save(self, name: str, kind: str, index: int, outcome: str, verdict: Verdict) -> None:
        folder = self._out / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, data in verdict.files.items():
            (folder / file).write_bytes(data)
        again = f"python tests/fuzz/run.py --seed {self._seed} --only {kind}:{index}"
        (folder / "finding.txt").write_text(f"{outcome}\n\n{verdict.reason}\n\n{verdict.command}\n{again}\n")
        print(f"{outcome}: {folder}\n    {_gist(verdict.reason)}", flush=True)

    def line(self) -> str:
        done = sum(sum(counts.values()) for counts in self.outcomes.values())
        seconds = time.monotonic() - self._start
        return f"{done:,} trials in {seconds:.0f} s, {done / max(seconds, 1):.1f} a second, {self.findings} findings"

    def text(self) -> str:
        lines = [f"seed {self._seed}, onnx {onnx.__version__}: {self.line()}"]
        for kind, counts in self.outcomes.items():
            if counts:
                lines.append(f"\n{sum(counts.values()):,} {kind}s")
                lines += [f"{count:8,}  {outcome}" for outcome, count in counts.most_common()]
        for outcome, counts in self.reasons.items():
            lines.append(f"\n{outcome}: most frequent reasons")
            lines += [f"{count:8,}  {reason}" for reason, count in counts.most_common(12)]
        return "\n".join(lines)


def _gist(reason: str) -> str:
    """The last line of a traceback, the first blocker, the first line of anything else; without numbers, so that equal reasons are counted together."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()] or [""]
    line = lines[-1] if lines[0].startswith("Traceback") else lines[0]
    if "cannot be converted" in line and len(lines) > 1:
        line = lines[1]
    return "".join("#" if char.isdigit() else char for char in line)[:160]


def tasks(models: int, files: int) -> Iterator[Task]:
    for kind, count in (("model", models), ("file", files)):
        for first in range(0, count, CHUNK):
            yield Task(kind, first, min(first + CHUNK, count))


def run(todo: Iterator[Task], seed: int, jobs: int, deadline: float, tally: Tally) -> None:
    """Do the tasks until they are done or it is `deadline`, at most `jobs` at a time."""
    running: list[Job] = []
    shown = time.monotonic()
    try:
        while True:
            while len(running) < jobs and time.monotonic() < deadline and (task := next(todo, None)) is not None:
                running.append(Job(seed, task))
            if not running or time.monotonic() > deadline:
                return
            ready = wait([job.pipe for job in running], timeout=1.0)
            for job in list(running):
                if job.pipe in ready:
                    left = _receive(job, tally)
                elif time.monotonic() - job.since > LIMIT:
                    job.end()
                    tally.add(job.task.kind, job.at, Verdict("HANG", f"not finished within {LIMIT:g} s"))
                    left = job.rest()
                else:
                    continue
                if left is not job.task:
                    running.remove(job)
                    todo = itertools.chain([left] if left else [], todo)
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                print(tally.line(), flush=True)
    finally:
        for job in running:
            job.end()


def _receive(job: Job, tally: Tally) -> Task | None:
    """Take one verdict: the job's own task while it goes on, else what is left of it."""
    try:
        verdict = job.pipe.recv()
    except EOFError:
        job.process.join(LAST_WORDS)
        code = job.end()
        tally.add(job.task.kind, job.at, Verdict("SIGNAL", f"the process died: {_death(code)}"))
        return job.rest()
    if verdict is None:
        job.end()
        return None
    tally.add(job.task.kind, job.at, verdict)
    job.at += 1
    job.since = time.monotonic()
    return job.task


def _death(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=0, help="random valid models to convert, compare and convert back")
    parser.add_argument("--files", type=int, default=0, help="damaged files to give to the command line")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1e6, help="stop then")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir(), "split-rewrite-fuzz"), help="where findings go")
    parser.add_argument("--only", metavar="KIND:N", help="one trial, model:N or file:N")
    given = parser.parse_args()
    todo = tasks(given.models, given.files)
    if given.only:
        kind, _, index = given.only.partition(":")
        todo = iter([Task(kind, int(index), int(index) + 1)])
    tally = Tally(given.seed, given.out)
    run(todo, given.seed, given.jobs, time.monotonic() + given.minutes * 60, tally)
    print(tally.text())
    sys.exit(1 if tally.findings else 0)


if __name__ == "__main__":
    main()
