"""Numbers as people like to read them."""

import math


def real_text(value: float) -> str:
    """Write three significant digits, thousands apart.

    >>> [real_text(value) for value in (0, 0.0612345, 1.5, 883.4, 1234567.0, 1.4e-6)]
    ['0', '0.0612', '1.50', '883', '1,230,000', '1.40e-6']
    """
    rounded = float(f"{value:.3g}")
    if rounded == 0:
        return "0"
    size = math.floor(math.log10(abs(rounded)))
    if size < -3:
        mantissa, _, exponent = f"{rounded:.2e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{rounded:,.{max(0, 2 - size)}f}"


def count_text(value: float) -> str:
    """Write a count in full, thousands apart.

    >>> count_text(1234567)
    '1,234,567'
    """
    return f"{value:,.0f}"


def replication_text(value: float) -> str:
    """Write a replication so that 1.0004 and 1 are told apart.

    >>> replication_text(1.00042), replication_text(40.0123)
    ('1.0004', '40.0')
    """
    return f"{value:.4f}" if value < 10 else real_text(value)


def share_text(value: float) -> str:
    """Write a share in percent.

    >>> share_text(0.8), share_text(0.123456)
    ('80 %', '12.3 %')
    """
    return f"{100 * value:.3g} %"
