"""The request of a run, and its digest, by which a run can be resumed."""

from __future__ import annotations

import pickle
from importlib.metadata import version

from split_rewrite.rewriter import (
    Options,
)
from split_rewrite.rewriter.batch import task
from split_rewrite.rewriter.batch.task import Request


def test_a_request_is_known_by_what_the_result_depends_on():
    base = Request(13, options=Options(only=frozenset({"split", "reduce"}), overwrite_input_shapes={"x": [1, 2], "y": [3]}))
    same = Request(13, options=Options(only=frozenset({"reduce", "split"}), overwrite_input_shapes={"y": [3], "x": (1, 2)}))
    assert base.digest == same._replace(timeout=5.0, memory=1, with_page=True).digest
    others = [base._replace(target_opset=14), base._replace(compare="off"), base._replace(options=Options())]
    assert len({request.digest for request in [base, *others]}) == 4
    assert pickle.loads(pickle.dumps(base)).digest == base.digest


def test_a_request_is_known_by_the_contents_of_the_files_that_its_options_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    text = 'title = "NPU"\n[[release]]\nfrom = "1.0"\nevidence = "tried"\nopset = { max = 13 }\n'
    (tmp_path / "npu.toml").write_text(text)
    (tmp_path / "mine.py").write_text("class Mine: ...\n")
    request = Request(None, options=Options(for_runtimes=["./npu.toml"], verify_with="mine:Mine"))
    digests = [request.digest]
    (tmp_path / "npu.toml").write_text(text.replace("13", "12"))
    digests.append(request.digest)
    (tmp_path / "mine.py").write_text("class Mine: package = ''\n")
    digests.append(request.digest)
    monkeypatch.setattr(task, "version", lambda package: "0.1" if package == "onnxruntime" else version(package))
    digests.append(request.digest)
    assert len(set(digests)) == 4
    (tmp_path / "npu.toml").write_text(text)
    (tmp_path / "mine.py").write_text("class Mine: ...\n")
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert request.digest == digests[0]
