"""What holds for all tests: nothing that they start, or import themselves, reports its use to anybody."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported, by a test or by a process that a test starts
