"""What is proved for all shapes holds for all small ones, of right results and of damaged ones: a sample of `fuzz/certificates.py`."""

from __future__ import annotations

import certificates
import pytest
from certified import TEMPLATES


@pytest.mark.parametrize("part", range(8))
def test_what_is_proved_holds(part: int) -> None:
    outcomes = [certificates.check(seed) for seed in range(part * 10, part * 10 + 10)]
    assert not [found for found in outcomes if found[0] in ("false", "internal")]
    assert any(found[0] == "proved" for found in outcomes)


def test_wrong_results_of_rules_are_refuted() -> None:
    found = [outcome for template in TEMPLATES[::4] for outcome in certificates.check_mutants(template, 0, 4)]
    assert not [each for each in found if each[0] == "false"]
    assert sum(outcome == "refuted" for outcome, _ in found) > len(found) / 2
