"""Rules: the decorators that register them, and the registry.

A rule is a function of one `Node`. It edits the node in place, puts nodes before or after it, or removes it; it raises
`Unconvertible` when the node cannot be expressed. A transition is named by the newer schema's since_version, both ways:

    @upgrade("Split", 13)      a node in the form of opset 12 becomes one of opset 13
    @downgrade("Split", 13)    a node in the form of opset 13 becomes one of opset 12
    @decompose("Gelu", opset=13)   an operator younger than the target becomes nodes written for opset 13
    @simplify("SequenceAt", opset=13)   optional, at any opset: new nodes are written for opset 13
    @avoid("Pow by 3", "Pow", opset=7)  a form that a runtime computes wrongly becomes one that it computes right
    @express("Gemm", opset=13)  another form of a node, for runtimes whose list of operators does not allow it as it is
    @replace("com.microsoft", "Gelu", opset=13)   an operator of another domain becomes nodes written for opset 13
    @adopt("ImageScaler", opset=7)   an operator that ONNX does not have, and runtimes do, becomes nodes written for opset 7
    @widen("Cast")   a node that has a type which the target lacks computes the same in the wider type of `Model.wider`

New nodes join the work-list in the opset that they were written for, so no rule cares about the final target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import walk_packages
from types import ModuleType
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..errors import ArgumentError
from ..opsets import transitions

if TYPE_CHECKING:
    from ..graph.node import Node

Kind = Literal["upgrade", "downgrade", "decompose", "simplify", "avoid", "express", "replace", "widen", "adopt"]
RuleFunction = Callable[["Node"], None]
Precondition = Callable[["Node"], bool]
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

    @property
    def written_for(self) -> int:
        """The opset in whose form this rule writes nodes."""
        return self.version - 1 if self.kind == "downgrade" else self.version


class Way(NamedTuple):
    """One way to write a node in another form. `rule` is None for the value of a constant, and for what older opsets have."""

    name: str
    rule: Rule | None = None


class Registry:
    """All rules, by kind, operator and version."""

    def __init__(self) -> None:
        self._transitions: dict[tuple[Kind, str, int], Rule] = {}
        self._decompositions: dict[str, Rule] = {}
        self._simplifications: dict[str, list[Rule]] = {}
        self._avoidances: dict[str, list[Rule]] = {}
        self._expressions: dict[str, list[Rule]] = {}
        self._widenings: dict[str, Rule] = {}
        self._adoptions: dict[str, Rule] = {}

    def add(self, rule: Rule) -> None:
        """Register a rule. Raises ValueError where two rules claim the same transition or decomposition."""
        if rule.kind in ("simplify", "avoid", "express"):
            tables = {"simplify": self._simplifications, "avoid": self._avoidances, "express": self._expressions}
            tables[rule.kind].setdefault(rule.op_type, []).append(rule)
            return
        by_operator = {"decompose": self._decompositions, "widen": self._widenings, "adopt": self._adoptions}
        table, key = (
            (by_operator[rule.kind], rule.op_type)
            if rule.kind in by_operator
            else (self._transitions, (rule.kind, rule.op_type, rule.version))
        )
        if key in table:
            raise ValueError(f"two rules for {key}: {table[key].name} and {rule.name}")  # type: ignore[index]
        table[key] = rule  # type: ignore[index]

    def transition(self, op_type: str, newer: int, up: bool) -> Rule | None:
        """The rule for one version step of `op_type`, identified by the newer since_version; None where there is none."""
        return self._transitions.get(("upgrade" if up else "downgrade", op_type, newer))

    def decomposition(self, op_type: str) -> Rule | None:
        """The rule that replaces `op_type` where the target lacks it; None where there is none."""
        return self._decompositions.get(op_type)

    def simplifications(self, op_type: str) -> list[Rule]:
        """The rules that may simplify nodes of `op_type`, in the order of their registration."""
        return self._simplifications.get(op_type, [])

    def avoidances(self, op_type: str) -> list[Rule]:
        """The rules that avoid forms of `op_type`; rules for every operator come first."""
        return [*self._avoidances.get(EVERY_OPERATOR, ()), *self._avoidances.get(op_type, ())]

    def expressions(self, op_type: str) -> list[Rule]:
        """The rules that write `op_type` in another form, those for every operator last."""
        return [*self._expressions.get(op_type, ()), *self._expressions.get(EVERY_OPERATOR, ())]

    def operators_with(self, form: str) -> frozenset[str]:
        """The operators whose nodes can have the `form` that a rule avoids; empty where no rule avoids it."""
        operators = {op_type for op_type, rules in self._avoidances.items() if any(rule.form == form for rule in rules)}
        return transitions.all_operators() if EVERY_OPERATOR in operators else frozenset(operators)

    def widening(self, op_type: str) -> Rule | None:
        """The rule for `op_type` nodes with a type that the target lacks; None where there is none."""
        return self._widenings.get(op_type)

    @property
    def adoptions(self) -> Mapping[str, Rule]:
        """The rules for operators that ONNX, or the opset of the model, does not have, by the operator's label in `ADOPTED`."""
        return self._adoptions

    def __iter__(self) -> Iterator[Rule]:
        yield from self._transitions.values()
        yield from self._decompositions.values()
        yield from self._adoptions.values()
        yield from self._widenings.values()
        for rules in (*self._simplifications.values(), *self._avoidances.values(), *self._expressions.values()):
            yield from rules


registry = Registry()


def _register(
    kind: Kind,
    op_types: str | tuple[str, ...],
    version: int,
    exact: bool,
    any_version: bool = False,
    sums: bool = False,
    when: Precondition | None = None,
    form: str = "",
) -> Callable[[RuleFunction], RuleFunction]:
    def decorate(function: RuleFunction) -> RuleFunction:
        name = f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}"
        summary = (function.__doc__ or "").strip().split("\n")[0]
        for op_type in (op_types,) if isinstance(op_types, str) else op_types:
            registry.add(Rule(name, kind, op_type, version, function, exact, summary, any_version, sums, when, form))
        return function

    return decorate


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
    op_types: str | tuple[str, ...], *, opset: int, exact: bool = True, sums: bool = False
) -> Callable[[RuleFunction], RuleFunction]:
    """Register a rule that writes a node in another form, for a runtime whose list of operators does not allow it as it is.

    It gets nodes of any opset after their conversion to the target, and new nodes are written for `opset`. It does nothing, or
    raises `Unconvertible`, where the form does not fit the node. Several rules may be for one operator: the cheapest one whose
    nodes are all allowed is taken.
    """
    return _register("express", op_types, opset, exact, sums=sums)


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

    The rule is used only in conversions whose options ask for it: it is stored in the function and not in the registry. `module`
    takes the place of the function's module in the name of the rule.
    """

    def decorate(function: RuleFunction) -> RuleFunction:
        name = f"{module or function.__module__.rsplit('.', 1)[-1]}.{function.__name__}"
        summary = (function.__doc__ or "").strip().split("\n")[0]
        for op_type in (op_types,) if isinstance(op_types, str) else op_types:
            rule = Rule(name, "replace", f"{domain}::{op_type}", opset, function, exact, summary, sums=sums, steps=steps)
            function.__dict__.setdefault(REPLACEMENTS, []).append(rule)
        return function

    return decorate


REPLACEMENTS = "replacements"
"""The name of the function attribute in which `replace` stores the rules."""
ENTRY_POINTS = "split_rewrite.rules"
"""The group of entry points in which a package offers its rules. Each name there leads to a module, a package or functions."""


def replacements(wanted: Iterable[str | RuleFunction]) -> dict[str, Rule]:
    """The rules of `wanted`, which are functions or names under which packages offer rules, by the operator that they replace.

    Raises: ArgumentError where no package offers a name, or a function has no rule.
    """
    found: dict[str, Rule] = {}
    for each in wanted:
        for function in _offered(each) if isinstance(each, str) else (each,):
            rules: list[Rule] = getattr(function, REPLACEMENTS, [])
            if not rules:
                raise ArgumentError(f"rules: {function!r} is not a function decorated with 'replace'")
            found.update((rule.op_type, rule) for rule in rules)
    return found


def _offered(name: str) -> Iterable[RuleFunction]:
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        offered = entry.load()
        return functions_in(offered) if isinstance(offered, ModuleType) else offered
    raise ArgumentError(f"rules: no installed package offers rules as '{name}'")


def functions_in(module: ModuleType) -> list[RuleFunction]:
    """The functions with rules that `module` has, or the modules in it if it is a package."""
    inner = walk_packages(getattr(module, "__path__", []), f"{module.__name__}.")
    modules = [module, *(import_module(found.name) for found in inner)]
    return [value for each in modules for value in vars(each).values() if hasattr(value, REPLACEMENTS)]
