//! All-reduce among members of a group, over real sockets.

use std::time::Duration;

use paceline_wire::{
    Address, Algorithm, Buckets, Connection, FormError, Formation, Group, Impairment, Listener,
    ReduceError, Role, Settings, connect,
};

use crate::support::{PATIENCE, member, private_directory, server, soon, worker};

/// A group whose members are connected within this process.
fn mesh(size: usize, settings: &Settings) -> Vec<Group> {
    let mut links: Vec<Vec<Option<Connection>>> = Vec::new();
    links.resize_with(size, || (0..size).map(|_| None).collect());
    let rank = |rank: usize| member(Role::Worker, u32::try_from(rank).expect("groups are small"));
    let pairs = (0..size).flat_map(|low| (low + 1..size).map(move |high| (low, high)));
    for (low, high) in pairs {
        let (a, b) = Connection::pair(rank(low), rank(high), settings).expect("sockets");
        links[low][high] = Some(a);
        links[high][low] = Some(b);
    }
    links
        .into_iter()
        .enumerate()
        .map(|(rank, links)| Group::new(rank, links, PATIENCE).expect("all are connected"))
        .collect()
}

/// Numbers that round when they are added, the same for each call.
fn numbers(rank: usize, length: usize) -> Vec<f32> {
    (0..length)
        .map(|i| ((rank * 7919 + i * 104_729) % 10_007) as f32 / 977.0 - 5.0)
        .collect()
}

/// Runs `work` as every member, each on a thread of its own.
fn as_members<T: Send>(groups: Vec<Group>, work: impl Fn(Group) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = groups
            .into_iter()
            .map(|group| scope.spawn(|| work(group)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("members do not panic"))
            .collect()
    })
}

/// All members hold the same bits, and they are the sums.
fn check_sums(size: usize, length: usize, results: &[Vec<f32>]) {
    let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    for result in results {
        assert_eq!(
            bits(result),
            bits(&results[0]),
            "of {size}, {length} numbers"
        );
    }
    let parts: Vec<_> = (0..size).map(|rank| numbers(rank, length)).collect();
    for (i, sum) in results[0].iter().enumerate() {
        let exact: f64 = parts.iter().map(|part| f64::from(part[i])).sum();
        // Each of size - 1 additions rounds a partial sum of at most 6 · size
        // by half a unit in the last place, 2^-24 relatively.
        let bound = (size * size * 6) as f64 / f64::from(1 << 24);
        assert!(
            (f64::from(*sum) - exact).abs() <= bound,
            "{sum} is not {exact}"
        );
    }
}

fn check_algorithm(algorithm: Algorithm) {
    for size in 1..=7 {
        let results = as_members(mesh(size, &Settings::default()), |mut group| {
            group.set_algorithm(algorithm);
            [0, 1, size - 1, 1000, 40_001].map(|length| {
                let mut values = numbers(group.rank(), length);
                group.all_reduce(&mut values).expect("nobody is lost");
                values
            })
        });
        for index in 0..5 {
            let results: Vec<_> = results
                .iter()
                .map(|lengths| lengths[index].clone())
                .collect();
            check_sums(size, results[0].len(), &results);
        }
    }
}

#[test]
fn the_ring_gives_all_members_the_same_sums() {
    check_algorithm(Algorithm::Ring);
}

#[test]
fn doubling_gives_groups_of_any_size_the_same_sums() {
    check_algorithm(Algorithm::Doubling);
}

#[test]
fn vectors_longer_than_every_socket_buffer_do_not_block() {
    // More than one block of the ring, and the last one short.
    const LENGTH: usize = 700_001;
    for algorithm in [Algorithm::Ring, Algorithm::Doubling] {
        let results = as_members(mesh(2, &Settings::default()), |mut group| {
            group.set_algorithm(algorithm);
            let mut values = numbers(group.rank(), LENGTH);
            group.all_reduce(&mut values).unwrap();
            values
        });
        check_sums(2, LENGTH, &results);
    }
}

#[test]
fn groups_form_over_unix_sockets_and_agree_on_an_algorithm() {
    const SIZE: usize = 3;
    let root = private_directory();
    let addresses: Vec<_> = (0..SIZE)
        .map(|rank| Address::unix(&root.path().join(format!("worker-{rank}"))).unwrap())
        .collect();
    let results: Vec<_> = std::thread::scope(|scope| {
        let members: Vec<_> = (0..SIZE)
            .map(|rank| {
                let addresses = &addresses;
                scope.spawn(move || {
                    let me = worker(u32::try_from(rank).unwrap());
                    let settings = Settings::default();
                    let listener = Listener::bind(&addresses[rank], &me, &settings).unwrap();
                    let mut group =
                        Group::form(&listener, addresses, &me, &settings, PATIENCE, soon())
                            .unwrap();
                    assert_eq!((group.rank(), group.size()), (rank, SIZE));
                    let mut values = numbers(rank, 100_000);
                    group.all_reduce(&mut values).unwrap();
                    (group.algorithm(), values)
                })
            })
            .collect();
        members.into_iter().map(|m| m.join().unwrap()).collect()
    });
    assert!(
        results
            .iter()
            .all(|(algorithm, _)| *algorithm == results[0].0)
    );
    let values: Vec<_> = results.into_iter().map(|(_, values)| values).collect();
    check_sums(SIZE, 100_000, &values);
}

#[test]
fn a_slow_network_is_measured_briefly() {
    let settings = Settings {
        impairment: Impairment {
            delay: Duration::from_millis(2),
            bandwidth: Some(2e6),
        },
        ..Settings::default()
    };
    let chosen = as_members(mesh(2, &settings), |mut group| {
        group.measure().unwrap();
        let carried = group
            .traffic()
            .map(|(_, traffic)| traffic.bytes_sent)
            .sum::<u64>();
        // Two megabytes a second: the longest length tried would take seconds.
        assert!(carried < 4_000_000, "{carried} bytes");
        group.algorithm()
    });
    assert_eq!(chosen[0], chosen[1]);
}

#[test]
fn who_does_not_come_is_named() {
    let root = private_directory();
    let addresses: Vec<_> = (0..3)
        .map(|rank| Address::unix(&root.path().join(format!("worker-{rank}"))).unwrap())
        .collect();
    let listener = Listener::bind(&addresses[0], &worker(0), &Settings::default()).unwrap();
    let deadline = paceline_wire::Deadline::after(Duration::from_millis(20));
    let formed = Group::form(
        &listener,
        &addresses,
        &worker(0),
        &Settings::default(),
        PATIENCE,
        deadline,
    );
    assert_eq!(
        formed.unwrap_err().to_string(),
        "workers [1, 2] did not come"
    );
}

#[test]
fn a_server_is_no_member_of_a_group_of_workers() {
    let root = private_directory();
    let address = Address::unix(&root.path().join("s")).unwrap();
    let listener = Listener::bind(&address, &server(), &Settings::default()).unwrap();
    let own = Listener::bind(&Address::loopback(), &worker(1), &Settings::default()).unwrap();
    let addresses = [address, own.address().clone()];
    let formed = Group::form(
        &own,
        &addresses,
        &worker(1),
        &Settings::default(),
        PATIENCE,
        soon(),
    );
    assert!(
        matches!(formed, Err(FormError::Stranger { .. })),
        "{formed:?}"
    );
    drop(listener);
}

#[test]
fn the_death_of_a_member_ends_the_operation_of_all() {
    for algorithm in [Algorithm::Ring, Algorithm::Doubling] {
        let ended = as_members(mesh(4, &Settings::default()), |mut group| {
            group.set_algorithm(algorithm);
            if group.rank() == 2 {
                return None;
            }
            let first = group.all_reduce(&mut numbers(0, 1000)).unwrap_err();
            let second = group.all_reduce(&mut [0.0]).unwrap_err();
            assert!(matches!(second, ReduceError::Broken));
            Some(first)
        });
        // Who spoke with the dead names it; the others lost somebody who did.
        let names_it = |error: &Option<ReduceError>| {
            matches!(
                error,
                Some(ReduceError::Lost { rank: 2, .. } | ReduceError::Unsent { rank: 2, .. })
            )
        };
        assert!(ended.iter().any(names_it), "{ended:?}");
    }
}

#[test]
fn a_silent_member_is_named_when_patience_ends() {
    let (a, b) = Connection::pair(
        member(Role::Worker, 0),
        member(Role::Worker, 1),
        &Settings::default(),
    )
    .unwrap();
    let mut group = Group::new(0, vec![None, Some(a)], Duration::from_millis(20)).unwrap();
    let error = group.all_reduce(&mut [1.0]).unwrap_err();
    assert_eq!(error.to_string(), "lost worker 1 during an all-reduce");
    drop(b);
}

#[test]
fn members_with_different_lengths_are_told() {
    for algorithm in [Algorithm::Ring, Algorithm::Doubling] {
        let errors = as_members(mesh(2, &Settings::default()), |mut group| {
            group.set_algorithm(algorithm);
            let mut values = numbers(0, 100 + group.rank());
            group.all_reduce(&mut values).unwrap_err()
        });
        let unexpected = |error: &ReduceError| {
            matches!(
                error,
                ReduceError::Lost {
                    source: paceline_wire::ReceiveError::Unexpected { .. },
                    ..
                }
            )
        };
        assert!(errors.iter().any(unexpected), "{errors:?}");
    }
}

#[test]
fn members_at_different_operations_are_told() {
    let errors = as_members(mesh(3, &Settings::default()), |mut group| {
        // Rank 2 takes the second operation for the first.
        let algorithm = match group.rank() {
            2 => Algorithm::Ring,
            _ => Algorithm::Doubling,
        };
        group.set_algorithm(algorithm);
        group.all_reduce(&mut [1.0; 3]).err()
    });
    assert!(errors.iter().all(Option::is_some), "{errors:?}");
}

#[test]
fn a_group_needs_a_connection_to_everybody_else() {
    let link = || {
        let (a, _) = Connection::pair(
            member(Role::Worker, 0),
            member(Role::Worker, 1),
            &Settings::default(),
        )
        .unwrap();
        Some(a)
    };
    let check = |rank, links| {
        let missing = Group::new(rank, links, PATIENCE).unwrap_err();
        assert!(matches!(missing, FormError::Missing { .. }));
    };
    check(0, vec![None, None]);
    check(0, vec![link(), link()]);
    check(5, vec![link(), link()]);
    check(0, Vec::new());
}

#[test]
fn buckets_are_reduced_while_others_are_computed() {
    const LENGTH: usize = 30_000;
    let results = as_members(mesh(3, &Settings::default()), |group| {
        let rank = group.rank();
        let mut buckets = Buckets::new(group).unwrap();
        let mut last = Vec::new();
        for _ in 0..5 {
            let mut gradient = numbers(rank, LENGTH);
            // From the last layer to the first, as the backward pass comes.
            for start in (0..LENGTH).step_by(100).rev() {
                buckets.start(start, &gradient[start..start + 100]);
            }
            buckets.finish(&mut gradient).unwrap();
            last = gradient;
        }
        let mut group = buckets.into_group().unwrap();
        group.meet().unwrap();
        last
    });
    check_sums(3, LENGTH, &results);
}

#[test]
fn a_lost_member_is_reported_at_the_end_of_the_step() {
    let mut groups = mesh(2, &Settings::default());
    drop(groups.pop());
    let mut buckets = Buckets::new(groups.pop().unwrap()).unwrap();
    for start in 0..10 {
        buckets.start(start, &[1.0]);
    }
    assert!(buckets.finish(&mut [0.0; 10]).is_err());
    // Later steps fail at once instead of returning sums of one member.
    buckets.start(0, &[1.0]);
    assert!(matches!(
        buckets.finish(&mut [0.0]),
        Err(ReduceError::Broken)
    ));
}

#[test]
fn a_group_that_is_cut_from_beside_ends_the_wait_of_all() {
    let mut groups = mesh(2, &Settings::default());
    // Of the second member nothing comes: the first waits until it is cut.
    let (absent, mut waiting) = (groups.pop().unwrap(), groups.pop().unwrap());
    let links = waiting.links();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || waiting.all_reduce(&mut numbers(0, 10)));
        links.cut();
        assert!(waiter.join().unwrap().is_err());
    });
    let mut other = absent;
    assert!(other.all_reduce(&mut numbers(1, 10)).is_err());
}

#[test]
fn links_count_what_all_connections_carried() {
    let bytes = as_members(mesh(3, &Settings::default()), |mut group| {
        let links = group.links();
        group.all_reduce(&mut numbers(group.rank(), 100)).unwrap();
        links.bytes()
    });
    let sent: u64 = bytes.iter().map(|(sent, _)| sent).sum();
    let received: u64 = bytes.iter().map(|(_, received)| received).sum();
    assert_eq!(sent, received);
    assert!(sent >= 4 * 400, "{sent}");
}

#[test]
fn who_comes_from_an_earlier_group_is_passed_over() {
    let root = private_directory();
    let settings = Settings::default();
    let mut addresses = Vec::new();
    let mut listeners = Vec::new();
    for rank in 0..2 {
        let address = Address::unix(&root.path().join(format!("worker-{rank}"))).unwrap();
        listeners.push(Listener::bind(&address, &worker(rank), &settings).unwrap());
        addresses.push(address);
    }
    // Worker 1 came for the first group, which never formed.
    let stale = connect(&addresses[0], &worker(1), &settings, soon()).unwrap();
    let results: Vec<_> = std::thread::scope(|scope| {
        let members: Vec<_> = listeners
            .into_iter()
            .enumerate()
            .map(|(rank, listener)| {
                let (addresses, settings) = (&addresses, &settings);
                scope.spawn(move || {
                    let mut me = worker(u32::try_from(rank).unwrap());
                    me.me.incarnation = 1;
                    let mut formation = Formation::new(&listener, addresses, &me, settings);
                    formation.advance(soon()).unwrap();
                    let mut group = formation.into_group(PATIENCE).unwrap();
                    let mut values = numbers(rank, 1000);
                    group.all_reduce(&mut values).unwrap();
                    values
                })
            })
            .collect();
        members.into_iter().map(|m| m.join().unwrap()).collect()
    });
    check_sums(2, 1000, &results);
    drop(stale);
}
