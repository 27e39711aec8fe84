"""Which opsets are worth a try for a runtime, after conversions to others met blockers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ..codes import code_of
from ..engine.notes import is_of_rewrite
from ..engine.outcome import Outcome
from ..engine.restrictions import Restrictions
from ..errors import Blocker
from ..opsets import transitions
from ..opsets.facts import GRAPH_HOLDERS
from ..opsets.transitions import schema_at
from .options import joining_rules

if TYPE_CHECKING:
    from ..runtimes.demands import Demands

_NOT_ALLOWED = "… does not allow it: …"
_WRONG = "runtime.wrong."
"""The begin of the codes of forms that a runtime computes wrongly."""
OLDEST_OF_LISTS = 7
"""The opset before which operators spread their operands by attributes: no list that takes newer ones is met by these forms."""
MOST_IN_VAIN = 3
"""The number of opsets that are tried although they cannot do: the one with fewest blockers tells the user most."""


def try_opsets(demands: Demands, source: int, operators: Collection[str], attempt: Callable[[int], Outcome]) -> dict[int, Outcome]:
    """Convert a model of opset `source` that has `operators` to the opsets that `demands` allow, by `attempt`, up to the first one
    without blockers; those that cannot do are left out. Returns the outcomes by opset.
    """
    joined = {rule.version for rule in joining_rules(demands, operators)}
    found: dict[int, Outcome] = {}
    for opset in demands.candidates(source):
        blocked = {tried: outcome.blockers for tried, outcome in found.items()}
        if not is_worth_trying(opset, blocked, demands.restrictions, joined):
            continue
        found[opset] = attempt(opset)
        if not found[opset].blockers:
            break
    return found


def is_worth_trying(
    opset: int, blocked: Mapping[int, Sequence[Blocker]], restrictions: Restrictions, joined: Collection[int] = ()
) -> bool:
    """Whether a conversion to `opset` may meet no blockers, or fewer than those to the opsets tried before, which met `blocked`.

    For a runtime that restricts nodes, they are rewritten at any opset. So a blocker of a node that stands in the user's model
    stays where everything that it names has the same form at both opsets, and no operator came between them, with one of the
    opsets `joined`, of which the node may be a piece.
    """
    if restrictions.versions or not (restrictions.lists or restrictions.forms):
        return True
    if restrictions.lists and opset < OLDEST_OF_LISTS and any(tried >= OLDEST_OF_LISTS for tried in blocked):
        return False
    alike = {tried: found for tried, found in blocked.items() if not any(tried < newer <= opset for newer in joined)}
    persisting = [[_persists(blocker, tried, opset) for blocker in found] for tried, found in alike.items()]
    if any(all(persist) for persist in persisting):
        return False
    if len(blocked) < MOST_IN_VAIN:
        return True
    return not any(any(persist) for persist in persisting) and not _is_rewritten_in_vain(alike, opset)


def _is_rewritten_in_vain(blocked: Mapping[int, Sequence[Blocker]], opset: int) -> bool:
    """Whether a node was refused at two opsets that lack its operator for what it becomes, as it seems to do at `opset`, too."""
    met: set[Blocker] = set()
    for tried, blockers in blocked.items():
        found = {blocker for blocker in blockers if _becomes_the_same(blocker, tried, opset)}
        if met & found:
            return True
        met |= found
    return False


def _becomes_the_same(blocker: Blocker, tried: int, opset: int) -> bool:
    """Whether both opsets lack the operator of the node, and have those that the reason names in the same form."""
    if not is_of_rewrite(blocker.reason) or not _is_of_runtime(blocker) or schema_at(blocker.op_type, max(tried, opset)):
        return False
    return all(transitions.is_restamp(op_type, tried, opset) for op_type in _named(blocker) - {blocker.op_type})


def _persists(blocker: Blocker, tried: int, opset: int) -> bool:
    """Whether the blocker, met at opset `tried`, is certain to be in the way at `opset`, too."""
    if not _is_of_runtime(blocker) or is_of_rewrite(blocker.reason):
        return False
    return all(transitions.is_restamp(op_type, tried, opset) for op_type in _named(blocker))


def _is_of_runtime(blocker: Blocker) -> bool:
    """Whether the runtime is the reason, at whatever opset, for a node without graphs, which a rule may write out."""
    is_of_runtime = blocker.code == code_of(_NOT_ALLOWED) or blocker.code.startswith(_WRONG)
    return is_of_runtime and blocker.op_type not in GRAPH_HOLDERS and "opset" not in blocker.reason


def _named(blocker: Blocker) -> frozenset[str]:
    """The operator of the node, and those that the reason names."""
    return transitions.all_operators() & {blocker.op_type, *re.findall(r"\w+", blocker.reason)}
