"""Place the rows of a DataFrame or a stream so that the tasks that work on them finish together."""

from pathlib import Path

from pyspark.sql import DataFrame

from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.plan import Plan
from unskew.spark.columns import By, check_by
from unskew.spark.loads import Loads
from unskew.spark.routing.choosing import AUTO, settled
from unskew.spark.routing.placing import check_plan_for, route
from unskew.spark.routing.schemes import grouping_for
from unskew.spark.stream.query import place_stream


def balance(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    grouping: str | Grouping = AUTO,
    plan: Plan | None = None,
    learn: str = "sample",
    spread_by: By | None = None,
    seed: int = 0,
    loads: Loads | None = None,
) -> DataFrame:
    """Return ``df`` with its rows placed on ``workers`` partitions as a grouping says.

    Same rows, same columns; partition w of the result is worker w, whether adaptive execution is
    on or off. Nothing is computed here except what has to be learned.

    A stream can be placed by a plan or by a scheme that need not learn. Spark numbers no rows of a
    stream: there, all rows of ``shuffle``, and rows of split keys without ``spread_by``, are placed
    by random numbers.

    Parameters
    ----------
    df
        Any DataFrame.
    by
        The key column, or a list of several.
    workers
        Number of partitions, at least 1: as many tasks work on the result.
    grouping
        The name of a scheme, with parameters after a colon if need be, or an object. An object
        that is built is used as it is; one that is not learns first. By default ``auto``: ``wrap``,
        or plain hashing where the sample shows that this is even enough; the log says which, and
        why.
    plan
        A plan made before (`plan`, `load_plan`): then nothing is learned.
    learn
        How a scheme that has to learn does so: ``sample`` or ``pass`` (see `plan`).
    spread_by
        Columns, not of the key, that tell the rows of a key apart: a row of a split key goes to
        one of the key's workers by a hash of them. By default those that a sample has shown to do
        so; where there is none, and with ``()``, rows are spread by their number, which has to
        travel with them. For schemes that make a plan.
    seed
        For schemes that are given by name.
    loads
        Takes in what the workers of a batch job got, after an action; see `Loads`.

    Raises
    ------
    InvalidParameterError
        When called, not when run: an unknown column, a key that is a map, fewer than one worker, a
        scheme that cannot run on Spark, a plan for another number of workers.
    """
    routed = route(
        df,
        by,
        workers,
        owner="balance",
        grouping=grouping,
        plan=plan,
        learn=learn,
        spread_by=spread_by,
        seed=seed,
    )
    placed = routed.placed(workers)
    return placed if loads is None else loads._watch(workers, routed.plan).with_rows(placed, by)


def balance_stream(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    plan_path: str | Path,
    grouping: str | Grouping = AUTO,
    plan: Plan | None = None,
    threshold: float = 2.0,
    spread_by: By | None = None,
    seed: int = 0,
) -> DataFrame:
    """Return the stream ``df`` with its rows placed by a plan that follows what the stream does.

    Same rows, same columns, any sink and output mode. Each micro-batch reports how many rows its
    workers got, and of which keys; the driver turns that into the next plan, and a micro-batch
    that starts after it was written follows it, in the same running query. Placement never touches
    the result: whatever plan a micro-batch follows, also when it is run again after a crash, its
    rows are the same.

    Parameters
    ----------
    df
        A stream.
    by
        The key column, or a list of several.
    workers
        Number of partitions, at least 1.
    plan_path
        A folder of the query's own: a local or mounted one, which the driver and all executors see
        under this path, or as text the URL of one in a store that Spark reaches (``s3a://…``,
        ``hdfs://…``, ``abfss://…``, ``gs://…``, ``dbfs:/…``; not in Connect). Made if need be. All
        plans are kept there with what they were learned from, and ``epochs.jsonl`` tells what every
        micro-batch did; a query that is started again goes on with the last plan. A store that
        fails delays a plan, and stops no query.
    grouping
        A scheme that learns a plan, by name, spec or object. ``auto`` stands for ``wrap`` here: a
        stream has no sample to choose by.
    plan
        What to start with, if the folder has no plan yet: one that `plan` has learned from what the
        stream brought before. Without it the first micro-batches are placed by hash.
    threshold
        A new plan is made if it should be better by more than this, in points of the imbalance
        (percent): every change costs caches and locality, so chance alone is no reason. The first
        plan is always made.
    spread_by
        Columns, not of the key, that tell the rows of a key apart: a row of a split key goes to
        one of the key's workers by a hash of them. By default up to three that are likely to; with
        ``()``, or where there are none, chance decides, which costs more.
    seed
        For a scheme that is given by name.

    Raises
    ------
    InvalidParameterError
        When called: an unknown column, not a stream, a scheme that learns no plan, a URL that is
        no text, or in Connect, or a folder whose plan is for other key columns, types or numbers of
        workers.
    StoreError
        When called: a store that cannot be reached, in three attempts.

    Notes
    -----
    Until there is a plan, and if all plan files are damaged, rows are placed by hash. The plan is
    read once per micro-batch. The report is bounded by the number of slots, however large the
    micro-batch.
    """
    workers = check_int("balance_stream", "workers", workers, minimum=1)
    threshold = check_real("balance_stream", "threshold", threshold, minimum=0)
    if not df.isStreaming:
        raise InvalidParameterError(
            "balance_stream", "df", "a stream", "a batch DataFrame", hint="see balance"
        )
    scheme = grouping_for(grouping, workers, seed=seed, owner="balance_stream")
    names = check_by(df, by, owner="balance_stream", nested=True)
    if plan is not None:
        check_plan_for("balance_stream", plan, df, names, workers)
    placed = place_stream(
        df,
        names,
        settled(scheme, whole_keys=False),
        owner="balance_stream",
        plan_path=plan_path,
        plan=plan,
        threshold=threshold,
        spread_by=spread_by,
    )
    return placed.df
