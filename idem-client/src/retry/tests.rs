use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::*;

const LONG: Duration = Duration::from_hours(24);

fn settings() -> Settings {
    Settings { total_time: LONG, ..Settings::default() }
}

fn course(settings: Settings) -> Course {
    Course::new(settings, RetryBudget::unlimited(), LONG)
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn answer(status: u16) -> Answer {
    Answer::new(StatusCode::from_u16(status).unwrap(), HeaderMap::new(), Bytes::new())
}

#[test]
fn waits_begin_at_half_a_second_and_double_up_to_half_a_minute_each_with_a_random_part() {
    let course = course(settings());
    let longest = [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].map(Duration::from_millis);

    for (retry, longest) in (0..).zip(longest) {
        let waits = (0..200).map(|_| course.next(retry, None).unwrap()).collect::<Vec<_>>();

        // The wait is told as a time, so that a test that is put off in between finds it longer.
        let longest_seen = longest + Duration::from_millis(200);
        assert!(
            waits.iter().all(|wait| (Duration::from_millis(250)..longest_seen).contains(wait)),
            "{waits:?}"
        );
        let (least, most) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
        assert!(*most > *least + longest / 5, "they differ: {waits:?}");
    }
    assert!(course.next(u32::MAX - 2, None).unwrap() < secs(31));
}

#[test]
fn no_retry_is_earlier_than_the_server_asks_for_and_not_all_are_at_the_same_time() {
    let course = course(settings());

    let waits = (0..50).map(|_| course.next(0, Some(secs(7))).unwrap()).collect::<Vec<_>>();

    assert!(waits.iter().all(|wait| (secs(7)..secs(8)).contains(wait)), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait != waits[0]));
}

#[test]
fn a_retry_after_that_is_too_long_is_cut() {
    let course = course(settings());

    for asked in [secs(61), secs(86_400), Duration::MAX] {
        let wait = course.next(0, Some(asked)).unwrap();
        assert!((secs(60)..secs(61)).contains(&wait), "{wait:?}");
    }
}

#[test]
fn a_wait_that_would_outlast_the_time_is_not_begun() {
    let course = course(Settings { total_time: secs(5), ..settings() });

    assert!(course.next(0, None).is_ok());
    assert_eq!(course.next(0, Some(secs(5))), Err(Limit::Time));
}

#[test]
fn the_key_s_age_ends_the_attempts_as_the_time_does() {
    let course = Course::new(settings(), RetryBudget::unlimited(), secs(5));

    assert_eq!(course.next(0, Some(secs(5))), Err(Limit::Time));
    assert!(course.begin().unwrap().1 <= secs(5));
}

// The time of a course stands still while the machine sleeps; the age of a key does not.
#[test]
fn a_key_that_has_become_too_old_during_a_wait_is_not_sent() {
    let mut course = course(settings());
    course.begin().unwrap();
    course.note(Ok(answer(503)));
    course.next(0, None).unwrap();

    course.too_old_at = Some(clock::now());

    assert_eq!(course.begin(), None);
    assert_eq!(course.next(1, None), Err(Limit::Time));
    assert_eq!(course.end().attempts, 1);
}

#[test]
fn the_first_attempt_counts() {
    let retries_of = |max_attempts| {
        let course = course(Settings { max_attempts, ..settings() });
        (0..10).take_while(|&retry| course.next(retry, None).is_ok()).count()
    };

    assert_eq!([1, 2, 5].map(retries_of), [0, 1, 4]);
    let course = course(Settings { max_attempts: 1, ..settings() });
    assert_eq!(course.next(0, None), Err(Limit::Attempts));
}

#[test]
fn an_attempt_has_its_own_time_and_no_more_than_is_left() {
    let own = course(Settings { attempt_timeout: secs(3), ..settings() });
    let left = course(Settings { attempt_timeout: secs(30), total_time: secs(2), ..settings() });

    assert_eq!(own.begin(), Some((1, secs(3))));
    assert!(left.begin().unwrap().1 <= secs(2));
    assert_eq!(left.begin().unwrap().0, 2);
}

#[test]
fn operations_share_their_budget_and_wait_for_their_turn() {
    // One retry every ten seconds.
    let budget = RetryBudget::new(0, 1);
    let of = |total_time| Course::new(Settings { total_time, ..settings() }, budget.clone(), LONG);
    let (one, other, hurried) = (of(LONG), of(LONG), of(secs(2)));

    assert!(one.next(0, None).unwrap() < secs(1));
    let turns = [other.next(0, None).unwrap(), one.next(0, None).unwrap()];

    assert!(turns[0] > secs(8) && turns[1] > secs(18), "{turns:?}");
    assert_eq!(hurried.next(0, None), Err(Limit::Budget));
}

#[test]
fn a_call_that_is_dropped_while_it_waits_leaves_its_turn_to_others() {
    let budget = RetryBudget::new(0, 1);
    let of = |total_time| Course::new(Settings { total_time, ..settings() }, budget.clone(), LONG);

    for _ in 0..100 {
        of(LONG).next(0, None).unwrap();
    }
    assert!(of(secs(2)).next(0, None).is_ok(), "nobody has used what was saved");
    let made = of(LONG);
    made.next(0, None).unwrap();
    made.begin().unwrap();
    drop(made);
    assert_eq!(of(secs(2)).next(0, None), Err(Limit::Budget), "a retry that was made costs its token");
}

#[test]
fn an_operation_that_is_answered_for_good_adds_to_the_budget() {
    let budget = RetryBudget::new(0, 1);
    let course = Course::new(settings(), budget.clone(), LONG);
    budget.take(Instant::now(), LONG).unwrap();

    for _ in 0..5 {
        assert_eq!(course.note(Ok(answer(503))), Verdict::Again { asked: None });
    }
    assert_eq!(budget.take(Instant::now(), Duration::from_millis(1)), None);
    for _ in 0..5 {
        assert_eq!(course.note(Ok(answer(201))), Verdict::Final);
    }
    assert!(budget.take(Instant::now(), Duration::from_millis(1)).is_some());
}

#[test]
fn a_limit_without_end_is_no_limit() {
    let forever = Settings { total_time: Duration::MAX, attempt_timeout: Duration::MAX, ..settings() };
    let course = Course::new(forever, RetryBudget::unlimited(), Duration::MAX);

    assert_eq!(course.begin(), Some((1, Duration::MAX)));
    assert!(course.next(1_000_000, Some(Duration::MAX)).is_ok());
}
