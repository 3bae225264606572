use super::case::Kind;
use super::recording::Moment;
use crate::proxy::{At, Round, RoundKind};

/// What a round is to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The pool looks whether its connection is there.
    Pool,
    Begin,
    /// Reserving the key, looking its row up, taking an expired one over.
    Reserve,
    /// The handler's own statement.
    Handler,
    /// The answer is written beside the writes.
    Record,
    Commit,
    /// Whether the transaction is still the one that reserved.
    Probe,
    RollBack,
    /// The answer is written after the rollback.
    Store,
}

impl Step {
    pub(super) fn of(round: &Round) -> Self {
        let sql = round.sql.as_str();
        let is_on_the_key_table = sql.contains("idempotency_keys");
        match sql {
            "" => Self::Pool,
            "COMMIT" => Self::Commit,
            "ROLLBACK" => Self::RollBack,
            _ if sql.starts_with("BEGIN") => Self::Begin,
            _ if is_on_the_key_table && sql.contains("AS stored") => Self::Store,
            _ if is_on_the_key_table && sql.contains("AS is_recorded") => Self::Record,
            _ if is_on_the_key_table => Self::Reserve,
            _ if sql.contains("INSERT INTO") => Self::Handler,
            _ if sql.starts_with("SELECT") => Self::Probe,
            _ => panic!("no step of a request: {round:?}"),
        }
    }

    /// Whether the answer is final once the server has run this round.
    pub(super) fn is_final(round: &Round) -> bool {
        round.kind == RoundKind::Run && matches!(Self::of(round), Self::Commit | Self::Store)
    }
}

/// What the client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The right answer, as if nothing had happened.
    Right,
    /// The problem with this code.
    Problem(&'static str),
    /// What the application answers to a failed statement of its own.
    Application,
}

/// What must come of a request that a fault has struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// What its client is told.
    pub told: Told,
    /// Whether it had its effect, so that the retry finds its answer; else the retry runs.
    pub is_done: bool,
}

/// What must come of it when the connection is lost at this moment (docs/protocol.md, G-13, G-14, G-24).
#[expect(clippy::match_same_arms, reason = "each step has a reason of its own")]
pub(super) fn expected(kind: Kind, rounds: &[Round], moment: Moment) -> Expected {
    const UNAVAILABLE: Told = Told::Problem("idempotency_store_unavailable");
    const TRANSIENT: Told = Told::Problem("idempotency_transient");
    const UNKNOWN: Told = Told::Problem("idempotency_outcome_unknown");

    let step = Step::of(&rounds[moment.index]);
    let told = match step {
        // The pool takes another connection, or has no more use for this one.
        Step::Pool => Told::Right,
        // The handler has not run.
        Step::Begin | Step::Reserve => UNAVAILABLE,
        Step::Handler => Told::Application,
        Step::Record => TRANSIENT,
        // The answer speaks of the database, perhaps, so it is not kept.
        Step::Probe if kind == Kind::Decided500 => Told::Right,
        // The rollback that follows is not acknowledged, so the answer cannot be stored.
        Step::Probe => TRANSIENT,
        Step::RollBack if kind.runs() => TRANSIENT,
        // The row is read; nothing was written.
        Step::RollBack => Told::Right,
        Step::Commit | Step::Store => UNKNOWN,
    };
    let is_over = match rounds.iter().position(Step::is_final) {
        Some(last) => moment.index > last || (moment.index == last && moment.at == At::Reply),
        None => true,
    };
    let goes_on = step == Step::Pool;
    Expected { told, is_done: is_over || goes_on }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(kind: RoundKind, sql: &str) -> Round {
        Round { connection: 0, kind, sql: sql.to_owned() }
    }

    #[test]
    fn preparing_a_statement_is_the_step_that_the_statement_is() {
        for (step, sql) in [
            (Step::Begin, "BEGIN ISOLATION LEVEL SERIALIZABLE"),
            (Step::Reserve, "INSERT INTO public.idempotency_keys (id) RETURNING ctid"),
            (Step::Reserve, "SELECT lock.holds_lock FROM public.idempotency_keys AS k"),
            (Step::Handler, "INSERT INTO orders (tenant) VALUES ($1)"),
            (Step::Record, "UPDATE public.idempotency_keys AS k RETURNING true AS is_recorded"),
            (Step::Store, "INSERT INTO public.idempotency_keys AS k RETURNING true AS stored"),
            (Step::Probe, "SELECT pg_current_xact_id_if_assigned()::xid::text"),
        ] {
            for kind in [RoundKind::Prepare, RoundKind::Run] {
                assert_eq!(Step::of(&round(kind, sql)), step, "{sql}");
            }
        }
        assert_eq!(Step::of(&round(RoundKind::Ping, "")), Step::Pool);
    }

    #[test]
    fn nothing_is_done_before_the_server_has_done_the_last_step() {
        let store = "INSERT INTO public.idempotency_keys AS k RETURNING true AS stored";
        let rounds = [
            round(RoundKind::Ping, ""),
            round(RoundKind::Run, "BEGIN"),
            round(RoundKind::Run, "ROLLBACK"),
            round(RoundKind::Prepare, store),
            round(RoundKind::Run, store),
        ];
        let expected = |index, at| expected(Kind::Failure, &rounds, Moment { index, at });

        assert_eq!(expected(0, At::Request), Expected { told: Told::Right, is_done: true });
        for index in 1..4 {
            assert!(!expected(index, At::Reply).is_done, "{index}");
        }
        let unknown = Told::Problem("idempotency_outcome_unknown");
        assert_eq!(expected(4, At::Request), Expected { told: unknown, is_done: false });
        assert_eq!(expected(4, At::Reply), Expected { told: unknown, is_done: true });
    }
}
