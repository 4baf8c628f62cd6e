"""What the experiments of this paper have in common."""

FRACTION = "fraction of average imbalance"
BALANCED = 1e-3
"""The paper calls imbalance negligible or large and gives no limit; its Table 2 has 1.3e-7 for
what it calls balanced and 3.4e-3 and more for what it does not."""
ZIPF_DATA = "synthetic, as in the paper: ZF with the published parameters"
