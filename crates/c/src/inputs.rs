//! The values of `__VERIFIER_nondet_TYPE`.

/// The types, and their least and greatest values. Values above `i64::MAX` are not supported.
const TYPES: [(&str, i64, i64); 13] = [
    ("bool", 0, 1),
    ("char", i8::MIN as i64, i8::MAX as i64),
    ("uchar", 0, u8::MAX as i64),
    ("short", i16::MIN as i64, i16::MAX as i64),
    ("ushort", 0, u16::MAX as i64),
    ("int", i32::MIN as i64, i32::MAX as i64),
    ("uint", 0, u32::MAX as i64),
    ("unsigned", 0, u32::MAX as i64),
    ("long", i64::MIN, i64::MAX),
    ("ulong", 0, i64::MAX),
    ("longlong", i64::MIN, i64::MAX),
    ("ulonglong", 0, i64::MAX),
    ("size_t", 0, i64::MAX),
];

/// If a type has at most this many values, all of them are tried by default.
const FEW: i64 = 256;

fn values(kind: &str) -> Option<(i64, i64)> {
    let known = TYPES.iter().find(|(name, ..)| *name == kind);
    known.map(|&(_, least, greatest)| (least, greatest))
}

/// Returns the range of a type that has few values.
pub(crate) fn few_values(kind: &str) -> Option<(i64, i64)> {
    let (least, greatest) = values(kind)?;
    (greatest.saturating_sub(least) < FEW).then_some((least, greatest))
}

/// Returns why `__VERIFIER_nondet_TYPE` cannot have these values, if it cannot.
///
/// ```
/// assert_eq!(mazurka_c::wrong_input("int", -3, 3), None);
/// assert!(mazurka_c::wrong_input("uchar", 0, 256).is_some());
/// assert!(mazurka_c::wrong_input("integer", 0, 1).is_some());
/// ```
pub fn wrong_input(kind: &str, least: i64, greatest: i64) -> Option<String> {
    let Some((first, last)) = values(kind) else {
        let names: Vec<&str> = TYPES.iter().map(|&(name, ..)| name).collect();
        return Some(format!(
            "there is no __VERIFIER_nondet_{kind}; the types are {}",
            names.join(", ")
        ));
    };
    if least > greatest {
        return Some("the range has no values".to_owned());
    }
    // The upper end of a choice is exclusive and must fit into an `i64`, too.
    let last = last.min(i64::MAX - 1);
    let fits = first <= least && greatest <= last;
    (!fits).then(|| format!("the values of `{kind}` that can be tried are {first} to {last}"))
}
