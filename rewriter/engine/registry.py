"""Rules: the decorators that register them, and the registry.

A rule is a function of one `Node`. It edits the node in place, puts nodes before or after it, or removes it; it raises
`Unconvertible` when the node cannot be expressed. A transition is named by the newer schema's since_version, both ways:

    @upgrade("Split", 13)      a node in the form of opset 12 becomes one of opset 13
    @downgrade("Split", 13)    a node in the form of opset 13 becomes one of opset 12
    @decompose("Gelu", opset=13)   an operator younger than the target becomes nodes written for opset 13
    @simplify("SequenceAt", opset=13)   optional, at any opset: new nodes are written for opset 13
    @avoid("Pow by 3", "Pow", opset=7)  a form that a runtime computes wrongly becomes one that it computes right
    @express("Gemm", opset=13)  another form of a node, for runtimes whose list of operators does not allow it as it is
    @fewer_axes("Transpose", opset=13)   the same node with fewer dimensions, for runtimes whose list limits their number
    @in_int32("Gather", opset=13)   the same node on int32 instead of int64, for runtimes whose list does not allow int64
    @in_floats("And", opset=13)   the same node on the floats 0 and 1 instead of bool, for runtimes whose list does not allow bool
    @of_numbers("IsNaN", opset=13)  what matters for NaN and infinities alone is left out, where a list does not allow it
    @respell("Mul", opset=20)  a node, with those before it, in another spelling that the options ask for: a Gelu for its pieces
    @replace("com.microsoft", "Gelu", opset=13)   an operator of another domain becomes nodes written for opset 13
    @adopt("ImageScaler", opset=7)   an operator that ONNX does not have, and runtimes do, becomes nodes written for opset 7
    @widen("Cast")   a node that has a type which the target lacks computes the same in the wider type of `Model.wider`

New nodes join the work-list in the opset that they were written for, so no rule cares about the final target.

The decorators store the rule in the function. The rules of this package are in `registry`, and used in every conversion, but for
those that `replace` or `respell`; rules of others are used only in conversions whose options name them (`rules_of`,
`Registry.extended`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from inspect import isfunction
from itertools import chain
from pkgutil import walk_packages
from types import ModuleType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from ..cached import cached_property
from ..errors import ArgumentError, WrongTypeError
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..opsets import transitions
from .failures import OF_THE_CALL, WHATEVER_A_CALLER_RAISES, raise_mistake_of_caller

if TYPE_CHECKING:
    from ..graph.node import Node

_log = logging.getLogger(__name__)

Kind = Literal[
    "upgrade",
    "downgrade",
    "decompose",
    "simplify",
    "avoid",
    "express",
    "fewer_axes",
    "in_int32",
    "in_floats",
    "of_numbers",
    "respell",
    "replace",
    "widen",
    "adopt",
]
_ASKED_FOR: Collection[Kind] = ("respell", "replace")
"""The kinds of rules that a conversion uses only where its options ask for them."""
RuleFunction = Callable[["Node"], None]
Precondition = Callable[["Node"], bool]
ITSELF = "itself"
"""The name for the operator of the node that a rule gets."""
EVERY_OPERATOR = "all operators"
"""The operator name for rules that avoid a form which nodes of any operator can have."""
ADOPTED = "split_rewrite.adopted"
"""The domain in which nodes wait for their rule that runtimes accept in ONNX's own domain although it, or their opset, lacks the
operator. No model that is read or written has it.
"""


class Rule(NamedTuple):
    """A registered rule.

    `name` is "module.function". `version` is the newer since_version of a transition; for other kinds, the opset that new nodes are
    written for. `exact` says that the result is the same to the last bit; for a rule that is not exact, `sums` says that its
    results are sums of many terms. A decomposition with `any_version` accepts every version of its operator; others get the node in
    the form of the operator's first version.
    """

    name: str
    kind: Kind
    op_type: str
    version: int
    apply: RuleFunction
    exact: bool
    summary: str
    any_version: bool = False
    sums: bool = False
    when: Precondition | None = None
    """A quick test whether a simplification may apply to a node; None where it is always tried."""
    form: str = ""
    """The name of the form that the rule avoids, as the profiles of runtimes use it."""
    steps: bool = False
    """Whether the original rounds to the steps of a quantization in a way of its own, so that results may be a step apart."""
    zeros: bool = False
    """Whether infinities make NaN of more elements than in the original, as where it multiplies by weights of 0."""
    joined: str = ""
    """The operator that it writes for several nodes which spell it out."""
    beside: str = ""
    """An operator that it writes beside `joined`, and that a list has to have, too."""
    listed: str = ""
    """The operator that a list has to have, or the rule does not help. ITSELF: it changes what the conditions of the node's own
    operator are about, and nothing else.
    """
    heavy: bool = False
    """Whether it stores so much that it is tried only where no other form fits."""
    of_caller: bool = False
    """Whether the rule is the caller's, for this conversion, and not one of this package."""

    @property
    def written_for(self) -> int:
        """The opset in whose form this rule writes nodes."""
        return self.version - 1 if self.kind == "downgrade" else self.version


_Key: TypeAlias = tuple[Kind, str, int]
"""The kind of a rule, its operator, and for a transition the version."""
_SEVERAL: Collection[Kind] = ("simplify", "avoid", "express", "respell")
"""The kinds of which an operator may have several rules."""


def _key(rule: Rule) -> _Key:
    return rule.kind, rule.op_type, rule.version if rule.kind in ("upgrade", "downgrade") else 0


class Way(NamedTuple):
    """One way to write a node in another form. `rule` is None for the value of a constant, and for what older opsets have."""

    name: str
    rule: Rule | None = None


class Registry:
    """All rules, by kind, operator and version."""

    def __init__(self, rules: Mapping[_Key, Sequence[Rule]] | None = None) -> None:
        self._rules: dict[_Key, list[Rule]] = {key: list(found) for key, found in (rules or {}).items()}

    def add(self, rule: Rule) -> None:
        """Register a rule. Raises ValueError where two rules claim the same transition, or an operator that only one can have."""
        found = self._rules.setdefault(_key(rule), [])
        if found and rule.kind not in _SEVERAL:
            raise ValueError(f"two rules for {_key(rule)}: {found[0].name} and {rule.name}")
        found.append(rule)

    def extended(self, rules: Sequence[Rule]) -> Registry:
        """All rules of this registry, and before them `rules` of a caller. The log says what they take the place of."""
        found = Registry(self._rules)
        for rule in reversed(rules):
            others = found._rules.setdefault(_key(rule), [])
            if others and rule.kind not in _SEVERAL and rule.of_caller:
                _log.info("rules: %s takes the place of %s for %s", rule.name, others[0].name, rule.op_type)
            others.insert(0, rule)
        return found

    def transition(self, op_type: str, newer: int, up: bool) -> Rule | None:
        """The rule for one version step of `op_type`, identified by the newer since_version; None where there is none."""
        return self._first(("upgrade" if up else "downgrade", op_type, newer))

    def decomposition(self, op_type: str) -> Rule | None:
        """The rule that replaces `op_type` where the target lacks it; None where there is none."""
        return self._first(("decompose", op_type, 0))

    def simplifications(self, op_type: str) -> list[Rule]:
        """The rules that may simplify nodes of `op_type`, in the order of their registration."""
        return self._rules.get(("simplify", op_type, 0), [])

    def avoidances(self, op_type: str) -> list[Rule]:
        """The rules that avoid forms of `op_type`; rules for every operator come first."""
        return [*self._rules.get(("avoid", EVERY_OPERATOR, 0), ()), *self._rules.get(("avoid", op_type, 0), ())]

    def expressions(self, op_type: str) -> list[Rule]:
        """The rules that write `op_type` in another form: its own, then those for every operator; those that store much last."""
        rules = [*self._rules.get(("express", op_type, 0), ()), *self._rules.get(("express", EVERY_OPERATOR, 0), ())]
        return sorted(rules, key=lambda rule: rule.heavy)

    def respellings(self, op_type: str) -> list[Rule]:
        """The rules that spell what ends with a node of `op_type` otherwise, those for every operator last."""
        return [*self._rules.get(("respell", op_type, 0), ()), *self._rules.get(("respell", EVERY_OPERATOR, 0), ())]

    def adaptation(self, kind: Kind, op_type: str) -> Rule | None:
        """The rule of this kind for nodes of `op_type`; that for every operator where it has none of its own."""
        return self._first((kind, op_type, 0)) or self._first((kind, EVERY_OPERATOR, 0))

    def operators_with(self, form: str) -> frozenset[str]:
        """The operators whose nodes can have the `form` that a rule avoids; empty where no rule avoids it."""
        operators = {rule.op_type for rule in self if rule.kind == "avoid" and rule.form == form}
        return transitions.all_operators() if EVERY_OPERATOR in operators else frozenset(operators)

    def widening(self, op_type: str) -> Rule | None:
        """The rule for `op_type` nodes with a type that the target lacks; None where there is none."""
        return self._first(("widen", op_type, 0))

    def replacement(self, label: str) -> Rule | None:
        """The rule for an operator of another domain, or one that ONNX, or the opset of the model, does not have, by its label."""
        return self._first(("replace", label, 0)) or self._first(("adopt", label, 0))

    @cached_property
    def replaced(self) -> frozenset[str]:
        """The labels of the operators that have a `replacement`."""
        return frozenset(op_type for kind, op_type, _ in self._rules if kind in ("replace", "adopt"))

    def _first(self, key: _Key) -> Rule | None:
        return next(iter(self._rules.get(key, ())), None)

    def __iter__(self) -> Iterator[Rule]:
        return chain.from_iterable(self._rules.values())


registry = Registry()


_BUILT_IN = f"{__name__.partition('.rewriter.')[0]}.rules."
"""What the names of the modules begin with whose rules are used in every conversion."""


def _register(
    kind: Kind,
    op_types: str | tuple[str, ...],
    version: int,
    exact: bool,
    any_version: bool = False,
    sums: bool = False,
    when: Precondition | None = None,
    form: str = "",
    steps: bool = False,
    zeros: bool = False,
    joined: str = "",
    beside: str = "",
    listed: str = "",
    heavy: bool = False,
    module: str = "",
) -> Callable[[RuleFunction], RuleFunction]:
    names = op_types if isinstance(op_types, tuple) else (op_types,)
    if not isinstance(version, int) or not all(isinstance(each, str) for each in names):
        raise WrongTypeError(f"{kind}: operators are strings and opsets are integers, not {op_types!r} and {version!r}")

    def decorate(function: RuleFunction) -> RuleFunction:
        _require_function(function)
        name = f"{module or function.__module__.rsplit('.', 1)[-1]}.{function.__name__}"
        summary = (function.__doc__ or "").strip().split("\n")[0]
        for op_type in names:
            traits = (exact, summary, any_version, sums, when, form, steps, zeros, joined, beside, listed, heavy)
            rule = Rule(name, kind, op_type, version, function, *traits)
            function.__dict__.setdefault(RULES, []).append(rule)
            if kind not in _ASKED_FOR and function.__module__.startswith(_BUILT_IN):
                registry.add(rule)
        return function

    return decorate


def _require_function(function: object) -> None:
    """Raises WrongTypeError for what can be called, and is no function with rules of its own."""
    if not isfunction(function):
        kind = type(function).__name__
        raise WrongTypeError(f"a rule is a function made by 'def', not a {kind}: let a function of its own call it")


def upgrade(op_types: str | tuple[str, ...], newer: int, *, exact: bool = True) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule that takes a node from the form before since_version `newer` to that version."""
    return _register("upgrade", op_types, newer, exact)


def downgrade(
    op_types: str | tuple[str, ...], newer: int, *, exact: bool = True, sums: bool = False
) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule that takes a node of since_version `newer` to the version before it."""
    return _register("downgrade", op_types, newer, exact, sums=sums)


def decompose(
    op_types: str | tuple[str, ...], *, opset: int, exact: bool = True, any_version: bool = False, sums: bool = False
) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule that replaces an operator which the target lacks by nodes written for `opset`.

    It gets the node in the form of the operator's first version, or with `any_version` in the form of any version.
    """
    return _register("decompose", op_types, opset, exact, any_version, sums)


def simplify(
    op_types: str | tuple[str, ...], *, opset: int, exact: bool = True, when: Precondition | None = None
) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule that may replace a node of any opset by a simpler one. Its new nodes are written for `opset`.

    `when` is for operators that occur often: nodes for which it returns False cost almost nothing.
    """
    return _register("simplify", op_types, opset, exact, when=when)


def avoid(form: str, op_types: str | tuple[str, ...], *, opset: int, exact: bool = True) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule that rewrites nodes of `form`, for models that are for a runtime which refuses them or computes them wrongly.

    It gets nodes of any opset after their conversion to the target. It does nothing if a node does not have the form, and raises
    `Unconvertible` if a node has it and there is no other form.
    """
    return _register("avoid", op_types, opset, exact, form=form)


def express(
    op_types: str | tuple[str, ...],
    *,
    opset: int,
    exact: bool = True,
    sums: bool = False,
    steps: bool = False,
    zeros: bool = False,
    listed: str = "",
    heavy: bool = False,
) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule that writes a node in another form, for a runtime whose list of operators does not allow it as it is.

    It gets nodes of any opset after their conversion to the target, and new nodes are written for `opset`. It does nothing, or
    raises `Unconvertible`, where the form does not fit the node. Several rules may be for one operator: the cheapest one whose
    nodes are all allowed is taken. `heavy`: it stores so much that it is tried, and taken, only where no other fits.
    """
    return _register("express", op_types, opset, exact, sums=sums, steps=steps, zeros=zeros, listed=listed, heavy=heavy)


def fewer_axes(
    op_types: str | tuple[str, ...], *, opset: int, exact: bool = True, sums: bool = False
) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule that writes a node with fewer dimensions, for a runtime whose list of operators limits their number.

    It gets nodes that have more, after their conversion to the target, and does nothing where it cannot make them fewer. It may
    reshape operands and results, also to more dimensions than are allowed: such a value goes if in the end nothing reads it.
    """
    return _register("fewer_axes", op_types, opset, exact, sums=sums)


def in_int32(op_types: str | tuple[str, ...], *, opset: int) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule that lets a node work on int32 instead of int64, for a runtime whose list of operators has no int64.

    It does nothing where a number may not fit. It may put Casts around the node: one that nothing reads in the end goes.
    """
    return _register("in_int32", op_types, opset, True)


def in_floats(op_types: str | tuple[str, ...], *, opset: int) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule that lets a node work on the floats 0 and 1 instead of bool, for a runtime whose list has no bool.

    It is asked where no other form of the node is allowed, and does nothing where it is not sure that a number is 0 or 1. It may
    put Casts around the node: one that nothing reads in the end goes.
    """
    return _register("in_floats", op_types, opset, True)


def of_numbers(op_types: str | tuple[str, ...], *, opset: int) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule that leaves out what matters for NaN and infinities alone, for a runtime whose list does not allow it.

    It does nothing where these may come of numbers.
    """
    return _register("of_numbers", op_types, opset, True)


def respell(
    op_types: str | tuple[str, ...],
    *,
    opset: int,
    exact: bool = False,
    sums: bool = False,
    steps: bool = False,
    zeros: bool = False,
    joined: str = "",
    beside: str = "",
) -> Callable[[RuleFunction], RuleFunction]:
    """Mark a function as a rule that spells a node, with those before it, in another way that a conversion's options ask for.

    It gets nodes that are in the form of the target, writes nodes for `opset`, and does nothing where they compute anything else.
    """
    return _register("respell", op_types, opset, exact, sums=sums, steps=steps, zeros=zeros, joined=joined, beside=beside)


def widen(op_types: str | tuple[str, ...], *, exact: bool = True) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule for nodes with a value, or an attribute that names a type, of a type that the target lacks: see
    `Model.wider`.

    The rule gets the node in the form of the model's own opset, while its values still have their old types. It writes nodes that
    compute the same when the values have the wider types. New nodes have a form that every opset from 13 on accepts.
    """
    return _register("widen", op_types, 13, exact)


def adopt(op_types: str | tuple[str, ...], *, opset: int, exact: bool = True) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule for an operator that runtimes accept in ONNX's own domain although ONNX, or the opset of the model, does not
    have it. The rule gives it the meaning that it has there, by nodes written for `opset`.
    """
    names = (op_types,) if isinstance(op_types, str) else op_types
    return _register("adopt", tuple(f"{ADOPTED}::{name}" for name in names), opset, exact)


def replace(
    domain: str,
    op_types: str | tuple[str, ...],
    *,
    opset: int,
    exact: bool = False,
    sums: bool = False,
    steps: bool = False,
    module: str = "",
) -> Callable[[RuleFunction], RuleFunction]:
    """Mark a function as a rule that replaces an operator of another domain by nodes written for `opset`.

    The rule is used only in conversions whose options ask for it. `module` takes the place of the function's module in the name of
    the rule.
    """
    if not isinstance(domain, str):
        raise WrongTypeError(f"replace: the domain is a string, not {domain!r}")
    names = (op_types,) if isinstance(op_types, str) else op_types
    labels = tuple(f"{domain}::{name}" for name in names)
    return _register("replace", labels, opset, exact, sums=sums, steps=steps, module=module)


RULES = "rules"
"""The name of the function attribute in which the decorators store the rules."""
ENTRY_POINTS = "split_rewrite.rules"
"""The group of entry points in which a package offers its rules. Each name there leads to a module, a package or functions."""


def rules_of(wanted: Iterable[str | RuleFunction]) -> list[Rule]:
    """The rules of `wanted`, which are functions or names under which packages offer rules, for one conversion.

    Raises: ArgumentError where no package offers a name, a function has no rule, or a rule could never be used.
    """
    found: list[Rule] = []
    for each in wanted:
        for function in _offered(each) if isinstance(each, str) else (each,):
            rules: list[Rule] = getattr(function, RULES, [])
            if not rules or not isfunction(function):
                raise ArgumentError(f"rules: {function!r} is not a function decorated as a rule, such as with 'replace'")
            is_own = function.__module__.startswith(_BUILT_IN)
            for rule in () if is_own else rules:
                _require_use(rule)
            found += rules if is_own else [rule._replace(of_caller=True, when=_blaming(rule)) for rule in rules]
    return found


def _blaming(rule: Rule) -> Precondition | None:
    """The condition of a caller's rule, whose mistakes are told as those of the rule."""
    when = rule.when
    if when is None:
        return None

    def condition(node: Node) -> bool:
        try:
            return when(node)
        except OF_THE_CALL:
            raise
        except WHATEVER_A_CALLER_RAISES as error:
            raise_mistake_of_caller(rule.name, node, error)

    return condition


def _require_use(rule: Rule) -> None:
    """Raises ArgumentError where the rule could never be used."""
    name, op_type, newest = rule.name, rule.op_type, transitions.newest_opset()
    if not 1 <= rule.written_for <= newest:
        raise ArgumentError(f"rules: {name} is for opset {rule.version}, and onnx knows opsets 1 to {newest}")
    if rule.kind in ("replace", "adopt"):
        if op_type.rpartition("::")[0] in DEFAULT_DOMAINS:
            raise ArgumentError(f"rules: {name} replaces an operator of ONNX's own domain, as only 'simplify' and 'decompose' can")
    elif op_type not in transitions.all_operators():
        if op_type != EVERY_OPERATOR or rule.kind not in ("avoid", "express"):
            raise ArgumentError(f"rules: {name} is for {op_type}, not an operator of ONNX; 'replace' is for other domains")
    elif rule.kind in ("upgrade", "downgrade") and not transitions.is_step(op_type, rule.version):
        raise ArgumentError(f"rules: {name} is for opset {rule.version}, which brought no new version of {op_type}")
    elif rule.kind == "decompose" and transitions.schema_at(op_type, 1) is not None:
        raise ArgumentError(f"rules: {name} is for opsets without {op_type}, and every opset has it")


def _offered(name: str) -> Iterable[RuleFunction]:
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        offered = entry.load()
        return functions_in(offered) if isinstance(offered, ModuleType) else offered
    raise ArgumentError(f"rules: no installed package offers rules as '{name}'")


def functions_in(module: ModuleType) -> list[RuleFunction]:
    """The functions with rules that `module` has, or the modules in it if it is a package."""
    inner = walk_packages(getattr(module, "__path__", []), f"{module.__name__}.")
    modules = [module, *(import_module(found.name) for found in inner)]
    return [value for each in modules for value in vars(each).values() if hasattr(value, RULES)]
