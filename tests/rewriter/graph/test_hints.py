"""Hints name what helps in this model: inputs that are open and decide, or the value that inference cannot know."""

from __future__ import annotations

import pytest
from helpers import convert_version, model, refusal

from split_rewrite.rewriter import UnconvertibleError
from split_rewrite.rewriter.graph import hints

CUSTOM = '<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>'
HINTS = {
    "an-input-that-is-fixed-is-not-named": (
        "g (float[1,3,64,64] w, float[N,N] x) => (float y) { y = Det (x) }",
        (11, 10, "fix it with --overwrite-input-shape x:N,N"),
    ),
    "an-input-that-does-not-decide-is-not-named": (
        "g (float[K] w, float[N,M] x) => (float[L] u, float y) { u = Relu (w)\n h = Relu (x)\n y = Det (h) }",
        (11, 10, "fix it with --overwrite-input-shape x:N,N"),
    ),
    "fixed-inputs-do-not-help": (
        "g (float[2,3,4] x, int64[3] s) => (float[A,B,C] y) { t = Reshape (x, s)\n y = Det (t) }",
        (11, 10, "say what it is, as in --declare t:float["),
    ),
    "behind-a-node-of-another-domain": (
        CUSTOM
        + "g (float[N,64] x, float[64] w) => (float[N,64] y) { a = com.example.M (x)\n b = Relu (a)\n y = LayerNormalization (b, w) }",
        (17, 16, "say what it is, as in --declare a:float[N,64]"),
    ),
    "the-type-behind-a-node-of-another-domain": (
        CUSTOM.replace("17", "9")
        + "g (float[N] x) => (float[N] y) { m = com.example.M (x)\n k = Relu (m)\n n = Erf (k)\n y = com.example.M (n) }",
        (9, 8, "say what it is, as in --declare m:float[N,64]"),
    ),
}


@pytest.mark.parametrize(("text", "row"), HINTS.values(), ids=HINTS)
def test_hints(text: str, row: tuple[int, int, str]) -> None:
    opset, target, hint = row
    message = refusal(model(text, opset), target)
    assert f"hint: {hint}" in message
    assert message.count("--overwrite-input-shape") + message.count("--declare") == 1


def test_what_stands_behind_a_value_is_looked_at_once_for_all_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk for each of a thousand blockers in a row would take a million steps."""
    seen: list[object] = []
    settled = hints._decides_no_shape
    monkeypatch.setattr(hints, "_decides_no_shape", lambda place: seen.append(place.key) or settled(place))
    body = "\n".join(f"r{index + 1} = Relu (r{index})\n d{index} = Det (r{index + 1})" for index in range(50))
    outputs = ", ".join(f"float[B] d{index}" for index in range(50))
    with pytest.raises(UnconvertibleError) as refusal:
        convert_version(model(f"g (float[B,N,N] r0) => ({outputs}) {{ {body} }}", 11), 10)
    assert len(refusal.value.blockers) == 50 and len(seen) == len(set(seen)) == 51
