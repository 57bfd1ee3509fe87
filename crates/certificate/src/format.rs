//! The file format: the text of the program, its settings and limits, and the evidence as bytes.
//!
//! A certificate is untrusted input, so every length is compared with the rest of the file before
//! memory is allocated.

use crate::Rejected;

const MAGIC: &[u8] = b"mazurka certificate 1\n";

/// The greatest limit on the jumps and calls of one step that a file can set.
const MOST_JUMPS: u64 = 10_000_000;

/// The kind of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A tree of executions that contains every trace.
    Stateless,
    /// A set of states that is closed under steps.
    Stateful,
}

/// A certificate, as stored in its file: a program, and evidence about all its executions.
///
/// [`grow`](Certificate::grow) makes one by an independent search,
/// [`check`](Certificate::check) derives the facts that the evidence shows, and
/// [`mend`](Certificate::mend) adds what the tree of an explorer lacks. The crate's documentation
/// has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The kind of its evidence.
    pub kind: Kind,
    /// The text of the program, including all included files.
    pub source: String,
    /// The settings of the program: names and values.
    pub settings: Vec<(String, String)>,
    /// The limit on the jumps and calls in one step.
    pub most_jumps: u64,
    /// The evidence.
    pub evidence: Vec<u8>,
}

impl Certificate {
    /// Returns the contents of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.push(match self.kind {
            Kind::Stateless => 0,
            Kind::Stateful => 1,
        });
        put(&mut out, self.most_jumps);
        text(&mut out, &self.source);
        put(&mut out, self.settings.len() as u64);
        for (name, value) in &self.settings {
            text(&mut out, name);
            text(&mut out, value);
        }
        put(&mut out, self.evidence.len() as u64);
        out.extend(&self.evidence);
        out
    }

    /// Parses a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Rejected> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(Rejected::Malformed(
                "it does not begin like a certificate of this version",
            ));
        };
        let mut reader = Reader::new(rest);
        let kind = match reader.byte()? {
            0 => Kind::Stateless,
            1 => Kind::Stateful,
            _ => return Err(Rejected::Malformed("an unknown kind of evidence")),
        };
        // Without this bound, the file could make a step run without limit.
        let most_jumps = reader.number()?.min(MOST_JUMPS);
        let source = reader.text()?;
        let count = reader.length()?;
        let settings: Result<Vec<_>, Rejected> = (0..count)
            .map(|_| Ok((reader.text()?, reader.text()?)))
            .collect();
        let settings = settings?;
        let length = reader.length()?;
        let evidence = reader.take(length)?.to_vec();
        if reader.rest.is_empty() {
            Ok(Self {
                kind,
                source,
                settings,
                most_jumps,
                evidence,
            })
        } else {
            Err(Rejected::Malformed("there is data after its end"))
        }
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend(text.as_bytes());
}

/// Appends a number with seven bits in each byte, the least significant bits first. All bytes but
/// the last have the top bit set.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number; numbers near 0 take one byte.
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// A reader of the encoding of [`put`] and [`put_signed`].
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    pub rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub fn byte(&mut self) -> Result<u8, Rejected> {
        Ok(self.take(1)?[0])
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Rejected> {
        let parts = self.rest.split_at_checked(length);
        let (taken, rest) = parts.ok_or(Rejected::Malformed("it ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    pub fn number(&mut self) -> Result<u64, Rejected> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Rejected::Malformed("a number is too large"))
    }

    pub fn signed(&mut self) -> Result<i64, Rejected> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Reads the length of a list. Each of its items takes at least one byte.
    pub fn length(&mut self) -> Result<usize, Rejected> {
        let length = usize::try_from(self.number()?).ok();
        let fits = length.filter(|&length| length <= self.rest.len());
        fits.ok_or(Rejected::Malformed("a length is beyond its end"))
    }

    fn text(&mut self) -> Result<String, Rejected> {
        let length = self.length()?;
        let bytes = self.take(length)?.to_vec();
        String::from_utf8(bytes).map_err(|_| Rejected::Malformed("a text is not UTF-8"))
    }
}
