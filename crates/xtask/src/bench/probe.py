# Reads with psutil what the probe reads of a node, ten times a second, and
# prints the CPU time per reading. Imports and the first reading are excluded.
import sys
import time

import psutil


def read():
    psutil.cpu_times(percpu=True)
    psutil.cpu_times()
    psutil.cpu_stats()
    psutil.virtual_memory()
    psutil.swap_memory()
    psutil.disk_io_counters(perdisk=True)
    psutil.net_io_counters(pernic=True)


samples = int(sys.argv[1])
read()
begin = time.process_time()
for _ in range(samples):
    time.sleep(0.1)
    read()
seconds = time.process_time() - begin
print(f"psutil {psutil.__version__}|{seconds / samples * 1e6}")
