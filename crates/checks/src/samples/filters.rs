//! Shaders that make a picture of a picture, or of numbers.

use vkarray::kernel::Sampler;
use vkarray::{Context, Groups, Source};

use super::{assert_near, doubles, noise, sample, text};
use crate::{Result, number};

pub(crate) fn an_inverted_picture_has_the_complement_of_each_colour(ctx: &Context) -> Result<()> {
    for n in [1, 63, 64, 65, 1009] {
        let picture = noise(4 * n, 1);
        let image = ctx.shaped_to_device(&picture, [n, 4])?;
        sample(ctx, "invert")?.launch(Groups::covering(n), (&image,))?;
        let complement = |(i, value): (usize, &f32)| if i % 4 == 3 { *value } else { 1.0 - value };
        assert_eq!(image.to_vec()?, picture.iter().enumerate().map(complement).collect::<Vec<_>>(), "{n} pixels");
    }
    Ok(())
}

pub(crate) fn a_convolution_is_the_sum_of_weighted_neighbours(ctx: &Context) -> Result<()> {
    // Width and height, radius along x and y, edge of a workgroup: small pictures, and different radii on each axis.
    for ([width, height], [radius_x, radius_y], tile) in [
        ([1, 1], [0, 0], 16),
        ([2, 3], [4, 4], 16),
        ([37, 23], [3, 1], 8),
        ([32, 16], [1, 1], 16),
        ([19, 21], [2, 0], 7),
    ] {
        let source = noise(width * height * 4, 2);
        let [columns, rows] = [2 * radius_x + 1, 2 * radius_y + 1];
        let weights: Vec<f32> = noise(rows * columns, 3).iter().map(|w| 2.0 * w / (rows * columns) as f32).collect();
        let convolve = ctx.kernel(Source::wgsl(text("convolve")).named("convolve")).constant("TILE", tile).build()?;
        let (from, to) = (ctx.shaped_to_device(&source, [height, width, 4])?, ctx.full([height, width, 4], 7.0_f32)?);
        let constant = ctx.slice_to_device(&weights)?;
        let sizes = [width, height, radius_x, radius_y].map(number);
        convolve.launch(
            Groups::covering([width, height]),
            (&from, &to, constant.padded(), sizes[0], sizes[1], sizes[2], sizes[3]),
        )?;
        let pixel = |x: Option<usize>, y: Option<usize>, channel: usize| match (x, y) {
            (Some(x), Some(y)) if x < width && y < height => f64::from(source[4 * (y * width + x) + channel]),
            _ => 0.0,
        };
        let sum = |at: usize| {
            let (x, y, channel) = (at / 4 % width, at / 4 / width, at % 4);
            let weighted = weights.iter().enumerate().map(|(tap, &weight)| {
                let (i, j) = (tap % columns, tap / columns);
                let (column, row) = ((x + radius_x).checked_sub(i), (y + radius_y).checked_sub(j));
                f64::from(weight) * pixel(column, row, channel)
            });
            weighted.sum()
        };
        let expected: Vec<f64> = (0..source.len()).map(sum).collect();
        assert_near(&format!("{width} x {height}, {radius_x} x {radius_y}"), &to.to_vec()?, &expected, 1e-5);
    }
    Ok(())
}

pub(crate) fn the_bilateral_filter_is_a_mean_with_weights_of_space_and_colour(ctx: &Context) -> Result<()> {
    let bilateral = sample(ctx, "bilateral")?;
    for ([width, height], radius) in [([1, 1], 2), ([15, 17], 1), ([16, 5], 3), ([19, 23], 0), ([19, 23], 4)] {
        let source = noise(width * height * 4, 6);
        let pixels = doubles(&source);
        let pixel = |i: usize| &pixels[4 * i..4 * i + 4];
        let mut expected = Vec::new();
        for i in 0..width * height {
            let (mut sum, mut weights) = ([0.0; 4], 0.0);
            for j in 0..width * height {
                let (x, y) = ((i % width).abs_diff(j % width), (i / width).abs_diff(j / width));
                let change: f64 = pixel(i).iter().zip(pixel(j)).map(|(a, b)| (a - b) * (a - b)).sum();
                if x.max(y) <= radius {
                    let weight = (-((x * x + y * y) as f64) / (2.0 * 2.5 * 2.5) - change / (2.0 * 0.4 * 0.4)).exp();
                    (0..4).for_each(|channel| sum[channel] += weight * pixel(j)[channel]);
                    weights += weight;
                }
            }
            expected.extend(sum.map(|sum| sum / weights));
        }
        let source = ctx.shaped_to_device(&source, [height, width, 4])?;
        let smooth = ctx.full([height, width, 4], 7.0_f32)?;
        let args = (&source, &smooth, number(width), number(height), number(radius), 2.5_f32, 0.4_f32);
        bilateral.launch(Groups::covering([width, height]), args)?;
        assert_near(&format!("{width} x {height}, {radius}"), &smooth.to_vec()?, &expected, 1e-5);
    }
    Ok(())
}

pub(crate) fn a_turned_picture_is_interpolated_at_the_places_that_it_came_from(ctx: &Context) -> Result<()> {
    let rotate = sample(ctx, "rotate")?;
    for ([width, height], angle) in [([1, 1], 0.5_f32), ([19, 23], 0.0), ([17, 9], 0.3), ([37, 24], -2.0)] {
        let mut random = fastrand::Rng::with_seed(11);
        let source: Vec<u8> = (0..4 * width * height).map(|_| random.u8(..)).collect();
        let (sin, cos) = f64::from(angle).sin_cos();
        let turned = |at: usize| {
            let (middle_x, middle_y) = (width as f64 / 2.0, height as f64 / 2.0);
            let (x, y) = ((at / 4 % width) as f64 + 0.5 - middle_x, (at / 4 / width) as f64 + 0.5 - middle_y);
            let (x, y) = (middle_x + cos * x + sin * y - 0.5, middle_y - sin * x + cos * y - 0.5);
            // Each texel counts by its distance on both axes, up to one.
            let near = |a: f64, b: usize| (1.0 - (a - b as f64).abs()).max(0.0);
            let texel = |i: usize| near(x, i % width) * near(y, i / width) * f64::from(source[4 * i + at % 4]);
            (0..width * height).map(texel).sum::<f64>()
        };
        let expected: Vec<f64> = (0..source.len()).map(|at| turned(at) / 255.0).collect();
        let picture = ctx.shaped_to_device(&source, [height, width, 4])?;
        let result = ctx.zeros::<u8>([height, width, 4])?;
        let how = Sampler::linear().border();
        rotate.launch(Groups::covering([width, height]), (&picture, how, &result, angle))?;
        let found: Vec<f32> = result.to_vec()?.iter().map(|&value| f32::from(value) / 255.0).collect();
        // Devices interpolate with 8 bits of the place, and the result has 8 bits.
        assert_near(&format!("{width} x {height}, {angle}"), &found, &expected, 0.015);
    }
    Ok(())
}

pub(crate) fn numbers_get_the_colours_between_those_of_the_table(ctx: &Context) -> Result<()> {
    // The numbers lie between -3 and 5.
    let field: Vec<f32> = noise(301, 7).iter().map(|value| 8.0 * value - 3.0).collect();
    let x = ctx.slice_to_device(&field)?;
    let image = ctx.full([301, 4], 7.0_f32)?;
    sample(ctx, "colour_map")?.launch(Groups::covering(301), (&x, &image, -2.0_f32, 4.0_f32))?;
    let table = [[0.05, 0.03, 0.25], [0.35, 0.05, 0.5], [0.8, 0.2, 0.35], [0.97, 0.55, 0.2], [0.98, 0.95, 0.6]];
    let mut expected = Vec::new();
    for value in doubles(&field) {
        // The weight of each colour of the table depends on how near its number is.
        let weight = |i: u32| (1.0 - ((value + 2.0) / 1.5 - f64::from(i)).abs()).max(0.0);
        let weights = if value < -2.0 {
            [1.0, 0.0, 0.0, 0.0, 0.0]
        } else if value > 4.0 {
            [0.0, 0.0, 0.0, 0.0, 1.0]
        } else {
            [0, 1, 2, 3, 4].map(weight)
        };
        expected.extend([0, 1, 2].map(|channel| (0..5).map(|i| weights[i] * table[i][channel]).sum::<f64>()));
        expected.push(1.0);
    }
    assert_near("colours", &image.to_vec()?, &expected, 1e-5);
    Ok(())
}
