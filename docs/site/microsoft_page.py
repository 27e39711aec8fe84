"""Writes docs/microsoft.md, which says what becomes of each operator of onnxruntime: python docs/site/microsoft_page.py"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

from messages import refusals

from split_rewrite.rewriter.engine.registry import Rule, functions_in, rules_of
from split_rewrite.rewriter.opsets import facts
from split_rewrite.rewriter.opsets.foreign import schemas
from split_rewrite.rules import microsoft

PAGE = Path(__file__).resolve().parents[1] / "microsoft.md"
DOMAIN = "com.microsoft"
HEAD = """# Operators of onnxruntime

onnxruntime has operators of its own, in the domain `com.microsoft`. Its optimizer, its quantizer and its model builders write
them, and few other runtimes have them. `--standard` turns them into ONNX's own operators, at any target opset:

```sh
split-rewrite --standard -t 17 optimized.onnx portable.onnx
```

With `--for RUNTIME` this happens without being asked, unless the runtime has these operators (`domains` in
[its profile](runtimes.md#your-own-profile)). Without either they stay as they are, and the types of the values behind them are
known. A node with an input, type or attribute that onnxruntime's operator does not have is refused.

`python tests/benchmarks/onnxruntime_models.py` lets onnxruntime's tools write the models of `models/`, a ConvNet and a block of
GPT-2, and brings those with operators of onnxruntime back to opsets 13 and 18, each compared with what it was. The figures are the
same for both:

| written by onnxruntime 1.32 | models | equal | refused |
|---|---|---|---|
| static quantization, QOperator (three pairs of types) | 45 | 45 | 0 |
| weights of 4 bits, with and without zero points, accuracy_level=4 | 6 | 6 | 0 |
| weights of 8 bits | 2 | 2 | 0 |
| optimizer, extended | 6 | 6 | 0 |
| optimizer, all (3 with the layout of one processor) | 6 | 6 | 0 |

At its level "all" the optimizer stores the weights of convolutions in blocks of 8 or 16 channels, as its processor wants, and
writes nowhere which. They are put back where the file shows it: by a number of channels that fills no whole block, as in MobileNet,
EfficientNet and GoogLeNet. Where all are multiples of 16, as in ResNet, they are taken for those of the processor at hand, with a
warning: what the installed onnxruntime computes of the file here is what the result has to compute.

The page is generated: `python docs/site/microsoft_page.py`. *Beside the kernel*: tests run the node in onnxruntime on the CPU and
compare. *Not run*: onnxruntime has no kernel of it for the CPU, so tests compare with numpy, by the documented meaning.
"""


def text() -> str:
    """The text of the page."""
    rules = {rule.op_type: rule for rule in rules_of(functions_in(microsoft))}
    return "\n".join([HEAD, *_table(rules), *_rest(rules)]) + "\n"


def _table(rules: dict[str, Rule]) -> Iterator[str]:
    yield "| operator | what becomes of it | refused | tested |"
    yield "|---|---|---|---|"
    for name in sorted(rules):
        rule, fact = rules[name], facts.of(*reversed(name.split("::")))
        reasons = "; ".join(reason for reason, _ in refusals(inspect.unwrap(rule.apply)))
        tested = "not run" if fact.has("no-kernel") else "beside the kernel"
        yield f"| `{name.removeprefix(f'{DOMAIN}::')}` | {rule.summary} | {reasons} | {tested} |"


def _rest(rules: dict[str, Rule]) -> Iterator[str]:
    rest = sorted(name.removeprefix(f"{DOMAIN}::") for name in schemas.known_operators() - rules.keys())
    yield "\nThese have no rule, and are an error with `--standard`:"
    yield f"{', '.join(f'`{name}`' for name in rest)}."


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
