//! What engine `ray` reads of `[engine]`.

use crate::document::{Entry, Value};
use crate::engine::{EngineKind, plain_text};
use crate::problem::{Place, Problem};
use crate::section::{Section, table, wrong};

/// The Ray cluster whose nodes are the nodes of runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RaySettings {
    /// Where the jobs API listens, as `http://HOST:8265`.
    pub dashboard: Option<String>,
    /// The file with the bearer token; what Ray's own variables say without.
    pub token_file: Option<String>,
    /// What is reserved on each node, such as `CPU` and `GPU`; one `CPU` if empty.
    pub bundle: Vec<(String, f64)>,
    /// The Python that has Ray, on the node of the job's driver.
    pub python: Option<String>,
}

impl RaySettings {
    pub(crate) fn read(
        section: &Section<'_>,
        kind: EngineKind,
        place: &Place,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let text = |key, problems: &mut Vec<Problem>| plain_text(section, key, problems);
        let settings = Self {
            dashboard: text("dashboard", problems),
            token_file: text("token_file", problems),
            bundle: section
                .entry("bundle")
                .map_or_else(Vec::new, |entry| read_bundle(entry, problems)),
            python: text("python", problems),
        };
        if kind == EngineKind::Ray && section.entry("dashboard").is_none() {
            problems.push(
                Problem::new(place, "engine \"ray\" needs `dashboard`")
                    .hint("add dashboard = \"http://HOST:8265\""),
            );
        }
        if let Some(url) = settings.dashboard.as_ref().filter(|url| !is_url(url))
            && let Some(entry) = section.entry("dashboard")
        {
            problems.push(
                Problem::new(
                    &entry.node.place,
                    format!("`{url}` is not http://HOST:PORT"),
                )
                .hint("an https dashboard can be reached through a local tunnel"),
            );
        }
        settings
    }
}

fn is_url(url: &str) -> bool {
    let rest = url.strip_prefix("http://").unwrap_or_default();
    let rest = rest.trim_end_matches('/');
    rest.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty()
            && port.parse::<u16>().is_ok()
            && !host.contains(|c: char| c == '/' || c == '@' || c.is_whitespace())
    })
}

fn read_bundle(entry: &Entry, problems: &mut Vec<Problem>) -> Vec<(String, f64)> {
    let mut bundle = Vec::new();
    for resource in table(&entry.node, "`bundle`", problems) {
        let amount = match &resource.node.value {
            Value::Integer(i) => *i as f64,
            Value::Number(x) => *x,
            _ => {
                wrong::<()>(resource, "a number", problems);
                continue;
            }
        };
        match amount.is_finite() && amount > 0.0 {
            true => bundle.push((resource.key.clone(), amount)),
            false => problems.push(Problem::new(
                &resource.node.place,
                format!("`{}` of a bundle is above zero", resource.key),
            )),
        }
    }
    bundle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dashboard_is_a_host_and_a_port() {
        for good in ["http://h:8265", "http://10.0.0.1:8265/", "http://[::1]:80"] {
            assert!(is_url(good), "{good}");
        }
        for bad in [
            "h:8265",
            "https://h:8265",
            "http://h",
            "http://a b:1",
            "http://u@h:1",
            "http://:1",
        ] {
            assert!(!is_url(bad), "{bad}");
        }
    }
}
