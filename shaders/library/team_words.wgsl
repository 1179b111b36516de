// Numbers of one or two words that move between the lanes of a team
//
// The text before this file defines `words_of` and `of_words`, which take numbers as two words, and WORDS, 1 if the second
// word is always 0.

fn lane_before(number: T, by: u32) -> T {
    var words = words_of(number);
    words.x = word_before(words.x, by);
    if WORDS == 2u {
        words.y = word_before(words.y, by);
    }
    return of_words(words);
}

fn last_lane(number: T, place: Place) -> T {
    var words = words_of(number);
    words.x = last_word(words.x, place);
    if WORDS == 2u {
        words.y = last_word(words.y, place);
    }
    return of_words(words);
}
