"""Kill an executor where rows are placed by what is in them: a driver program.

Exact on every version of Spark. Where the order of the rows places them, Spark has to notice
(4.1 and later, see ``lost_executors_in_batch``).
"""

from tests.spark.cluster.driver import cluster_session, report, sorted_rows, stop, work_folder
from tests.spark.cluster.lost_executors_in_batch import WORKERS, skewed, totals
from tests.spark.cluster.trap import Trap, trapped

import unskew.spark as us

if __name__ == "__main__":
    spark = cluster_session()
    df, trap = skewed(spark), Trap(work_folder() / "trap")
    plan = us.plan(df, "key", workers=WORKERS)
    source = df.mapInArrow(trapped(trap, turned=True), df.schema)
    placed = us.balance(source, "key", WORKERS, plan=plan, spread_by="id")
    found = sorted_rows(placed.groupBy("key").agg(*totals()))
    report(
        "by content",
        splits=plan.n_split_keys > 0,
        exact=found == sorted_rows(df.groupBy("key").agg(*totals())),
        killed=trap.victim() is not None,
        repeated=trap.was_repeated(),
    )
    stop(spark)
