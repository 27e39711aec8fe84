"""Operators of newer opsets, written for the nodes that spell them out: the rules of `--modernize`.

Models that were exported for older opsets have many small nodes for each of them, which runtimes have to recognize.
"""
