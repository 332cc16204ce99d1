"""The verb that lists the measures, and explains one."""

import click

from pgcjax.cli.commands import measures
from pgcjax.io.judgments import KINDS


def _list() -> None:
    """Print all measures, with their meanings."""
    from pgcjax.measures.between_rankings import BETWEEN
    from pgcjax.measures.catalogue import catalogue

    width = max(map(len, catalogue()))
    for each in (*catalogue().values(), *BETWEEN.values()):
        more = " (prefer)" if each.name in BETWEEN else ""
        click.echo(f"{each.name:{width}}  {each.meaning}{more}")


@measures.command()
@click.argument("name", nargs=-1)
def show(name: tuple[str, ...]) -> None:
    """List the measures, or explain one.

    `pgcjax measures ir_measures` lists the names of that tool, with the measures here.
    """
    from pgcjax.measures.between_rankings import BetweenRankings, parse
    from pgcjax.measures.measure import MEAN, written

    if name == ("ir_measures",):
        from pgcjax.measures import ir_names

        for line in ir_names.lines():
            click.echo(line)
        return
    if not name:
        _list()
        return
    measure = parse(" ".join(name), complete=False)
    click.echo(f"{measure.in_full()}\n{measure.meaning}.")
    if measure.formula:
        click.echo(f"Formula: {measure.formula}.")
    if isinstance(measure, BetweenRankings):
        click.echo("Verb: pgcjax rankings prefer, of two rankings.")
    needs = sorted(measure.needs, key=lambda kind: (kind == "levels", kind))
    # Grids are runs, not judgments, and are chosen by their format.
    others = {"grids": "--run-format grids"}
    others["levels"] = "in a format with levels: trec-prefs, …"
    options = (KINDS[k].option if k in KINDS else others[k] for k in needs)
    click.echo(f"Needs: {', '.join(options)}")
    if measure.cutoff == "level":
        click.echo("Level: @x, a level of recall from 0 to 1, must follow the name.")
    elif measure.cutoff != "no":
        click.echo(f"Cutoff: @k {measure.cutoff} follow the name.")
    if described := measure.described():
        click.echo("Parameters:")
    for each, (parameter, value) in described.items():
        click.echo(f"  {each}={written(value)}: {parameter.meaning}")
    if not isinstance(measure, BetweenRankings):
        click.echo(f"Mean over queries: mean={measure.mean}, {MEAN.meaning}.")
    click.echo(f"Source: {measure.source}.")
    if measure.differs:
        click.echo(f"Differs: {measure.differs}.")
    if measure.aliases:
        names = (f"{a} = {m}" for a, m in measure.aliases.items())
        named = ", ".join(names).replace("{k}", "k").replace("{x}", "x")
        click.echo(f"Also called: {named}")
