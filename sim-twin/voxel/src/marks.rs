//! A set of small numbers, gone through in growing order.
//!
//! Source: ours. A bit a number: who moved and who is near is noted in any order, and gone through in one, so
//! that the same set means the same sums to the last bit. Going through a set costs a 64th of its largest number,
//! whatever its bound.

/// Numbers below a bound that was given once.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    words: Vec<u64>,
    /// Words from here on are empty.
    end: usize,
}

impl PartialEq for Marks {
    /// The same numbers: how far they were ever gone through is no part of a set.
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl Eq for Marks {}

impl Marks {
    /// An empty set of numbers below `bound`.
    pub(super) fn new(bound: usize) -> Self {
        Self {
            words: vec![0; bound.div_ceil(64)],
            end: 0,
        }
    }

    /// Adds a number; one that is out of bounds is none.
    #[inline]
    pub(super) fn add(&mut self, number: usize) {
        self.add_word(number / 64, 1 << (number % 64));
    }

    pub(super) fn clear(&mut self) {
        self.used_mut().fill(0);
        self.end = 0;
    }

    /// Words of 64 numbers that are not empty are before this.
    pub(super) const fn words(&self) -> usize {
        self.end
    }

    fn used(&self) -> &[u64] {
        self.words.get(..self.end).unwrap_or_default()
    }

    fn used_mut(&mut self) -> &mut [u64] {
        self.words.get_mut(..self.end).unwrap_or_default()
    }

    /// The numbers of a word, a bit each; none beyond the last.
    #[inline]
    pub(super) fn word(&self, nth: usize) -> u64 {
        self.words.get(nth).copied().unwrap_or(0)
    }

    /// Sets the numbers of a word.
    #[inline]
    pub(super) fn set_word(&mut self, nth: usize, word: u64) {
        if let Some(own) = self.words.get_mut(nth) {
            *own = word;
            self.end = self.end.max(nth + 1);
        }
    }

    /// Adds numbers of a word.
    #[inline]
    pub(super) fn add_word(&mut self, nth: usize, word: u64) {
        if let Some(own) = self.words.get_mut(nth) {
            *own |= word;
            self.end = self.end.max(nth + 1);
        }
    }

    /// How many they are.
    pub(super) fn count(&self) -> usize {
        let ones = self.used().iter().map(|word| word.count_ones() as usize);
        ones.sum()
    }

    /// The first number from `from` on.
    #[inline]
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        let mut nth = from / 64;
        let used = self.used();
        let mut word = used.get(nth)? & (u64::MAX << (from % 64));
        while word == 0 {
            nth += 1;
            word = *used.get(nth)?;
        }
        Some(64 * nth + word.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_order_and_once() {
        let mut marks = Marks::new(200);
        for number in [199, 64, 3, 63, 3, 130, 200, 256, usize::MAX] {
            marks.add(number);
        }
        let (mut found, mut from) = (Vec::new(), 0);
        while let Some(number) = marks.next(from) {
            found.push(number);
            from = number + 1;
        }
        // the last word is whole
        assert_eq!(found, [3, 63, 64, 130, 199, 200]);
        assert_eq!(marks.count(), found.len());
        marks.clear();
        assert_eq!((marks.next(0), marks.next(1000)), (None, None));
        // a word of none is not there
        let empty = marks.clone();
        marks.set_word(2, 0);
        assert_eq!(marks, empty);
        marks.add(130);
        assert_ne!(marks, empty);
    }
}
