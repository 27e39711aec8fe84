"""The worker that runs models in a child: what it answers, that it outlives a crash, and that it finds the modules of its parent."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hostile_models import deadly_model

from split_rewrite.rewriter import OutOfTimeError, calls
from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.execution import model_client
from split_rewrite.rewriter.execution.messages import Failure, Outputs
from split_rewrite.rewriter.execution.model_client import Session, Worker
from split_rewrite.rewriter.process.child import import_path

RELU = "g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }"
TWO_INPUTS = "g (float[n,4] x, int64[n] i, float[1] w = {2.0}) => (float[n,4] y) { y = Mul(x, w) }"


Save = Callable[..., Path]


def test_worker_answers_with_outputs_or_a_failure(save: Save, worker: Worker) -> None:
    path = save(RELU)
    answer = worker.run(path, {"x": np.full((2, 4), -1.0, np.float32)})
    assert isinstance(answer, Outputs)
    assert answer.names == ("y",)
    np.testing.assert_array_equal(answer.values[0], np.zeros((2, 4), np.float32))
    for inputs, kind in (({}, "runtime"), ({"x": np.ones((2, 5), np.float32)}, "runtime")):
        failed = worker.run(path, inputs)
        assert isinstance(failed, Failure) and failed.kind == kind
    missing = worker.run(path.with_name("missing.onnx"), {})
    assert isinstance(missing, Failure) and missing.kind == "invalid"


def test_worker_lives_on_after_a_crash(save: Save) -> None:
    deadly = deadly_model(save)
    fine = save(RELU)
    ones = np.ones((1, 4), np.float32)
    with Worker() as worker, worker.open(fine) as session:
        assert isinstance(session.run({"x": ones}), Outputs)
        for _ in range(2):
            assert worker.run(deadly, {"x": np.ones(4, np.float32)}) == Failure("crashed", "signal SIGSEGV")
            assert isinstance(session.run({"x": ones}), Outputs)
    assert isinstance(worker.run(fine, {"x": ones}), Outputs)  # closed is not dead
    worker.close()


class Unreadable:
    """What another process cannot load, as where there is no memory for it."""

    def __reduce__(self) -> tuple[object, ...]:
        return int, ("no number",)


def test_a_request_that_cannot_be_read_does_not_wait_for_an_answer(save: Save, worker: Worker) -> None:
    assert worker._ask(Unreadable(), 60) == Failure("crashed", "no answer")
    assert isinstance(worker.run(save(RELU), {"x": np.ones((1, 4), np.float32)}), Outputs)


def _answers(session: Session, samples: Sequence[np.ndarray]) -> list[Failure | np.ndarray]:
    found = session.run_all({"x": sample} for sample in samples)
    return [answer if isinstance(answer, Failure) else answer.values[0] for _, answer in found]


def test_of_samples_that_share_a_message_one_that_crashes_costs_itself_alone(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = Failure("crashed", "signal SIGSEGV")
    with Worker() as worker, worker.open(save(RELU)) as session:
        ask = Session._ask
        monkeypatch.setattr(
            Session, "_ask", lambda self, group: crash if any(len(s["x"]) == 2 for s in group) else ask(self, group)
        )
        answers = _answers(session, [np.full((size, 4), size, np.float32) for size in (1, 2, 3)])
    assert answers[1] == crash
    np.testing.assert_array_equal(answers[0], np.full((1, 4), 1, np.float32))
    np.testing.assert_array_equal(answers[2], np.full((3, 4), 3, np.float32))


def test_of_samples_that_share_a_message_one_that_fails_costs_itself_alone(save: Save, worker: Worker) -> None:
    with worker.open(save(RELU)) as session:
        answers = _answers(session, [np.ones((1, 4), np.float32), np.ones((1, 5), np.float32), np.ones((2, 4), np.float32)])
    assert isinstance(answers[1], Failure) and answers[1].kind == "runtime"
    assert [np.shape(answers[0]), np.shape(answers[2])] == [(1, 4), (2, 4)]


@pytest.mark.parametrize("shape", [(1, 4), (40_000, 4)], ids=["small", "large"])
def test_samples_are_answered_in_order_however_many_share_a_message(
    save: Save, worker: Worker, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]
) -> None:
    groups, ask = [], Session._ask
    monkeypatch.setattr(Session, "_ask", lambda session, group: groups.append(len(group)) or ask(session, group))
    with worker.open(save(RELU)) as session:
        answers = _answers(session, [np.full(shape, number, np.float32) for number in range(20)])
    assert [float(np.max(answer)) for answer in answers] == list(range(20))
    assert groups[0] == (16 if shape[0] == 1 else 2)  # of the large ones, 0.64 MB each, two exceed 1 MiB


def test_large_outputs_come_in_several_answers(save: Save, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save("g (int64[1] x) => (int64[n] y) { y = Expand(x, x) }")
    groups, ask = [], Session._ask
    monkeypatch.setattr(Session, "_ask", lambda session, group: groups.append(len(group)) or ask(session, group))
    with worker.open(path) as session:
        answers = _answers(session, [np.array([100_000 + number]) for number in range(5)])  # 0.8 MB each
    assert [len(answer) for answer in answers] == [100_000 + number for number in range(5)]
    assert groups == [5, 3, 1]


def test_a_model_that_does_not_load_fails_for_each_sample(save: Save, worker: Worker) -> None:
    with worker.open(save(RELU).with_name("missing.onnx")) as session:
        answers = _answers(session, [np.ones((1, 4), np.float32)] * 2)
    assert [answer.kind for answer in answers if isinstance(answer, Failure)] == ["invalid", "invalid"]


def test_file_written_anew_is_read_anew(save: Save, worker: Worker) -> None:
    path = save(RELU)
    inputs = {"x": np.full((1, 4), -2.0, np.float32)}
    assert worker.run(path, inputs).values[0][0, 0] == 0  # type: ignore[union-attr]
    path.write_bytes(save("g (float[n,4] x) => (float[n,4] y) { y = Sign(x) }").read_bytes())
    assert worker.run(path, inputs).values[0][0, 0] == -1  # type: ignore[union-attr]


def test_threads_share_a_worker(save: Save, worker: Worker) -> None:
    times = "g (float[n] x) => (float[n] y) {{ k = Constant<value_float = {}.0>()\n y = Mul(x, k) }}"
    paths = [save(times.format(k)) for k in range(4)]
    found: dict[int, set[float]] = {}

    def run(k: int) -> None:
        with worker.open(paths[k]) as session:
            answers = [session.run({"x": np.ones(1, np.float32)}) for _ in range(25)]
        found[k] = {float(answer.values[0][0]) for answer in answers if isinstance(answer, Outputs)}

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {k: {float(k)} for k in range(4)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_process_gets_a_child_of_its_own(save: Save, worker: Worker) -> None:
    path = save(RELU)
    assert compare(path, path, worker=worker).status == "equal"
    pid = os.fork()
    if pid == 0:
        try:
            equal = compare(path, path, worker=worker).status == "equal"
            worker.close()
        finally:
            os._exit(0 if equal else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert compare(path, path, worker=worker).status == "equal"


def test_names_that_import_hooks_know_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An editable installation finds its packages by such a name, which is no path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib").mkdir()
    hook = "__editable__.something-1.0.finder.__path_hook__"
    monkeypatch.setattr(sys, "path", ["", "lib", hook, "/nowhere/at/all"])
    assert import_path() == [str(tmp_path), str(tmp_path / "lib"), hook, "/nowhere/at/all"]


def test_threads_wait_for_as_many_workers_as_there_are_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_client, "core_count", lambda: 2)
    monkeypatch.setattr(model_client, "_idle", [])
    seen: list[int] = []
    used: set[int] = set()

    def use(_: int) -> None:
        with model_client.lent_worker() as worker:
            used.add(id(worker))
            seen.append(model_client._lent)
            with model_client.lent_worker() as another:  # a thread that has one does not wait for others
                assert another is not worker

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(use, range(40)))
    assert model_client._lent == 0 and len(model_client._idle) <= 2
    assert max(seen) <= 4


def test_a_call_that_waits_for_a_worker_keeps_to_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_client, "core_count", lambda: 0)
    monkeypatch.setattr(model_client, "_idle", [])
    with pytest.raises(OutOfTimeError), calls.limits("m", 0.2), model_client.lent_worker():
        pytest.fail("there was none to wait for")
    assert model_client._lent == 0
