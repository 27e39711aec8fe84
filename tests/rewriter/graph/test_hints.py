"""Hints name what helps in this model: inputs that are open and decide, or the value that inference cannot know."""

from __future__ import annotations

import re

import pytest
from helpers import convert_version, model, refusal

from split_rewrite.rewriter import Options, UnconvertibleError
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
    "what-a-branch-reads-decides": (
        "g (float[N,M] x, bool c) => (float y) { h = If (c) <then_branch = t () => (float[N,M] a) { a = Relu (x) }, "
        "else_branch = e () => (float[N,M] b) { b = Neg (x) }>\n y = Det (h) }",
        (11, 10, "fix it with --overwrite-input-shape x:N,N"),
    ),
    "fixed-inputs-do-not-help": (
        "g (float[2,3,4] x, int64[3] s) => (float[A,B,C] y) { t = Reshape (x, s)\n y = Det (t) }",
        (11, 10, "state its type with --declare t:float["),
    ),
    "a-constant-that-follows-from-shapes": (
        "g (float[N,M] x, float[1,1] w) => (float[N,M] y) { s = Shape (x)\n y = Expand (w, s) }",
        (8, 5, "if it follows from the shapes of the inputs, fix these with --overwrite-input-shape x:N,N; otherwise"),
    ),
    "behind-a-node-of-another-domain": (
        CUSTOM
        + "g (float[N,64] x, float[64] w) => (float[N,64] y) { a = com.example.M (x)\n b = Relu (a)\n y = LayerNormalization <axis = 1> (b, w) }",
        (17, 16, "state its type with --declare a:float[…], with its dimensions as in [N,64]"),
    ),
    "what-a-rule-computes-follows-from-the-inputs": (
        'g (float[1,3,N,M] x, float[1,1,4,4] z) => (float[A,B,C,D] y) { s = Shape (x) f = Cast<to = 1> (s) y = Resize<mode = "linear">(z, ABSENT, f) }',
        (13, 8, "if it follows from the shapes of the inputs, fix these with --overwrite-input-shape x:1,3,N,N; otherwise"),
    ),
    "a-value-that-a-rule-made-is-not-named": (
        "g (int64[2,L] x) => (int64[2,L] y) <int64 a = {1}> { y = CumSum (x, a) }",
        (11, 8, "fix it with --overwrite-input-shape x:2,N"),
    ),
    "the-type-behind-a-node-of-another-domain": (
        CUSTOM.replace("17", "9")
        + "g (float[N] x) => (float[N] y) { m = com.example.M (x)\n k = Relu (m)\n n = Erf (k)\n y = com.example.M (n) }",
        (9, 8, "state its type with --declare m:float[…], with its dimensions as in [N,64]"),
    ),
}


@pytest.mark.parametrize(("text", "row"), HINTS.values(), ids=HINTS)
def test_hints(text: str, row: tuple[int, int, str]) -> None:
    opset, target, hint = row
    message = refusal(model(text, opset), target)
    assert f"Hint: {hint}" in message
    assert message.count("--overwrite-input-shape") + message.count("--declare") == 1


@pytest.mark.parametrize(("text", "row"), HINTS.values(), ids=HINTS)
def test_each_hint_helps(text: str, row: tuple[int, int, str]) -> None:
    """The option that a hint names is given, with sizes that the model really has; then the model converts, and computes the same."""
    opset, target, _ = row
    proto = model(text, opset)
    hint = refusal(proto, target).partition("Hint: ")[2]
    option, name, value = re.findall(r"--(overwrite-input-shape|declare) (\w+):(\S+?)[;,]?(?: |$)", hint)[0]
    if option == "declare":
        sizes = "6,2,2" if "Reshape" in text else "N,64" if "64" in text else "N"
        filled = re.sub(r"\[.*\]", f"[{sizes}]", value)
        convert_version(proto, target, options=Options(declare={name: filled}), compare="off")
        return
    sizes = tuple(int(size.replace("N", "3")) for size in value.split(","))
    report = convert_version(proto, target, options=Options(overwrite_input_shapes={name: sizes}), compare="auto").report
    no_runtime_has_it = target < 7
    assert report.comparison is not None and (report.comparison.status == "equal" or no_runtime_has_it)


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
