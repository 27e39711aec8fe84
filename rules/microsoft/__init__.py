"""onnxruntime's own operators, of the domain com.microsoft, as operators of ONNX: the rules of `--standard`.

They are computed in the precision of their inputs, as in onnxruntime's CPU kernels.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""
