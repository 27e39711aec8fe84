"""The command line: arguments to options, one run or many, and what the terminal shows."""
