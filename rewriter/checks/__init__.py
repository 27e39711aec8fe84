"""Is a model valid? onnx.checker and shape inference in a child process, and what they do not see."""
