"""What holds for all tests: nothing that they start, or import themselves, reports its use to anybody; they draw the same numbers
whichever tests run before them; and `--one-in`.
"""

import os
from collections import Counter

import numpy as np
import pytest
from drawing import begin_module, begin_test

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported, by a test or by a process that a test starts


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-in", type=int, default=1, metavar="N", help="of the cases of each test, only the first, the N+1st, and so on"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that `--one-in` does: which they are depends on nothing but their order."""
    seen: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        (left if seen[test] % config.getoption("--one-in") else kept).append(item)
        seen[test] += 1
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Let a module that is about to be imported draw as if it were the first."""
    begin_module()


@pytest.fixture(autouse=True)
def _same_numbers(request: pytest.FixtureRequest) -> None:
    """Let the shared generator begin anew, and a module's RNG."""
    begin_test()
    if hasattr(request.module, "RNG"):
        request.module.RNG = np.random.default_rng(11)
