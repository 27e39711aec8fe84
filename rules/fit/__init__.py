"""Other forms of nodes at the same opset, for runtimes whose lists of operators do not allow the form that the model has."""
