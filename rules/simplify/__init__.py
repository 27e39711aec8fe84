"""Rules that simplify a model of any opset: they remove sequences and fold constant Splits."""
