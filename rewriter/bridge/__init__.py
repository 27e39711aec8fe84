"""Models in the forms that exporters give them: an onnx_ir.Model, a torch ONNXProgram; in and out again, tensors unread."""
