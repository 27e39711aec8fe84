"""Says in words of Python what messages about arguments say in words of the command line.

These messages are written once, and begin with the option: `--ir-version 9: …`. Those that leave a public function begin with the
parameter or the field of `Options` instead.
"""

from __future__ import annotations

import re

_NAMES = {
    "for": "for_runtimes",
    "input-data": "samples.data",
    "overwrite-input-shape": "overwrite_input_shapes",
    "test-input-shape": "samples.shapes",
}
"""The options whose parameters are not called like them."""
_OPTION = re.compile(r"--([a-z-]+)(?=[: ])")
_LISTING = re.compile(r"(?<=\()--list-")


def in_python(message: str) -> str:
    """`message`, about an argument, with the parameter in the place of the option."""
    named = _OPTION.match(message)
    if named is not None:
        message = _NAMES.get(named[1], named[1].replace("-", "_")) + message[named.end() :]
    return _LISTING.sub("split-rewrite --list-", message)
