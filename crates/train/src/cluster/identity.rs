//! What the members of a training must agree on.
//!
//! Members that are started by hand on other hosts may be started with other
//! options. A worker with another seed would compute rows that another worker
//! computes too, and nobody would notice: every member therefore says what it
//! was told before it takes part.

use super::session::ClusterSession;

/// The options that decide what is computed, one per line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrainingIdentity(String);

impl TrainingIdentity {
    pub(crate) fn of(session: &ClusterSession) -> Self {
        let (settings, cluster) = (&session.settings, &session.cluster);
        let train = &session.data.train;
        let clip = settings.clip.map_or("none".to_owned(), |c| c.to_string());
        let lines = [
            ("parameters", session.layout().len().to_string()),
            ("rows", train.rows().to_string()),
            ("columns", train.width().to_string()),
            ("classes", train.classes().to_string()),
            ("batch_size", settings.batch_size.to_string()),
            ("seed", settings.seed.to_string()),
            ("optimizer", settings.optimizer.to_string()),
            ("learning_rate", settings.rate.to_string()),
            ("schedule", settings.schedule.to_string()),
            ("weight_decay", settings.decay.to_string()),
            ("clip", clip),
            ("workers", cluster.workers.to_string()),
            ("servers", cluster.servers.to_string()),
            ("sync", cluster.strategy.to_string()),
            ("compress", cluster.compress.to_string()),
        ];
        let lines = lines.map(|(name, value)| format!("{name} {value}\n"));
        Self(lines.concat())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// How another member's text differs from this, in words; none if it does
    /// not.
    pub(crate) fn difference(&self, theirs: &[u8]) -> Option<String> {
        if theirs == self.0.as_bytes() {
            return None;
        }
        let theirs = String::from_utf8_lossy(theirs);
        let differing = self
            .0
            .lines()
            .zip(theirs.lines())
            .find(|(own, other)| own != other);
        let words = differing.and_then(|(own, other)| {
            let (name, own) = own.split_once(' ')?;
            let (same_name, other) = other.split_once(' ')?;
            (name == same_name).then(|| format!("its {name} is {other}, not {own}"))
        });
        Some(words.unwrap_or_else(|| "its options are of another kind".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let own = TrainingIdentity("rows 400\nseed 1\nsync bsp\n".to_owned());
        assert_eq!(own.difference(own.text().as_bytes()), None);
        let check = |theirs: &str, words: &str| {
            assert_eq!(own.difference(theirs.as_bytes()).as_deref(), Some(words));
        };
        check("rows 400\nseed 2\nsync async\n", "its seed is 2, not 1");
        check("rows 400\nspeed 2\n", "its options are of another kind");
        check("", "its options are of another kind");
    }
}
