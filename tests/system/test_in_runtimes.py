"""Quirks in the real runtimes: each is wrong or refused before, and right after, or refused by us with its name.

Runs in the runtimes that are installed in this environment, and in those that SPLIT_REWRITE_RUNTIMES names, an interpreter each:
"openvino=/venvs/ov/bin/python:mnn=/venvs/mnn/bin/python". A release that no profile speaks of is not tested.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from helpers import convert_version

from split_rewrite.rewriter import ArgumentError, Options, UnconvertibleError
from split_rewrite.rewriter.runtimes.adapters import ADAPTERS
from split_rewrite.rewriter.runtimes.agreement import disagreement
from split_rewrite.rewriter.runtimes.probe_models import Probe, probes
from split_rewrite.rewriter.runtimes.profiles import Profile, find_profile
from split_rewrite.rewriter.runtimes.running import Target, run_model

MODULES = {"openvino": "openvino", "opencv": "cv2", "mnn": "MNN"}
NOTED_OTHERWISE = {
    ("opencv", "Split with a part of length 0"),  # wrong in some models, not in this one
    ("mnn", "Softmax before opset 13, axis not last"),  # wrong for Softmax where the axis is not stated
    ("mnn", "Constant without the attribute value"),  # as an operand it is right; the profile is about its rank
    ("mnn", "Three operands or more"),  # wrong for some shapes only
}


def targets() -> Iterator[Target]:
    yield from (Target(name) for name, module in MODULES.items() if find_spec(module))
    for entry in filter(None, os.environ.get("SPLIT_REWRITE_RUNTIMES", "").split(os.pathsep)):
        name, _, python = entry.partition("=")
        yield Target(name, python)


def profile_of(target: Target) -> Profile | None:
    package = ADAPTERS[target.adapter].package
    program = f"from importlib.metadata import version; print(version({package!r}))"
    release = subprocess.run([target.python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    try:
        return find_profile(f"{target.adapter}-{release}")
    except ArgumentError:
        return None


def cases() -> Iterator[tuple[Target, Profile, Probe]]:
    known = [probe for probe in probes() if probe.form not in ("opset", "ir_version", "operators")]
    for target in targets():
        profile = profile_of(target)
        quirks = {(quirk.form, name): quirk for quirk in profile.quirks for name in quirk.operators} if profile else {}
        yield from ((target, profile, probe) for probe in known if profile and (probe.form, probe.about) in quirks)


CASES = list(cases())


@pytest.mark.skipif(not CASES, reason="no runtime with a profile is installed; SPLIT_REWRITE_RUNTIMES names others")
@pytest.mark.parametrize(("target", "profile", "probe"), CASES, ids=[f"{p.name}-{q.form}-{q.about}" for _, p, q in CASES])
def test_a_quirk_is_there_before_and_gone_after(target: Target, profile: Profile, probe: Probe) -> None:
    inputs = probe.inputs()
    expected = run_model(Target("onnxruntime", sys.executable), probe.model, inputs).outputs
    before = run_model(target, probe.model, inputs)
    is_right = before.status == "ran" and not disagreement(expected, before.outputs)
    assert not is_right or (target.adapter, probe.form) in NOTED_OTHERWISE, "the profile says it is wrong"
    try:
        result = convert_version(probe.model, options=Options(for_runtimes=[profile.name])).model
    except UnconvertibleError as error:
        assert f"{profile.title} " in str(error)
        return
    after = run_model(target, result, inputs)
    assert (after.status, after.reason) == ("ran", "")
    assert disagreement(expected, after.outputs) == ""
