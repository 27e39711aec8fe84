"""Many small models by one command, beside one process that calls the library, and beside a shell loop of commands.

    python tests/benchmarks/many.py [--models 1000] [--sample 100] [--rounds 3] [--jobs N]

The models are those of models/ and of onnx's node tests. In each round the same sample is converted in three ways in turn, so that
a slow minute of the machine hits all of them; the figures are medians over the rounds. At last all models are converted by one
command. "of linear" is the rate of the command over that of one process times the processes. "processes side by side" is the rate
of as many processes, each of which calls the library for its share of the sample: what this machine has to give.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from opset_matrix import collect_cases

TARGET = "13"
COMMAND = [sys.executable, "-m", "split_rewrite.rewriter", "-q", "-t", TARGET]
LIBRARY = """
import sys, time
from split_rewrite.rewriter import SplitRewriteError, convert_file
paths = sys.stdin.read().split()
seconds = []
for path in paths[:3] + paths:  # the first ones start the processes that check and run models
    begun = time.perf_counter()
    try:
        convert_file(path, sys.argv[1] + "/" + path.replace("/", "_"), int(sys.argv[2]))
    except SplitRewriteError:
        pass
    seconds.append(time.perf_counter() - begun)
print(sum(seconds[3:]))
"""
_SHELL_SAMPLE = 20
"""Models of the shell loop, which takes seconds for each."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = make_models(Path(folder, "zoo"), wanted.models)
        os.chdir(folder)
        step = max(1, len(models) // wanted.sample)
        sample = models[::step][: wanted.sample]
        rounds = [measure(sample, wanted.jobs) for _ in range(wanted.rounds)]
        print_rounds(rounds, wanted.jobs)
        seconds = timed(lambda: by_command(models, wanted.jobs, "all.jsonl"))
        print(f"{len(models):,} models by one command: {seconds:.1f} s, {len(models) / seconds:.1f} models/s with the start")


def make_models(folder: Path, count: int) -> list[str]:
    """`count` model files in `folder`: those of this repository, and node tests of onnx from all over the alphabet.

    Where these are too few, they come over again with other names.
    """
    own = sorted(Path(__file__).resolve().parents[2].joinpath("models").glob("*.onnx"))
    cases = collect_cases()
    missing = max(count - len(own), 1)
    tests = [cases[index * len(cases) // missing].model for index in range(missing)]
    models = [*map(Path.read_bytes, own), *(model.SerializeToString() for model in tests)][:count]
    folder.mkdir()
    names = [f"zoo/{number:05}.onnx" for number in range(len(models))]
    for name, model in zip(names, models, strict=True):
        (folder.parent / name).write_bytes(model)
    return names


def measure(sample: Sequence[str], jobs: int) -> dict[str, float]:
    """Models a second in each of three ways, the start left out of the first two; and seconds of a model in the run."""
    shutil.rmtree("out", ignore_errors=True)
    os.mkdir("out")
    (library,) = by_library([sample])
    beside = max(by_library([sample[job::jobs] for job in range(jobs)]))
    start = timed(lambda: by_command(sample[:jobs], jobs, "start.jsonl"))
    command = timed(lambda: by_command(sample, jobs, "run.jsonl")) - start
    by_command(sample, 1, "alone.jsonl")  # with others beside it, a model would wait for a processor
    inside = sum(json.loads(line)["seconds"] for line in Path("alone.jsonl").read_text().splitlines())
    few = sample[:: max(1, len(sample) // _SHELL_SAMPLE)][:_SHELL_SAMPLE]
    shell = timed(lambda: by_shell(few, jobs))
    count = len(sample)
    return {
        "one process": count / library,
        "processes side by side": count / beside,
        "the command": (count - jobs) / command,
        "the command with its start": count / (command + start),
        "xargs": len(few) / shell,
        "seconds in the run": inside / count,
        "seconds in the library": library / count,
    }


def by_library(shares: Sequence[Sequence[str]]) -> list[float]:
    """Seconds that each share takes in a process of its own that calls the library, all at the same time."""
    program = [sys.executable, "-c", LIBRARY, "out", TARGET]
    processes = [subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in shares]
    with ThreadPoolExecutor(len(shares)) as threads:
        answers = threads.map(lambda process, share: process.communicate("\n".join(share))[0], processes, shares)
        return [float(answer) for answer in answers]


def by_command(models: Sequence[str], jobs: int, record: str) -> None:
    shutil.rmtree("many", ignore_errors=True)
    Path("list").write_text("\n".join(models))
    command = [*COMMAND, "@list", "many/", "-j", str(jobs), "--report", record]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def by_shell(models: Sequence[str], jobs: int) -> None:
    shutil.rmtree("shell", ignore_errors=True)
    os.mkdir("shell")
    program = f"{' '.join(COMMAND)} {{}} shell/$(basename {{}})"
    command = ["xargs", "-P", str(jobs), "-I{}", "sh", "-c", program]
    subprocess.run(command, input="\n".join(models), text=True, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def timed(work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def print_rounds(rounds: Sequence[dict[str, float]], jobs: int) -> None:
    def median(ratio: Callable[[dict[str, float]], float]) -> str:
        values = sorted(map(ratio, rounds))
        return f"{statistics.median(values):.2f} ({values[0]:.2f} to {values[-1]:.2f})"

    for name in rounds[0]:
        print(f"{name:28} {median(lambda each, name=name: each[name])}")
    print(f"{'of linear':28} {median(lambda each: each['the command'] / (jobs * each['one process']))}")
    print(f"{'beside xargs':28} {median(lambda each: each['the command with its start'] / each['xargs'])} times as fast")
    print(f"{'a model beside the library':28} {median(lambda each: each['seconds in the run'] / each['seconds in the library'])}")


if __name__ == "__main__":
    main()
