//! The names of searches and parts, and the subjects, buckets and keys on the server that contain
//! them.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// The stream of all orders.
pub(crate) const ORDERS: &str = "mazurka-orders";
/// The consumer that all workers share.
pub(crate) const CONSUMER: &str = "mazurka-workers";
/// The bucket of active workers.
pub(crate) const WORKERS: &str = "mazurka-workers";
/// The prefix of the names of ledgers.
pub(crate) const LEDGER: &str = "mazurka-";

/// Maximum depth of a part in the tree, and maximum number of the children of a part.
const MOST_DEPTH: usize = 100;
const MOST_CHILDREN: u32 = 1 << 20;

/// The name of a search: 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SearchId(String);

impl FromStr for SearchId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 32 && text.as_bytes().iter().all(digit) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::Name(text.chars().take(80).collect()))
        }
    }
}

impl fmt::Display for SearchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl SearchId {
    /// Returns the name of its ledger's bucket.
    pub fn bucket(&self) -> String {
        format!("{LEDGER}{self}")
    }

    /// Returns the subject, with a wildcard, that matches all orders of this search.
    pub fn orders(&self) -> String {
        format!("mazurka.orders.{self}.>")
    }

    /// Returns the subject of the order for a part.
    pub fn order(&self, path: &PartPath) -> String {
        format!("mazurka.orders.{self}.{path}")
    }
}

/// Returns the search and the part that a subject names.
pub(crate) fn parse_subject(subject: &str) -> Option<(SearchId, PartPath)> {
    let (id, path) = subject.strip_prefix("mazurka.orders.")?.split_once('.')?;
    Some((id.parse().ok()?, PartPath::parse(path)?))
}

/// The path of a part: the indices of the children from the root to the part. Paths are sorted in
/// preorder: each part comes before its children.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PartPath(Vec<u32>);

impl PartPath {
    /// Returns the path of the whole search.
    pub fn root() -> Self {
        Self(vec![0])
    }

    pub fn child(&self, number: usize) -> Self {
        let mut path = self.0.clone();
        path.push(number as u32);
        Self(path)
    }

    /// Returns the parent of this part, and the index of this part among its children.
    pub fn parent(&self) -> Option<(Self, usize)> {
        let (&last, before) = self.0.split_last()?;
        (!before.is_empty()).then(|| (Self(before.to_vec()), last as usize))
    }

    /// Whether the path has the maximum depth.
    pub fn is_deepest(&self) -> bool {
        self.0.len() >= MOST_DEPTH
    }

    pub fn parse(text: &str) -> Option<Self> {
        let number = |token: &str| {
            let number: u32 = token.parse().ok()?;
            // Refuse spellings such as `01`, so that each part has only one name.
            (number < MOST_CHILDREN && number.to_string() == token).then_some(number)
        };
        let numbers: Vec<u32> = text.split('.').map(number).collect::<Option<_>>()?;
        let fits = numbers.len() <= MOST_DEPTH && numbers.first() == Some(&0);
        fits.then_some(Self(numbers))
    }
}

impl fmt::Display for PartPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, number) in self.0.iter().enumerate() {
            let dot = if k > 0 { "." } else { "" };
            write!(f, "{dot}{number}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_subject_names_a_part() {
        let id: SearchId = ID.parse().expect("a name");
        let path = PartPath::root().child(3).child(11);
        assert_eq!(path.to_string(), "0.3.11");
        assert_eq!(path.parent(), Some((PartPath::root().child(3), 11)));
        assert_eq!(parse_subject(&id.order(&path)), Some((id, path)));
        assert_eq!(PartPath::root().parent(), None);
    }

    #[test]
    fn other_names_are_rejected() {
        let upper = ID.to_uppercase();
        for id in ["", "x", "../etc", &upper, &ID[1..], "*", ">"] {
            assert!(id.parse::<SearchId>().is_err(), "{id}");
        }
        let deep = "0.".repeat(100) + "0";
        for path in [
            "",
            "1",
            "0.",
            "0..1",
            "0.01",
            "0.+1",
            "0.-1",
            "0.x",
            "0.9999999",
            &deep,
        ] {
            assert_eq!(PartPath::parse(path), None, "{path}");
        }
        assert_eq!(parse_subject("mazurka.orders.0"), None);
        assert_eq!(parse_subject(&format!("other.orders.{ID}.0")), None);
    }

    #[test]
    fn paths_are_in_the_order_of_the_tree() {
        let mut all = ["0.10", "0.9.1", "0", "0.9", "0.2.5", "0.9.0"].map(|p| PartPath::parse(p));
        all.sort();
        let names = all.map(|path| path.expect("a path").to_string());
        assert_eq!(names, ["0", "0.2.5", "0.9", "0.9.0", "0.9.1", "0.10"]);
    }
}
