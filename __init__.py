"""split-rewrite: an ONNX graph rewriter and opset converter. Start at `split_rewrite.rewriter`."""
