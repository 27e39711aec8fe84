"""Whether a model is valid: onnx.checker and shape inference in a child process, and checks for what these do not see."""
