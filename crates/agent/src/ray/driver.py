# The driver of a Ray job whose placement group holds the nodes of runs: one bundle
# per node, one task per bundle, one agent per task. `wanted` is set before this
# text is executed. What happens is told by lines of JSON in the job's log.

import socket
import sys
import time

from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy


def say(**words):
    print("paceline: " + json.dumps(words), flush=True)


class Refused(Exception):
    pass


def where(path):
    """The machine's name, and whether the program is there."""
    import os
    import socket

    return socket.gethostname(), bool(path) and os.path.exists(os.path.expanduser(path))


def receive(path, data):
    """Puts the program there, whole or not at all."""
    import os

    path = os.path.expanduser(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = "%s.%d" % (path, os.getpid())
    with open(part, "wb") as file:
        file.write(data)
    os.chmod(part, 0o755)
    os.rename(part, path)


def hold(wanted, node):
    """Starts an agent, and ends with it."""
    import ctypes
    import os
    import signal
    import subprocess
    import threading

    words = [os.path.expanduser(wanted["program"]), "agent", "--attached"]
    words += ["--controller", wanted["controller"], "--group", wanted["group"]]
    words += ["--key", wanted["key"], "--node", node]
    words += ["--silence", "%dms" % wanted["silence_ms"]]
    parent, system = os.getpid(), ctypes.CDLL(None)

    def prepare():
        os.setsid()
        # PR_SET_PDEATHSIG: a worker that is killed takes its agent along.
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


def listens(place):
    """Whether the controller is there: nobody else needs these nodes."""
    host, port = place[len("tcp://"):].rsplit(":", 1)
    try:
        socket.create_connection((host.strip("[]"), int(port)), 3).close()
        return True
    except OSError:
        return False


def wait_for(group):
    until, missed = time.monotonic() + wanted["wait_s"], 0
    ready = group.ready()
    while not ray.wait([ready], timeout=1)[0]:
        missed = 0 if listens(wanted["controller"]) else missed + 1
        if missed >= 3:
            raise Refused("%s is not reached from %s" % (wanted["controller"], socket.gethostname()))
        if time.monotonic() > until:
            alive = sum(1 for node in ray.nodes() if node["Alive"])
            raise Refused(
                "%d nodes with %s each were not free within %d s; the cluster has %d nodes"
                % (wanted["nodes"], json.dumps(wanted["bundle"]), wanted["wait_s"], alive)
            )
    # What could not be reached at all is said at once.
    if not listens(wanted["controller"]):
        raise Refused("%s is not reached from %s" % (wanted["controller"], socket.gethostname()))


def place(group):
    bundle = dict(wanted["bundle"])
    own = {"num_cpus": bundle.pop("CPU", 0), "num_gpus": bundle.pop("GPU", 0)}
    strategies = [
        PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index)
        for index in range(wanted["nodes"])
    ]

    def everywhere(work, words, among=None):
        remote = ray.remote(max_retries=0, resources=bundle, **own)(work)
        some = range(len(strategies)) if among is None else among
        return [
            remote.options(scheduling_strategy=strategies[index]).remote(*words[index])
            for index in some
        ]

    path = wanted["program"] if wanted["ships"] else ""
    found = ray.get(everywhere(where, [(path,)] * len(strategies)))
    lacking = [index for index, (_, has) in enumerate(found) if not has]
    if wanted["ships"]:
        if lacking:
            data = ray.put(internal_kv._internal_kv_get(wanted["ships"]))
            ray.get(everywhere(receive, [(path, data)] * len(strategies), lacking))
        internal_kv._internal_kv_del(wanted["ships"])
    hosts = [host for host, _ in found]
    nodes = [
        host if hosts.count(host) == 1 else "%s_%d" % (host, hosts[:index].count(host) + 1)
        for index, host in enumerate(hosts)
    ]
    say(event="placed", nodes=nodes)
    return everywhere(hold, [(wanted, node) for node in nodes])


def drive():
    group = placement_group(
        [wanted["bundle"]] * wanted["nodes"], strategy="STRICT_SPREAD", name=wanted["group"]
    )
    try:
        wait_for(group)
        agents = place(group)
        while agents:
            done, agents = ray.wait(agents, num_returns=1)
            ray.get(done)
    finally:
        remove_placement_group(group)


def reason(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for line in reversed(lines):
        if "Error: " in line:
            return line.split("RuntimeError: ")[-1]
    return lines[0] if lines else type(error).__name__


try:
    drive()
    say(event="ended")
except Refused as error:
    say(event="failed", what=str(error))
    sys.exit(1)
except Exception as error:
    say(event="failed", what=reason(error))
    sys.exit(1)
