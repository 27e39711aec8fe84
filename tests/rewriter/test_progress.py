"""Progress: told by those who work, shown on terminals only, and only for what takes long."""

from __future__ import annotations

import helpers
import pytest
from helpers import convert_version

from split_rewrite.rewriter import progress
from split_rewrite.rewriter.engine import conversion

pytestmark = pytest.mark.quick


def test_a_conversion_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "NODES_A_STEP", 10)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0)
    chain = " ".join(f"v{i} = Relu({f'v{i - 1}' if i else 'x'})" for i in range(35))
    heard: list[tuple[str, int, int]] = []
    with progress.listening(lambda *news: heard.append(news)):
        convert_version(helpers.model(f"g (float[4] x) => (float[4] v34) {{{chain}}}", 13), 18)
    assert [news for news in heard if news[0] == "converting"][:2] == [("converting", 0, 35), ("converting", 10, 35)]
    assert all(done <= total for _, done, total in heard)
