"""Runs any model in any runtime, in a child process, and says what came of it. What the outputs are for is not known here."""
