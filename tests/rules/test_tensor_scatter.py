"""TensorScatter below opset 24."""

from helpers import model, refusal


def test_refuses_what_older_operators_do_not_scatter():
    text = "g (int4[1, 4, 3] c, int4[1, 2, 3] u) => (int4[1, 4, 3] y) { y = TensorScatter (c, u) }"
    assert "TensorScatter of int4, which ScatterElements does not take" in refusal(model(text, 24, ir_version=11), 23)
