"""Runs models in a child process, and says what came of it."""
