"""Writes models of one node, every operator in its newest versions, with the inputs for them, to be tried in real runtimes.

    export PYTHONPATH=tests/fuzz:tests/benchmarks
    python tests/benchmarks/node_models.py nodes/ --limit 6
    python tests/benchmarks/in_runtimes.py nodes/ --runtime onnxruntime=/venvs/ort/bin/python --opsets 13-13

They are those of `enumeration` that take and give tensors: types, sizes and attributes of each operator, `--limit` of each version.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from enumeration import cases, versions

NEWEST = 2
"""How many versions of an operator count."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=6, help="models of each version of an operator")
    parser.add_argument("--seed", type=int, default=5)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for op_type, numbers in versions().items():
        for version in numbers[-NEWEST:]:
            for case in cases(op_type, version, given.seed, given.limit):
                if all(isinstance(value, np.ndarray) and value.dtype != object for value in case.feeds.values()):
                    path = given.folder / f"{case.name.replace(':', '_')}.onnx"
                    onnx.save(case.model, path)
                    np.savez(path.with_suffix(".npz"), **case.feeds)


if __name__ == "__main__":
    main()
