//! Finds the orders of accesses that are too weak, and those that are stronger than needed.
//!
//! The caller provides a function that returns whether the program *passes* with given orders, that
//! is, whether it has no violation. Stronger orders leave fewer executions (in the models here, as
//! Lahav, Vafeiadis, Kang, Hur, Dreyer show for RC11, "Repairing Sequential Consistency in
//! C/C++11", PLDI 2017, doi 10.1145/3062341.3062352), so a program that passes also passes with
//! stronger orders.
//!
//! *Too weak*: finds a smallest set of places (accesses in the text of the program) such that the
//! program passes if these are `seq_cst`. It is a least hitting set (Reiter, "A theory of diagnosis
//! from first principles", Artificial Intelligence 32, 1987). Suppose that the program fails
//! although all places of some set are `seq_cst`. The set is enlarged as long as the program still
//! fails. Then at least one place outside the set has to be strengthened: the places outside the
//! set are a list that the answer must hit. Of the smallest sets, the first in the order of the
//! places is taken. Then the orders at these places are weakened as far as possible, one after the
//! other.
//!
//! *Stronger than needed*: the orders are weakened as far as possible, one after the other. Each
//! search covers the whole program with all orders weakened so far, so the last search that passed
//! shows that the answer is right.

use mazurka_core::{AccessOrder, MemoryOrder, Ordered};

/// An access whose order can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedPlace {
    /// The kind of access.
    pub does: Ordered,
    /// Its orders as written.
    pub written: AccessOrder,
}

/// Returns the weakest orders at a smallest set of places with which a program passes; all other
/// orders are as written. `None` if there are no such orders. The program must fail with the orders
/// as written.
///
/// ```
/// use mazurka_core::{AccessOrder, MemoryOrder::*, Ordered};
/// use mazurka_memory::orders::{OrderedPlace, strengthened};
///
/// let place = |does| OrderedPlace { does, written: Relaxed.into() };
/// let places = [place(Ordered::Store), place(Ordered::Load), place(Ordered::Load)];
/// let mut passes = |orders: &[AccessOrder]| {
///     Ok::<_, ()>(orders[0].order.releases() && orders[1].order.acquires())
/// };
/// let orders = strengthened(&places, &mut passes).unwrap().unwrap();
/// let orders: Vec<_> = orders.iter().map(|access| access.order).collect();
/// assert_eq!(orders, [Release, Acquire, Relaxed]);
/// ```
///
/// # Errors
///
/// Those of `passes`.
pub fn strengthened<E>(
    places: &[OrderedPlace],
    passes: &mut impl FnMut(&[AccessOrder]) -> Result<bool, E>,
) -> Result<Option<Vec<AccessOrder>>, E> {
    let strongest = AccessOrder::from(MemoryOrder::SeqCst);
    let weak: Vec<usize> = (0..places.len())
        .filter(|&at| places[at].written != strongest)
        .collect();
    let with = |strong: &[usize]| {
        let mut orders: Vec<_> = places.iter().map(|place| place.written).collect();
        strong.iter().for_each(|&at| orders[at] = strongest);
        orders
    };
    if weak.is_empty() || !passes(&with(&weak))? {
        return Ok(None);
    }
    let mut cores: Vec<Vec<usize>> = Vec::new();
    let set = loop {
        let set = least_hitting_set(&cores);
        if passes(&with(&set))? {
            break set;
        }
        let mut failing = set;
        for &at in &weak {
            if !failing.contains(&at) {
                failing.push(at);
                if passes(&with(&failing))? {
                    failing.pop();
                }
            }
        }
        let core = weak.iter().copied();
        cores.push(core.filter(|at| !failing.contains(at)).collect());
    };
    let mut orders = with(&set);
    for at in set {
        weaken(
            places[at].does,
            at,
            &mut orders,
            (places[at].written, passes),
        )?;
    }
    Ok(Some(orders))
}

/// Returns the weakest orders with which a program still passes; it must pass with the orders as
/// written. If `passes` returns an error, returns it with the orders of the places before the one
/// that was being weakened.
///
/// ```
/// use mazurka_core::{AccessOrder, MemoryOrder::*, Ordered};
/// use mazurka_memory::orders::{OrderedPlace, weakened};
///
/// let place = |does| OrderedPlace { does, written: SeqCst.into() };
/// let places = [place(Ordered::Store), place(Ordered::Fence)];
/// let mut passes = |orders: &[AccessOrder]| Ok::<_, ()>(orders[0].order.releases());
/// let (orders, _) = weakened(&places, &mut passes);
/// assert_eq!(orders, [Release.into(), Relaxed.into()]);
/// ```
pub fn weakened<E>(
    places: &[OrderedPlace],
    passes: &mut impl FnMut(&[AccessOrder]) -> Result<bool, E>,
) -> (Vec<AccessOrder>, Option<E>) {
    let mut orders: Vec<_> = places.iter().map(|place| place.written).collect();
    let relaxed = AccessOrder::from(MemoryOrder::Relaxed);
    for (at, place) in places.iter().enumerate() {
        if let Err(stop) = weaken(place.does, at, &mut orders, (relaxed, passes)) {
            orders.truncate(at);
            return (orders, Some(stop));
        }
    }
    (orders, None)
}

/// Weakens one order as far as the program still passes, but not below `least`. The program must
/// pass with the given orders.
fn weaken<E>(
    does: Ordered,
    at: usize,
    orders: &mut [AccessOrder],
    (least, passes): (
        AccessOrder,
        &mut impl FnMut(&[AccessOrder]) -> Result<bool, E>,
    ),
) -> Result<(), E> {
    let passing = orders[at];
    let fails_apart = does == Ordered::CompareExchange;
    for &order in does.orders() {
        if order != passing.order && between(least.order, order, passing.order) {
            orders[at] = if fails_apart {
                AccessOrder { order, ..passing }
            } else {
                order.into()
            };
            if passes(orders)? {
                break;
            }
            orders[at] = passing;
        }
    }
    if !fails_apart {
        return Ok(());
    }
    let passing = orders[at];
    for &failure in Ordered::Load.orders() {
        if failure != passing.failure && between(least.failure, failure, passing.failure) {
            orders[at] = AccessOrder { failure, ..passing };
            if passes(orders)? {
                break;
            }
            orders[at] = passing;
        }
    }
    Ok(())
}

/// Whether an order is at least `least` and at most `most`.
fn between(least: MemoryOrder, order: MemoryOrder, most: MemoryOrder) -> bool {
    let includes = |strong: MemoryOrder, weak: MemoryOrder| {
        let sc = MemoryOrder::SeqCst;
        (strong.acquires() || !weak.acquires())
            && (strong.releases() || !weak.releases())
            && (strong == sc || weak != sc)
    };
    includes(order, least) && includes(most, order)
}

/// Returns the first of the smallest sets that have an element of each list, in the order of their
/// elements.
fn least_hitting_set(lists: &[Vec<usize>]) -> Vec<usize> {
    let lists: Vec<&Vec<usize>> = lists.iter().collect();
    let sizes = 0..=lists.len();
    let mut found = sizes.map(|size| hitting_set(&lists, 0, size));
    found.find_map(|set| set).unwrap_or_default()
}

/// Returns the first set of `size` elements, none less than `first`, that hits all lists.
fn hitting_set(lists: &[&Vec<usize>], first: usize, size: usize) -> Option<Vec<usize>> {
    if lists.is_empty() {
        return Some(Vec::new());
    }
    if size == 0 {
        return None;
    }
    // The first element of the set is at most the greatest element of each list.
    let last = lists.iter().filter_map(|list| list.iter().max()).min()?;
    for element in first..=*last {
        let rest: Vec<&Vec<usize>> = lists
            .iter()
            .filter(|list| !list.contains(&element))
            .copied()
            .collect();
        if rest.len() < lists.len()
            && let Some(mut set) = hitting_set(&rest, element + 1, size - 1)
        {
            set.insert(0, element);
            return Some(set);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hitting_sets_are_smallest_and_first() {
        assert!(least_hitting_set(&[]).is_empty());
        assert_eq!(least_hitting_set(&[vec![2, 1]]), [1]);
        assert_eq!(
            least_hitting_set(&[vec![0, 3], vec![1, 3], vec![2, 3]]),
            [3]
        );
        assert_eq!(
            least_hitting_set(&[vec![0, 2], vec![1, 2], vec![4]]),
            [2, 4]
        );
        assert_eq!(least_hitting_set(&[vec![0, 1], vec![2, 3]]), [0, 2]);
    }

    #[test]
    fn orders_are_a_lattice() {
        use MemoryOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        assert!(between(Relaxed, Acquire, SeqCst));
        assert!(between(Acquire, AcqRel, SeqCst));
        assert!(!between(Acquire, Release, SeqCst));
        assert!(!between(Relaxed, Release, Acquire));
    }
}
