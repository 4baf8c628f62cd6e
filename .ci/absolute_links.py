"""Make the README's links absolute, as PyPI needs them: ``absolute_links.py README.md BASE REF``.

BASE is the address of the repository, which only the release knows; REF the tag.
"""

import re
import sys
from pathlib import Path


def absolute(text: str, base: str, ref: str) -> str:
    """Return ``text`` with links to files of the repository led to their pages there.

    >>> print(absolute("[a](docs/a.md#b) ![i](i.png) [c](#d) [e](https://e)", "https://h/r", "v1"))
    [a](https://h/r/blob/v1/docs/a.md#b) ![i](https://h/r/raw/v1/i.png) [c](#d) [e](https://e)
    """

    def lead(link: re.Match[str]) -> str:
        image, label, target = link.groups()
        kind = "raw" if image else "blob"
        return f"{image}[{label}]({base.rstrip('/')}/{kind}/{ref}/{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)]+)\)", lead, text)


if __name__ == "__main__":
    path, base, ref = sys.argv[1:]
    Path(path).write_text(absolute(Path(path).read_text(), base, ref))
