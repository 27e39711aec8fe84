"""Reading protobufs: domains, subgraphs, names and labels of nodes, and walks over all nodes of a model."""
