"""Forms of nodes that some runtime computes wrongly or refuses, written in another form; they apply where a model is for one."""
