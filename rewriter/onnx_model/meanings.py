"""Whose meaning counts where the specification and onnxruntime understand a node differently."""

from __future__ import annotations

from typing import Literal

Semantics = Literal["specification", "onnxruntime"]
"""The two meanings between which a user can choose; docs/semantics.md lists the nodes that have both."""
