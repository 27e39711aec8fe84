"""The registry of rules, and the walk of every node to the target opset."""
