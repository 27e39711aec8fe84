"""`python -m split_rewrite` is the command `split-rewrite`."""

from split_rewrite.rewriter.cli import main

main()
