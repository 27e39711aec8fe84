"""Rules that are one idea for many operators: axes counted from the back, broadcasting."""
