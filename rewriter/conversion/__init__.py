"""Takes one model through its stages: the options, the stages, the driver that calls them, and the pass of onnx_ir."""
