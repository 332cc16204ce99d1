"""How mkdocstrings reads the names of `pgcjax/__init__.pyi`."""

from typing import Any

import griffe


class Subpackages(griffe.Extension):
    """Keep a subpackage that the stub also declares, because users can call it."""

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        """Drop what a stub says of a name that a folder beside it has."""
        if isinstance(mod.filepath, list) or mod.filepath.suffix != ".pyi":
            return
        for name in list(mod.members):
            if (mod.filepath.parent / name / "__init__.py").exists():
                mod.del_member(name)
