"""Does the result compute the same as the original? Both are run on the same inputs, in a child process."""
