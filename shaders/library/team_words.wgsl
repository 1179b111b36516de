// Numbers of one to three words that move between the lanes of a team
//
// The text before this file defines `words_of` and `of_words`, which take numbers as three words, and WORDS, the number of
// words that are not always 0.

fn lane_before(number: T, by: u32) -> T {
    var words = words_of(number);
    words.x = word_before(words.x, by);
    if WORDS > 1u {
        words.y = word_before(words.y, by);
    }
    if WORDS > 2u {
        words.z = word_before(words.z, by);
    }
    return of_words(words);
}

fn last_lane(number: T, place: Place) -> T {
    var words = words_of(number);
    words.x = last_word(words.x, place);
    if WORDS > 1u {
        words.y = last_word(words.y, place);
    }
    if WORDS > 2u {
        words.z = last_word(words.z, place);
    }
    return of_words(words);
}
