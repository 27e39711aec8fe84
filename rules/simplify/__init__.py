"""Rules for any opset: sequences dissolve, constant Splits fold."""
