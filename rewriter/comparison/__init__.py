"""Checks that the result computes the same as the original, by running both on the same inputs in a child process."""
