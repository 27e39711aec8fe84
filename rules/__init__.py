"""One module per operator family. Importing this package registers every rule."""
