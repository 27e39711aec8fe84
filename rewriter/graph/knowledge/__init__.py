"""What is known about the values of a model: constants, entries of small vectors, element types, ranks and dimensions."""
