"""Profiles say what the real runtimes do: what a profile lists is wrong or refused there, and right after; all else is right.

Runs in the runtimes that are installed in this environment, and in those that SPLIT_REWRITE_RUNTIMES names, an interpreter each:
"openvino=/venvs/ov/bin/python:mnn=/venvs/mnn/bin/python". A release that no profile speaks of is not tested.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import numpy as np
import pytest
from helpers import convert_version, run

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
    for target in targets():
        profile = profile_of(target)
        yield from ((target, profile, probe) for probe in probes() if profile is not None)


CASES = list(cases())


@pytest.mark.skipif(not CASES, reason="no runtime with a profile is installed; SPLIT_REWRITE_RUNTIMES names others")
@pytest.mark.parametrize(("target", "profile", "probe"), CASES, ids=[f"{p.name}-{q.form}-{q.about}" for _, p, q in CASES])
def test_the_profile_says_what_the_runtime_does(target: Target, profile: Profile, probe: Probe) -> None:
    inputs = probe.inputs()
    names = [value.name for value in probe.model.graph.input]
    adds = probe.form in ("opset", "ir_version")  # up to what this onnxruntime may not load
    expected = [inputs[0] + inputs[0]] if adds else run(probe.model, dict(zip(names, inputs, strict=True)))
    before = run_model(target, probe.model, inputs)
    is_right = before.status == "ran" and not disagreement(expected, before.outputs)
    if is_right == is_said_to_be_right(profile, probe):
        if not is_right and (probe.form, probe.about) in quirks(profile):
            check_result(target, profile, probe, expected)
        return
    if is_right:
        assert is_noted_otherwise(profile, probe), "the profile says that it is wrong"
    else:
        pytest.fail(f"the profile says nothing of it: {before.reason or disagreement(expected, before.outputs)}")


def quirks(profile: Profile) -> set[tuple[str, str]]:
    return {(quirk.form, name) for quirk in profile.quirks for name in quirk.operators}


def is_said_to_be_right(profile: Profile, probe: Probe) -> bool:
    opset, ir_max = profile.facts.opset, profile.facts.ir_max
    if isinstance(probe.about, tuple):
        return profile.facts.operators_refused.isdisjoint(probe.about)
    if isinstance(probe.about, str):
        return (probe.form, probe.about) not in quirks(profile)
    if probe.form == "opset":
        return (opset.min or 1) <= probe.about <= (opset.max or probe.about)
    return probe.about <= (ir_max or probe.about)


def is_noted_otherwise(profile: Profile, probe: Probe) -> bool:
    """A profile may say less than a runtime loads: the opset of the model decides what else there is in it."""
    loads_more = probe.form == "opset" and "loads opset" in profile.facts.notes
    return loads_more or (profile.runtime.name, probe.form) in NOTED_OTHERWISE


def check_result(target: Target, profile: Profile, probe: Probe, expected: Sequence[np.ndarray]) -> None:
    """What --for makes of it is right, or refused by its name."""
    try:
        result = convert_version(probe.model, options=Options(for_runtimes=[profile.name])).model
    except UnconvertibleError as error:
        assert f"{profile.title} " in str(error)
        return
    after = run_model(target, result, probe.inputs())
    assert (after.status, after.reason) == ("ran", "")
    assert disagreement(expected, after.outputs) == ""
