"""The table of campaigns: what was tried, what failed, on which machine."""

import os
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pgcjax
from scripts.campaigns.campaign import Campaign, Outcome

HEADER = ("campaign", "attacks", "tried", "failed", "seconds")


@dataclass
class Row:
    """What a campaign came to."""

    campaign: Campaign
    attacks: int = 0
    failed: int = 0
    seconds: float = 0.0
    kinds: Counter = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count an attack."""
        self.attacks += 1
        self.failed += outcome.problem is not None
        self.kinds.update(outcome.kinds)

    def cells(self) -> tuple[str, ...]:
        """Give the cells of the table."""
        kinds = ", ".join(
            f"{kind} {count:,}" for kind, count in self.kinds.most_common()
        )
        what = f"{self.campaign.meaning}: {kinds}" if kinds else self.campaign.meaning
        tried = f"{self.attacks * self.campaign.each:,}"
        name, seconds = self.campaign.name, f"{self.seconds:.0f}"
        return name, what, tried, str(self.failed), seconds


def markdown(rows: Sequence[Row], seed: int) -> str:
    """Lay the table out, with what it depends on below it."""
    cells = [HEADER, *(row.cells() for row in rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    lines.insert(1, "|---" * len(HEADER) + "|")
    return "\n".join([*lines, "", f"`scripts/torture --seed {seed}`, {machine()}.", ""])


def machine() -> str:
    """Name version, processor and system."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    processor = models[0] if models else platform.machine()
    return (
        f"pgcjax {pgcjax.__version__}, {os.cpu_count()} cores of {processor}, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    )
