//! Checks for tests, including those of the binary: a picture is well-formed and nothing is outside
//! its area.

/// An element of a picture.
#[derive(Debug, Default)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    /// The text right after its opening tag.
    pub text: String,
}

impl Element {
    #[track_caller]
    fn number(&self, key: &str) -> f64 {
        let value = self.attributes.iter().find(|(name, _)| name == key);
        let value = value.unwrap_or_else(|| panic!("no {key} in {self:?}"));
        value.1.parse().expect("a number")
    }

    fn attribute(&self, key: &str) -> Option<&str> {
        let mut all = self.attributes.iter();
        all.find(|(name, _)| name == key).map(|(_, value)| &**value)
    }
}

/// Returns the elements of a picture. Panics if it is not well-formed.
pub fn elements(svg: &str) -> Vec<Element> {
    let mut open: Vec<String> = Vec::new();
    let mut found: Vec<Element> = Vec::new();
    let mut rest = svg;
    let mut fresh = false;
    while let Some(start) = rest.find('<') {
        let between = unescaped(&rest[..start]);
        if let (Some(last), true) = (found.last_mut(), fresh) {
            last.text = between;
        }
        let end = start + rest[start..].find('>').expect("a closed tag");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        fresh = !tag.starts_with('/');
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let name = tag.split([' ', '/']).next().expect("a name");
        let attributes = attributes(tag[name.len()..].trim_end_matches('/'));
        found.push(Element {
            name: name.to_owned(),
            attributes,
            text: String::new(),
        });
        if !tag.ends_with('/') {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty(), "tags that are not closed: {open:?}");
    assert_eq!(rest.trim(), "");
    found
}

fn unescaped(text: &str) -> String {
    assert!(!text.contains('>'), "a stray > in {text:?}");
    for (place, _) in text.match_indices('&') {
        let entity = text[place..].split(';').next().unwrap_or("");
        let known = ["&amp", "&lt", "&gt", "&quot"].contains(&entity);
        assert!(known, "{entity}");
    }
    let legal = |c: char| c == '\n' || !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    assert!(text.chars().all(legal), "{text:?}");
    let text = text.replace("&gt;", ">").replace("&lt;", "<");
    text.replace("&quot;", "\"").replace("&amp;", "&")
}

fn attributes(mut text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    while let Some((name, after)) = text.trim_start().split_once("=\"") {
        let (value, after) = after.split_once('"').expect("a closed value");
        assert!(!value.contains('<'));
        let twice = found.iter().any(|(known, _)| known == name);
        assert!(!twice, "{name} twice");
        found.push((name.to_owned(), value.to_owned()));
        text = after;
    }
    assert_eq!(text.trim(), "");
    found
}

/// Returns the texts of a picture, each with its position.
pub fn texts(svg: &str) -> Vec<(f64, f64, String)> {
    let all = elements(svg).into_iter();
    all.filter(|element| element.name == "text")
        .map(|element| (element.number("x"), element.number("y"), element.text))
        .collect()
}

/// Checks that the picture is well-formed, and that every shape and every text is within its area.
#[track_caller]
pub fn assert_sound(svg: &str) {
    let all = elements(svg);
    let paper = all[0].attribute("viewBox").expect("a size");
    let size: Vec<f64> = paper
        .split(' ')
        .map(|n| n.parse().expect("a number"))
        .collect();
    // The background and the heads of arrows have no position.
    let placed = all.iter().filter(|element| {
        let has = |key: &str| element.attribute(key).is_some();
        let head = element.attribute("d").is_some_and(|d| d.starts_with("M0"));
        !(element.attribute("width") == Some("100%")
            || has("markerWidth")
            || has("viewBox")
            || head)
    });
    for element in placed {
        for (x, y) in corners(element) {
            let inside = (-0.5..=size[2] + 0.5).contains(&x) && (-0.5..=size[3] + 0.5).contains(&y);
            assert!(inside, "({x}, {y}) is not on {paper}: {element:?}");
        }
    }
}

/// Returns points that bound an element.
fn corners(element: &Element) -> Vec<(f64, f64)> {
    let n = |key: &str| element.number(key);
    match element.name.as_str() {
        "rect" => vec![
            (n("x"), n("y")),
            (n("x") + n("width"), n("y") + n("height")),
        ],
        "circle" => vec![
            (n("cx") - n("r"), n("cy") - n("r")),
            (n("cx") + n("r"), n("cy") + n("r")),
        ],
        "line" => vec![(n("x1"), n("y1")), (n("x2"), n("y2"))],
        "text" => text_corners(element),
        "polygon" | "polyline" => {
            let points = element.attribute("points").unwrap_or("").split(' ');
            let pair = |point: &str| {
                let (x, y) = point.split_once(',').expect("two numbers");
                (x.parse().expect("x"), y.parse().expect("y"))
            };
            points.filter(|point| !point.is_empty()).map(pair).collect()
        }
        "path" => path_corners(element.attribute("d").unwrap_or("")),
        _ => Vec::new(),
    }
}

fn text_corners(element: &Element) -> Vec<(f64, f64)> {
    let size = element
        .attribute("font-size")
        .map_or(12.0, |size| size.parse().expect("a size"));
    let columns = |c: char| {
        if ('\u{1100}'..'\u{2000}').contains(&c) || c > '\u{2bff}' {
            2.0
        } else {
            1.0
        }
    };
    let width = element.text.chars().map(columns).sum::<f64>() * size * 0.602;
    let (x, y) = (element.number("x"), element.number("y"));
    let ends = match element.attribute("text-anchor") {
        Some("middle") => (x - width / 2.0, x + width / 2.0),
        _ => (x, x + width),
    };
    match element.attribute("transform") {
        // Text along a bar goes up.
        Some(turned) if turned.starts_with("rotate(-90") => vec![(x - size, y), (x, y - width)],
        Some(other) => panic!("{other}"),
        None => vec![(ends.0, y - size * 0.8), (ends.1, y + size * 0.2)],
    }
}

/// Returns the points of a path, including its control points.
fn path_corners(d: &str) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let (mut x, mut y) = (0.0, 0.0);
    let mut rest = d;
    while let Some(command) = rest.trim_start().chars().next() {
        rest = &rest.trim_start()[1..];
        let end = rest
            .find(|c: char| c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let numbers = rest[..end]
            .split([' ', ','])
            .filter(|number| !number.is_empty());
        let numbers: Vec<f64> = numbers.map(|n| n.parse().expect("a number")).collect();
        rest = &rest[end..];
        match (command, &numbers[..]) {
            ('M' | 'L' | 'C', all) => {
                for pair in all.chunks(2) {
                    (x, y) = (pair[0], pair[1]);
                    points.push((x, y));
                }
            }
            ('m' | 'l', all) => {
                for pair in all.chunks(2) {
                    (x, y) = (x + pair[0], y + pair[1]);
                    points.push((x, y));
                }
            }
            ('H', [to]) => x = *to,
            ('V', [to]) => y = *to,
            ('h', [by]) => x += by,
            ('v', [by]) => y += by,
            ('Z' | 'z', []) => {}
            other => panic!("{other:?} in {d}"),
        }
        points.push((x, y));
    }
    points
}
