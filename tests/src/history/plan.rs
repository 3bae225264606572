//! From a seed to what everybody means to do. The same seed gives the same plan; how the requests of different clients
//! fall between each other is up to the machine, so a seed that failed may pass the next time.

use std::time::Duration;

use super::faults::{Damage, PlannedFault, Step as FaultStep};
use super::operation::{Endpoint, Operation, ScopedKey};
use crate::proxy::At;
use crate::random::Random;

/// The clients at work at the same time; fewer than the two processes have connections.
const CLIENTS: usize = 16;

/// How many steps a client takes on one handful of keys before all go on to the next.
const STEPS_PER_HANDFUL: usize = 5;

/// The keys that the clients have in hand at a time: few, so that they meet.
const HANDFUL: usize = 6;

/// The requests to one fault, about.
const REQUESTS_PER_FAULT: usize = 25;

/// The processes of the application.
pub const PROCESSES: usize = 2;

/// What everybody means to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The steps of each client, in order.
    pub clients: Vec<Vec<Step>>,
    /// The faults of each process, in order.
    pub faults: [Vec<PlannedFault>; PROCESSES],
}

/// What a client does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it asks for.
    pub operation: Operation,
    /// The process that it asks first.
    pub process: usize,
    /// How.
    pub manner: Manner,
}

/// How a client sends its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Once, whatever comes.
    Once,
    /// Again and again until the answer is final.
    UntilFinal,
    /// It hangs up after so long, and then sends the request until the answer is final.
    HangUp(Duration),
    /// To both processes at the same time, to each until the answer is final.
    Twice,
    /// Its key expires first, if it has an answer.
    AfterExpiry,
}

impl Plan {
    /// The plan of this seed, with at least so many requests.
    #[must_use]
    pub fn new(seed: u64, requests: usize) -> Self {
        let mut random = Random::new(seed);
        let steps = requests.div_ceil(CLIENTS);
        let clients = (0..CLIENTS)
            .map(|_| (0..steps).map(|number| step(&mut random, seed, number / STEPS_PER_HANDFUL)).collect())
            .collect();

        let mut faults = [Vec::new(), Vec::new()];
        for number in 0..requests / REQUESTS_PER_FAULT {
            let after = number * REQUESTS_PER_FAULT + random.below(REQUESTS_PER_FAULT);
            faults[random.below(PROCESSES)].push(PlannedFault { after, damage: damage(&mut random) });
        }
        Self { clients, faults }
    }
}

fn step(random: &mut Random, seed: u64, handful: usize) -> Step {
    // Now and then a key of long ago.
    let handful = if random.below(20) == 0 { random.below(handful + 1) } else { handful };
    let key = u32::try_from(handful * HANDFUL + random.below(HANDFUL)).expect("a small number");
    let operation = Operation { at: scoped(random, seed, key), variant: variant(random) };
    let manner = match random.below(20) {
        0 | 1 => Manner::Once,
        2..=4 => Manner::HangUp(Duration::from_micros(random.number() % 15_000)),
        5 | 6 => Manner::Twice,
        7 => Manner::AfterExpiry,
        _ => Manner::UntilFinal,
    };
    Step { operation, process: random.below(PROCESSES), manner }
}

/// Nearly always the key's own tenant and endpoint, so that the clients meet; now and then others.
fn scoped(random: &mut Random, seed: u64, key: u32) -> ScopedKey {
    let mut own = Random::new(seed ^ (u64::from(key) << 32));
    let (own_tenant, own_endpoint) = (tenant(&mut own), endpoint(&mut own));
    let tenant = if random.below(10) == 0 { tenant(random) } else { own_tenant };
    let endpoint = if random.below(20) == 0 { endpoint(random) } else { own_endpoint };
    ScopedKey { tenant, endpoint, key }
}

fn tenant(random: &mut Random) -> u8 {
    random.one_of(&[1, 2, 3])
}

fn endpoint(random: &mut Random) -> Endpoint {
    // Orders say most: their answers name their rows.
    if random.below(3) == 0 { Endpoint::Orders } else { random.one_of(&Endpoint::ALL) }
}

fn variant(random: &mut Random) -> u8 {
    match random.below(10) {
        0 => 3,
        1 => 2,
        _ => 1,
    }
}

fn damage(random: &mut Random) -> Damage {
    let at = random.one_of(&[At::Request, At::Reply]);
    let step = random.one_of(&FaultStep::ALL);
    match random.below(10) {
        0 => Damage::Kill,
        1 | 2 => Damage::KillAt(at, step),
        3 | 4 => Damage::Terminate,
        _ => Damage::Cut(at, step),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_seed_has_one_plan_and_another_seed_another() {
        assert_eq!(Plan::new(7, 500), Plan::new(7, 500));
        assert_ne!(Plan::new(7, 500), Plan::new(8, 500));
    }

    #[test]
    fn a_plan_has_every_endpoint_and_manner_and_the_clients_meet() {
        let plan = Plan::new(1, 2000);

        let steps: Vec<_> = plan.clients.iter().flatten().collect();
        assert!(steps.len() >= 2000);
        for endpoint in Endpoint::ALL {
            assert!(steps.iter().any(|step| step.operation.at.endpoint == endpoint), "{endpoint:?}");
        }
        for manner in ["Once", "UntilFinal", "HangUp", "Twice", "AfterExpiry"] {
            assert!(steps.iter().any(|step| format!("{:?}", step.manner).starts_with(manner)), "{manner}");
        }
        let mut requests_of_a_key = BTreeMap::<_, usize>::new();
        for step in &steps {
            *requests_of_a_key.entry(step.operation.at).or_default() += 1;
        }
        let met = requests_of_a_key.values().filter(|requests| **requests >= 5).count();
        assert!(met > 100, "{met} keys have five requests or more");
    }
}
