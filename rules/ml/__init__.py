"""The operators of ai.onnx.ml in the forms of its versions 1, 2, 3, 4 and 5: the rules of `--ml-opset`.

https://onnx.ai/onnx/operators/index_ml.html
"""
