"""Computes the shapes of what operators of other domains make.

Each function takes a `Call` and returns the shapes of the node's outputs in order, None for an unknown rank; it may leave out the
last ones. A row of facts names it: `shapes=common.same`. If the node is not valid, the function may raise whatever it likes.
"""
