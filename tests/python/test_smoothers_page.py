"""What docs/multigrid.md says of smoothers, against its record."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEASURED = "2026-11-27_smoothers_since_2_cores.jsonl"
CONTRASTS = {1.0: "1", 1e3: "1,000", 1e6: "1e6"}
SMOOTHERS = ("chebyshev", "sor", "block-ilu")


def page():
    return (ROOT / "docs" / "multigrid.md").read_text(encoding="utf-8")


def rows():
    lines = (ROOT / "bench" / "records" / MEASURED).read_text(encoding="utf-8").splitlines()
    found = {(r["size"], r["contrast"], r["smoother"]): r for r in map(json.loads, lines)}
    assert all(
        (r["problem"], r["ranks"], r["cycle"], r["status"]) == ("bubbles", 1, "v", "converged")
        and r["true_residual"] <= 1e-8
        for r in found.values()
    )
    return found


def products(row):
    """Of a solve on the finest level: one of cg, and of the polynomial four where phases meet, else two."""
    return row["iterations"] * (5 if row["smoother"] == "chebyshev" and row["contrast"] > 1 else 3)


def test_iterations_products_and_milliseconds():
    found = rows()
    for size in (32, 64):
        for contrast, said in CONTRASTS.items():
            taken = [found[size, contrast, smoother] for smoother in SMOOTHERS]
            cells = " | ".join(f"{r['iterations']}, {products(r)}, {1e3 * r['cpu_s']:,.0f}" for r in taken)
            assert f"| {size}^3, {said} | {cells} |" in page()
            assert products(taken[2]) == min(map(products, taken))
    assert MEASURED in page()


def test_shares_of_the_polynomials_time_and_setups():
    found = rows()
    for smoother, said in (("sor", "takes {}, {} and {} of the"), ("block-ilu", "and {}, {} and {} of the")):
        shares = [
            found[64, contrast, smoother]["cpu_s"] / found[64, contrast, "chebyshev"]["cpu_s"]
            for contrast in CONTRASTS
        ]
        assert said.format(*(f"{share:.2f}" for share in shares)) + " polynomial's time" in page()
    setups = [found[64, 1e3, smoother]["setup_cpu_s"] for smoother in ("block-ilu", "chebyshev")]
    assert (
        "Its setup takes {:.2f} s of a core there, with 1,000, the polynomial's {:.2f}.".format(*setups)
        in page()
    )
