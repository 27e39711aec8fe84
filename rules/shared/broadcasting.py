"""How operands of unlike shapes meet. https://onnx.ai/onnx/repo-docs/Broadcasting.html"""

SPREADS_BOTH = 7
"""The opset from which on either operand may be spread; before, only the second one is, by attributes."""
