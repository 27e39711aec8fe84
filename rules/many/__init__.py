"""Rules that are the same for many operators: negative axes, broadcasting, rounding to bfloat16."""
