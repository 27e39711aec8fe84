"""One module per operator family. Importing this package registers every rule: a new module needs no list to be on."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
