"""Whether a built site fetches anything from elsewhere: letters, scripts, pictures."""

import re
from html.parser import HTMLParser
from pathlib import Path

_FETCHED = {"src", "srcset", "poster", "data"}
_LINKS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "modulepreload"}
_REMOTE = re.compile(r"\s*(?:https?:)?//")
# What lets the theme's own script fetch: diagrams, and stars of a repository.
_FETCHING = {"mermaid", "md-source"}


class _Assets(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.remote: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        fetched = [has[name] for name in _FETCHED & has.keys()]
        if tag == "link" and _LINKS & set(has.get("rel", "").split()):
            fetched.append(has.get("href", ""))
        if tag in ("use", "image"):
            fetched += [has.get("href", ""), has.get("xlink:href", "")]
        self.remote += [url for url in fetched if _REMOTE.match(url)]
        self.remote += sorted(_FETCHING & set(has.get("class", "").split()))


def remote_assets(site: Path) -> list[str]:
    """List what pages and styles under a folder fetch: `file: address`, a line each.

    Links that a reader may follow are no assets.
    """
    found = []
    for path in sorted(site.rglob("*.html")):
        assets = _Assets()
        assets.feed(path.read_text("utf-8"))
        found += [f"{path.relative_to(site)}: {url}" for url in assets.remote]
    for path in sorted([*site.rglob("*.css"), *site.rglob("*.svg")]):
        urls = re.findall(
            r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)",
            path.read_text("utf-8"),
        )
        found += [f"{path.relative_to(site)}: {url}" for url in urls]
    return found
