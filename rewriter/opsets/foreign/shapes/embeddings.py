"""Shapes of what embeds words."""

from __future__ import annotations

from ..call import Call
from .common import Shapes


def normalized(call: Call) -> Shapes:
    """EmbedLayerNormalization: the normalized sum, the length of each sequence, and the sum."""
    words = call.shape(0)
    if words is None:
        return []
    found = (*words, call.dimension(2, 1))
    return [found, words[:1], found]
