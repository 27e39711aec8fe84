"""Quantized models in the form that is asked for: the rules of `--quantization`.

QDQ: operators of real numbers between DequantizeLinear and QuantizeLinear, which runtimes fuse. QOperator: operators that take and
give 8-bit integers.
"""
