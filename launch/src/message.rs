//! Messages for a terminal, in which a value of thousands of characters is cut.
//!
//! Source: ours.

/// Longest word that is shown whole; a path is rarely longer.
const WORD_MAX: usize = 240;

/// Longest line that is shown whole; the longest list of choices is shorter.
const LINE_MAX: usize = 2000;

/// Start of a long word or line that is shown.
const SHOWN: usize = 120;

/// Cuts words and lines that are too long to read, and names their length.
#[must_use]
pub fn shortened(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(line).collect();
    lines.join("\n")
}

fn line(text: &str) -> String {
    let words: Vec<String> = text.split(' ').map(|word| cut(word, WORD_MAX)).collect();
    cut(&words.join(" "), LINE_MAX)
}

fn cut(text: &str, most: usize) -> String {
    // bytes are an upper bound of characters
    let length = match text.len() > most {
        true => text.chars().count(),
        false => return text.to_owned(),
    };
    if length <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(SHOWN).collect();
    let end: String = text.chars().skip(length - SHOWN / 2).collect();
    format!("{start}[... {length} characters]{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_and_lines_are_cut_and_the_rest_stays() {
        let long = "é".repeat(5000);
        let text = format!("tissue is {long}: no such scene\n  expected one of: a, b\n");
        let shown = shortened(&text);
        assert!(shown.len() < 600, "{shown}");
        for part in [
            "tissue is é",
            "5001 characters",
            ": no such scene\n  expected",
        ] {
            assert!(shown.contains(part), "{shown}");
        }
        let words = "seven words ".repeat(500);
        let shown = shortened(&words);
        assert!(
            shown.contains("6000 characters") && shown.len() < 300,
            "{shown}"
        );
        let plain = "a message\n\nwith  two spaces\n";
        assert_eq!(shortened(plain), plain);
    }
}
