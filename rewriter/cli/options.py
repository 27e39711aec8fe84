"""Turns the options of the command line into the options of a job."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

import click

from .parameters import Loaded
from .terminal import lean_imports

if TYPE_CHECKING:
    from numpy import ndarray

    from ..comparison.inputs.samples import Samples
    from ..comparison.judging.tolerance import Tolerance
    from ..conversion.options import Options

_Path = str | os.PathLike[str]


def job_options(source: _Path | None, given: dict[str, Any]) -> tuple[Options, int | None]:
    """The options of the job, and the target opset or None."""
    with lean_imports():
        from ..conversion.ml_opset import check_ml_opset
        from ..conversion.options import Options
        from ..execution.loadable import latest_opset
        from ..runtimes.demands import demands_of
        from ..storage.layout import parsed

    # `Options` would tell what is wrong in words of Python
    demands_of(given["for_runtimes"], python=given["python"])
    parsed(given["external_data"])
    if given["ml_opset"] is not None:
        check_ml_opset(given["ml_opset"])
    compares = (given["compare"] != "off" or given["verify_with"] or given["for_runtimes"]) and not given["dry_run"]
    options = Options(
        assume_opset=given["assume_opset"],
        ir_version=given["ir_version"],
        only=frozenset(given["only"]),
        skip=frozenset(given["skip"]),
        strict=given["strict"],
        require_valid=given["require_valid"],
        semantics=given["semantics"],
        allow=frozenset(given["allow"]),
        standard=given["standard"],
        modernize=given["modernize"],
        quantization=given["quantization"],
        static=given["static"],
        ml_opset=given["ml_opset"],
        unpack_at_run_time=given["unpack_at_run_time"],
        overwrite_input_shapes=_by_name(given["overwrite_input_shape"], "--overwrite-input-shape", source),
        declare=_declarations(given["declare"]),
        runtime=given["runtime"],
        samples=_samples(source, given) if compares else None,
        tolerance=_tolerance(given),
        compare_budget=given["compare_budget"],
        external_data=given["external_data"],
        for_runtimes=given["for_runtimes"],
        no_clobber=given["no_clobber"],
        certify=given["certify"],
        custom_ops=given["custom_ops"],
        keep_different=given["keep_different"],
        no_fallback=given["no_fallback"],
        verify_with=given["verify_with"],
        python=given["python"],
        verify=given["verify"],
        minimal=given["minimal"] or _restamps_only(given),
    )
    target = given["target_opset"]
    return options, latest_opset() if target == "latest" else target


def _restamps_only(given: dict[str, Any]) -> bool:
    """Whether the user asks for another IR version and for nothing else that would change the model."""
    asked = (
        "target_opset",
        "for_runtimes",
        "standard",
        "modernize",
        "quantization",
        "static",
        "ml_opset",
        "overwrite_input_shape",
        "only",
    )
    return given["ir_version"] is not None and not any(given[name] for name in asked)


def _samples(source: _Path | None, given: dict[str, Any]) -> Samples:
    from ..comparison.inputs.samples import Samples

    return Samples(
        shapes=_by_name(given["test_input_shape"], "--test-input-shape", source),
        data=_samples_of(given["input_data"]),
        seed=given["seed"],
    )


def _samples_of(loaded: Iterable[Loaded]) -> list[dict[str, ndarray[Any, Any]]]:
    """The samples: each .npz file, completed by the .npy files, which belong to every sample.

    Without .npz files there is one sample.
    """
    common: dict[str, ndarray[Any, Any]] = {}
    samples: list[dict[str, ndarray[Any, Any]]] = []
    for one in loaded:
        if one.is_sample:
            samples.append(one.arrays)
        else:
            _require_new(one.arrays, common)
            common |= one.arrays
    for sample in samples:
        _require_new(common, sample)
    return [sample | common for sample in samples] or ([common] if common else [])


def _require_new(names: Iterable[str], known: Container[str]) -> None:
    for name in names:
        if name in known:
            raise click.UsageError(f"--input-data: input '{name}' is given twice in one sample.")


def _tolerance(given: dict[str, Any]) -> Tolerance:
    from ..comparison.judging.tolerance import Tolerance

    rtol, atol = (_by_output(given[option], f"--{option}") for option in ("rtol", "atol"))
    return Tolerance(rtol.pop(None, None), atol.pop(None, None), _named(rtol), _named(atol))


def _by_output(bounds: Iterable[tuple[str | None, float]], option: str) -> dict[str | None, float]:
    named: dict[str | None, float] = {}
    for name, bound in bounds:
        if name in named:
            raise click.UsageError(f"{option} is given twice for {'all outputs' if name is None else name}.")
        named[name] = bound
    return named


def _named(bounds: dict[str | None, float]) -> dict[str, float]:
    return {name: bound for name, bound in bounds.items() if name is not None}


def _declarations(given: Iterable[tuple[str, str]]) -> dict[str, str]:
    types: dict[str, str] = {}
    for name, text in given:
        if name in types:
            raise click.UsageError(f"--declare: value '{name}' is given twice.")
        types[name] = text
    return types


def _by_name(shapes: Iterable[tuple[str | None, tuple[int, ...]]], option: str, source: _Path | None) -> dict[str, tuple[int, ...]]:
    named: dict[str, tuple[int, ...]] = {}
    for name, dims in shapes:
        name = _only_input(source, option) if name is None else name
        if name in named:
            raise click.UsageError(f"{option}: input '{name}' is given twice.")
        named[name] = dims
    return named


def _only_input(source: _Path | None, option: str) -> str:
    """The name of the only input of the model in the file `source`, which is None for a run of many models.

    Raises click.UsageError where the model has several inputs, or there are many models.
    """
    if source is None:
        raise click.UsageError(f"{option}: put NAME: before the shape; each model has inputs of its own.")
    from ..storage import read

    graph = read(source).proto.graph
    with_default = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in with_default]
    if len(names) != 1:
        raise click.UsageError(f"{option}: put NAME: before the shape; the inputs are {', '.join(names) or 'none'}.")
    return names[0]
