# Holds a Spark application whose executors are the nodes of runs: a barrier stage
# with one task per executor, each of which is the parent of one agent.
#
# The first line of stdin says what is wanted, and its end means that the
# application has to go. What happens is told by lines of JSON on stdout.

import glob
import json
import os
import shutil
import sys
import threading
import time

told = os.fdopen(os.dup(1), "w")
# Whatever Spark prints must not be taken for our words.
os.dup2(2, 1)


def say(**words):
    told.write(json.dumps(words) + "\n")
    told.flush()


class Refused(Exception):
    pass


def is_home(path):
    return bool(path) and os.path.isfile(os.path.join(path, "python", "pyspark", "__init__.py"))


def find_pyspark(home):
    """Makes `import pyspark` find the Spark that is meant."""
    if home:
        if is_home(home):
            return use(home)
        if not os.path.isdir(os.path.join(home, "jars")):
            raise Refused("%s is no installation of Spark" % home)
        os.environ["SPARK_HOME"] = home
    elif is_home(os.environ.get("SPARK_HOME")):
        return use(os.environ["SPARK_HOME"])
    try:
        import pyspark  # noqa: F401
        return None
    except ImportError:
        pass
    submit = shutil.which("spark-submit")
    place = submit and os.path.dirname(os.path.dirname(os.path.realpath(submit)))
    if is_home(place):
        return use(place)
    raise Refused("%s has no pyspark, and there is neither $SPARK_HOME nor spark-submit" % sys.executable)


def use(home):
    os.environ["SPARK_HOME"] = home
    python = os.path.join(home, "python")
    sys.path[:0] = [python] + glob.glob(os.path.join(python, "lib", "py4j-*.zip"))


def agent_of(wanted):
    """What each barrier task does: it starts an agent, and ends with it."""

    def hold(_):
        import ctypes
        import json
        import os
        import signal
        import socket
        import subprocess
        import threading
        from pyspark import BarrierTaskContext, SparkFiles

        context = BarrierTaskContext.get()
        me = context.partitionId()
        with open("/proc/sys/kernel/random/boot_id") as file:
            machine = file.read().strip()
        said = context.allGather(json.dumps([socket.gethostname(), machine]))
        places = [json.loads(text) for text in said]
        host = places[me][0]
        here = [rank for rank, place in enumerate(places) if place[0] == host]
        node = host if len(here) == 1 else "%s_%d" % (host, here.index(me) + 1)
        # Executors of one kernel take its CPUs one after the other.
        order = [rank for rank, place in enumerate(places) if place[1] == machine].index(me)
        cpus, cores = sorted(os.sched_getaffinity(0)), wanted["cores"]
        if cores > len(cpus):
            raise RuntimeError(
                "an executor has %d cores, and %s has %d CPUs" % (cores, host, len(cpus))
            )
        mine = {cpus[(order * cores + i) % len(cpus)] for i in range(cores)}
        program = wanted["program"]
        if wanted["ships"]:
            program = SparkFiles.get(os.path.basename(program))
            os.chmod(program, 0o755)
        words = [program, "agent", "--attached", "--controller", wanted["controller"]]
        words += ["--group", wanted["group"], "--key", wanted["key"], "--node", node]
        words += ["--silence", "%dms" % wanted["silence_ms"]]
        parent, system = os.getpid(), ctypes.CDLL(None)

        def prepare():
            os.setsid()
            os.sched_setaffinity(0, mine)
            # PR_SET_PDEATHSIG: an executor that is killed takes its agent along.
            system.prctl(1, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)

        agent = subprocess.Popen(
            words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=prepare
        )
        # Neither a command line nor an environment hides the token as well.
        agent.stdin.write((wanted["token"] + "\n").encode())
        agent.stdin.flush()
        last = []

        def listen():
            for line in agent.stderr:
                last.append(line.decode(errors="replace").strip())
                del last[:-5]

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        code = agent.wait()
        listener.join(1)
        if code != 0:
            raise RuntimeError("the agent on %s ended with %d: %s" % (node, code, "; ".join(last)))
        yield node

    return hold


class Holder:
    """The application, and whether its agents have been started."""

    def __init__(self):
        self.holds = False
        self.over = threading.Event()

    def watch(self):
        while sys.stdin.readline():
            pass
        # Agents that were let go end their tasks; nobody waits for anything else.
        # Java ends with this process.
        self.over.wait(5 if self.holds else 0)
        os._exit(0)

    def run(self, wanted):
        find_pyspark(wanted["home"])
        from pyspark import SparkConf, SparkContext

        count, cores = wanted["executors"], wanted["cores"]
        conf = SparkConf(loadDefaults=False)
        conf.set("spark.app.name", "paceline-" + wanted["key"])
        conf.set("spark.ui.showConsoleProgress", "false")
        conf.set("spark.scheduler.barrier.maxConcurrentTasksCheck.interval", "1s")
        for key, value in wanted["conf"]:
            conf.set(key, value)
        if wanted["master"]:
            conf.set("spark.master", wanted["master"])
        if wanted["python"]:
            conf.set("spark.pyspark.python", wanted["python"])
        if wanted["memory"]:
            conf.set("spark.executor.memory", wanted["memory"])
        conf.set("spark.submit.deployMode", "client")
        conf.set("spark.dynamicAllocation.enabled", "false")
        # One task per executor; a standalone master divides cores, others count.
        conf.set("spark.executor.cores", str(cores))
        conf.set("spark.task.cpus", str(cores))
        conf.set("spark.executor.instances", str(count))
        conf.set("spark.cores.max", str(count * cores))
        # Whoever asked for the agents decides what happens after a loss.
        conf.set("spark.stage.maxConsecutiveAttempts", "1")
        SparkContext._ensure_initialized(conf=conf)
        conf = SparkConf()
        if conf.get("spark.master", "local").startswith("local"):
            raise Refused("no cluster is named: say master = \"spark://HOST:7077\", \"yarn\" or \"k8s://…\"")
        if not conf.contains("spark.driver.host") and "SPARK_LOCAL_IP" not in os.environ:
            conf.set("spark.driver.host", wanted["address"])
        context = SparkContext(conf=conf)
        say(event="application", id=context.applicationId)
        inner, seen = context._jsc.sc(), -1
        while True:
            found = inner.getExecutorMemoryStatus().size() - 1
            if found != seen:
                say(event="executors", count=found)
                seen = found
            if found >= count:
                break
            time.sleep(0.1)
        if wanted["ships"]:
            context.addFile(wanted["program"])
        self.holds = True
        ranks = context.parallelize(range(count), count)
        ranks.barrier().mapPartitions(agent_of(wanted)).collect()
        context.stop()


def reason(error):
    """The line of a long report that says why."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for mark in ("RuntimeError: ", "Exception: ", "Error: "):
        for line in lines:
            if mark in line and not line.startswith("at "):
                start = line.rfind(mark)
                return line[start + len(mark):] if mark == "RuntimeError: " else line
    return lines[0] if lines else type(error).__name__


holder = Holder()
request = json.loads(sys.stdin.readline())
threading.Thread(target=holder.watch, daemon=True).start()
try:
    holder.run(request)
    say(event="ended")
except Refused as error:
    say(event="failed", what=str(error))
except Exception as error:
    say(event="failed", what=reason(error))
finally:
    holder.over.set()
# Threads of py4j would keep the process waiting.
told.flush()
os._exit(0)
