"""Real runtimes: profiles say what the probe says, and what --for makes of each probe is right there, or refused by name.

Runs in the runtimes that are installed in this environment, and in those that SPLIT_REWRITE_RUNTIMES names, an interpreter each:
"openvino=/venvs/ov/bin/python:mnn=/venvs/mnn/bin/python". A release that no profile speaks of is not tested. Where a profile is
old, `split-rewrite probe NAME --python ... -o rewriter/runtimes/profiles/probed/NAME-RELEASE.toml` writes it anew.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import convert_version, model, run

from split_rewrite.rewriter import Options, UnconvertibleError
from split_rewrite.rewriter.execution.adapters import ADAPTERS
from split_rewrite.rewriter.execution.agreement import disagreement
from split_rewrite.rewriter.execution.other_runtimes import Target, run_model
from split_rewrite.rewriter.runtimes.known_messages import find_messages
from split_rewrite.rewriter.runtimes.naming import find_profile
from split_rewrite.rewriter.runtimes.probe_models import Probe, probes
from split_rewrite.rewriter.runtimes.probing import NO_FORMS, Findings, as_toml, probe_runtime
from split_rewrite.rewriter.runtimes.profiles import FOLDER, PROBED, Effect, Profile, Runtime, read_runtime

MODULES = {"openvino": "openvino", "opencv": "cv2", "mnn": "MNN"}


def targets() -> Iterator[Target]:
    yield from (Target(name) for name, module in MODULES.items() if find_spec(module))
    for entry in filter(None, os.environ.get("SPLIT_REWRITE_RUNTIMES", "").split(os.pathsep)):
        name, _, python = entry.partition("=")
        yield Target(name, python)


def profile_of(target: Target) -> Profile | None:
    package = ADAPTERS[target.adapter].package
    program = f"from importlib.metadata import version; print(version({package!r}))"
    release = subprocess.run([target.python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    profile = find_profile(f"{target.adapter}-{'.'.join(release.split('.')[:2])}")
    return None if profile.warning else profile


CASES = [(target, profile) for target in targets() if (profile := profile_of(target)) is not None]
needs_runtime = pytest.mark.skipif(not CASES, reason="no runtime with a profile is installed; SPLIT_REWRITE_RUNTIMES names others")
in_each = pytest.mark.parametrize(("target", "profile"), CASES, ids=[profile.name for _, profile in CASES])


@cache
def probed(target: Target) -> Findings:
    return probe_runtime(target)


@needs_runtime
@in_each
def test_the_profile_is_what_the_probe_writes(target: Target, profile: Profile, tmp_path: Path) -> None:
    """All but what the file of the runtime says by hand: that is wrong in some runs or models only."""
    path = tmp_path / f"{profile.name}.toml"
    path.write_text(as_toml(target.adapter, probed(target)), encoding="utf-8")
    written = read_runtime(PROBED / path.name)
    by_hand = {pair[::2] for pair in said(read_runtime(FOLDER / f"{target.adapter}.toml"), set())}
    found = read_runtime(path)
    assert said(found, by_hand) == said(written, by_hand)
    assert found.releases == written.releases


def said(runtime: Runtime, by_hand: set[tuple[str, str]]) -> set[tuple[str, Effect, str]]:
    """Form, effect and operator of each quirk but those of `by_hand`, forms and operators."""
    triples = {(quirk.form, quirk.effect, name) for quirk in runtime.quirks for name in quirk.operators}
    return {triple for triple in triples if triple[::2] not in by_hand}


@needs_runtime
@pytest.mark.parametrize("form", sorted({probe.form for probe in probes()} - {*NO_FORMS}))
@in_each
def test_what_is_made_for_it_is_right_there(target: Target, profile: Profile, form: str) -> None:
    """Or refused by its name. What was right before is right after, too."""
    wrong = [f"{probe.about}: {said}" for probe in probes() if probe.form == form and (said := trouble(target, profile, probe))]
    assert wrong == []


def trouble(target: Target, profile: Profile, probe: Probe) -> str:
    """What is wrong with what --for makes of `probe`; "" where it is right, untouched, or refused by the name of the runtime."""
    try:
        result = convert_version(probe.model, options=Options(for_runtimes=[profile.name])).model
    except UnconvertibleError as error:
        return "" if f"{profile.title} " in str(error) else str(error)
    if result.graph == probe.model.graph and not has_quirk(profile, probe):
        return ""
    names = [value.name for value in probe.model.graph.input]
    after = run_model(target, result, probe.inputs())
    expected = run(probe.plain or probe.model, dict(zip(names, probe.inputs(), strict=True)))
    return f"{after.status}: {after.reason}" if after.status != "ran" else disagreement(expected, after.outputs)


def has_quirk(profile: Profile, probe: Probe) -> bool:
    return any(quirk.form == probe.form and probe.about in quirk.operators for quirk in profile.quirks)


# -- what they say of models that they refuse

OWN = '<ir_version: 8, opset_import: ["" : 17, "my.own" : 1]> '
X = "g (float[2,6] x) => (float[2,6] y) "
HALVES = "g (float[2,{0}] x) => (float[2,3] y, float[2,{1}] z) {{ y, z = Split <axis = 1, num_outputs = 2> (x) }}"
BRANCHES = """g (float[2,6] x, bool c) => (float[2,6] y)
    { y = If (c) <then_branch = t () => (float[2,6] a) { a = Relu (x) }, else_branch = e () => (float[2,6] b) { b = Neg (x) }> }"""
REFUSED = {
    "unknown operator": (OWN + X + "{ y = my.own.Foo (x) }", {
        "onnxruntime": "is not an operator of this onnxruntime", "openvino": "This OpenVINO has no my.own.Foo",
        "opencv": "OpenCV has no my.own.Foo", "mnn": "MNN has no Foo",
    }),
    "younger operator": (X + "{ y = Gelu (x) }", {
        "onnxruntime": "The model says opset 17, which has no Gelu", "openvino-2023.3": "This OpenVINO has no Gelu",
    }),
    "form of another opset": (HALVES.format(6, 3), {"onnxruntime": "The Split is written in the form of another opset"}),
    "operand of another opset": ("g (float[2,6] x, int64[1] a) => (float[2,1] y) { y = ReduceMean (x, a) }", {
        "onnxruntime": "in the form of another opset", "openvino-2023.3": "in the form of another opset",
    }),
    "IR version": ('<ir_version: 90, opset_import: ["" : 17]> ' + X + "{ y = Relu (x) }", {"onnxruntime": "The file has IR version 90"}),
    "opset": ('<ir_version: 8, opset_import: ["" : 99]> ' + X + "{ y = Relu (x) }", {"onnxruntime": "The model has opset 99"}),
    "uneven parts": ('<ir_version: 8, opset_import: ["" : 18]> ' + HALVES.format(5, 2), {
        "openvino-2023.3": "only if all parts are equal", "opencv": "unequal parts only with their sizes",
    }),
    "branches": (BRANCHES, {"opencv": "OpenCV runs no If, Loop or Scan"}),
}  # fmt: skip
"""By case: a model at opset 17 where it says no other, and what the message of each runtime means that refuses it."""


@needs_runtime
@in_each
@pytest.mark.parametrize("case", REFUSED)
def test_what_a_runtime_says_is_known(case: str, target: Target, profile: Profile) -> None:
    text, meanings = REFUSED[case]
    meaning = meanings.get(profile.name) or meanings.get(target.adapter)
    if meaning is None:
        return
    ran = run_model(target, proto := model(text, 17), ones_for(proto))
    assert ran.status == "refused"
    found = find_messages(ran.reason)
    assert found and meaning in found[0].meaning, ran.reason


def ones_for(proto: onnx.ModelProto) -> list[np.ndarray]:
    shapes = ([dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in proto.graph.input)
    kinds = (onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in proto.graph.input)
    return [np.ones(shape, kind) for shape, kind in zip(shapes, kinds, strict=True)]
