/* A stand-in for NVIDIA's management library, for tests on machines without a GPU.
 *
 * It implements the functions that Paceline calls, as nvml.h declares them. What it
 * answers is in the file named by the environment variable NVML_STAND_IN, or, where
 * that is not set, in `readings` beside the library: lines of `key value`, read anew
 * at every call. Keys that are absent are not supported.
 *
 *   gpus 2                       how many there are
 *   init 9                       what nvmlInit_v2 returns
 *   hang 1                       every call waits until the line is gone
 *   <gpu>.name A100              words of one GPU; so are busy, mem_total, mem_used,
 *   <gpu>.busy 41                power_mw, temperature, energy_mj, pcie_rx, pcie_tx,
 *                                nvlink_rx, nvlink_tx (KiB), pcie_rate (KB/s)
 *   <gpu>.error 15               what every call about the GPU returns
 *   <gpu>.pid.0 4711             processes; <gpu>.pid_mem.0, <gpu>.pid_busy.0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *device;
enum { NOT_SUPPORTED = 3 };

static int text(const char *key, char *out, size_t size) {
    char path[4096];
    const char *set = getenv("NVML_STAND_IN");
    if (set) {
        snprintf(path, sizeof path, "%s", set);
    } else {
        Dl_info info;
        if (!dladdr((void *)text, &info)) return 0;
        snprintf(path, sizeof path - 16, "%s", info.dli_fname);
        char *slash = strrchr(path, '/');
        strcpy(slash ? slash + 1 : path, "readings");
    }
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    char line[512];
    int found = 0;
    size_t length = strlen(key);
    while (!found && fgets(line, sizeof line, file)) {
        if (!strncmp(line, key, length) && line[length] == ' ') {
            line[strcspn(line, "\n")] = 0;
            snprintf(out, size, "%s", line + length + 1);
            found = 1;
        }
    }
    fclose(file);
    return found;
}

static int number(const char *key, unsigned long long *out) {
    char value[256];
    if (!text(key, value, sizeof value)) return 0;
    *out = strtoull(value, NULL, 10);
    return 1;
}

static void hang(void) {
    unsigned long long ignored;
    while (number("hang", &ignored)) usleep(5000);
}

/* A reading of one GPU. */
static int of(device gpu, const char *what, unsigned long long *out) {
    char key[64];
    unsigned long long error;
    hang();
    snprintf(key, sizeof key, "%d.error", (int)(size_t)gpu - 1);
    if (number(key, &error)) return (int)error;
    snprintf(key, sizeof key, "%d.%s", (int)(size_t)gpu - 1, what);
    return number(key, out) ? 0 : NOT_SUPPORTED;
}

static int of32(device gpu, const char *what, unsigned *out) {
    unsigned long long value;
    int code = of(gpu, what, &value);
    if (!code) *out = (unsigned)value;
    return code;
}

#ifndef TOO_OLD
int nvmlInit_v2(void) {
    unsigned long long code;
    hang();
    return number("init", &code) ? (int)code : 0;
}
#endif

int nvmlShutdown(void) { return 0; }

int nvmlDeviceGetCount_v2(unsigned *count) {
    unsigned long long value = 0;
    number("gpus", &value);
    *count = (unsigned)value;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device *out) {
    *out = (device)(size_t)(index + 1);
    return 0;
}

int nvmlSystemGetDriverVersion(char *out, unsigned size) {
    snprintf(out, size, "%s", "570.00");
    return 0;
}

int nvmlDeviceGetName(device gpu, char *out, unsigned size) {
    char key[64];
    snprintf(key, sizeof key, "%d.name", (int)(size_t)gpu - 1);
    return text(key, out, size) ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetUtilizationRates(device gpu, unsigned rates[2]) {
    rates[1] = 0;
    return of32(gpu, "busy", &rates[0]);
}

int nvmlDeviceGetMemoryInfo(device gpu, unsigned long long info[3]) {
    int code = of(gpu, "mem_total", &info[0]);
    if (!code) code = of(gpu, "mem_used", &info[2]);
    if (!code) info[1] = info[0] - info[2];
    return code;
}

int nvmlDeviceGetPowerUsage(device gpu, unsigned *out) { return of32(gpu, "power_mw", out); }

int nvmlDeviceGetTemperature(device gpu, unsigned sensor, unsigned *out) {
    return sensor ? 2 : of32(gpu, "temperature", out);
}

int nvmlDeviceGetTotalEnergyConsumption(device gpu, unsigned long long *out) {
    return of(gpu, "energy_mj", out);
}

struct field {
    unsigned id, scope;
    long long timestamp, latency;
    unsigned kind;
    int status;
    unsigned long long value;
};

int nvmlDeviceGetFieldValues(device gpu, int count, struct field *fields) {
    for (int i = 0; i < count; i++) {
        const char *what = fields[i].id == 138   ? "nvlink_tx"
                           : fields[i].id == 139 ? "nvlink_rx"
                           : fields[i].id == 197 ? "pcie_tx"
                           : fields[i].id == 198 ? "pcie_rx"
                                                 : "unknown";
        fields[i].kind = 3;
        fields[i].status = of(gpu, what, &fields[i].value);
    }
    return 0;
}

int nvmlDeviceGetPcieThroughput(device gpu, unsigned direction, unsigned *out) {
    (void)direction;
    return of32(gpu, "pcie_rate", out);
}

struct process {
    unsigned pid;
    unsigned long long mem;
    unsigned gpu_instance, compute_instance;
};

int nvmlDeviceGetComputeRunningProcesses_v3(device gpu, unsigned *count, struct process *out) {
    unsigned most = *count, n = 0;
    unsigned long long ignored;
    int code = of(gpu, "busy", &ignored);
    if (code && code != NOT_SUPPORTED) return code;
    for (; n < most; n++) {
        char key[64];
        unsigned long long value;
        snprintf(key, sizeof key, "pid.%u", n);
        if (of(gpu, key, &value)) break;
        out[n].pid = (unsigned)value;
        snprintf(key, sizeof key, "pid_mem.%u", n);
        out[n].mem = of(gpu, key, &value) ? ~0ull : value;
    }
    *count = n;
    return 0;
}

struct share {
    unsigned pid;
    unsigned long long at;
    unsigned busy, mem, encoder, decoder;
};

int nvmlDeviceGetProcessUtilization(device gpu, struct share *out, unsigned *count,
                                    unsigned long long since) {
    unsigned most = *count, n = 0, i = 0;
    for (; n < most; i++) {
        char key[64];
        unsigned long long pid, busy;
        snprintf(key, sizeof key, "pid.%u", i);
        if (of(gpu, key, &pid)) break;
        snprintf(key, sizeof key, "pid_busy.%u", i);
        if (of(gpu, key, &busy)) continue;
        out[n].pid = (unsigned)pid;
        out[n].at = since + 1;
        out[n++].busy = (unsigned)busy;
    }
    *count = n;
    return n ? 0 : 6;
}
