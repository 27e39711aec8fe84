"""Rules for a model of any opset: sequences dissolve, and constant Splits fold."""
