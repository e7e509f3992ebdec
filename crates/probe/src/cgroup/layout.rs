//! Where this process's groups are.

use super::group::SUPERVISOR;
use crate::roots::Roots;
use std::fs;
use std::path::{Path, PathBuf};

/// Which generations of cgroups are mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// None, as in many containers.
    None,
    /// Only v1: a hierarchy per controller.
    V1,
    /// Only v2: one hierarchy.
    V2,
    /// v1 controllers beside a v2 hierarchy.
    Hybrid,
}

/// The groups that this process is in: the places under which a run's own
/// group can be made. A controller is either in v1 or in v2, never in both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// The group in the v2 hierarchy.
    pub unified: Option<PathBuf>,
    /// The v2 controllers that this group may hand to its children.
    pub unified_controllers: Vec<String>,
    /// The group of the v1 `cpu` controller.
    pub cpu: Option<PathBuf>,
    /// The group of the v1 `cpuacct` controller.
    pub cpuacct: Option<PathBuf>,
    /// The group of the v1 `cpuset` controller.
    pub cpuset: Option<PathBuf>,
    /// The group of the v1 `memory` controller.
    pub memory: Option<PathBuf>,
}

impl Layout {
    /// Finds the groups of the calling process from its `mountinfo` and
    /// `cgroup` files. What is not mounted is absent.
    #[must_use]
    pub fn detect(roots: &Roots) -> Self {
        let read = |name: &str| {
            fs::read(roots.proc.join("self").join(name))
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .unwrap_or_default()
        };
        let memberships = read("cgroup");
        let mut layout = Self::default();
        for mount in read("mountinfo").lines().filter_map(Mount::parse) {
            let places: &mut [(&str, &mut Option<PathBuf>)] = &mut [
                ("cpu", &mut layout.cpu),
                ("cpuacct", &mut layout.cpuacct),
                ("cpuset", &mut layout.cpuset),
                ("memory", &mut layout.memory),
            ];
            if mount.is_unified {
                if layout.unified.is_none() {
                    layout.unified = mount.group_of("", &memberships).map(|group| {
                        // This process has stepped aside for an earlier run.
                        match group.parent() {
                            Some(parent) if group.ends_with(SUPERVISOR) => parent.to_owned(),
                            _ => group,
                        }
                    });
                }
                continue;
            }
            for (controller, place) in places {
                if place.is_none() && mount.options.split(',').any(|o| o == *controller) {
                    **place = mount.group_of(controller, &memberships);
                }
            }
        }
        if let Some(group) = &layout.unified {
            layout.unified_controllers = fs::read_to_string(group.join("cgroup.controllers"))
                .unwrap_or_default()
                .split_whitespace()
                .map(str::to_owned)
                .collect();
        }
        layout
    }

    /// Which generations are there.
    #[must_use]
    pub fn version(&self) -> Version {
        let v1 = [&self.cpu, &self.cpuacct, &self.cpuset, &self.memory]
            .iter()
            .any(|place| place.is_some());
        match (v1, self.unified.is_some()) {
            (false, false) => Version::None,
            (true, false) => Version::V1,
            (false, true) => Version::V2,
            (true, true) => Version::Hybrid,
        }
    }
}

/// One cgroup mount of `mountinfo`.
struct Mount<'t> {
    is_unified: bool,
    /// The group that is visible at the mount point.
    root: PathBuf,
    point: PathBuf,
    options: &'t str,
}

impl<'t> Mount<'t> {
    /// `36 35 98:0 /root /point rw,noatime master:1 - type source options`
    /// (proc(5)).
    fn parse(line: &'t str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let is_unified = match right.next()? {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        let mut left = left.split(' ').skip(3);
        Some(Self {
            is_unified,
            root: unescape(left.next()?),
            point: unescape(left.next()?),
            options: right.nth(1).unwrap_or(""),
        })
    }

    /// The directory of the group that `memberships` (`/proc/self/cgroup`)
    /// names for `controller`, which is empty for v2.
    fn group_of(&self, controller: &str, memberships: &str) -> Option<PathBuf> {
        let path = memberships.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            let is_it = match controller {
                "" => controllers.is_empty(),
                _ => controllers.split(',').any(|c| c == controller),
            };
            is_it.then_some(path)
        })?;
        // In a container that sees the host's path, only what is below the
        // mounted root can be reached; the mount point is then its own group.
        let below = Path::new(path)
            .strip_prefix(&self.root)
            .unwrap_or(Path::new(""));
        let directory = match self.point.join(below) {
            group if group.is_dir() && below != Path::new("") => group,
            _ => self.point.clone(),
        };
        directory.is_dir().then_some(directory)
    }
}

/// Undoes the octal escapes of blanks, tabs, line ends and backslashes.
fn unescape(field: &str) -> PathBuf {
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let text = escapes
        .iter()
        .fold(field.to_owned(), |text, (from, to)| text.replace(from, to));
    PathBuf::from(text)
}
