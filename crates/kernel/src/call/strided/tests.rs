//! Tests of `strided.rs`: what is bound, what the push constants hold, and what is refused.

use vkarray_shader::{Field, Limits, ParamKind, PushConstants};

use super::*;

fn param(writes: bool) -> Param {
    let ty = ElementType::Array { element: Box::new(ElementType::Scalar(DType::F32)), len: None, stride: 4 };
    Param { name: "x".to_owned(), writes, ..Param::of_type(ParamKind::Storage, ty) }
}

fn limits() -> Limits {
    Limits { min_storage_buffer_offset_alignment: 16, ..Limits::MINIMUM }
}

fn array<'a>(shape: &'a [usize], strides: &'a [isize], offset: u64, nbytes: u64) -> ArrayShape<'a> {
    ArrayShape { offset, strides: Some(strides), ..ArrayShape::new(DType::F32, shape, nbytes) }
}

fn first_of(param: &Param, array: &ArrayShape<'_>) -> std::result::Result<u64, Mismatch> {
    first(param, &ArrayRule::new(param, &limits(), false), array, array.strides.expect("an array with strides"))
}

/// One number is no element of a second variable at the binding, whose elements are four.
#[test]
fn a_view_whose_indices_are_clamped_has_an_element_of_each_variable() {
    let mut param = param(false);
    let four = ElementType::Vector { len: 4, scalar: DType::F32 };
    let ty = ElementType::Array { element: Box::new(four), len: None, stride: 16 };
    param.aliases.push(vkarray_shader::Alias { name: "fours".to_owned(), ty });
    for (clamps, count, expected) in [(false, 1, true), (true, 1, false), (true, 4, true)] {
        let (shape, strides) = ([count], [1]);
        let array = array(&shape, &strides, 0, 4 * count as u64);
        let found = first(&param, &ArrayRule::new(&param, &limits(), clamps), &array, &strides);
        assert_eq!(found.is_ok(), expected, "{clamps}, {count}: {found:?}");
    }
}

/// Shape, strides, offset and bytes of an array; the first element, or why there is none.
type Case<'a> = (&'a [usize], &'a [isize], u64, u64, Result<u64, &'a str>);

#[test]
fn the_first_element_is_counted_from_the_aligned_byte() {
    let cases: &[Case<'_>] = &[
        (&[3, 4], &[4, 1], 0, 48, Ok(0)),
        (&[3, 4], &[1, 3], 20, 48, Ok(1)), // Fortran order, one element behind an aligned byte.
        (&[4], &[-1], 8, 16, Ok(5)),       // Reversed: the last element comes first.
        (&[2, 3], &[-3, 2], 32, 32, Ok(3)), // Both signs: eight elements from the lowest on.
        (&[5], &[0], 4, 4, Ok(1)),         // Repeated.
        (&[], &[], 4, 4, Ok(1)),           // One element.
        (&[0, 9], &[9, 1], 4, 0, Ok(0)),   // None.
        (&[9], &[1], (1 << 40) + 4, 36, Ok(1)),
        (&[4], &[2], 0, 24, Err("reaches beyond its 24 bytes")), // Seven elements in the bytes of six.
        (&[4], &[1, 1], 0, 64, Err("reaches beyond")),           // A stride too many.
        (&[4, 1], &[1], 0, 64, Err("reaches beyond")),           // One too few.
        (&[usize::MAX], &[isize::MIN], 0, 64, Err("reaches beyond")), // More than 64 bits.
        (&[1 << 30], &[1 << 30], 0, u64::MAX, Err("the device binds at most 134217728 bytes of storage")),
        (&[1 << 25], &[1], 16, 1 << 27, Ok(0)),
        (&[1 << 25], &[1], 4, 1 << 27, Err("has 134217732 bytes")), // Four bytes before it are bound too.
    ];
    for &(shape, strides, offset, nbytes, expected) in cases {
        let array = array(shape, strides, offset, nbytes);
        match (first_of(&param(false), &array), expected) {
            (Ok(first), Ok(expected)) => assert_eq!(first, expected, "{array}"),
            (Err(problem), Err(words)) => assert!(problem.to_string().contains(words), "{array}: {problem}"),
            other => panic!("{array}: {other:?}"),
        }
    }
}

#[test]
fn elements_of_any_size_start_a_whole_number_of_them_behind_an_aligned_byte() {
    // Offset, bytes of an element, alignment, bytes before the array.
    for (offset, itemsize, alignment, expected) in [
        (36, 12, 16, 36), // 36 - 12 and 36 - 24 are no multiples of 16.
        (100, 12, 16, 36),
        (100, 4, 64, 36),
        (7, 1, 4, 3),
        (256, 4, 256, 0),
        (4, 12, 16, 0), // There is none: the array is copied.
        (4, 0, 16, 0),
    ] {
        let array = ArrayShape { dtype: DType::Record(itemsize), ..array(&[1], &[1], offset, itemsize.into()) };
        assert_eq!(lead(&array, alignment), expected, "{offset} {itemsize} {alignment}");
        assert_eq!(lead(&ArrayShape { strides: None, ..array }, alignment), 0);
    }
}

#[test]
fn elements_that_share_memory_are_not_written() {
    let cases: &[(&[usize], &[isize], bool)] = &[
        (&[3, 4], &[4, 1], false),
        (&[3, 4], &[-1, 3], false),
        (&[3, 4], &[-8, -2], false),
        (&[3, 1], &[1, 0], false), // The stride of one element does not count.
        (&[], &[], false),
        (&[0, 4], &[0, 0], false),
        (&[3, 4], &[0, 1], true),
        (&[4, 8], &[3, 1], true), // Windows.
        (&[2, 2], &[1, -1], true),
    ];
    for &(shape, strides, shared) in cases {
        let array = array(shape, strides, 0, 4096);
        assert!(first_of(&param(false), &array).is_ok(), "{array}");
        let refused = first_of(&param(true), &array);
        assert_eq!(matches!(refused, Err(Mismatch::SharedElements { .. })), shared, "{array}");
    }
}

/// A signature with push constants of these names and types, each eight bytes behind the last.
fn signature(name: &str, members: Vec<(&str, ElementType)>) -> Signature {
    let place = |(nth, (name, ty)): (u32, (&str, _))| PushMember { name: name.to_owned(), offset: 8 * nth, ty };
    let members: Vec<_> = (0..).zip(members).map(place).collect();
    let push = PushConstants { name: name.to_owned(), ty: "Params".to_owned(), bytes: 64, members };
    Signature { params: vec![param(false)], push_constants: Some(push), ..Signature::default() }
}

#[test]
fn the_shader_is_told_by_names_a_struct_or_the_whole_block() {
    let [u32, i32, i64] = [DType::U32, DType::I32, DType::I64].map(ElementType::Scalar);
    let field = |name: &str, offset, ty| Field { name: name.to_owned(), offset, ty };
    let layout = |fields| ElementType::Struct { name: "Layout".to_owned(), fields, bytes: 24 };
    let fields = vec![
        field("first", 0, u32.clone()),
        field("shape", 8, ElementType::Vector { len: 2, scalar: DType::U32 }),
        field("strides", 16, ElementType::Vector { len: 2, scalar: DType::I32 }),
    ];
    let words = |words: &[i32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
    let filled = |name, members, shape: &[usize], strides: &[isize]| {
        let (signature, array) = (signature(name, members), array(shape, strides, 4, 1 << 40));
        let limits = Limits { max_storage_buffer_range: u64::MAX, ..limits() };
        let mut block = vec![0; 64];
        let param = &signature.params[0];
        let packed = pack(&signature, &ArrayRule::new(param, &limits, false), (param, &array, strides), &mut block);
        packed.map(|()| block).map_err(|error| error.to_string())
    };
    let block = filled("p", vec![("n", u32.clone()), ("x_layout", layout(fields.clone()))], &[3, 2], &[-2, 1]);
    assert_eq!(block.unwrap()[..32], words(&[0, 0, 5, 0, 3, 2, -2, 1]));
    let block = filled("x_layout", vec![("first", u32.clone()), ("strides", i32.clone())], &[3], &[-1]);
    assert_eq!(block.unwrap()[..16], words(&[3, 0, -1, 0]));
    let named =
        |first: &ElementType, strides: &ElementType| vec![("x_first", first.clone()), ("x_strides", strides.clone())];
    let block = filled("p", named(&i32, &i64), &[3], &[2]);
    assert_eq!(block.unwrap()[..16], [words(&[1, 0]), 2_i64.to_ne_bytes().to_vec()].concat());

    let f32 = ElementType::Scalar(DType::F32);
    let (bad, huge): (_, &[isize]) = (vec![field("length", 0, u32.clone())], &[1 << 32]);
    let array = "got an array of f32 with shape (3,) and strides (1,)";
    let many: (&[usize], &[isize]) = (&[1 << 33], &[-1]); // All but one lie before the first.
    let cases = [
        (filled("p", named(&u32, &i32), many.0, many.1), "`x_first` is u32, got 8589934592".to_owned()),
        (filled("p", named(&u32, &f32), &[3], &[1]), "`x_strides` is f32, got 1".to_owned()),
        (filled("p", named(&u32, &u32), &[3], &[-1]), "`x_strides` is u32, got -1".to_owned()),
        (filled("p", named(&u32, &u32), &[1], huge), "`x_strides` is u32, got 4294967296".to_owned()),
        (filled("p", named(&u32, &i32), &[], &[]), "`x_strides` is i32, 1 numbers, got 0".to_owned()),
        (filled("p", vec![("x_first", u32.clone())], &[3], &[1]), format!("`x` {array}, and the shader asks for no")),
        (filled("p", vec![("x_layout", layout(bad))], &[3], &[1]), "`x_layout` is Layout, and an array".to_owned()),
        (filled("p", vec![("x_layout", u32.clone())], &[3], &[1]), "`x_layout` is u32, and an array".to_owned()),
    ];
    for (refused, words) in cases {
        let refused = refused.unwrap_err();
        assert!(refused.contains(&words), "{refused}");
    }
}

#[test]
fn numbers_are_given_for_what_no_array_fills() {
    let members =
        || ["x_first", "n", "x_strides", "y_first"].map(|name| (name, ElementType::Scalar(DType::I32))).to_vec();
    let (several, whole) = (signature("p", members()), signature("x_layout", members()));
    let names = |signature: &Signature, strided: &[&Param]| {
        given_numbers(signature, strided).map(|member| member.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&several, &[]), ["x_first", "n", "x_strides", "y_first"]);
    assert_eq!(names(&several, &[&param(false)]), ["n", "y_first"]);
    assert!(names(&whole, &[&param(false)]).is_empty());
}
