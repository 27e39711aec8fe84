"""Models of fixed shapes, without what computes shapes and without bodies that are known to run a number of times: the rules of
`--static`.
"""
