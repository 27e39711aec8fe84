"""For tests of rules of one's own: see `rewriter/testing.py`, whose names these are."""

from split_rewrite.rewriter.testing import (  # pyright: ignore[reportMissingImports] - in the tree, rewriter/ is not in this folder
    assert_equal_at_every_opset,
    assert_rewrites,
)

__all__ = ["assert_equal_at_every_opset", "assert_rewrites"]
