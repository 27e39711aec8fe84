"""Print the oldest version that pyproject.toml allows of each package that the program and its tests need, as `onnx==1.17`."""

from __future__ import annotations

import re
from pathlib import Path

TEXT = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
needed = [line for line in TEXT.splitlines() if line.startswith(("dependencies = ", "test = "))]
always = [entry for line in needed for entry in re.findall(r'"([^"]+)"', line) if ";" not in entry]
print(*sorted({entry.replace(">=", "==") for entry in always}), sep="\n")
