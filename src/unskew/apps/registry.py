"""All applications by name: a new one is one file and one line here."""

import inspect

from unskew.apps.base import Application
from unskew.apps.decision_tree import DecisionTree
from unskew.apps.enrich import Enrich
from unskew.apps.field_grid import FieldGrid
from unskew.apps.hashtags import Hashtags
from unskew.apps.heavy_hitters import HeavyHitters
from unskew.apps.naive_bayes import NaiveBayes
from unskew.apps.roads import Roads
from unskew.apps.vwap import Vwap
from unskew.apps.wordcount import WordCount
from unskew.errors import UnknownNameError
from unskew.groupings.registry import given_parameters

APPLICATIONS: dict[str, type[Application]] = {
    application.name: application
    for application in (
        WordCount,
        Hashtags,
        Vwap,
        Roads,
        NaiveBayes,
        HeavyHitters,
        DecisionTree,
        FieldGrid,
        Enrich,
    )
}


def make_application(spec: str) -> Application:
    """Make an application from its name and, after a colon, parameters.

    >>> make_application("wordcount:window=1 hour").result_key
    ('word', 'window')
    >>> make_application("wordcount:late=1 hour,window=2 days").spec  # an hour is the default
    'wordcount:window=2 days'
    >>> make_application("wordcounts")
    Traceback (most recent call last):
    unskew.errors.UnknownNameError: unknown application 'wordcounts'; valid: wordcount, …
    """
    name, _, rest = spec.partition(":")
    if name.strip() not in APPLICATIONS:
        raise UnknownNameError("application", name.strip(), APPLICATIONS)
    made = APPLICATIONS[name.strip()]
    valid = [word for word in inspect.signature(made.__init__).parameters if word != "self"]
    return made(**given_parameters(made.name, rest, valid))
