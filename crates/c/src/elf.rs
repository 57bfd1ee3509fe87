//! Reads the symbols and the line table (DWARF 4) of a shared object. Supports only the output of
//! the compiler flags that Mazurka passes (`-gdwarf-4`): 64-bit sections, little endian. Every read
//! is checked, because no file may crash the tool.

/// Maximum nesting of a C++ name; deeper names stay mangled.
const MOST_NESTED: u32 = 96;

/// A function or variable of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub address: u64,
    pub size: u64,
    pub name: String,
    pub is_code: bool,
}

impl Symbol {
    /// Returns the name as in the source: `Queue::pop` for `_ZN5Queue3popEv`, `take` for the part
    /// `take.part.0` that a compiler splits off.
    pub fn shown(&self) -> String {
        source_name(&self.name)
    }
}

fn source_name(name: &str) -> String {
    let name = match name.find('.') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    };
    if !name.starts_with("_Z") {
        return name.to_owned();
    }
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type()
        .hide_expression_literal_types();
    let limits = cpp_demangle::ParseOptions::default().recursion_limit(MOST_NESTED);
    let symbol = cpp_demangle::Symbol::new_with_options(name, &limits);
    let shown = symbol
        .ok()
        .and_then(|it| it.demangle_with_options(&options).ok());
    let shown = shown.unwrap_or_else(|| name.to_owned());
    // A `const` method has the same name in the source.
    shown.trim_end_matches(" const").to_owned()
}

/// A row of a line table: the file and the line of the code from this address on. A line of 0 means
/// that they are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    address: u64,
    file: u32,
    line: u32,
}

/// The symbols and lines of an object.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// The functions and variables, sorted by address.
    symbols: Vec<Symbol>,
    rows: Vec<Row>,
    files: Vec<String>,
    /// The symbols that the object imports from libraries.
    pub needs: Vec<String>,
}

/// Reads numbers from a part of a file.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(first)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.take(bytes)?.iter().rev();
        Some(taken.fold(0, |all, &byte| all << 8 | u64::from(byte)))
    }

    fn uleb(&mut self) -> Option<u64> {
        let mut all = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.number(1)?;
            all |= (byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(all);
            }
        }
        None
    }

    fn sleb(&mut self) -> Option<i64> {
        let (mut all, mut shift) = (0i64, 0u32);
        while shift < 63 {
            let byte = self.number(1)?;
            all |= ((byte & 0x7f) as i64) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                let negative = byte & 0x40 != 0;
                return Some(if negative { all | -1 << shift } else { all });
            }
        }
        None
    }

    fn text(&mut self) -> Option<String> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let text = String::from_utf8_lossy(self.take(end)?).into_owned();
        self.take(1)?;
        Some(text)
    }

    fn at(all: &'a [u8], offset: u64) -> Option<Self> {
        Some(Self(all.get(usize::try_from(offset).ok()?..)?))
    }
}

/// A section: its name and its content.
type Section<'a> = (String, &'a [u8]);

fn sections(file: &[u8]) -> Option<Vec<Section<'_>>> {
    if file.get(..6)? != [0x7f, b'E', b'L', b'F', 2, 1] {
        return None;
    }
    let table = Bytes::at(file, 40)?.number(8)?;
    let mut head = Bytes::at(file, 58)?;
    let (size, count, names) = (head.number(2)?, head.number(2)?, head.number(2)?);
    let header = |k: u64| -> Option<(u64, &[u8])> {
        let mut header = Bytes::at(file, table.checked_add(k * size)?)?;
        let name = header.number(4)?;
        let kind = header.number(4)?;
        header.take(16)?;
        let (from, len) = (header.number(8)?, header.number(8)?);
        // SHT_NOBITS: the file has no content for this section.
        let len = if kind == 8 { 0 } else { len };
        let content = Bytes::at(file, from)?.take(usize::try_from(len).ok()?)?;
        Some((name, content))
    };
    let (_, names) = header(names)?;
    (0..count)
        .map(|k| {
            let (name, content) = header(k)?;
            Some((Bytes::at(names, name)?.text()?, content))
        })
        .collect()
}

impl Symbols {
    /// Reads the symbols and lines of an object; `None` if it is not a 64-bit little-endian ELF
    /// file.
    pub fn read(file: &[u8]) -> Option<Self> {
        let sections = sections(file)?;
        let find = |name: &str| {
            let found = sections.iter().find(|(known, _)| known == name);
            found.map_or(&[][..], |(_, content)| content)
        };
        let mut all = Self::default();
        all.read_symbols(find(".symtab"), find(".strtab"));
        all.read_needs(find(".dynsym"), find(".dynstr"));
        all.symbols.sort_by_key(|symbol| symbol.address);
        let mut lines = Bytes(find(".debug_line"));
        while !lines.0.is_empty() && all.read_unit(&mut lines).is_some() {}
        // A sequence may begin at the address where another one ends. Then the row of the beginning
        // must come last.
        all.rows.sort_by_key(|row| (row.address, row.line > 0));
        Some(all)
    }

    fn each_symbol(
        table: &[u8],
        names: &[u8],
        mut each: impl FnMut(String, [u64; 4]),
    ) -> Option<()> {
        let mut table = Bytes(table);
        while !table.0.is_empty() {
            let name = table.number(4)?;
            let (info, _, section) = (table.number(1)?, table.number(1)?, table.number(2)?);
            let (value, size) = (table.number(8)?, table.number(8)?);
            each(
                Bytes::at(names, name)?.text()?,
                [info, section, value, size],
            );
        }
        Some(())
    }

    fn read_symbols(&mut self, table: &[u8], names: &[u8]) {
        Self::each_symbol(table, names, |name, [info, section, address, size]| {
            let kind = info & 15;
            if section != 0 && (kind == 1 || kind == 2) && size > 0 {
                self.symbols.push(Symbol {
                    address,
                    size,
                    name,
                    is_code: kind == 2,
                });
            }
        });
    }

    fn read_needs(&mut self, table: &[u8], names: &[u8]) {
        Self::each_symbol(table, names, |name, [info, section, ..]| {
            // Only global symbols (1) are needed: weak ones may be missing.
            if section == 0 && info >> 4 == 1 && !name.is_empty() {
                self.needs.push(name);
            }
        });
    }

    /// Reads the lines of one compilation unit, of DWARF 4.
    fn read_unit(&mut self, lines: &mut Bytes<'_>) -> Option<()> {
        let length = lines.number(4)?;
        let mut unit = Bytes(lines.take(usize::try_from(length).ok()?)?);
        if unit.number(2)? > 4 {
            return Some(());
        }
        let header = unit.number(4)?;
        let mut program = Bytes::at(unit.0, header)?;
        let least = unit.number(1)?;
        unit.take(2)?;
        let base = unit.number(1)? as i8;
        let (range, opcodes) = (unit.number(1)?, unit.number(1)?);
        let operands = unit
            .take(usize::try_from(opcodes.checked_sub(1)?).ok()?)?
            .to_vec();
        let mut folders = vec![String::new()];
        loop {
            match unit.text()? {
                end if end.is_empty() => break,
                folder => folders.push(folder),
            }
        }
        let first = self.files.len() as u32;
        loop {
            let name = unit.text()?;
            if name.is_empty() {
                break;
            }
            let folder = unit.uleb()?;
            unit.uleb()?;
            unit.uleb()?;
            let folder = folders.get(folder as usize).map_or("", String::as_str);
            let path = if folder.is_empty() || name.starts_with('/') {
                name
            } else {
                format!("{folder}/{name}")
            };
            self.files.push(path);
        }
        let start = Row {
            address: 0,
            file: first,
            line: 1,
        };
        let mut row = start;
        let (base, range) = (i64::from(base), range.max(1));
        while !program.0.is_empty() {
            let opcode = program.number(1)?;
            if opcode >= opcodes {
                let adjusted = opcode - opcodes;
                row.address = row.address.wrapping_add(adjusted / range * least);
                let by = base + (adjusted % range) as i64;
                row.line = row.line.wrapping_add_signed(by as i32);
                self.rows.push(row);
                continue;
            }
            match opcode {
                0 => {
                    let length = program.uleb()?;
                    let mut extended = Bytes(program.take(usize::try_from(length).ok()?)?);
                    match extended.number(1)? {
                        1 => {
                            // No line is known after the end of a sequence.
                            self.rows.push(Row { line: 0, ..row });
                            row = start;
                        }
                        2 => row.address = extended.number(8)?,
                        _ => {}
                    }
                }
                1 => self.rows.push(row),
                2 => row.address = row.address.wrapping_add(program.uleb()? * least),
                3 => row.line = row.line.wrapping_add_signed(program.sleb()? as i32),
                4 => row.file = first + (program.uleb()? as u32).saturating_sub(1),
                8 => row.address += (255 - opcodes) / range * least,
                9 => row.address = row.address.wrapping_add(program.number(2)?),
                other => {
                    let count = operands.get(other as usize - 1).copied().unwrap_or(0);
                    for _ in 0..count {
                        program.uleb()?;
                    }
                }
            }
        }
        Some(())
    }

    /// Returns the symbol that contains an address.
    pub fn symbol(&self, address: u64) -> Option<&Symbol> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.address <= address);
        let mut before = self.symbols[..after].iter().rev().take(4);
        before.find(|symbol| address < symbol.address + symbol.size)
    }

    /// Returns the names of all symbols.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.symbols.iter().map(|symbol| symbol.name.as_str())
    }

    /// Returns the address of a symbol.
    pub fn address(&self, name: &str) -> Option<u64> {
        let found = self.symbols.iter().find(|symbol| symbol.name == name);
        found.map(|symbol| symbol.address)
    }

    /// Returns the addresses of the code of a function; an empty range if there is no such
    /// function.
    pub fn function(&self, name: &str) -> std::ops::Range<u64> {
        let found = self.symbols.iter();
        let found = found
            .filter(|symbol| symbol.is_code)
            .find(|symbol| symbol.name == name);
        found.map_or(0..0, |symbol| symbol.address..symbol.address + symbol.size)
    }

    /// Returns the addresses and sizes of the variables of a name.
    pub fn variables(&self, name: &str) -> impl Iterator<Item = (u64, u64)> {
        let named = self.symbols.iter();
        let named = named.filter(move |symbol| {
            !symbol.is_code
                && (symbol.name == name || symbol.name.starts_with("_Z") && symbol.shown() == name)
        });
        named.map(|symbol| (symbol.address, symbol.size))
    }

    /// Returns the file and the line of an address.
    pub fn line(&self, address: u64) -> Option<(&str, u32)> {
        let after = self.rows.partition_point(|row| row.address <= address);
        let row = self.rows[..after].last()?;
        let file = self.files.get(row.file as usize)?;
        (row.line > 0).then_some((file, row.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_is_refused() {
        assert!(Symbols::read(b"").is_none());
        assert!(Symbols::read(&[0x7f; 100]).is_none());
        let mut object = vec![0x7f, b'E', b'L', b'F', 2, 1];
        object.resize(64, 0xff);
        assert!(Symbols::read(&object).is_none());
    }

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(source_name("take.part.0"), "take");
        assert_eq!(source_name(".hidden"), ".hidden");
        assert_eq!(source_name("_ZN5Queue3popEv"), "Queue::pop");
        assert_eq!(source_name("_ZN5Queue4pushEi.cold"), "Queue::push");
        assert_eq!(
            source_name("_ZZ4mainENKUlvE_clEv"),
            "main::{lambda()#1}::operator()"
        );
        assert_eq!(source_name("_Znonsense"), "_Znonsense");
    }

    #[test]
    fn numbers_of_any_length_are_read() {
        let mut bytes = Bytes(&[0xe5, 0x8e, 0x26, 0x7f, 0x80, 0x7f]);
        assert_eq!(bytes.uleb(), Some(624_485));
        assert_eq!(bytes.sleb(), Some(-1));
        assert_eq!(bytes.sleb(), Some(-128));
        assert_eq!(bytes.uleb(), None);
    }
}
