"""All applications by name: a new one is one file and one line here."""

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
from unskew.specs import parameters_of, parse_parameters, split_spec

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
    name, parameters = split_spec(spec)
    if name not in APPLICATIONS:
        raise UnknownNameError("application", name, APPLICATIONS)
    made = APPLICATIONS[name]
    return made(**parse_parameters(name, parameters, parameters_of(made)))
