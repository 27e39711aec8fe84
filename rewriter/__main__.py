"""The command `split-rewrite`, which is also `python -m split_rewrite.rewriter`."""

from __future__ import annotations

import signal
from typing import NoReturn


def main() -> NoReturn:
    """The entry point of the command. While it is being imported, Ctrl-C ends it at once: there is nothing to clean up yet."""
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli.command import main as run_command

    run_command()


if __name__ == "__main__":
    main()
