//! Suggestions of similar names.

/// Returns the candidate that is most similar to a name, or `None` if no candidate is similar
/// enough to be suggested.
///
/// A candidate is similar if it differs only in case, or by few edits (insert, delete, replace,
/// swap two neighbours): at most one for a name of two to five characters, and at most a third of
/// the length for a longer name.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.chars().take(MAX_LEN + 1).collect();
    if name.len() > MAX_LEN {
        return None;
    }
    let allowed = match name.len() {
        0 | 1 => 0,
        2..=5 => 1,
        len => len / 3,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let other: Vec<char> = candidate.chars().take(MAX_LEN + 1).collect();
        if other.len() > MAX_LEN || other.len().abs_diff(name.len()) > allowed.max(1) {
            continue;
        }
        let same_but_case = other.len() == name.len()
            && name
                .iter()
                .zip(&other)
                .all(|(a, b)| a.to_lowercase().eq(b.to_lowercase()));
        let distance = if same_but_case {
            0
        } else {
            distance(&name, &other)
        };
        // Among equally similar candidates, the alphabetically first one is returned, regardless of
        // their order.
        if distance <= allowed && best.is_none_or(|known| (distance, candidate) < known) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, name)| name)
}

/// Limit on the characters of names and candidates. Longer ones are never similar.
const MAX_LEN: usize = 40;

/// Returns the number of edits that turn one name into the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = last;
        last = row;
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_misspelt_names() {
        let known = ["flag", "turn", "count", "x"];
        assert_eq!(nearest("falg", known), Some("flag"));
        assert_eq!(nearest("flags", known), Some("flag"));
        assert_eq!(nearest("Count", known), Some("count"));
        assert_eq!(nearest("X", known), Some("x"));
        assert_eq!(nearest("y", known), None);
        assert_eq!(nearest("whatever", known), None);
        assert_eq!(nearest("", known), None);
    }
}
