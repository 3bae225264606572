//! What is counted beside requests: messages of an inbox, and rows that a sweeper deletes.

/// What became of a message that a consumer was about to handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageOutcome {
    /// Its identity is claimed in the consumer's transaction, which may still roll back.
    Claimed,
    /// It was handled before: the consumer acknowledges it and does nothing.
    Duplicate,
    /// Another transaction has held it for as long as a claim waits.
    InProgress,
    /// It cannot be told from others: it has no identity, or one that will not do.
    Rejected,
    /// The database refused or could not be asked, or the claim was made outside of a transaction.
    Failed,
}

#[cfg(feature = "metrics")]
impl MessageOutcome {
    /// The word for labels.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Duplicate => "duplicate",
            Self::InProgress => "in_progress",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
        }
    }
}

/// Counts a message of `consumer`, which is the application's name for it: one of a few.
pub(crate) fn message(consumer: &str, outcome: MessageOutcome) {
    super::meter::message(consumer, outcome);
}

/// Counts rows that were deleted because they had expired.
pub(crate) fn swept(rows: u64) {
    super::meter::swept(rows);
}

#[cfg(all(test, feature = "metrics"))]
mod tests {
    use metrics_util::debugging::{DebugValue, DebuggingRecorder};

    use super::*;

    /// The counters that `work` leaves, as an exporter writes them.
    fn counted(work: impl FnOnce()) -> Vec<(String, u64)> {
        let recorder = DebuggingRecorder::new();
        metrics::with_local_recorder(&recorder, work);
        let snapshot = recorder.snapshotter().snapshot().into_vec();
        let counters = snapshot.into_iter().map(|(key, _, _, value)| {
            let key = key.key();
            let labels = key.labels().map(|label| format!("{}={}", label.key(), label.value()));
            let DebugValue::Counter(count) = value else { panic!("{key:?} is no counter") };
            (format!("{}{{{}}}", key.name(), labels.collect::<Vec<_>>().join(",")), count)
        });
        counters.collect()
    }

    #[test]
    fn a_message_is_counted_by_its_outcome_and_its_consumer() {
        let counters = counted(|| {
            message("billing", MessageOutcome::Claimed);
            message("billing", MessageOutcome::Duplicate);
            message("billing", MessageOutcome::Duplicate);
            message("stock", MessageOutcome::Rejected);
            message("stock", MessageOutcome::Failed);
        });

        let name = |outcome, consumer| {
            format!("idempotency_messages_total{{outcome={outcome},consumer={consumer}}}")
        };
        let expected = [
            (name("claimed", "billing"), 1),
            (name("duplicate", "billing"), 2),
            (name("rejected", "stock"), 1),
            (name("failed", "stock"), 1),
        ];
        assert_eq!(counters, expected);
    }

    #[test]
    fn swept_rows_are_counted_one_by_one() {
        let counters = counted(|| {
            swept(1000);
            swept(0);
            swept(17);
        });

        assert_eq!(counters, [("idempotency_swept_rows_total{}".to_owned(), 1017)]);
    }
}
