"""How large a run is, and how its figures are shown."""

import os

SMALL = bool(os.environ.get("BENCHMARK_SMALL"))


def size(number: int) -> int:
    """How many, or a hundredth in a small run."""
    return max(100, number // 100) if SMALL else number


def row(what: str, detail: str, figure: float | None = None, aim: str = "") -> None:
    """One line of the table."""
    shown = "" if figure is None else f"{figure:,.0f}" if figure >= 100 else f"{figure:.2f}"
    print(f"{what:<46} {shown:>10}   {aim:<18} {detail}", flush=True)
