"""Proves with an SMT solver that original and result compute the same for all lengths of their open dimensions."""
