"""What ONNX says of versions and types: schema deltas, reviewed transitions, shape inference, folding; it knows no model."""
