"""Operators of onnxruntime that no operators of ONNX can take the place of, each refused with the reason.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.contrib import contrib


@contrib(("BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"), opset=13)
def refuse_generation(node: Node) -> None:
    """Refused: a whole loop of text generation around a decoder."""
    raise Unconvertible(
        f"{node.op_type} is a whole loop of text generation around a decoder, which ONNX leaves to the application",
        "convert the decoder alone, and generate text in the application",
    )


@contrib("BifurcationDetector", opset=13)
def refuse_decoding(node: Node) -> None:
    """Refused: a step of text generation."""
    raise Unconvertible(
        "BifurcationDetector is a step of aggressive decoding, which ONNX leaves to the application",
        "convert the decoder alone, and generate text in the application",
    )


@contrib("Inverse", opset=13)
def refuse_inverse(node: Node) -> None:
    """Refused: the inverse of matrices."""
    raise Unconvertible(
        "ONNX has no operator for the inverse of a matrix", "compute it before, or solve by elimination in the model"
    )


@contrib("Irfft", opset=13)
def refuse_inverse_transform(node: Node) -> None:
    """Refused: a transform back to real numbers."""
    raise Unconvertible("Irfft has no kernel for CPUs, so that nothing could judge an equivalent", "export the model with DFT")


@contrib(("PackedAttention", "PackedMultiHeadAttention"), opset=13)
def refuse_packed_tokens(node: Node) -> None:
    """Refused: attention among tokens without padding, which no kernel for CPUs computes."""
    raise Unconvertible(
        f"{node.op_type} takes all tokens without their padding, and runs on CUDA only, so that nothing could judge an equivalent",
        "optimize the model again without packing mode",
    )


@contrib("DecoderMaskedSelfAttention", opset=13)
def refuse_shared_buffer(node: Node) -> None:
    """Refused: attention that keeps past and present in one buffer."""
    raise Unconvertible(
        "DecoderMaskedSelfAttention keeps past and present in one buffer, which no operator of ONNX does",
        "export the decoder without past_present_share_buffer",
    )
