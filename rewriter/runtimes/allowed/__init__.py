"""The operators that a runtime allows, and the conditions on their nodes: the language of profiles, read and judged."""
