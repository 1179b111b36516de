//! Values that are parsed, and the messages of values that are refused.

use super::*;

fn generated(fill: Fill, dtype: DType, shape: &[usize]) -> Value {
    Value::Generated(Generated { fill, dtype, shape: shape.to_vec() })
}

fn options(channels: Option<usize>, dtype: Option<DType>) -> PictureOptions {
    PictureOptions { channels, dtype }
}

#[test]
fn values_read() {
    let number = |text: &str| Value::Numbers(vec![text.to_owned()]);
    let cases = [
        ("@x.npy", Value::Npy("x.npy".into())),
        ("@a b/x.NPY", Value::Npy("a b/x.NPY".into())),
        ("@/a=b/x.png", Value::Picture("/a=b/x.png".into(), PictureOptions::default())),
        ("@x.jpg", Value::Picture("x.jpg".into(), PictureOptions::default())),
        ("@x.JPEG", Value::Picture("x.JPEG".into(), PictureOptions::default())),
        ("@a,b/x.png,channels=3", Value::Picture("a,b/x.png".into(), options(Some(3), None))),
        ("@x.png,dtype=u16,channels=1", Value::Picture("x.png".into(), options(Some(1), Some(DType::U16)))),
        ("@-", Value::Stdin(PictureOptions::default())),
        ("@-,channels=4", Value::Stdin(options(Some(4), None))),
        ("@d/x.npz:a", Value::Npz("d/x.npz".into(), "a".to_owned())),
        ("@X.NPZ:a b", Value::Npz("X.NPZ".into(), "a b".to_owned())),
        ("@c:x.npy", Value::Npy("c:x.npy".into())), // A colon in a path is no generator.
        ("2.5", number("2.5")),
        ("-0.8", number("-0.8")),
        ("1e-3", number("1e-3")),
        ("0xff", number("0xff")),
        ("18446744073709551615", number("18446744073709551615")),
        ("true", number("true")),
        ("inf", number("inf")),
        ("1,-2, 0.5", Value::Numbers(vec!["1".to_owned(), "-2".to_owned(), "0.5".to_owned()])), // A vector.
        ("zeros:f32[512,512]", generated(Fill::Zeros, DType::F32, &[512, 512])),
        ("zeros:float32[2]", generated(Fill::Zeros, DType::F32, &[2])), // NumPy's names are accepted too.
        ("zeros:u8[]", generated(Fill::Zeros, DType::U8, &[])),
        ("zeros:u8[ 3 , 0 ]", generated(Fill::Zeros, DType::U8, &[3, 0])),
        ("full:i16[4],value=-7", generated(Fill::Full("-7".to_owned()), DType::I16, &[4])),
        ("full:f16[4],value=0.5", generated(Fill::Full("0.5".to_owned()), DType::F16, &[4])),
        ("arange:u8[256]", generated(Fill::Arange, DType::U8, &[256])), // The last value is 255.
        ("arange:u8[0]", generated(Fill::Arange, DType::U8, &[0])),
        ("random:f64[3]", generated(Fill::Random { seed: 0 }, DType::F64, &[3])),
        ("random:f64[3],seed=7", generated(Fill::Random { seed: 7 }, DType::F64, &[3])),
        ("normal:f16[3],seed=7", generated(Fill::Normal { seed: 7 }, DType::F16, &[3])),
        (
            "linspace:f32[3],stop=-1e3,start=0.5",
            generated(Fill::Linspace { start: "0.5".to_owned(), stop: "-1e3".to_owned() }, DType::F32, &[3]),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(Value::parse("x", text).unwrap(), expected, "{text}");
    }
}

fn cannot(text: &str, reason: &str) -> String {
    format!("argument `x`: cannot read `{text}`: {reason}")
}

/// Checks that each text is refused with its message.
fn refuses(cases: &[(&str, String)]) {
    for (text, expected) in cases {
        let error = Value::parse("x", text).unwrap_err();
        assert_eq!(error.to_string(), *expected, "{text}");
        assert_eq!(error.exit_code(), 2);
    }
}

#[test]
fn bad_values_say_what_is_wrong() {
    let list = "`zeros:`, `full:`, `arange:`, `linspace:`, `random:`, `normal:`";
    let neither = &format!("it is neither `@FILE`, nor a number, nor one of {list}");
    let cases = [
        ("photo.png", cannot("photo.png", neither)), // The @ is missing.
        ("1,", cannot("1,", neither)),
        ("", cannot("", neither)),
        ("@x.gif", "argument `x`: x.gif is neither .npy, .npz:NAME, .png, .jpg nor .jpeg".to_owned()),
        ("@", "argument `x`:  is neither .npy, .npz:NAME, .png, .jpg nor .jpeg".to_owned()),
        ("@x.png,channels=2", cannot("x.png,channels=2", "`2` channels are not 1, 3 or 4")),
        ("@x.npy,channels=1", cannot("x.npy,channels=1", "only an image is read with a number of channels or a type")),
        ("@x.npz", cannot("x.npz", "name an array of the archive, as in `@x.npz:a`")),
        ("@x.npz:", "argument `x`: x.npz: is neither .npy, .npz:NAME, .png, .jpg nor .jpeg".to_owned()),
        ("@x.png,dtype=f64", cannot("x.png,dtype=f64", "the elements of an image are u8, u16, i32, u32 or f32")),
        ("@npy", "argument `x`: npy is neither .npy, .npz:NAME, .png, .jpg nor .jpeg".to_owned()),
    ];
    refuses(&cases);
}

#[test]
fn bad_generators_say_what_is_wrong() {
    let form = "expected a type and a shape, such as `f32[512,512]`";
    let list = "`zeros:`, `full:`, `arange:`, `linspace:`, `random:`, `normal:`";
    let types = "is not one of bool, i8, u8, i16, u16, f16, i32, u32, f32, i64, u64, f64";
    let cases = [
        ("zeros:f32", cannot("zeros:f32", form)),
        ("zeros:f32[2", cannot("zeros:f32[2", form)),
        ("zeros:f33[2]", cannot("zeros:f33[2]", &format!("`f33` {types}"))),
        // A type of arrays, but not of `.npy` files.
        ("zeros:bf16[2]", cannot("zeros:bf16[2]", &format!("`bf16` {types}"))),
        (
            "zeros:f32[2,]",
            cannot("zeros:f32[2,]", "`[2,]` is not a shape: expected whole numbers, separated by commas"),
        ),
        (
            "zeros:f32[-2]",
            cannot("zeros:f32[-2]", "`[-2]` is not a shape: expected whole numbers, separated by commas"),
        ),
        ("zeros:f32[2],seed=1", cannot("zeros:f32[2],seed=1", "`zeros:` has no option `seed`")),
        ("zeros:f32[2]x", cannot("zeros:f32[2]x", "expected `,option=value` after the shape, found `x`")),
        ("ones:f32[2]", cannot("ones:f32[2]", &format!("`ones:` is not one of {list}"))),
        ("full:f32[2]", cannot("full:f32[2]", "`full:` takes a value, such as `,value=2.5`")),
        ("full:f32[2],seed=1", cannot("full:f32[2],seed=1", "`full:` has no option `seed`, only `value`, each once")),
        (
            "random:f32[2],value=1",
            cannot("random:f32[2],value=1", "`random:` has no option `value`, only `seed`, each once"),
        ),
        (
            "random:f32[2],seed=1,seed=2",
            cannot("random:f32[2],seed=1,seed=2", "`random:` has no option `seed`, only `seed`, each once"),
        ),
        (
            "linspace:f32[2],start=1",
            cannot("linspace:f32[2],start=1", "`linspace:` takes its ends, such as `,start=0,stop=1`"),
        ),
        ("normal:i32[2]", cannot("normal:i32[2]", "`normal:` makes floats, and i32 is none")),
        ("random:f32[2],seed=-1", cannot("random:f32[2],seed=-1", "`-1` is not a seed: expected a whole number")),
        ("arange:u8[257]", "argument `x`: u8 cannot count to 256".to_owned()),
        ("arange:bool[3]", "argument `x`: bool cannot count to 2".to_owned()),
        ("arange:f16[65521]", "argument `x`: f16 cannot count to 65520".to_owned()), // Rounds to infinity.
        (
            "zeros:f64[4294967296,4294967296]",
            "argument `x`: an array of f64[4294967296,4294967296] overflows the address space".to_owned(),
        ),
        (
            "zeros:u8[0,4294967296,4294967296]", // Empty, but its strides overflow.
            "argument `x`: an array of u8[0,4294967296,4294967296] overflows the address space".to_owned(),
        ),
    ];
    refuses(&cases);
}

/// The kernel crate decides what a type can hold.
#[test]
fn numbers_that_a_type_does_not_hold_are_refused() {
    for text in ["full:u8[2],value=256", "full:u8[2],value=-1", "full:i32[2],value=1.5", "full:f32[2],value=1e39"] {
        let error = Value::parse("x", text).unwrap_err();
        assert!(matches!(error, Error::Number { .. }), "{text}: {error}");
    }
}

#[test]
fn pairs_split_at_the_first_equals_sign() {
    assert_eq!(split_pair("--arg", "x=a=b").unwrap(), ("x", "a=b"));
    let cases = [
        ("--arg", "x", "`--arg x`: expected NAME=VALUE"),
        ("--arg", "=1", "`--arg =1`: expected NAME=VALUE"),
        ("--arg", "x=", "`--arg x=`: expected NAME=VALUE"),
        ("--out", "x", "`--out x`: expected NAME=FILE"),
    ];
    for (flag, text, expected) in cases {
        assert_eq!(split_pair(flag, text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn grids_have_one_to_three_counts() {
    for (text, counts) in
        [("7", &[7][..]), ("512, 768", &[512, 768]), ("1,2,18446744073709551615", &[1, 2, usize::MAX])]
    {
        assert_eq!(parse_counts("--covering", text, false).unwrap(), counts);
    }
    let cases = [
        ("0", "`--groups 0`: a count of zero runs nothing"),
        ("4,0,4", "`--groups 4,0,4`: a count of zero runs nothing"),
        ("1,2,3,4", "`--groups 1,2,3,4`: there are three axes at most"),
        ("", "`--groups `: expected whole numbers, separated by commas"),
        ("1,,2", "`--groups 1,,2`: expected whole numbers, separated by commas"),
        ("-1", "`--groups -1`: expected whole numbers, separated by commas"),
        ("512x512", "`--groups 512x512`: expected whole numbers, separated by commas"),
        ("18446744073709551616", "`--groups 18446744073709551616`: expected whole numbers, separated by commas"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_counts("--groups", text, false).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_comma_before_an_array_begins_the_next_of_a_list() {
    let cases: [(&str, &[&str]); 6] = [
        ("@x.npy,@y.npy", &["@x.npy", "@y.npy"]),
        ("@x.png,channels=3,@y.png,dtype=u8", &["@x.png,channels=3", "@y.png,dtype=u8"]),
        (
            "zeros:f32[2,3],full:u32[7],value=3,arange:i32[4]",
            &["zeros:f32[2,3]", "full:u32[7],value=3", "arange:i32[4]"],
        ),
        ("padded:@x.npy,padded:zeros:f32[1]", &["padded:@x.npy", "padded:zeros:f32[1]"]),
        ("0.5,1,2", &["0.5,1,2"]),
        ("@x.npz:a", &["@x.npz:a"]),
    ];
    for (text, expected) in cases {
        assert_eq!(split_list(text), expected, "{text}");
    }
}
