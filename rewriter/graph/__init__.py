"""The model as rules see it: Model (the whole), Scope (one graph), Node (one node), and what is known about a value."""
