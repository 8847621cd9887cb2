"""What the programs that tools start see of this process's environment: a few harmless names, and never its secrets."""

import os

_INHERITED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")


def clean() -> dict[str, str]:
    """A small environment for a program; texts are UTF-8 unless this process's own locale says otherwise."""
    found = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    # A relative entry would be looked up in whatever folder the program runs in.
    entries = [entry for entry in found.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(entry)]
    return {"LANG": "C.UTF-8", **found, "PATH": os.pathsep.join(entries)}
