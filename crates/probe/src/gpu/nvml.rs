//! NVIDIA's management library, as far as a probe needs it.
//!
//! This is the one module of the crate with `unsafe`: it opens the library at run
//! time and calls it. A table of a dozen functions of our own costs nothing to
//! build; the crate that wraps all of them (`nvml-wrapper`) brings thirteen crates,
//! procedural macros among them.
//!
//! Whatever the library lacks is [`Failed::Unsupported`], so that an old one tells
//! what it can. It is never unloaded: it may have threads of its own.

#![expect(unsafe_code, reason = "see the safety comment at each block")]

use libc::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ffi::{CStr, CString};
use std::path::Path;

/// Why a value is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failed {
    /// This device, driver or library has no such value, now or ever.
    Unsupported,
    /// The call failed with this code of the library.
    Code(c_int),
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = match self {
            Self::Unsupported => "not supported",
            Self::Code(4) => "no permission",
            Self::Code(9) => "the kernel's driver is not loaded",
            Self::Code(15) => "the GPU is lost; it needs a reset",
            Self::Code(18) => "library and kernel driver are of different versions",
            Self::Code(code) => return write!(f, "NVML error {code}"),
        };
        f.write_str(words)
    }
}

const SUCCESS: c_int = 0;
const NOT_SUPPORTED: c_int = 3;
const NOT_FOUND: c_int = 6;
const INSUFFICIENT_SIZE: c_int = 7;
const FUNCTION_NOT_FOUND: c_int = 13;

fn judge(code: c_int) -> Result<(), Failed> {
    match code {
        SUCCESS => Ok(()),
        NOT_SUPPORTED | FUNCTION_NOT_FOUND => Err(Failed::Unsupported),
        code => Err(Failed::Code(code)),
    }
}

/// One GPU's handle, which belongs to the library.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Device(*mut c_void);

/// Bytes that a process has on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessMemory {
    pub(crate) pid: i32,
    /// Absent where the driver does not tell.
    pub(crate) bytes: Option<u64>,
}

/// What a process kept a GPU busy, in percent, at some time of the driver's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessShare {
    pub(crate) pid: i32,
    pub(crate) at: u64,
    pub(crate) percent: u32,
}

/// `nvmlFieldValue_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FieldValue {
    field: c_uint,
    scope: c_uint,
    timestamp: i64,
    latency_us: i64,
    kind: c_uint,
    status: c_int,
    value: [u8; 8],
}

/// `nvmlProcessInfo_t` of the functions ending in `_v2` and `_v3`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ProcessInfo {
    pid: c_uint,
    bytes: c_ulonglong,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

/// `nvmlProcessUtilizationSample_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct UtilizationSample {
    pid: c_uint,
    at: c_ulonglong,
    busy: c_uint,
    memory: c_uint,
    encoder: c_uint,
    decoder: c_uint,
}

/// `NVML_VALUE_NOT_AVAILABLE`.
const NOT_AVAILABLE: u64 = u64::MAX;

/// No GPU has more processes than are asked for.
const MOST_PROCESSES: usize = 256;

/// Counters that are read by number (`NVML_FI_DEV_…` of `nvml.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// KiB sent over all NVLinks.
    NvlinkSent = 138,
    /// KiB received over all NVLinks.
    NvlinkReceived = 139,
    /// Bytes sent over PCIe.
    PcieSent = 197,
    /// Bytes received over PCIe.
    PcieReceived = 198,
}

/// Every link of a device, as the scope of a field.
const ALL_LINKS: c_uint = c_uint::MAX;

type Call0 = unsafe extern "C" fn() -> c_int;
type Text = unsafe extern "C" fn(*mut c_char, c_uint) -> c_int;
type DeviceText = unsafe extern "C" fn(*mut c_void, *mut c_char, c_uint) -> c_int;
type Pair32 = unsafe extern "C" fn(*mut c_void, *mut [c_uint; 2]) -> c_int;
type Triple64 = unsafe extern "C" fn(*mut c_void, *mut [c_ulonglong; 3]) -> c_int;
type Word32 = unsafe extern "C" fn(*mut c_void, *mut c_uint) -> c_int;
type Chosen32 = unsafe extern "C" fn(*mut c_void, c_uint, *mut c_uint) -> c_int;
type Word64 = unsafe extern "C" fn(*mut c_void, *mut c_ulonglong) -> c_int;
type Fields = unsafe extern "C" fn(*mut c_void, c_int, *mut FieldValue) -> c_int;
type Running = unsafe extern "C" fn(*mut c_void, *mut c_uint, *mut ProcessInfo) -> c_int;
type Shares =
    unsafe extern "C" fn(*mut c_void, *mut UtilizationSample, *mut c_uint, c_ulonglong) -> c_int;

/// The opened and initialised library.
pub(crate) struct Nvml {
    shutdown: Option<Call0>,
    count: unsafe extern "C" fn(*mut c_uint) -> c_int,
    handle: unsafe extern "C" fn(c_uint, *mut *mut c_void) -> c_int,
    driver_version: Option<Text>,
    name: Option<DeviceText>,
    utilization: Option<Pair32>,
    memory: Option<Triple64>,
    power: Option<Word32>,
    temperature: Option<Chosen32>,
    energy: Option<Word64>,
    fields: Option<Fields>,
    pcie_throughput: Option<Chosen32>,
    running: Option<Running>,
    shares: Option<Shares>,
}

/// Why there is no library to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpenError {
    /// It is not installed, as on every machine without such a GPU.
    Missing,
    /// It lacks a function that every library since 2012 has.
    TooOld(&'static str),
    /// It does not start.
    Init(Failed),
}

/// A function of the library, by the type that its place in the table asks for.
trait Function: Sized {
    /// # Safety
    /// `address` is that of a function of this type.
    unsafe fn from_address(address: *mut c_void) -> Self;
}

macro_rules! functions {
    ($( $function:ty ),+ $(,)?) => {
        $( impl Function for $function {
            unsafe fn from_address(address: *mut c_void) -> Self {
                // SAFETY: function pointers have the size of data pointers on every
                // system with `dlsym`, and the caller vouches for the type.
                unsafe { std::mem::transmute::<*mut c_void, $function>(address) }
            }
        } )+
    };
}

functions! {
    Call0, Text, DeviceText, Pair32, Triple64, Word32, Chosen32, Word64, Fields, Running, Shares,
    unsafe extern "C" fn(*mut c_uint) -> c_int,
    unsafe extern "C" fn(c_uint, *mut *mut c_void) -> c_int,
}

/// The function of that name, which `F` must be the type of.
fn find<F: Function>(library: *mut c_void, name: &CStr) -> Option<F> {
    // SAFETY: the handle is one that `dlopen` gave and nobody closes; the name is a
    // string with its end.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    // SAFETY: `open` writes each type beside its name, as `nvml.h` declares it.
    (!address.is_null()).then(|| unsafe { F::from_address(address) })
}

impl Nvml {
    /// Opens and initialises the library. Both may take seconds.
    pub(crate) fn open(library: &Path) -> Result<Self, OpenError> {
        let path =
            CString::new(library.as_os_str().as_encoded_bytes()).map_err(|_| OpenError::Missing)?;
        // SAFETY: the path is a string with its end; what a library does when it is
        // loaded is the administrator's choice, as for every library.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(OpenError::Missing);
        }
        let init: Call0 = find(library, c"nvmlInit_v2").ok_or(OpenError::TooOld("nvmlInit_v2"))?;
        let nvml = Self {
            shutdown: find(library, c"nvmlShutdown"),
            count: find(library, c"nvmlDeviceGetCount_v2")
                .ok_or(OpenError::TooOld("nvmlDeviceGetCount_v2"))?,
            handle: find(library, c"nvmlDeviceGetHandleByIndex_v2")
                .ok_or(OpenError::TooOld("nvmlDeviceGetHandleByIndex_v2"))?,
            driver_version: find(library, c"nvmlSystemGetDriverVersion"),
            name: find(library, c"nvmlDeviceGetName"),
            utilization: find(library, c"nvmlDeviceGetUtilizationRates"),
            memory: find(library, c"nvmlDeviceGetMemoryInfo"),
            power: find(library, c"nvmlDeviceGetPowerUsage"),
            temperature: find(library, c"nvmlDeviceGetTemperature"),
            energy: find(library, c"nvmlDeviceGetTotalEnergyConsumption"),
            fields: find(library, c"nvmlDeviceGetFieldValues"),
            pcie_throughput: find(library, c"nvmlDeviceGetPcieThroughput"),
            running: find(library, c"nvmlDeviceGetComputeRunningProcesses_v3")
                .or_else(|| find(library, c"nvmlDeviceGetComputeRunningProcesses_v2")),
            shares: find(library, c"nvmlDeviceGetProcessUtilization"),
        };
        // SAFETY: the function takes nothing and may be called at any time.
        judge(unsafe { init() }).map_err(OpenError::Init)?;
        Ok(nvml)
    }

    /// The driver's version, as `535.104.05`.
    pub(crate) fn driver_version(&self) -> Result<String, Failed> {
        let call = self.driver_version.ok_or(Failed::Unsupported)?;
        // SAFETY: the library writes at most as many bytes as it is told.
        text(|buffer, length| unsafe { call(buffer, length) })
    }

    /// Every GPU that can be opened. One that cannot is left out.
    pub(crate) fn devices(&self) -> Result<Vec<Device>, Failed> {
        let mut count = 0;
        // SAFETY: the library writes one number.
        judge(unsafe { (self.count)(&raw mut count) })?;
        let devices = (0..count.min(1024)).filter_map(|index| {
            let mut device = std::ptr::null_mut();
            // SAFETY: the library writes one pointer, which stays its own.
            let code = unsafe { (self.handle)(index, &raw mut device) };
            (code == SUCCESS).then_some(Device(device))
        });
        Ok(devices.collect())
    }

    pub(crate) fn name(&self, device: Device) -> Result<String, Failed> {
        let call = self.name.ok_or(Failed::Unsupported)?;
        // SAFETY: the handle is the library's own; it writes at most as many bytes as
        // it is told.
        text(|buffer, length| unsafe { call(device.0, buffer, length) })
    }

    /// The percentage of the last sixth of a second to second in which it executed
    /// anything.
    pub(crate) fn busy_percent(&self, device: Device) -> Result<u32, Failed> {
        let call = self.utilization.ok_or(Failed::Unsupported)?;
        let mut rates = [0; 2];
        // SAFETY: `nvmlUtilization_t` is two numbers of 32 bits.
        judge(unsafe { call(device.0, &raw mut rates) })?;
        Ok(rates[0])
    }

    /// Bytes in all, and bytes in use.
    pub(crate) fn memory(&self, device: Device) -> Result<(u64, u64), Failed> {
        let call = self.memory.ok_or(Failed::Unsupported)?;
        let mut info = [0; 3];
        // SAFETY: `nvmlMemory_t` is total, free and used, of 64 bits each.
        judge(unsafe { call(device.0, &raw mut info) })?;
        Ok((info[0], info[2]))
    }

    /// Milliwatts.
    pub(crate) fn power_mw(&self, device: Device) -> Result<u32, Failed> {
        let call = self.power.ok_or(Failed::Unsupported)?;
        let mut value = 0;
        // SAFETY: the library writes one number of 32 bits.
        judge(unsafe { call(device.0, &raw mut value) })?;
        Ok(value)
    }

    /// Degrees Celsius of the chip.
    pub(crate) fn temperature(&self, device: Device) -> Result<u32, Failed> {
        let call = self.temperature.ok_or(Failed::Unsupported)?;
        let mut value = 0;
        // SAFETY: the library writes one number of 32 bits; sensor 0 is the chip's.
        judge(unsafe { call(device.0, 0, &raw mut value) })?;
        Ok(value)
    }

    /// Millijoules since the driver was loaded.
    pub(crate) fn energy_mj(&self, device: Device) -> Result<u64, Failed> {
        let call = self.energy.ok_or(Failed::Unsupported)?;
        let mut value = 0;
        // SAFETY: the library writes one number of 64 bits.
        judge(unsafe { call(device.0, &raw mut value) })?;
        Ok(value)
    }

    /// A counter since the driver was loaded.
    pub(crate) fn field(&self, device: Device, field: Field) -> Result<u64, Failed> {
        let call = self.fields.ok_or(Failed::Unsupported)?;
        let is_link = matches!(field, Field::NvlinkSent | Field::NvlinkReceived);
        let mut value = FieldValue {
            field: field as c_uint,
            scope: if is_link { ALL_LINKS } else { 0 },
            timestamp: 0,
            latency_us: 0,
            kind: 0,
            status: NOT_SUPPORTED,
            value: [0; 8],
        };
        // SAFETY: one value is asked for and there is room for one.
        judge(unsafe { call(device.0, 1, &raw mut value) })?;
        judge(value.status)?;
        // `nvmlValueType_t`: 1 and 5 have 32 bits, 2 and 3 have 64.
        let [a, b, c, d, ..] = value.value;
        match value.kind {
            1 | 5 => Ok(u64::from(u32::from_ne_bytes([a, b, c, d]))),
            2 | 3 => Ok(u64::from_ne_bytes(value.value)),
            _ => Err(Failed::Unsupported),
        }
    }

    /// KB/s received and sent over PCIe. The library watches for 20 ms each.
    pub(crate) fn pcie_kb_per_s(&self, device: Device) -> Result<(u32, u32), Failed> {
        let call = self.pcie_throughput.ok_or(Failed::Unsupported)?;
        let one = |direction: c_uint| {
            let mut value = 0;
            // SAFETY: the library writes one number of 32 bits.
            judge(unsafe { call(device.0, direction, &raw mut value) })?;
            Ok(value)
        };
        Ok((one(1)?, one(0)?))
    }

    /// Processes that compute on it.
    pub(crate) fn processes(&self, device: Device) -> Result<Vec<ProcessMemory>, Failed> {
        let call = self.running.ok_or(Failed::Unsupported)?;
        let mut count = MOST_PROCESSES as c_uint;
        let empty = ProcessInfo {
            pid: 0,
            bytes: 0,
            gpu_instance: 0,
            compute_instance: 0,
        };
        let mut list = vec![empty; MOST_PROCESSES];
        // SAFETY: the library writes at most `count` entries and puts how many into it.
        let code = unsafe { call(device.0, &raw mut count, list.as_mut_ptr()) };
        if code != INSUFFICIENT_SIZE {
            judge(code)?;
        } else {
            return Err(Failed::Unsupported);
        }
        list.truncate(count as usize);
        let processes = list.iter().map(|process| ProcessMemory {
            pid: process.pid as i32,
            bytes: Some(process.bytes).filter(|&bytes| bytes != NOT_AVAILABLE),
        });
        Ok(processes.collect())
    }

    /// What processes kept it busy since a time of the driver's clock.
    pub(crate) fn shares(&self, device: Device, since: u64) -> Result<Vec<ProcessShare>, Failed> {
        let call = self.shares.ok_or(Failed::Unsupported)?;
        let empty = UtilizationSample {
            pid: 0,
            at: 0,
            busy: 0,
            memory: 0,
            encoder: 0,
            decoder: 0,
        };
        let mut list = vec![empty; MOST_PROCESSES];
        let mut count = MOST_PROCESSES as c_uint;
        // SAFETY: the library writes at most `count` entries and puts how many into it.
        let code = unsafe { call(device.0, list.as_mut_ptr(), &raw mut count, since) };
        if code == NOT_FOUND {
            return Ok(Vec::new());
        }
        judge(code)?;
        list.truncate(count as usize);
        let shares = list
            .iter()
            .filter(|it| it.at > since)
            .map(|it| ProcessShare {
                pid: it.pid as i32,
                at: it.at,
                percent: it.busy,
            });
        Ok(shares.collect())
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        if let Some(shutdown) = self.shutdown {
            // SAFETY: it takes nothing; the library counts its users.
            unsafe { shutdown() };
        }
    }
}

/// A text that the library writes into a buffer.
fn text(call: impl FnOnce(*mut c_char, c_uint) -> c_int) -> Result<String, Failed> {
    let mut buffer = [0u8; 128];
    judge(call(buffer.as_mut_ptr().cast(), buffer.len() as c_uint - 1))?;
    let text = CStr::from_bytes_until_nul(&buffer).map_err(|_| Failed::Unsupported)?;
    Ok(text.to_string_lossy().into_owned())
}
