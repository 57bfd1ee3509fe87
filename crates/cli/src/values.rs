//! Parses the values of flags, such as times, sizes and settings.

use std::time::Duration;

/// The maximal local work of one step. More work could take longer than a second, and a step is not
/// interrupted by limits.
const MOST_LOCAL: u64 = 20_000_000;

/// Parses `NAME=VALUE`.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write NAME=VALUE, such as N=3".to_owned()),
    }
}

/// Parses `NAME=VALUES`: one value, several separated by commas, or a range whose end is excluded.
pub(crate) fn settings(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) = setting(text)?;
    let range = values.split_once("..");
    let range = range.and_then(|(from, to)| {
        let [from, to] = [from, to].map(|end| end.trim().parse::<i64>().ok());
        Some(from?..to?)
    });
    let values: Vec<String> = match range {
        Some(range) if range.end.saturating_sub(range.start) > 10_000 => {
            return Err("a range has at most 10000 values".to_owned());
        }
        Some(range) => range.map(|value| value.to_string()).collect(),
        // A list for an array is one value.
        None if values.starts_with('[') => vec![values],
        None => values
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect(),
    };
    if values.is_empty() || values.iter().any(String::is_empty) {
        Err("write NAME=VALUE, NAME=1,2,4 or NAME=2..6, which ends with 5".to_owned())
    } else {
        Ok((name, values))
    }
}

/// Parses an input and its value: `0#0=5`, `0.1#2=true`.
pub(crate) fn input(text: &str) -> Result<(String, i128), String> {
    let hint = || {
        "write PROCESS#NUMBER=VALUE, such as 0#0=5 or 0.1#2=true, or VARIABLE=VALUE for an initial value"
            .to_owned()
    };
    let (name, value) = text.split_once('=').ok_or_else(hint)?;
    let value = mazurka::run::parse_input(value.trim()).ok_or_else(hint)?;
    let Some((process, number)) = name.trim().split_once('#') else {
        let name: String = name.chars().filter(|c| !c.is_whitespace()).collect();
        let starts = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        return starts.then_some((name, value)).ok_or_else(hint);
    };
    let process: mazurka::run::ProcessPath = process.parse().map_err(|_| hint())?;
    let number: u32 = number.parse().map_err(|_| hint())?;
    Ok((format!("{process}#{number}"), value))
}

/// Returns a whole number from 1.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    match text.replace('_', "").parse() {
        Ok(0) | Err(_) => Err(format!("write a whole number from 1 to {}", u64::MAX)),
        Ok(n) => Ok(n),
    }
}

/// Returns the seed of random draws.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    let number = text.replace('_', "").parse();
    number.map_err(|_| format!("write a whole number from 0 to {}", u64::MAX))
}

/// Returns a limit on the local work of one step.
pub(crate) fn local(text: &str) -> Result<u64, String> {
    match count(text) {
        Ok(n) if n <= MOST_LOCAL => Ok(n),
        _ => Err(format!("write a whole number from 1 to {MOST_LOCAL}")),
    }
}

/// Parses a time: `10` and `0.5` are seconds; `500ms`, `10s`, `2m`, `1h`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let hint =
        || "write seconds, or a number with ms, s, m or h, such as 0.5, 10s or 2m".to_owned();
    let split = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(hint()),
    };
    let number: f64 = number.trim().parse().map_err(|_| hint())?;
    Duration::try_from_secs_f64(number * factor).map_err(|_| hint())
}

/// Parses a size, in bytes unless it has a unit: `1048576`, `512K`, `512M`, `2G`. `2GB` and `2GiB`
/// mean the same as `2G`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let hint = || "write bytes, or a number with K, M, G or T, such as 512M or 2G".to_owned();
    let split = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = unit.to_ascii_uppercase();
    let shift = match unit
        .strip_suffix("IB")
        .or(unit.strip_suffix('B'))
        .unwrap_or(&unit)
    {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(hint()),
    };
    let number: f64 = number.trim().parse().map_err(|_| hint())?;
    let bytes = number * (1u64 << shift) as f64;
    if bytes.is_finite() && bytes >= 1.0 {
        Ok(bytes as u64)
    } else {
        Err(hint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(time("10"), Ok(Duration::from_secs(10)));
        assert_eq!(time("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(time("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(time("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(time("250ms"), Ok(Duration::from_millis(250)));
        for bad in ["", "s", "-1", "1d", "nan", "inf", "1e300", "1 s x", "٣"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("512M"), Ok(512 << 20));
        assert_eq!(size("2G"), Ok(2 << 30));
        assert_eq!(size("1.5k"), Ok(1536));
        assert_eq!(size("2GiB"), Ok(2 << 30));
        for bad in ["", "M", "-1M", "0", "2X", "nan", "inf"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn inputs() {
        assert_eq!(input("0#0=5"), Ok(("0#0".to_owned(), 5)));
        assert_eq!(input("0.1#2=true"), Ok(("0.1#2".to_owned(), 1)));
        assert_eq!(input("a[ 1 ] = -2"), Ok(("a[1]".to_owned(), -2)));
        assert_eq!(
            input("1#0=18446744073709551615"),
            Ok(("1#0".to_owned(), u64::MAX.into()))
        );
        for bad in [
            "",
            "0#0",
            "0=5",
            "#0=5",
            "0#=5",
            "0#0=",
            "0#0=x",
            "x#0=1",
            "0#-1=1",
            "=1",
            "0#0=18446744073709551616",
        ] {
            assert!(input(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn counts_and_settings() {
        assert_eq!(count("1_000"), Ok(1000));
        assert!(count("0").is_err());
        assert!(count("-1").is_err());
        assert_eq!((seed("0"), seed("7_000")), (Ok(0), Ok(7000)));
        assert!(seed("-1").is_err() && seed("99999999999999999999").is_err());
        assert_eq!(local("20000000"), Ok(20_000_000));
        assert!(local("20000001").is_err());
        assert_eq!(setting("N=3"), Ok(("N".to_owned(), "3".to_owned())));
        assert_eq!(setting("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(setting("N").is_err());
        assert!(setting("=3").is_err());
    }
}
