"""The options of a conversion, beside the target opset."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast, get_args

from ...rules import fit, microsoft, ml, modern, static
from ...rules.microsoft import qlinear, qlinear_conv, qlinear_pool
from ...rules.quantized import qdq, qoperator, qoperator_onnxruntime
from ...rules.shared.contrib import DOMAIN
from ..boundary import speaking_python
from ..bridge.opening import is_pattern
from ..checks import validity
from ..comparison.judging.tolerance import EXACT, Tolerance
from ..engine.narrow_types import ALLOWANCES
from ..engine.registry import Rule, RuleFunction, functions_in, rules_of
from ..errors import ArgumentError, WrongTypeError, listed
from ..execution import custom_operators
from ..onnx_model.meanings import Semantics
from ..opsets import facts
from ..process.child import NONE_STARTED, module_files, no_interpreter, starting_none
from ..storage import ADAPTER, CUSTOM_OPERATORS, PROFILE, PYTHON, NamedFile, layout
from . import arguments
from .ml_opset import check_ml_opset

if TYPE_CHECKING:
    from onnxscript.rewriter import RewriteRule

    from ..comparison.inputs.samples import Samples
    from ..execution.engines import Runtime
    from ..execution.other_runtimes import Target
    from ..runtimes.demands import Demands
    from ..runtimes.trying import Trial


Isolation = Literal["process", "in-process"]
"""Where onnx's checker and shape inference run: in a child process, which may crash, or in the process of the caller."""

Quantization = Literal["qdq", "qoperator"]
"""The forms of quantized operators: real numbers between DequantizeLinear and QuantizeLinear, or 8-bit integers."""
_LOADABLE = re.compile(r"\.(py|dylib|dll|so(\.\d+)*)$", re.IGNORECASE)
"""What the names of files with custom operators end with."""

Comparing = Literal["auto", "model", "nodes", "required", "off"]
"""The ways to compare original and result.

"auto": as whole models if they are small enough, else node by node; "model": only as whole models; "nodes": only node by node;
"required": as "auto", but it is an error if this is impossible; "off": not at all.
"""


@dataclass(frozen=True)
class Options:
    """The options of a conversion, beside the target opset. `assume_opset` takes precedence over the opset that the model declares.
    `ir_version` is that of the result, and also of a model that states none, or one that the installed onnx does not know.

    `semantics` decides the meaning of nodes on which the specification and onnxruntime disagree (docs/semantics.md). With None,
    such a node stays as it is, or the model is refused.

    Raises: TypeError and ArgumentError for values that are not possible.
    """

    assume_opset: int | None = None
    ir_version: int | None = None
    only: Collection[str] = frozenset()
    skip: Collection[str] = frozenset()
    rules: Sequence[str | RuleFunction | RewriteRule] = ()
    """Rules of other packages: onnxscript RewriteRules (or a RewriteRuleSet), which are applied first,
    wherever they match; and, for operators of other domains, functions that `replace` decorates, or
    names under which packages offer such functions.
    """
    strict: bool = False
    overwrite_input_shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    declare: Mapping[str, str] = field(default_factory=dict)
    """Types of values that inference cannot find, for example behind nodes of other domains: {"a": "float[N,64]"}."""
    runtime: Runtime = "auto"
    samples: Samples | None = None
    tolerance: Tolerance = EXACT
    external_data: str = "auto"
    for_runtimes: Sequence[str] = ()
    """Runtimes that the result is for, named as in `--for`. They choose the target opset if none is given."""
    verify_with: str = ""
    """A runtime that must give the same outputs for the result as onnxruntime for the original: "openvino",
    or an adapter "module:class".
    """
    python: str = ""
    """The Python interpreter of the environment that has that runtime, or those of `for_runtimes`; default: this one."""
    verify: bool = True
    """Whether the result is run in the runtimes of `for_runtimes` that are installed."""
    semantics: Semantics | None = None
    allow: Collection[str] = frozenset()
    """Permitted changes: "float32-for-bfloat16" (docs/narrow_types.md), and "int32-inputs" (docs/allowed.md)."""
    unpack_at_run_time: bool = False
    """Whether weights of element types that the target lacks stay packed and are unpacked in the graph (docs/narrow_types.md)."""
    standard: bool = False
    """Whether the result may have ONNX's own operators only: onnxruntime's own become nodes of them."""
    require_valid: bool = False
    """Whether a model that onnx.checker refuses is refused, even if runtimes take it."""
    no_clobber: bool = False
    """Whether it is an error if the file to write exists."""
    no_fallback: bool = False
    """Whether nodes are refused that a runtime of `for_runtimes` would leave to the CPU (docs/allowed.md)."""
    compare_budget: float | None = None
    """The seconds that the comparison may take; by default as long as docs/comparison.md says."""
    custom_ops: Sequence[str] = ()
    """Files with operators of other domains, with which models are run: shared libraries of custom operators for onnxruntime, and
    Python files that define some for onnx.reference (docs/embedding.md).
    """
    certify: bool = False
    """Whether a solver shows, as far as it can, that the result is the same for all shapes (docs/certify.md)."""
    keep_different: bool = False
    """Whether a result that fails the comparison is written all the same, beside the file to write (`convert_file` only)."""
    minimal: bool = False
    """Whether nothing is changed that need not be for the target or the runtimes: the model is simplified only if nothing else
    converts it.
    """
    modernize: bool = False
    """Whether nodes that spell out an operator of the target opset, such as LayerNormalization, become this operator."""
    isolation: Isolation = "process"
    """Where onnx's checker and shape inference run. "in-process" starts no process: a crash of theirs ends the caller's, and models
    are not run, so that nothing is compared (docs/embedding.md).
    """
    quantization: Quantization | None = None
    """The form that quantized operators get: "qdq", real numbers between DequantizeLinear and QuantizeLinear; or "qoperator", 8-bit
    integers. None leaves each in its own.
    """
    static: bool = False
    """Whether all shapes of the result have to be fixed: what computes with them is stored, and bodies that are known to run are
    written out (docs/static.md).
    """
    ml_opset: int | None = None
    """The version of ai.onnx.ml to convert to, where the model has operators of that domain (docs/ml.md)."""

    def __post_init__(self) -> None:
        self._check_isolation()
        for name in ("assume_opset", "ir_version", "ml_opset"):
            number = arguments.integer(name, getattr(self, name))
            if number is not None and number < 1:
                raise ArgumentError(f"{name} has to be 1 or more, not {number}")
            object.__setattr__(self, name, number)
        if self.ml_opset is not None:
            with speaking_python():
                check_ml_opset(self.ml_opset)
        for name in ("only", "skip"):
            object.__setattr__(self, name, arguments.rule_names(name, getattr(self, name)))
        object.__setattr__(self, "rules", arguments.rules("rules", self.rules))
        fixed = arguments.shapes("overwrite_input_shapes", self.overwrite_input_shapes)
        object.__setattr__(self, "overwrite_input_shapes", fixed)
        object.__setattr__(self, "declare", arguments.texts("declare", self.declare))
        self._check_flags()
        self._check_contradictions()
        if self.certify:
            from ..certifying.proving import require_solver  # imports what starts processes

            with speaking_python():
                require_solver()
        self._check_how_to_run()
        self._check_budget()
        arguments.check_tolerance(self.tolerance)
        arguments.check_kind("external_data", self.external_data, str, "a str")
        with speaking_python():
            layout.parsed(self.external_data)
        object.__setattr__(self, "for_runtimes", arguments.runtime_names("for_runtimes", self.for_runtimes))
        with speaking_python():
            demands_of_options(self)  # a wrong name is told before the model is read
        for name in ("verify_with", "python"):
            arguments.check_kind(name, getattr(self, name), str, "a str")
        if self.python and not self.verify_with and not self.for_runtimes:
            reason = "this is the environment of the runtime that verify_with or for_runtimes names; set one of them, too"
            raise ArgumentError(f"python: {reason}")
        object.__setattr__(self, "custom_ops", [os.path.abspath(path) for path in arguments.paths("custom_ops", self.custom_ops)])
        object.__setattr__(self, "allow", arguments.rule_names("allow", self.allow))
        for name in self.allow:
            arguments.check_choice("allow", name, ALLOWANCES)
        if self.semantics is not None:
            arguments.check_choice("semantics", self.semantics, get_args(Semantics))
        if self.quantization is not None:
            arguments.check_choice("quantization", self.quantization, get_args(Quantization))

    def _check_flags(self) -> None:
        names = ("strict", "require_valid", "no_clobber", "keep_different", "verify", "minimal", "certify", "modernize")
        for name in (*names, "static", "standard", "unpack_at_run_time", "no_fallback"):
            arguments.check_kind(name, getattr(self, name), bool, "True or False")

    def _check_contradictions(self) -> None:
        if both := sorted(set(map(str.lower, self.only)) & set(map(str.lower, self.skip))):
            raise ArgumentError(f"only and skip both name {listed(both)}")
        if self.minimal and self.modernize:
            raise ArgumentError("minimal and modernize exclude each other: modernize changes what need not be changed")

    def _check_isolation(self) -> None:
        arguments.check_choice("isolation", self.isolation, get_args(Isolation))
        for name in ("certify", "custom_ops", "python", "verify_with"):
            if self.isolation == "in-process" and getattr(self, name):
                raise ArgumentError(f"{name} needs a child process, and {NONE_STARTED}")

    def _check_budget(self) -> None:
        seconds = self.compare_budget
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
            raise TypeError(f"compare_budget has to be a number of seconds or None, not {seconds!r}")
        if seconds is not None and not 0 < seconds < math.inf:
            raise ArgumentError(f"compare_budget has to be more than 0 seconds, not {seconds}")

    def _check_how_to_run(self) -> None:
        """Check the options of the comparison.

        The comparison is imported only if one of them is set, because it takes a third of this package's import time.
        """
        if self.runtime != "auto":
            from ..execution.engines import Runtime

            arguments.check_choice("runtime", self.runtime, get_args(Runtime))
        if self.samples is not None:
            arguments.check_samples(self.samples)


def checked(target_opset: object, compare: object, options: object) -> tuple[int | None, Options]:
    """Check `compare` and the other arguments. Returns the target and the options. Raises: TypeError, ArgumentError."""
    arguments.check_choice("compare", compare, get_args(Comparing))
    if options is not None:
        arguments.check_kind("options", options, Options, "Options or None")
    if isinstance(target_opset, str) and target_opset == "latest":  # as on the command line
        raise WrongTypeError(
            "target_opset has to be an integer or None, not 'latest'; onnx.defs.onnx_opset_version() is onnx's newest"
        )
    target = arguments.integer("target_opset", target_opset)
    if target is not None:
        validity.check_target(target)
    chosen = cast("Options | None", options) or Options()
    if chosen.isolation == "in-process" and compare not in ("auto", "off"):
        raise ArgumentError(f"compare={compare!r} needs a child process, and {NONE_STARTED}")
    if chosen.verify_with:
        target_of_options(chosen).require()
    return target, chosen


def checked_each(target_opsets: object, compare: object, options: object) -> tuple[tuple[int, ...], Options]:
    """As `checked`, for several targets. Each is there once."""
    _, chosen = checked(None, compare, options)
    targets = arguments.integers("target_opsets", target_opsets, "a collection of opsets", "opset")
    for target in targets:
        validity.check_target(target)
    return tuple(dict.fromkeys(targets)), chosen


def target_of_options(options: Options) -> Target:
    """The runtime that is to verify the result."""
    from ..runtimes.verifying import target_of  # imports the comparison and the profiles

    return target_of(options.verify_with, options.python)


def trials_of_options(options: Options) -> list[Trial]:
    """The runtimes that the result is for, and where each can be run. `verify_with` and `verify` tell which are left out."""
    demands = demands_of_options(options) if options.verify else None
    if demands is None:
        return []
    from ..runtimes.trying import trials

    chosen = trials(demands.profiles, options.python)
    if not options.verify_with:
        return chosen
    explicit = target_of_options(options).adapter
    return [trial for trial in chosen if trial.target is None or trial.target.adapter != explicit]


def starts_none(options: Options) -> bool:
    """Whether no child process is started: because the caller wants none, or this program is no Python that could be one."""
    return options.isolation == "in-process" or no_interpreter() != ""


@contextmanager
def running(options: Options) -> Iterator[None]:
    """For the time of a `with`, models are run with the operators that `options` adds, and in the processes that it allows."""
    with custom_operators.using(options.custom_ops), starting_none() if starts_none(options) else nullcontext():
        yield


def require_custom_operators(options: Options) -> None:
    """Raises ArgumentError where a file of `custom_ops` is none, or cannot be loaded."""
    if not options.custom_ops:
        return
    from ..execution.custom_operators import Loading  # imports what starts processes
    from ..execution.messages import Failure
    from ..execution.model_client import lent_worker

    for path in options.custom_ops:
        if not os.path.isfile(path):
            raise ArgumentError(f"--custom-ops: {path} is {'a folder' if os.path.isdir(path) else 'not there'}")
        if not _LOADABLE.search(path):
            raise ArgumentError(f"--custom-ops: {path} is neither a .py file nor a shared library (.so, .dylib, .dll)")
    files = " and ".join(options.custom_ops)
    with lent_worker() as worker:
        answer = worker.ask(Loading(tuple(options.custom_ops)))
    if isinstance(answer, Failure):
        is_told = answer.kind == "unsupported"
        raise ArgumentError(f"--custom-ops: {'' if is_told else f'loading {files} failed: '}{answer.message}")


def files_of_options(options: Options) -> list[NamedFile]:
    """The files that a conversion with `options` reads beside the model."""
    return [*_profiles(options.for_runtimes), *files_of_adapter(options.verify_with, options.python), *_custom(options)]


def _custom(options: Options) -> list[NamedFile]:
    return [NamedFile(CUSTOM_OPERATORS, path) for path in options.custom_ops]


def _profiles(names: Sequence[str]) -> list[NamedFile]:
    """The files among the names of runtimes."""
    if not names:
        return []
    from ..runtimes.naming import profile_file  # reads profiles, as whoever names a runtime does

    return [NamedFile(PROFILE, path) for name in names if (path := profile_file(name))]


def files_of_adapter(spec: str, python: str) -> list[NamedFile]:
    """The files that running the adapter `spec` reads: its module, if it is one of the user's own, and the interpreter `python`."""
    modules = [NamedFile(ADAPTER, path) for path in module_files(spec.partition(":")[0])] if ":" in spec else []
    return [*modules, *([NamedFile(PYTHON, python)] if python else [])]


def patterns_of(options: Options) -> list[RewriteRule]:
    """The RewriteRules among the rules of `options`."""
    return [rule for rule in options.rules if is_pattern(rule)]


def own_rules(options: Options, demands: Demands | None) -> list[Rule]:
    """The rules for this conversion alone: those of the user, and then those of this package that the options ask for: for
    onnxruntime's operators, where the result may have ONNX's own only, or a runtime does not have them; and for newer operators.

    Raises: ArgumentError where one is not a rule, or could never be used.
    """
    is_standard = options.standard or (demands is not None and demands.lacks(DOMAIN))
    ours = _quantized(options.quantization, is_standard)
    ours += functions_in(microsoft) if is_standard else []
    ours += functions_in(static) if options.static else []
    ours += functions_in(ml) if options.ml_opset or (demands is not None and demands.ml_max) else []
    has_list = demands is not None and bool(demands.lists)
    ours += functions_in(modern) if options.modernize and not has_list else []
    return rules_of([*(rule for rule in options.rules if not is_pattern(rule)), *ours])


def joining_rules(demands: Demands | None, operators: Collection[str]) -> list[Rule]:
    """The rules that join the pieces of operators which all lists of allowed operators have, where a model that has `operators` has
    pieces which one of the lists does not have.
    """
    lists = () if demands is None else demands.lists
    if not lists:
        return []

    def is_wanted(rule: Rule) -> bool:
        missing = {piece for piece in facts.of(rule.joined).names("pieces") if not all(each.has(piece) for each in lists)}
        return not missing.isdisjoint(operators) and all(
            each.has(name) for each in lists for name in filter(None, (rule.joined, rule.beside))
        )

    return [rule for rule in rules_of([*functions_in(modern), *functions_in(fit)]) if rule.joined and is_wanted(rule)]


def _quantized(form: Quantization | None, is_standard: bool) -> list[RuleFunction]:
    """The rules that write quantized operators in `form`, with ONNX's own operators only if the result `is_standard`."""
    if form is None:
        return []
    if form == "qdq":
        modules = [qdq, qlinear, qlinear_conv, qlinear_pool]
    else:
        modules = [qoperator] if is_standard else [qoperator, qoperator_onnxruntime]
    return [function for module in modules for function in functions_in(module)]


def external_data_of(options: Options) -> str:
    """Where the weights of the result go: into the file, if a runtime that it is for reads no external data.

    Raises: ArgumentError where the options ask for another place then.
    """
    demands = demands_of_options(options)
    whose = "" if demands is None else demands.without_external_data
    if not whose:
        return options.external_data
    if options.external_data not in ("auto", "inline"):
        raise ArgumentError(f"--external-data {options.external_data}: {whose} reads no external data; leave the option out")
    return "inline"


def demands_of_options(options: Options) -> Demands | None:
    """The demands of the runtimes that the result is for, None where none is named. Raises: ArgumentError for unknown names."""
    if not options.for_runtimes:
        return None
    from ..runtimes.demands import demands_of  # reads the profiles of all runtimes

    return demands_of(options.for_runtimes, may_fall_back=not options.no_fallback, python=options.python)
