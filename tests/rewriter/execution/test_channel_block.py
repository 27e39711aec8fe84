"""How many channels the installed onnxruntime takes together on this processor."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import answer, model

from split_rewrite.rewriter.execution import channel_block, loadable
from split_rewrite.rewriter.execution.messages import Failure


def test_nobody_knows_it_where_onnxruntime_cannot_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_block, "can_be_asked", lambda: False)
    assert channel_block.block_of_processor() is None


def test_it_is_the_number_of_channels_that_fill_a_block() -> None:
    proto = model("""<ir_version: 7, opset_import: ["" : 13, "com.microsoft.nchwc" : 1]>
        g (float[1,4,2,2] x) => (float y) { y = com.microsoft.nchwc.ReorderInput (x) }""")
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    found = answer(proto, {"x": np.ones((1, 4, 2, 2), np.float32)})
    assert loadable.can_be_asked()
    assert channel_block.block_of_processor() == (None if isinstance(found, Failure) else found[0].shape[1])
