"""Streams of country names of which one is as hot as wanted."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew._validation import check_int, check_real
from unskew.streams._sampler import Sampler, draw, make_sampler
from unskew.streams.base import SyntheticStream, write_spec

COUNTRY_NAMES = tuple(
    """
Afghanistan, Albania, Algeria, Andorra, Angola, Antigua and Barbuda, Argentina, Armenia,
Australia, Austria, Azerbaijan, Bahamas, Bahrain, Bangladesh, Barbados, Belarus, Belgium, Belize,
Benin, Bermuda, Bhutan, Bolivia, Bosnia and Herzegovina, Botswana, Brazil, Brunei, Bulgaria,
Burkina Faso, Burundi, Cambodia, Cameroon, Canada, Cape Verde, Central African Republic, Chad,
Chile, China, Colombia, Comoros, Congo, Cook Islands, Costa Rica, Croatia, Cuba, Cyprus, Czechia,
Democratic Republic of the Congo, Denmark, Djibouti, Dominica, Dominican Republic, East Timor,
Ecuador, Egypt, El Salvador, Equatorial Guinea, Eritrea, Estonia, Eswatini, Ethiopia, Fiji,
Finland, France, Gabon, Gambia, Georgia, Germany, Ghana, Greece, Greenland, Grenada, Guatemala,
Guinea, Guinea-Bissau, Guyana, Haiti, Honduras, Hong Kong, Hungary, Iceland, India, Indonesia,
Iran, Iraq, Ireland, Israel, Italy, Ivory Coast, Jamaica, Japan, Jordan, Kazakhstan, Kenya,
Kiribati, Kosovo, Kuwait, Kyrgyzstan, Laos, Latvia, Lebanon, Lesotho, Liberia, Libya,
Liechtenstein, Lithuania, Luxembourg, Macao, Madagascar, Malawi, Malaysia, Maldives, Mali, Malta,
Marshall Islands, Mauritania, Mauritius, Mexico, Micronesia, Moldova, Monaco, Mongolia,
Montenegro, Morocco, Mozambique, Myanmar, Namibia, Nauru, Nepal, Netherlands, New Zealand,
Nicaragua, Niger, Nigeria, Niue, North Korea, North Macedonia, Norway, Oman, Pakistan, Palau,
Palestine, Panama, Papua New Guinea, Paraguay, Peru, Philippines, Poland, Portugal, Puerto Rico,
Qatar, Romania, Russia, Rwanda, Saint Kitts and Nevis, Saint Lucia, Saint Vincent and the
Grenadines, Samoa, San Marino, Sao Tome and Principe, Saudi Arabia, Senegal, Serbia, Seychelles,
Sierra Leone, Singapore, Slovakia, Slovenia, Solomon Islands, Somalia, South Africa, South Korea,
South Sudan, Spain, Sri Lanka, Sudan, Suriname, Sweden, Switzerland, Syria, Taiwan, Tajikistan,
Tanzania, Thailand, Togo, Tonga, Trinidad and Tobago, Tunisia, Turkey, Turkmenistan, Tuvalu,
Uganda, Ukraine, United Arab Emirates, United Kingdom, United States, Uruguay, Uzbekistan,
Vanuatu, Vatican City, Venezuela, Vietnam, Yemen, Zambia, Zimbabwe
""".replace("\n", " ")
    .strip()
    .split(", ")
)


def countries(skew: float = 68.0, rows: int = 1_000_000, *, seed: int = 0) -> "CountriesStream":
    """Give one of 204 countries ``skew`` percent of the rows, the others equal shares [1].

    Keys are the numbers 0 … 203, of which 0 is the hot one; `key_names` has the names.

    Parameters
    ----------
    skew
        Percent of the rows that have key 0, up to 100; with 0 all 204 have equal shares.
    rows
        Number of rows, 10 million in the paper.
    seed
        Picks the rows; equal seeds give equal rows in every process and on every machine.

    Examples
    --------
    >>> stream = countries(skew=68, rows=50_000, seed=1)
    >>> keys = next(stream.batches()).keys
    >>> round(100 * float((keys == 0).mean())), len(np.unique(keys))
    (68, 204)

    References
    ----------
    [1] Dalabasmaz and Can, "Dynamic Key Grouping".
    """
    return CountriesStream(
        check_real("countries", "skew", skew, minimum=0.0, maximum=100.0),
        check_int("countries", "rows", rows, minimum=1),
        check_int("countries", "seed", seed),
    )


def countries_half(
    skew: float = 80.0, rows: int = 1_000_000, *, seed: int = 0
) -> "CountriesHalfStream":
    """Draw the first half of the rows evenly, then give one country ``skew`` percent.

    The halves of the set of that name in [1] come the other way round in its authors' program; the
    text does not say in which order.

    Parameters
    ----------
    skew
        Percent of the second half of the rows that have key 0.
    rows
        Number of rows, 10 million in the paper; of an odd number the first half is the smaller.
    seed
        Picks the rows; equal seeds give equal rows in every process and on every machine.

    Examples
    --------
    >>> keys = next(countries_half(skew=80, rows=50_000, seed=1).batches()).keys
    >>> [round(float((half == 0).mean()), 1) for half in (keys[:25_000], keys[25_000:])]
    [0.0, 0.8]

    References
    ----------
    [1] Dalabasmaz and Can, "Dynamic Key Grouping".
    """
    return CountriesHalfStream(
        check_real("countries-half", "skew", skew, minimum=0.0, maximum=100.0),
        check_int("countries-half", "rows", rows, minimum=1),
        check_int("countries-half", "seed", seed),
    )


@dataclass(frozen=True, eq=False)
class CountriesStream(SyntheticStream):
    """What `countries` returns."""

    name: ClassVar[str] = "countries"
    key_names: ClassVar[tuple[str, ...]] = COUNTRY_NAMES
    skew: float
    rows: int
    seed: int

    @property
    def spec(self) -> str:
        """The text that `parse_stream` makes the same stream of."""
        return write_spec(self.name, skew=self.skew, rows=self.rows)

    @property
    def n_keys(self) -> int:
        """Number of keys."""
        return len(self.key_names)

    @cached_property
    def _sampler(self) -> Sampler:
        return _one_hot_sampler(self.n_keys, self.skew)

    def _draw(self, first: int, out: NDArray[np.uint64]) -> None:
        draw(self._sampler, first, self._row_seed, out)


@dataclass(frozen=True, eq=False)
class CountriesHalfStream(CountriesStream):
    """What `countries_half` returns."""

    name: ClassVar[str] = "countries-half"

    @cached_property
    def _even_sampler(self) -> Sampler:
        return _one_hot_sampler(self.n_keys, 0.0)

    def _draw(self, first: int, out: NDArray[np.uint64]) -> None:
        even = min(max(self.rows // 2 - first, 0), out.size)
        draw(self._even_sampler, first, self._row_seed, out[:even])
        draw(self._sampler, first + even, self._row_seed, out[even:])


def _one_hot_sampler(keys: int, skew: float) -> Sampler:
    weights = np.full(keys, (100.0 - skew) / (keys - 1))
    weights[0] = skew if skew > 0 else weights[1]
    return make_sampler(weights)
