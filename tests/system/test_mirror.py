"""The tests mirror the house: each module has its test file in the same place, and each rule a test that shows what it writes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from documentation import ROOT

import split_rewrite.rules  # noqa: F401 - importing the rules registers them
from split_rewrite.rewriter.engine.registry import functions_in, registry, rules_of
from split_rewrite.rules import ml, modern, quantized, static

pytestmark = pytest.mark.quick

PLACES = ("rewriter", "rules")
TESTED_BY = {
    "rewriter/batch/command.py": "rewriter/batch/test_many.py",
    "rewriter/batch/remote.py": "rewriter/batch/test_many.py",
    "rewriter/split_rewrite/testing.py": "rewriter/test_testing.py",
    "rewriter/engine/forms.py": "rewriter/engine/test_own_rules.py",
    "rewriter/bridge/opening.py": "rewriter/bridge/test_ir_model.py",
    "rewriter/cli/run.py": "rewriter/cli/test_command.py",
    "rewriter/certifying/calls.py": "rewriter/certifying/operators/test_operators.py",
    "rewriter/certifying/constants.py": "rewriter/certifying/operators/test_operators.py",
    "rewriter/certifying/operators/arithmetic.py": "rewriter/certifying/operators/test_operators.py",
    "rewriter/certifying/operators/movement.py": "rewriter/certifying/operators/test_operators.py",
    "rewriter/certifying/operators/sequences.py": "rewriter/certifying/operators/test_operators.py",
    "rewriter/certifying/operators/shapes.py": "rewriter/certifying/operators/test_operators.py",
    "rewriter/certifying/operators/splits.py": "rewriter/certifying/operators/test_operators.py",
    "rewriter/certifying/tensors.py": "rewriter/certifying/operators/test_operators.py",
    "rewriter/certifying/terms.py": "rewriter/certifying/operators/test_operators.py",
    "rewriter/certifying/certificate.py": "rewriter/certifying/test_proving.py",
    "rewriter/certifying/interpreter.py": "rewriter/certifying/test_proving.py",
    "rewriter/certifying/reading.py": "rewriter/certifying/test_proving.py",
    "rewriter/certifying/model_reader.py": "rewriter/certifying/test_proving.py",
    "rewriter/certifying/solver.py": "rewriter/certifying/test_proving.py",
    "rewriter/certifying/prover.py": "rewriter/certifying/test_proving.py",
    "rewriter/comparison/regions/changed_nodes.py": "rewriter/comparison/test_by_region.py",
    "rewriter/comparison/regions/division.py": "rewriter/comparison/test_by_region.py",
    "rewriter/comparison/settings.py": "rewriter/comparison/test_by_region.py",
    "rewriter/comparison/verification.py": "rewriter/comparison/test_by_region.py",
    "rewriter/conversion/attempts.py": "rewriter/conversion/test_driver.py",
    "rewriter/conversion/comparing.py": "rewriter/conversion/test_driver.py",
    "rewriter/conversion/options.py": "rewriter/conversion/test_arguments.py",
    "rewriter/conversion/preparation.py": "rewriter/conversion/test_driver.py",
    "rewriter/conversion/stages.py": "rewriter/conversion/test_driver.py",
    "rewriter/onnx_model/domains.py": "rewriter/onnx_model/test_protos.py",
    "rewriter/onnx_model/meanings.py": "rewriter/checks/test_two_meanings.py",
    "rewriter/engine/changing_functions.py": "rewriter/structure/test_specialization.py",
    "rewriter/engine/restrictions.py": "rewriter/runtimes/test_for_runtimes.py",
    "rewriter/engine/trials.py": "rewriter/engine/test_fitting.py",
    "rewriter/engine/ways.py": "rewriter/engine/test_fitting.py",
    "rewriter/runtimes/allowed/findings.py": "rewriter/runtimes/allowed/test_keys.py",
    "rewriter/runtimes/allowed/limits.py": "rewriter/runtimes/allowed/test_keys.py",
    "rewriter/runtimes/allowed/naming.py": "rewriter/runtimes/allowed/test_keys.py",
    "rewriter/runtimes/allowed/rules.py": "rewriter/runtimes/allowed/test_reading.py",
    "rewriter/runtimes/allowed/site.py": "rewriter/runtimes/allowed/test_keys.py",
    "rewriter/runtimes/element_types.py": "rewriter/runtimes/test_profiles.py",
    "rewriter/runtimes/profile_file.py": "rewriter/runtimes/test_profiles.py",
    "rewriter/runtimes/runtime.py": "rewriter/runtimes/test_profiles.py",
    "rules/avoid/refusals.py": "rules/avoid/test_forms.py",
}
"""Modules that are one subject with another one, and the file that tests both."""
OF_A_PACKAGE = {
    "rewriter/certifying/test_rules.py",
    "rewriter/certifying/operators/test_operators.py",
    "rewriter/engine/test_metadata.py",
    "rewriter/engine/test_own_rules.py",
    "rewriter/engine/test_replacements.py",
    "rules/avoid/test_forms.py",
    "rewriter/runtimes/test_for_runtimes.py",
    "rewriter/storage/test_storage.py",
    "rewriter/test_layers.py",
}
"""Tests of several modules of a package together."""
WRITE_NOTHING = {
    "legacy.refuse",
    "attention.masked_rows",
    "branches.refuse_unlike_ranks",
    "cast.saturated_infinity_changes",
    "cast.saturated_infinity_changes_in_cast_like",
    "control_flow.branches_of_equal_shapes",
    "conv.warn_of_odd_padding",
    "conv.warn_of_same_padding",
    "instance_normalization.require_four_dimensions",
    "one_hot.warn_of_negative_indices",
    "pooling.mind_dropped_windows",
    "pooling.warn_of_same_padding",
    "recurrences.require_batch",
    "recurrences.require_steps",
    "reductions.refuse_axes_as_attribute",
    "refusals.refuse",
    "optionals.keep_output",
    "sequences.keep_output",
    "reshapes.refuse_lengths",
    "windows.refuse_disputed_padding",
}
"""Rules that only warn or refuse: there is no graph to show."""


def expected_place(module: Path) -> str:
    return (module.parent / f"test_{module.name}").as_posix()


def modules() -> list[Path]:
    found = [path.relative_to(ROOT) for place in PLACES for path in ROOT.joinpath(place).rglob("*.py")]
    return [path for path in found if not path.name.startswith("__") and not path.is_relative_to("rules/shared")]


def mirrored_files() -> set[str]:
    folder = ROOT / "tests"
    return {path.relative_to(folder).as_posix() for place in PLACES for path in folder.joinpath(place).rglob("test_*.py")}


def test_each_module_has_its_test_file() -> None:
    there = mirrored_files()
    missing = {path.as_posix() for path in modules() if expected_place(path) not in there}
    assert missing == set(TESTED_BY)
    assert set(TESTED_BY.values()) <= there


def test_each_test_file_has_its_module() -> None:
    shared = {expected_place(path.relative_to(ROOT)) for path in ROOT.glob("rules/shared/*.py")}
    assert mirrored_files() - {expected_place(path) for path in modules()} - shared == OF_A_PACKAGE


def shown_rules() -> set[str]:
    """The names of rules in the tables REWRITES of the tests."""
    names: set[str] = set()
    for path in ROOT.glob("tests/rules/**/test_*.py"):
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "REWRITES":
                for row in statement.value.elts:  # type: ignore[attr-defined]
                    assert isinstance(row.elts[0], ast.Constant), (
                        f"{path}:{row.lineno}: a row begins with the rule's name as a string"
                    )
                    names.add(row.elts[0].value)
    return names


def test_each_rule_is_shown() -> None:
    rules = [*registry, *rules_of([*functions_in(modern), *functions_in(quantized), *functions_in(static), *functions_in(ml)])]
    assert {rule.name for rule in rules} - shown_rules() == WRITE_NOTHING
