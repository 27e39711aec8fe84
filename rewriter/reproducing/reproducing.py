"""Finds the smallest model that fails as a given one does, and takes out of it what nobody else has to see."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, external_data_helper

from ..conversion.driver import convert_path
from ..conversion.options import Comparing, Options
from ..errors import SplitRewriteError
from ..opsets import inference
from . import anonymous
from .cutting import Whole
from .failures import Failure, failures_of, quoted_names

MOST_TRIES, MOST_CHANGES, _LAST_CHANGES = 200, 24, 3
"""How many smaller models are tried, how often numbers are replaced, and names: this bounds the time without asking a clock."""
_FAR = 5
"""How often what is around the node that fails is doubled before the whole model is searched."""


@dataclass(frozen=True)
class Reproduction:
    """A small model that fails as the given one does, and how.

    `kept` are the tensors whose numbers are still those of the given model, because with others it may not fail in the same way,
    and "attributes" if those of Constants, functions and ai.onnx.ml are.
    """

    proto: ModelProto
    error: SplitRewriteError
    nodes: tuple[int, int]
    tries: int
    kept: tuple[str, ...]
    is_renamed: bool = True
    """Whether the model fails with other names, too, so that it has these."""
    named: tuple[str, ...] = ()
    """The names that options give, which stay."""


class Attempts:
    """Conversions of models as the user asked for it, which fail."""

    def __init__(self, target: int | None, compare: Comparing, options: Options) -> None:
        self._target = target
        self._compare: Comparing = compare
        self._options = options
        self.tries = 0

    def error(self, model: ModelProto | str | os.PathLike[str]) -> SplitRewriteError | None:
        """The error with which the conversion of a model, or of the one in a file, ends; None if it succeeds."""
        self.tries += 1
        with TemporaryDirectory(prefix="split-rewrite-") as folder:
            path = Path(folder) / "model.onnx"
            if isinstance(model, ModelProto):
                path.write_bytes(model.SerializeToString())
            else:
                path = Path(model)
            try:
                convert_path(path, Path(folder) / "result.onnx", self._target, compare=self._compare, options=self._options)
            except SplitRewriteError as error:
                return error
        return None


def reproduce(path: str | os.PathLike[str], target: int | None, compare: Comparing, options: Options) -> Reproduction | None:
    """The reproduction of what happens to the model in `path`; None if its conversion succeeds."""
    attempts = Attempts(target, compare, options)
    first = attempts.error(path)
    if first is None:
        return None
    search = _Search(attempts, first)
    try:
        proto = onnx.load(path, load_external_data=False)
    except DecodeError:
        raise first from None
    _fill(proto, Path(path).parent)
    inferred = inference.infer_model(proto)
    values = [] if inferred is None else [*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output]
    whole = Whole(proto, {value.name: value.type for value in values})
    part = search.smallest(whole, quoted_names(first))
    named = _names_in(options)
    kept, is_renamed = search.make_anonymous(part, named)
    nodes = len(part.graph.node), len(proto.graph.node)
    return Reproduction(part, search.last, nodes, attempts.tries, kept, is_renamed, tuple(sorted(named)))


def _names_in(options: Options) -> set[str]:
    """The values that the options name."""
    samples = options.samples
    names = {*options.overwrite_input_shapes, *options.declare, *options.tolerance.rtol_of, *options.tolerance.atol_of}
    return names if samples is None else names.union(samples.shapes, *samples.data)


class _Search:
    """The search for smaller models that fail as the given one does: with the first of its failures."""

    def __init__(self, attempts: Attempts, error: SplitRewriteError) -> None:
        self._attempts = attempts
        self._wanted: Failure = failures_of(error)[0]
        self._may_try = MOST_TRIES
        self.last = error
        """The error of the smallest model that was found."""

    def fails(self, part: ModelProto | None) -> bool:
        """Whether a model fails as the given one does; no, if enough were tried."""
        if part is None or self._may_try <= 0:
            return False
        self._may_try -= 1
        error = self._attempts.error(part)
        if error is None or self._wanted not in failures_of(error):
            return False
        self.last = error
        return True

    def smallest(self, whole: Whole, names: Iterable[str]) -> ModelProto:
        """The model of the fewest nodes that fails: those with one of `names`, or what is around them, if that is enough."""
        kept = list(range(len(whole.proto.graph.node)))
        near = whole.named(names)
        for _ in range(_FAR if near else 0):
            if self.fails(whole.cut(near)):
                kept = near
                break
            near = whole.with_makers(near)
        kept = self._fewer(kept, whole.cut)
        return whole.cut(kept) or whole.proto

    def _fewer(self, kept: list[int], cut: Callable[[Sequence[int]], ModelProto | None]) -> list[int]:
        """Leave out what is not needed: half of the nodes at a time, then a quarter, …"""
        size = len(kept)
        while size := size // 2:
            start = 0
            while start < len(kept):
                rest = kept[:start] + kept[start + size :]
                if rest and self.fails(cut(rest)):
                    kept = rest
                else:
                    start += size
        return kept

    def make_anonymous(self, part: ModelProto, named: set[str]) -> tuple[tuple[str, ...], bool]:
        """Replace names and numbers, in place, where the model fails all the same. Values of `named` keep their names.

        Returns what keeps its numbers, and whether all names were replaced.
        """
        self._may_try = MOST_CHANGES
        of_names: list[Callable[[ModelProto], object]] = [
            anonymous.without_training,
            anonymous.strip,
            anonymous.without_unread_imports,
        ]
        are_replaced = [self._change(part, change) for change in of_names]
        has_attributes = not self._change(part, anonymous.generate_attributes)
        self._change(part, _generate_all)
        telling = [number for number, tensor in enumerate(anonymous.tensors_of(part)) if anonymous.is_telling(tensor)]
        kept = [number for number in telling if not self._change(part, lambda proto, n=number: _generate(proto, n))]
        self._may_try = _LAST_CHANGES
        of_names = [lambda proto: anonymous.rename(proto, named), anonymous.without_own_attributes, self._rename_operators]
        are_replaced += [self._change(part, change) for change in of_names]
        tensors = list(anonymous.tensors_of(part))
        names = dict.fromkeys(tensors[number].name or "a Constant" for number in kept)
        return (*names, *(["attributes"] if has_attributes else [])), all(are_replaced)

    def _rename_operators(self, part: ModelProto) -> None:
        names = anonymous.rename_operators(part)
        self._wanted = self._wanted._replace(operator=names.get(self._wanted.operator, self._wanted.operator))

    def _change(self, part: ModelProto, change: Callable[[ModelProto], object]) -> bool:
        """Make a change if the model fails with it, too. Returns whether it did."""
        wanted, changed = self._wanted, ModelProto.FromString(part.SerializeToString())
        change(changed)
        if changed == part:
            return True
        if not self.fails(changed):
            self._wanted = wanted
            return False
        part.CopyFrom(changed)
        return True


def _generate_all(proto: ModelProto) -> None:
    for tensor in filter(anonymous.is_telling, anonymous.tensors_of(proto)):
        anonymous.generate(tensor)


def _generate(proto: ModelProto, number: int) -> None:
    anonymous.generate(list(anonymous.tensors_of(proto))[number])


def _fill(proto: ModelProto, folder: Path) -> None:
    """Load small external tensors, and generate the others, in place: a model may be larger than memory."""
    for tensor in anonymous.tensors_of(proto):
        if external_data_helper.uses_external_data(tensor):
            if anonymous.is_telling(tensor):
                anonymous.generate(tensor)
            else:
                with suppress(OSError, ValueError, onnx.checker.ValidationError):
                    external_data_helper.load_external_data_for_tensor(tensor, os.fspath(folder))
                    tensor.ClearField("external_data")
                    tensor.data_location = onnx.TensorProto.DEFAULT
