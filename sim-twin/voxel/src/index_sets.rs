//! Sets of small integers: [`BitSet`] iterates in growing order, [`InsertionSet`] in the order of insertion.
//!
//! Source: ours. A [`BitSet`] takes its members in any order and returns them in growing order, so equal sets give
//! equal sums to the last bit. Iteration costs one 64th of the greatest member, whatever the bound.

/// Integers below a fixed bound, one bit each.
#[derive(Debug, Clone, Default)]
pub(super) struct BitSet {
    words: Vec<u64>,
    /// Words from here on are zero.
    end: usize,
}

impl BitSet {
    /// Returns an empty set of integers below `bound`.
    pub(super) fn new(bound: usize) -> Self {
        Self {
            words: vec![0; bound.div_ceil(64)],
            end: 0,
        }
    }

    /// Adds an integer; one that is out of bounds is ignored.
    #[inline]
    pub(super) fn add(&mut self, number: usize) {
        self.add_word(number / 64, 1 << (number % 64));
    }

    pub(super) fn clear(&mut self) {
        self.used_mut().fill(0);
        self.end = 0;
    }

    /// Returns the number of words up to the last one in use.
    pub(super) const fn words(&self) -> usize {
        self.end
    }

    fn used(&self) -> &[u64] {
        self.words.get(..self.end).unwrap_or_default()
    }

    fn used_mut(&mut self) -> &mut [u64] {
        self.words.get_mut(..self.end).unwrap_or_default()
    }

    /// Returns one word of 64 members; zero beyond the last.
    #[inline]
    pub(super) fn word(&self, nth: usize) -> u64 {
        self.words.get(nth).copied().unwrap_or(0)
    }

    /// Adds the members of one word.
    #[inline]
    pub(super) fn add_word(&mut self, nth: usize, word: u64) {
        if let Some(own) = self.words.get_mut(nth) {
            *own |= word;
            self.end = self.end.max(nth + 1);
        }
    }

    /// Returns the number of members.
    pub(super) fn count(&self) -> usize {
        let ones = self.used().iter().map(|word| word.count_ones() as usize);
        ones.sum()
    }

    /// Returns the first member that is at least `from`.
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

/// Integers below a bound, each once, in the order of insertion. Allocated once.
#[derive(Debug, Clone)]
pub(super) struct InsertionSet {
    numbers: Vec<u32>,
    has: Vec<bool>,
}

impl InsertionSet {
    /// Returns an empty set of integers below `bound`.
    pub(super) fn new(bound: usize) -> Self {
        Self {
            numbers: Vec::with_capacity(bound),
            has: vec![false; bound],
        }
    }

    /// Adds an integer; returns true if it is new.
    pub(super) fn add(&mut self, number: u32) -> bool {
        let new = !std::mem::replace(&mut self.has[number as usize], true);
        if new {
            self.numbers.push(number);
        }
        new
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.has[number as usize]
    }

    pub(super) fn clear(&mut self) {
        for &number in &self.numbers {
            self.has[number as usize] = false;
        }
        self.numbers.clear();
    }

    /// Visits all members, including those that `visit` adds.
    pub(super) fn visit_growing(&mut self, mut visit: impl FnMut(&mut Self, u32)) {
        let mut nth = 0;
        while let Some(&number) = self.numbers.get(nth) {
            visit(self, number);
            nth += 1;
        }
    }
}

impl std::ops::Deref for InsertionSet {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_set_iterates_in_order_without_duplicates() {
        let mut marks = BitSet::new(200);
        for number in [199, 64, 3, 63, 3, 130, 200, 256, usize::MAX] {
            marks.add(number);
        }
        let (mut found, mut from) = (Vec::new(), 0);
        while let Some(number) = marks.next(from) {
            found.push(number);
            from = number + 1;
        }
        // the last word covers up to 255
        assert_eq!(found, [3, 63, 64, 130, 199, 200]);
        assert_eq!(marks.count(), found.len());
        marks.clear();
        assert_eq!((marks.next(0), marks.next(1000)), (None, None));
    }
}
