"""Small applications whose event logs are the fixtures of the reader.

    spark-submit app.py skew|sql|lost FOLDER
"""
import os
import signal
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def work(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def skew(spark):
    """One partition does twelve times the work; the driver works between jobs."""
    sc = spark.sparkContext
    sizes = [200_000] * 7 + [2_400_000]
    pairs = sc.parallelize(range(8), 8).map(lambda i: (i % 4, work(sizes[i])))
    print(pairs.reduceByKey(lambda a, b: a + b, 4).collect())
    time.sleep(1.5)
    print(sc.parallelize(range(6), 6).map(lambda i: work(300_000)).sum())


def sql(spark):
    """A join and an aggregation: stages of one job that run side by side."""
    left = spark.range(0, 60_000, numPartitions=4).withColumn("k", F.col("id") % 97)
    right = spark.range(0, 40_000, numPartitions=3).withColumn("k", F.col("id") % 89)
    joined = left.groupBy("k").count().join(right.groupBy("k").agg(F.sum("id")), "k")
    print(joined.orderBy("k").collect()[:2])
    rows = spark.range(0, 300_000, numPartitions=4).select(
        F.md5(F.col("id").cast("string")).alias("text")
    )
    print(rows.repartition(4).sortWithinPartitions("text").agg(F.max("text")).collect())


def lost(spark, folder):
    """The executor of one task is killed, once; another task fails, once."""
    sc = spark.sparkContext

    def once(name):
        try:
            os.close(os.open(os.path.join(folder, name), os.O_CREAT | os.O_EXCL))
            return True
        except FileExistsError:
            return False

    def part(i):
        work(200_000)
        if i == 4 and once("failed"):
            raise ValueError("this partition fails the first time")
        if i == 5 and once("killed"):
            # The parent of a worker is its daemon, and that one's the executor.
            with open("/proc/%d/stat" % os.getppid()) as stat:
                executor = int(stat.read().rsplit(")", 1)[1].split()[1])
            os.kill(executor, signal.SIGKILL)
            time.sleep(30)
        return (i % 3, 1)

    print(sc.parallelize(range(8), 8).map(part).reduceByKey(lambda a, b: a + b, 3).collect())


name, folder = sys.argv[1], sys.argv[2]
spark = SparkSession.builder.appName("fixture " + name).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
if name == "lost":
    lost(spark, folder)
else:
    {"skew": skew, "sql": sql}[name](spark)
spark.stop()
