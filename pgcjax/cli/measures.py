"""The verb that lists the measures, and explains one."""

import click

from pgcjax.cli.commands import measures
from pgcjax.io.judgments import KINDS


@measures.command()
@click.argument("name", required=False)
@click.option(
    "--as",
    "tool",
    type=click.Choice(["ir_measures"]),
    help="List those of another tool, and what is equal here.",
)
def show(name: str | None, tool: str | None) -> None:
    """List the measures, or explain one."""
    from pgcjax.measures.between_rankings import BETWEEN, is_between, parse
    from pgcjax.measures.catalogue import catalogue
    from pgcjax.measures.spec import MEAN, written

    if tool and name:
        raise click.UsageError("--as lists all measures: leave NAME out")
    if tool:
        from pgcjax.measures import ir_names

        for line in ir_names.lines():
            click.echo(line)
        return
    if not name:
        width = max(map(len, catalogue()))
        for definition in catalogue().values():
            click.echo(f"{definition.name:{width}}  {definition.meaning}")
        for definition in BETWEEN.values():
            click.echo(f"{definition.name:{width}}  {definition.meaning} (prefer)")
        return
    measure = parse(name, complete=False)
    definition = measure.definition
    click.echo(f"{measure.in_full()}\n{definition.meaning}.")
    if definition.formula:
        click.echo(f"Formula: {definition.formula}.")
    if is_between(measure):
        click.echo("Verb: pgcjax rankings prefer, of two rankings.")
    needs = definition.needs(measure.parameters)
    needs = sorted(needs, key=lambda kind: (kind == "levels", kind))
    # Grids are no judgments: they are the runs, and --grids says so.
    others = {"grids": "--grids", "levels": "in a format with levels: trec-prefs, …"}
    options = (KINDS[k].option if k in KINDS else others[k] for k in needs)
    click.echo(f"Needs: {', '.join(options)}")
    if definition.cutoff == "level":
        click.echo("Level: @x, a level of recall from 0 to 1, must follow the name.")
    elif definition.cutoff != "no":
        click.echo(f"Cutoff: @k {definition.cutoff} follow the name.")
    if definition.parameters:
        click.echo("Parameters:")
    for parameter in definition.parameters:
        value = written(measure.parameters[parameter.name])
        click.echo(f"  {parameter.name}={value}: {parameter.meaning}")
    if not is_between(measure):
        click.echo(f"Mean over queries: mean={measure.mean}, {MEAN.meaning}.")
    click.echo(f"Source: {definition.source}.")
    if definition.differs:
        click.echo(f"Differs: {definition.differs}.")
    if definition.aliases:
        names = (f"{a} = {m}" for a, m in definition.aliases.items())
        named = ", ".join(names).replace("{k}", "k").replace("{x}", "x")
        click.echo(f"Also called: {named}")
