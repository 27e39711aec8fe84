"""What ONNX defines about versions and types: schema differences, reviewed transitions, shape inference, folding.

It knows no model.
"""
