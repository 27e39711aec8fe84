"""What a model is: a page of facts about it, the runtimes that take it, and its difference from another model."""
