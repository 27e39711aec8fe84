"""Rules that rewrite forms of nodes which some runtime refuses or computes wrongly.

They apply only to models for such a runtime.
"""
