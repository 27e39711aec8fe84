"""Checks that a model is valid: onnx.checker and shape inference in a child process, and checks of mistakes that both miss."""
