"""What mkdocs calls while it builds the site; it finds the functions by their names."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from scripts.site import catalogue, gallery, notebooks, privacy

ROOT = Path(__file__).parents[2]
OF_THE_ROOT = ("CHANGELOG", "CONTRIBUTING", "SECURITY")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made: catalogue, notebooks, files of the root, figures."""
    made = {f"catalogue/{name}.md": text for name, text in catalogue.pages().items()}
    for name in OF_THE_ROOT:
        made[f"{name.lower()}.md"] = (ROOT / f"{name}.md").read_text("utf-8")
    for path in sorted(Path(config.docs_dir, "notebooks").glob("*.ipynb")):
        page = notebooks.markdown(notebooks.execute(path), path.name)
        made[f"notebooks/{path.stem}.md"] = page
    drawn = gallery.pictures(gallery.PAGE.read_text("utf-8"))
    made |= {f"gallery/{name}.svg": picture for name, picture in drawn.items()}
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Let links to files of the root, and from there to `docs/`, stay in the site."""
    named = "|".join(OF_THE_ROOT)
    markdown = re.sub(
        rf"\]\((?:\.\./)?({named})\.md", lambda m: f"]({m[1].lower()}.md", markdown
    )
    return markdown.replace("](docs/", "](")


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site whose pages would fetch anything from elsewhere."""
    if remote := privacy.remote_assets(Path(config.site_dir)):
        raise PluginError("the site would fetch from elsewhere: " + "; ".join(remote))
