"""What a model consists of: its graphs, its functions and their calls, and the types that it declares and that follow from them."""
