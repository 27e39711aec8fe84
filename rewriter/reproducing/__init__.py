"""`reproduce`: the smallest model that fails as a given one does, without its weights and names."""
