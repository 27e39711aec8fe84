"""The model as rules see it: Model, Scope, Node, and what is known of a value."""
