//! [`Channels`] and [`ChannelWords`]: kernels that copy interleaved pixels to planes of one channel each, and back.
//!
//! The kernels of [`Channels`] rearrange units in registers. This code is unrolled here, because the source of every bit
//! is known when the kernel is written and a loop would be slow. The part that all variants share is in
//! `library/copy_channels.wgsl`. [`ChannelWords`] is for units of one or two bytes that are not aligned to words.
//! `vkarray-ndarray` decides when such a kernel runs.

use std::fmt::Write as _;

const WALK: &str = include_str!("../library/walk.wgsl");
const CHANNELS: &str = include_str!("../library/copy_channels.wgsl");
const WORDS: &str = include_str!("../library/words.wgsl");
const WORDS_CHANNELS: &str = include_str!("../library/copy_words_channels.wgsl");

/// Whether the copy interleaves the channels of planes or separates the channels of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChannelDirection {
    /// From interleaved pixels to planes.
    ToPlanes,
    /// From planes to interleaved pixels.
    ToPixels,
}

/// A variant of the kernel for aligned units. Entry `copy_channels`.
///
/// A unit is the value of one channel in one pixel. Memory is read and written in items of 4, 8 or 16 bytes. A block is
/// as many pixels as an item has units, so it is one item of each plane and as many items of the pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Channels {
    /// The direction of the copy.
    pub direction: ChannelDirection,
    /// Bytes of a unit: 1, 2, 4, 8 or 16.
    pub unit_bytes: u32,
    /// Bytes of an item, at least the bytes of a unit.
    pub item_bytes: u32,
    /// Units of a pixel.
    pub channels: u32,
    /// Blocks that an invocation copies.
    pub blocks: u32,
    /// Invocations of a workgroup.
    pub group: u32,
    /// The number of invocations that lie along a row.
    pub lanes: u32,
}

impl Channels {
    /// Units of an item, which is also the number of pixels of a block.
    #[must_use]
    pub fn item_units(&self) -> u32 {
        self.item_bytes / self.unit_bytes
    }

    /// Bytes of workgroup memory.
    #[must_use]
    pub fn shared_bytes(&self) -> u32 {
        self.stage_items() * self.item_bytes
    }

    /// The kernel's text.
    #[must_use]
    pub fn text(&self) -> String {
        [&self.constants(), &self.accesses(), &self.arranged(), WALK, CHANNELS].concat()
    }

    /// Items after which all banks of workgroup memory have been used once; the stage skips one item there, so that
    /// items at a fixed distance lie in different banks.
    fn pad(&self) -> u32 {
        128 / self.item_bytes
    }

    fn stage_items(&self) -> u32 {
        let items = self.group * self.n_items();
        items + items / self.pad()
    }

    /// Items that an invocation copies.
    fn n_items(&self) -> u32 {
        self.blocks * self.channels
    }

    fn constants(&self) -> String {
        let item = match self.item_bytes {
            4 => "u32",
            8 => "vec2<u32>",
            _ => "vec4<u32>",
        };
        let constants = [
            ("GROUP", self.group),
            ("LANES", self.lanes),
            ("CHANNELS", self.channels),
            ("BLOCKS", self.blocks),
            ("ITEM_UNITS", self.item_units()),
            ("PAD", self.pad()),
            ("STAGE", self.stage_items()),
        ];
        let mut text = format!("alias Item = {item};\n");
        for (name, value) in constants {
            let _ = writeln!(text, "const {name} = {value}u;");
        }
        text
    }

    /// The type of an invocation's items, and the functions that load and store them, and keep them on the stage
    /// meanwhile. Items of pixels are in the order of memory, `LANES` apart, and items of planes block by block.
    fn accesses(&self) -> String {
        let (channels, lanes) = (self.channels, self.lanes);
        let is_to_planes = self.direction == ChannelDirection::ToPlanes;
        let all = |item: &dyn Fn(u32) -> String| (0..self.n_items()).map(item).collect::<String>();
        let place = |i: u32, of_pixels: bool| match of_pixels {
            true => format!("at + along + {}u", i * lanes),
            false => format!("at + along * CHANNELS + {}u", i / channels * lanes * channels + i % channels),
        };
        // The start of a line of pixels or of a plane, and the item in it, which is at most the last.
        let item = |i: u32, of_pixels: bool, strides: &str| match of_pixels {
            true => [
                "at / ITEM_UNITS".to_owned(),
                format!("first * CHANNELS + along + {}u", i * lanes),
                "last * CHANNELS + CHANNELS - 1u".to_owned(),
            ],
            false => [
                format!("(at + {}u * walk.{strides}[1]) / ITEM_UNITS", i % channels),
                format!("first + along + {}u", i / channels * lanes),
                "last".to_owned(),
            ],
        };
        let fields = all(&|i| format!("    i{i}: Item,\n"));
        let loaded = all(&|i| {
            let [line, item, last] = item(i, is_to_planes, "source_strides");
            format!("        source[{line} + min({item}, {last})],\n")
        });
        let keeps = all(&|i| format!("    stage[slot({})] = items.i{i};\n", place(i, is_to_planes)));
        let kept = all(&|i| format!("        stage[slot({})],\n", place(i, !is_to_planes)));
        let stores = all(&|i| {
            let [line, item, last] = item(i, !is_to_planes, "target_strides");
            format!("    if {item} <= {last} {{\n        target_[{line} + {item}] = items.i{i};\n    }}\n")
        });
        // Items are arranged before they are pixels or planes of the target: where an invocation has whole blocks.
        let [of_loaded, of_kept] = if is_to_planes { ["", "arranged"] } else { ["arranged", ""] };
        format!(
            "struct Items {{\n{fields}}}\n\
             fn load(at: u32, first: u32, along: u32, last: u32) -> Items {{\n    return {of_loaded}(Items(\n{loaded}    ));\n}}\n\
             fn keep(at: u32, along: u32, items: Items) {{\n{keeps}}}\n\
             fn kept(at: u32, along: u32) -> Items {{\n    return {of_kept}(Items(\n{kept}    ));\n}}\n\
             fn store(at: u32, first: u32, along: u32, last: u32, items: Items) {{\n{stores}}}\n"
        )
    }

    /// The function `arranged`, which computes items of planes from items of pixels, or the reverse.
    fn arranged(&self) -> String {
        let item = |i: u32| {
            let words: Vec<String> = (0..self.item_bytes / 4).map(|word| self.word(i, word)).collect();
            format!("        Item({}),\n", words.join(", "))
        };
        let items: String = (0..self.n_items()).map(item).collect();
        format!("fn arranged(from_: Items) -> Items {{\n    return Items(\n{items}    );\n}}\n")
    }

    /// The expression of a word of an arranged item, from the words that contain its units.
    fn word(&self, item: u32, word: u32) -> String {
        let bytes = self.unit_bytes;
        if bytes >= 4 {
            let (from, unit) = self.origin(item, word * 4 / bytes);
            return self.part(from, unit * bytes / 4 + word % (bytes / 4));
        }
        let units_a_word = 4 / bytes;
        let piece = |unit: u32| {
            let (from, from_unit) = self.origin(item, word * units_a_word + unit);
            let part = self.part(from, from_unit / units_a_word);
            let (low, high) = (from_unit % units_a_word * bytes * 8, unit * bytes * 8);
            let mask = ((1_u32 << (8 * bytes)) - 1) << high;
            let moved = match low.cmp(&high) {
                std::cmp::Ordering::Less => format!("({part} << {}u)", high - low),
                std::cmp::Ordering::Equal => part,
                std::cmp::Ordering::Greater => format!("({part} >> {}u)", low - high),
            };
            format!("({moved} & {mask:#x}u)")
        };
        (0..units_a_word).map(piece).collect::<Vec<_>>().join(" | ")
    }

    /// The source of a unit of an arranged item: the item, and the unit in it.
    fn origin(&self, item: u32, unit: u32) -> (u32, u32) {
        let (channels, units) = (self.channels, self.item_units());
        let (block, within) = (item / channels * channels, item % channels);
        match self.direction {
            ChannelDirection::ToPlanes => {
                let at = unit * channels + within;
                (block + at / units, at % units)
            }
            ChannelDirection::ToPixels => {
                let at = within * units + unit;
                (block + at % channels, at / channels)
            }
        }
    }

    fn part(&self, item: u32, word: u32) -> String {
        let component = ["x", "y", "z", "w"][word as usize];
        if self.item_bytes == 4 { format!("from_.i{item}") } else { format!("from_.i{item}.{component}") }
    }
}

/// A variant for units smaller than a word, at any alignment. Entry `copy_words_channels`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChannelWords {
    /// The direction of the copy.
    pub direction: ChannelDirection,
    /// Bytes of a unit: 1 or 2.
    pub unit_bytes: u32,
    /// Units of a pixel that are copied.
    pub channels: u32,
    /// Units from one pixel to the next; in a target this is `channels`.
    pub pixel: u32,
    /// Words of each plane, or of the pixels, that a workgroup writes.
    pub tile_words: u32,
    /// Invocations of a workgroup.
    pub group: u32,
}

impl ChannelWords {
    /// Units of a word.
    #[must_use]
    pub fn word_units(&self) -> u32 {
        4 / self.unit_bytes
    }

    /// Bytes of workgroup memory.
    #[must_use]
    pub fn shared_bytes(&self) -> u32 {
        (self.loads() * self.group * 33 / 32 + 1) * 4
    }

    /// The kernel's text.
    #[must_use]
    pub fn text(&self) -> String {
        let (is_to_pixels, line_words) = match self.direction {
            ChannelDirection::ToPlanes => (false, self.loads() * self.group),
            ChannelDirection::ToPixels => (true, self.plane_words()),
        };
        let constants = [
            ("UNITS", self.word_units()),
            ("BITS", 8 * self.unit_bytes),
            ("GROUP", self.group),
            ("CHANNELS", self.channels),
            ("PIXEL", self.pixel),
            ("TILE_WORDS", self.tile_words),
            ("LINE_WORDS", line_words),
            ("LOADS", self.loads()),
        ];
        let constants: String = constants.iter().map(|(name, value)| format!("const {name} = {value}u;\n")).collect();
        let direction = format!("const TO_PIXELS = {is_to_pixels};\n");
        [&constants, &direction, WALK, WORDS, WORDS_CHANNELS].concat()
    }

    /// The most words of a plane that the pixels of a tile can touch, at any alignment of both.
    fn plane_words(&self) -> u32 {
        let units = self.word_units();
        let pixels = (self.tile_words * units + units - 1).div_ceil(self.channels) + 1;
        pixels.div_ceil(units) + 1
    }

    /// Words that an invocation loads to the stage.
    fn loads(&self) -> u32 {
        let units = self.word_units();
        let words = match self.direction {
            ChannelDirection::ToPlanes => ((self.tile_words * units + units - 1) * self.pixel).div_ceil(units) + 1,
            ChannelDirection::ToPixels => self.channels * self.plane_words(),
        };
        words.div_ceil(self.group)
    }
}
