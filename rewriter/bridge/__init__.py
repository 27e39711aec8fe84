"""Accepts models as exporters return them, onnx_ir.Model and torch ONNXProgram, and returns the result as
the same kind of object.
"""
