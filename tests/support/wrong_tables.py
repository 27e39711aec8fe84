"""Tables [tool.split-rewrite] that are refused, and what the message says after their name."""

from __future__ import annotations

WRONG_TABLES = {
    "an unknown option": ("target_opset = 13", "target_opset: there is no such option; did you mean 'target-opset'?"),
    "a short name": ("t = 13", "t: there is no such option"),
    "an option of one run": ('output = "o.onnx"', "output: this option can only be given on the command line"),
    "a program": ('python = "./evil"', "python: this option can only be given on the command line"),
    "operators": ('custom-ops = ["evil.py"]', "custom-ops: this option can only be given on the command line"),
    "code": ('verify-with = "evil:Class"', "verify-with: a class of your own can only be named on the command line"),
    "a flag that is text": ('strict = "yes"', "strict has to be true or false"),
    "a table": ("compare = { a = 1 }", "compare has to be text or a number"),
    "a list for a single value": ("compare = [1]", "compare has to be text or a number"),
    "a table in a list": ("for = [{}]", "for has to be text or a number, or a list of these"),
}
