"""The command `split-rewrite`, as `python -m split_rewrite`."""

from __future__ import annotations

from split_rewrite.rewriter.__main__ import main  # pyright: ignore[reportMissingImports]

if __name__ == "__main__":
    main()
