"""Adapters for tests: runtimes that are right, and that crash, hang or refuse."""

import os
import signal
import time

import onnx
from onnx.reference import ReferenceEvaluator


class Right:
    package = "onnx"

    def load(self, path):
        self.evaluator = ReferenceEvaluator(onnx.load(path))

    def run(self, inputs):
        return self.evaluator.run(None, dict(zip(self.evaluator.input_names, inputs, strict=True)))


class Crash(Right):
    def load(self, path):
        os.kill(os.getpid(), signal.SIGSEGV)


class Hang(Right):
    def run(self, inputs):
        time.sleep(600)


class Silent(Right):
    """It ends its process as if all were well."""

    def load(self, path):
        os._exit(0)


class Empty(Right):
    """It gives nothing."""

    def run(self, inputs):
        return []


class Refuse(Right):
    def load(self, path):
        raise RuntimeError("first line\nno Relu here")


class Wordy(Right):
    """It gives maps."""

    def run(self, inputs):
        return [{"a": 1.0} for _ in self.evaluator.output_names]


class WrongAbs(Right):
    """Its Abs does nothing."""

    def load(self, path):
        model = onnx.load(path)
        for node in model.graph.node:
            node.op_type = {"Abs": "Identity"}.get(node.op_type, node.op_type)
        self.evaluator = ReferenceEvaluator(model)


class Hiding(WrongAbs):
    """It shows nothing but what the model gives."""

    def load(self, path):
        super().load(path)
        if len(self.evaluator.output_names) > 1:
            raise RuntimeError("one output is enough")
