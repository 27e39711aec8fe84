"""The registry of rules, and the conversion of every node to the target opset."""
