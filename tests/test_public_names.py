"""What a user meets who types `pgcjax.` and waits."""

from types import ModuleType

import pgcjax
import pgcjax.measures as package
from pgcjax.measures.catalogue import catalogue, parse


def test_dir_shows_public_names_only():
    """Also when parts of the package are loaded: neither rooms nor what loads them."""
    names = dir(pgcjax)
    assert names == sorted(pgcjax.__all__) and {"evaluate", "compare"} <= {*names}
    assert [name for name in names if name[0] == "_"] == ["__version__"]
    modules = [n for n in names if isinstance(getattr(pgcjax, n), ModuleType)]
    rooms = ["ask", "errors", "files", "judgments", "meta", "rankings"]
    assert modules == sorted([*rooms, "measures"]) and len(names) <= 32
    for room in rooms:
        module = getattr(pgcjax, room)
        assert module.__doc__ and {*getattr(module, "__all__", ())} <= {*dir(module)}


def test_measures_lists_the_catalogue():
    assert package is pgcjax.measures and package.Graded
    table = pgcjax.measures()
    assert table["name"].tolist() == list(catalogue())
    assert (table["meaning"] != "").all() and (table["source"] != "").all()
    rows = table.set_index("name")
    assert rows.loc["Compat", ["parameters", "cutoff", "needs"]].tolist() == [
        "p=0.95,depth=1000,normalize=true",
        "no",
        "qrels",
    ]
    assert rows.loc["CCG", "needs"] == "context, qrels"
    for name, row in rows.iterrows():  # spelled with its defaults, it is itself
        spelled = f"{name}({row['parameters']})"
        assert parse(spelled, complete=False) == parse(str(name), complete=False)
