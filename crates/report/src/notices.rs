//! What a user was told while a run went on.

use crate::number::duration;
use crate::text::{Style, printable, truncate};
use paceline_model::{Event, EventKind};

/// So many notices are printed; more would hide the verdict above them.
const MOST: usize = 20;

/// The notices among a run's events, in their order.
#[must_use]
pub fn notices(events: &[Event]) -> Vec<&Event> {
    events
        .iter()
        .filter(|event| event.kind == EventKind::Notice)
        .collect()
}

/// A line for each notice, with its time; empty if there are none.
#[must_use]
pub fn list(notices: &[&Event], width: usize, style: Style) -> String {
    let mut text = String::new();
    for notice in notices.iter().take(MOST) {
        let at = format!("{:>8}  ", duration(notice.at.as_secs()));
        let words = notice.text.as_deref().unwrap_or(&notice.name);
        let words = truncate(&printable(words), width.saturating_sub(at.len()));
        text.push_str(&format!("{}{words}\n", style.dim(&at)));
    }
    if notices.len() > MOST {
        let more = notices.len() - MOST;
        text.push_str(&format!(
            "          and {more} more, in the record's events\n"
        ));
    }
    text
}

/// The notices for programs.
#[must_use]
pub fn json(notices: &[&Event]) -> serde_json::Value {
    let one = |notice: &&Event| {
        serde_json::json!({
            "at_s": notice.at.as_secs(),
            "name": notice.name,
            "worker": notice.worker.map(|worker| worker.0),
            "step": notice.step,
            "text": notice.text,
        })
    };
    notices.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_model::{Micros, WorkerId};

    #[test]
    fn notices_are_listed_with_their_times_and_no_others() {
        let notice = |at: u64| Event {
            at: Micros(at),
            worker: Some(WorkerId(1)),
            kind: EventKind::Notice,
            step: Some(20),
            name: "member_ended".to_owned(),
            value: None,
            text: Some("worker 1 has ended: signal 9".to_owned()),
        };
        let metric = Event {
            kind: EventKind::Metric,
            ..notice(1)
        };
        let events: Vec<Event> = [metric]
            .into_iter()
            .chain((0..22).map(|i| notice(1_500_000 + i)))
            .collect();
        let found = notices(&events);
        assert_eq!(found.len(), 22);
        let text = list(&found, 80, Style::Plain);
        let first = text.lines().next().unwrap();
        assert_eq!(first.trim_start(), "1.5 s  worker 1 has ended: signal 9");
        assert!(text.ends_with("and 2 more, in the record's events\n"));
        assert_eq!(json(&found)[0]["step"], 20);
        assert!(list(&[], 80, Style::Plain).is_empty());
    }
}
