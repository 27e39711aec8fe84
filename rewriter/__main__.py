"""`python -m split_rewrite.rewriter` is the command `split-rewrite`."""

from .cli import main

main()
