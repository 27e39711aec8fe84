"""Operators of other domains than ONNX's, which onnx does not know: their schemas, and the types of what they make."""
