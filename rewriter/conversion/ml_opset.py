"""The version of ai.onnx.ml that a result imports: the one that the user chose, or the last one that the runtimes have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import onnx
from onnx import helper

from ..engine.outcome import Change
from ..engine.stamp import imports_of
from ..errors import ArgumentError
from ..opsets.ml_types import ML

if TYPE_CHECKING:
    from ..runtimes.demands import Demands


def check_ml_opset(version: int) -> None:
    """Raises ArgumentError where onnx knows no such version of ai.onnx.ml."""
    newest = max(row[3] for row in helper.VERSION_TABLE)
    if not 1 <= version <= newest:
        raise ArgumentError(f"--ml-opset {version}: the installed onnx {onnx.__version__} knows ai.onnx.ml 1 to {newest}")


def versions_to_write(proto: onnx.ModelProto, wanted: int | None, demands: Demands | None) -> Mapping[str, int]:
    """The version of ai.onnx.ml that the result imports; nothing where it is that of `proto`, or where that imports none.

    Raises: ArgumentError where a runtime does not have the version `wanted`.
    """
    imported = [entry.version for entry in imports_of(proto) if entry.domain == ML]
    highest = None if demands is None else demands.ml_max
    if demands is not None and wanted is not None:
        demands.require_ml_opset(wanted)
    if wanted is None and highest is not None and max(imported, default=0) > highest:
        wanted = highest
    return {} if wanted is None or set(imported) <= {wanted} else {ML: wanted}


def write_versions(proto: onnx.ModelProto, versions: Mapping[str, int]) -> list[Change]:
    """Let the model and its functions import these versions of domains, where they import the domains. Returns what it changed."""
    for entry in imports_of(proto):
        entry.version = versions.get(entry.domain, entry.version)
    return [Change("ml_opset", "model", proto.graph.name, f"{domain} {version}") for domain, version in versions.items()]
