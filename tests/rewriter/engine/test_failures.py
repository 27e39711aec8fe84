"""What becomes of a rule that fails: an internal error that names it, and no word about the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pytest
from helpers import convert_version, model

from split_rewrite.rewriter import InvalidModelError, RuleError, SplitRewriteError, SystemLimitError, check_convertible
from split_rewrite.rewriter.engine.registry import Registry, Rule

SELU = "g (float[2] x) => (float[2] y) { [n] y = Selu(x) }"
CONTRADICTION = "g (float[2,3] x, float[4] s) => (float[2,3] y) { y = LayerNormalization(x, s) }"
"""onnx.checker does not see that the scale does not fit, and onnxruntime does."""
BFLOAT16 = "g (float[2] x) => (float[2] y) { a = Cast<to = 16>(x) [n] b = Neg(a) y = Cast<to = 1>(b) }"


def _failing(monkeypatch: pytest.MonkeyPatch, getter: str, kind: str, error: Exception) -> None:
    """Let every rule that `getter` of the registry returns fail with `error`."""

    def fail(_: object) -> NoReturn:
        raise error

    rule = Rule("odd.rule", kind, "Any", 13, fail, True, "")  # type: ignore[arg-type]
    many = getter in ("simplifications", "avoidances")
    monkeypatch.setattr(Registry, getter, lambda *_: [rule] if many else rule)


@pytest.mark.parametrize("error", [KeyError(0), ZeroDivisionError("by zero"), TypeError("no"), AssertionError("oh"), ValueError()])
def test_whatever_a_rule_raises_is_its_own_mistake(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    _failing(monkeypatch, "transition", "downgrade", error)
    with pytest.raises(RuleError) as caught:
        convert_version(model(SELU, 6), 5)
    expected = f"rule odd.rule failed on Selu 'n' (main graph) 6→5: {type(error).__name__}: {error}; please report this"
    assert str(caught.value) == expected
    assert caught.value.exit_status == 3
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    ("getter", "kind", "text", "opset", "target", "step"),
    [
        pytest.param("simplifications", "simplify", SELU, 13, 13, "", id="simplification"),
        pytest.param(
            "decomposition", "decompose", "g (float[2] x) => (float[2] y) { [n] y = Mish(x) }", 18, 17, " 18→17", id="new"
        ),
        pytest.param("widening", "widen", BFLOAT16, 22, 12, "", id="narrow-types"),
    ],
)
def test_every_kind_of_rule_is_named(
    monkeypatch: pytest.MonkeyPatch, getter: str, kind: str, text: str, opset: int, target: int, step: str
) -> None:
    _failing(monkeypatch, getter, kind, LookupError("not there"))
    with pytest.raises(RuleError, match=rf"rule odd\.rule failed on \w+ '\w+' \(main graph\){step}: LookupError: not there"):
        convert_version(model(text, opset), target)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(MemoryError(), SystemLimitError), (RecursionError(), InvalidModelError), (FileNotFoundError("weights"), SplitRewriteError)],
)
def test_what_is_not_of_the_rule_is_not_blamed_on_it(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[SplitRewriteError]
) -> None:
    _failing(monkeypatch, "transition", "downgrade", error)
    with pytest.raises(SplitRewriteError) as caught:
        convert_version(model(SELU, 6), 5)
    assert type(caught.value) is kind and caught.value.__cause__ is error


def test_a_dry_run_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    _failing(monkeypatch, "transition", "downgrade", KeyError(0))
    with pytest.raises(RuleError, match=r"rule odd\.rule failed on Selu 'n'"):
        check_convertible(model(SELU, 6), 5)


@pytest.mark.parametrize("act", [convert_version, check_convertible])
def test_on_a_model_that_does_not_run_either_the_model_is_wrong(
    monkeypatch: pytest.MonkeyPatch, act: Callable[..., object]
) -> None:
    _failing(monkeypatch, "decomposition", "decompose", KeyError(0))
    with pytest.raises(InvalidModelError, match=r"the input is not a valid model: onnxruntime cannot run it on any inputs tried"):
        act(model(CONTRADICTION, 17), 16)
