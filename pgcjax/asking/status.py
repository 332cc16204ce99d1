"""Where a tournament stands, in lines for people, with the command that comes next."""

from collections import Counter
from shlex import quote

from pgcjax.asking.inference import RULES
from pgcjax.asking.state import State
from pgcjax.errors import counted

_SAID = {
    "answered": "answered in an earlier round",
    "bad": "a document is bad",
    "transitive": "a chain of answers leads there",
}


def lines(state: State, folder: str) -> list[str]:
    """Show where a tournament stands, and what to do next."""
    queries = state.queries.values()
    rounds = Counter(query.round.number for query in queries if query.round)
    missing = len(state.requests())
    report = [
        f"{counted(len(queries), 'query')}: {len(queries) - rounds.total()} decided"
        + "".join(f", {n} in round {r}" for r, n in sorted(rounds.items())),
        f"{counted(len(state.answers), 'answer')} counted, {len(state.asides)} kept "
        f"aside, {missing} missing in the open rounds",
    ]
    if not any(query.played or query.round for query in queries):
        report.append("no query has two documents to compare")
    if differing := sum(query.disagreed for query in queries):
        split = sum(query.split for query in queries)
        report.append(
            f"judges disagreed on {counted(differing, 'pair')}; {split} without a "
            "majority: ties"
        )
    if saved := state.saved():
        report.append(
            f"{counted(saved.total(), 'answer')} not needed: "
            + ", ".join(
                f"{saved[rule]} as {_SAID[rule]}" for rule in RULES if saved[rule]
            )
        )
    if against := state.contradictions():
        report.append(
            f"{counted(len(against), 'answer')} contradicted by others: "
            f"pgcjax ask status {quote(folder)} --contradictions"
        )
    if state.calls:
        report.append(
            f"{counted(state.calls, 'request')} sent to programs, cost {state.cost:g}"
        )
    return [*report, f"next: {next_command(state, folder)}"]


def next_command(state: State, folder: str) -> str:
    """Name the command line that comes next; of a program that judges, its own."""
    folder = quote(folder)
    if not state.requests():
        return f"pgcjax ask finish {folder} -o top.qrels.txt"
    if program := state.program:
        judge = f" --judge {quote(program['judge'])}" if program.get("judge") else ""
        command = quote(program["command"])
        return f"pgcjax ask judge {folder} --judge-command {command}{judge}"
    return (
        f"pgcjax ask requests {folder} -o requests.txt, have them answered, and "
        f"pgcjax ask add {folder} answers.txt"
    )
