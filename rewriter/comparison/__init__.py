"""Whether the result computes the same as the original: both are run on the same inputs, in a child process."""
