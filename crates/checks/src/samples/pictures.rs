//! Drawings. A pixel on the border of two surfaces may show either surface. A pixel is compared if the host gets the
//! same colour for positions a little beside it, and most pixels must be compared.

use vkarray::{Context, Groups, Source};

use super::{assert_near, doubles, noise, sample, text};
use crate::{Result, number};

/// Width and height: sizes around a workgroup, and a prime.
const SIZES: [[usize; 2]; 4] = [[1, 1], [15, 17], [16, 16], [61, 43]];

/// The position of a pixel: zero in the middle, one at the upper edge; `shift` moves it.
fn place(x: usize, y: usize, [width, height]: [usize; 2], shift: [f64; 2]) -> [f64; 2] {
    let half = |i: usize, n: usize| (i as f64 + 0.5 - n as f64 / 2.0) / (height as f64 / 2.0);
    [half(x, width) + shift[0], -half(y, height) + shift[1]]
}

/// Compares each pixel of `found` that does not depend on a small shift with `colour` of its position.
fn assert_pixels(found: &[f32], size: [usize; 2], colour: impl Fn([f64; 2]) -> [f64; 3]) {
    let [width, height] = size;
    let mut n_compared = 0;
    for (i, pixel) in found.chunks(4).enumerate() {
        let at = |shift: [f64; 2]| colour(place(i % width, i / width, size, shift));
        let expected = at([0.0; 2]);
        let d = 1e-3;
        let is_stable = |shift: [f64; 2]| at(shift).iter().zip(&expected).all(|(a, b)| (a - b).abs() < 0.02);
        if [[d, 0.0], [-d, 0.0], [0.0, d], [0.0, -d]].into_iter().all(is_stable) {
            n_compared += 1;
            assert_near(&format!("pixel {i} of {size:?}"), pixel, &[expected[0], expected[1], expected[2], 1.0], 0.02);
        }
    }
    assert!(n_compared * 5 >= width * height * 4, "{n_compared} of {width} x {height} pixels were compared");
}

pub(crate) fn the_mandelbrot_set_has_the_colour_of_the_step_that_leaves_the_circle(ctx: &Context) -> Result<()> {
    let mandelbrot = sample(ctx, "mandelbrot")?;
    for size in SIZES {
        let image = ctx.full([size[1], size[0], 4], 7.0_f32)?;
        let (width, height) = (number(size[0]), number(size[1]));
        mandelbrot.launch(Groups::covering(size), (&image, width, height, [-0.7_f32, 0.1], 1.25_f32))?;
        assert_pixels(&image.to_vec()?, size, |[x, y]| {
            let c = [1.25 * x - 0.7, 1.25 * y + 0.1];
            let mut z = [0.0_f64; 2];
            for n in 1..=64 {
                z = [z[0] * z[0] - z[1] * z[1] + c[0], 2.0 * z[0] * z[1] + c[1]];
                if z[0].hypot(z[1]) > 2.0 {
                    let n = f64::from((n - 1) % 32 + 1);
                    return [n / 8.0 - 1.0, n * 3.0 / 16.0 - 0.75, n / 4.0].map(|value| value.clamp(0.0, 1.0));
                }
            }
            [0.0; 3]
        });
    }
    Ok(())
}

pub(crate) fn the_julia_set_is_black_where_points_stay(ctx: &Context) -> Result<()> {
    let [width, height] = [64, 48];
    let image = ctx.full([height, width, 4], 7.0_f32)?;
    let julia = ctx.kernel(Source::wgsl(text("julia")).named("julia")).constant("MAX_ITER", 100).build()?;
    julia.launch(Groups::covering([width, height]), (&image, 64_u32, 48_u32, -0.8_f32, 0.156_f32, 1.2_f32))?;
    let (mut n_black, mut n_differing) = (0, 0);
    for (i, pixel) in image.to_vec()?.chunks(4).enumerate() {
        assert!(pixel.iter().all(|value| (0.0..=1.0).contains(value)), "{pixel:?}");
        let [mut x, mut y] = place(i % width, i / width, [width, height], [0.0; 2]).map(|value| 1.2 * value);
        let stays = (0..100).all(|_| {
            (x, y) = (x * x - y * y - 0.8, 2.0 * x * y + 0.156);
            x * x + y * y <= 65536.0
        });
        let is_black = pixel[..3] == [0.0; 3];
        n_black += u32::from(is_black);
        n_differing += u32::from(is_black != stays);
    }
    // Double and single precision differ near the border of the set.
    assert!(n_differing <= 30, "{n_differing} of 3072 pixels differ");
    assert!((10..1500).contains(&n_black), "{n_black} of 3072 pixels are black");
    Ok(())
}

/// The least positive distance along a ray to a sphere.
fn to_sphere(from: [f64; 3], along: [f64; 3], centre: [f64; 3], radius: f64) -> Option<f64> {
    let to = [0, 1, 2].map(|axis| from[axis] - centre[axis]);
    let (b, c) = (dot(to, along), dot(to, to) - radius * radius);
    let root = (b * b - c).sqrt(); // The root is NaN where the ray misses.
    [-b - root, -b + root].into_iter().find(|t| *t > 1e-3)
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

const SPHERES: [([f64; 3], f64); 2] = [([-0.6, 1.0, 0.0], 1.0), ([0.8, 0.7, -0.3], 0.6)];
const LIGHT: [f64; 3] = [0.48, 0.64, -0.6];

/// The scene of `ray_march` without a joint, by the intersections of rays with spheres and a plane.
fn ray_traced([x, y]: [f64; 2]) -> [f64; 3] {
    let (eye, length) = ([0.0, 1.2, -4.0], (x * x + y * y + 2.2 * 2.2).sqrt());
    let along = [x / length, y / length, 2.2 / length];
    let to_floor = Some(-eye[1] / along[1]).filter(|t| *t > 0.0);
    let hits = SPHERES.map(|(centre, radius)| to_sphere(eye, along, centre, radius));
    let nearest = [hits[0], hits[1], to_floor].into_iter().enumerate();
    let nearest = nearest.filter_map(|(i, t)| Some((i, t.filter(|t| *t < 20.0)?))).min_by(|a, b| a.1.total_cmp(&b.1));
    let Some((i, t)) = nearest else { return [0.55, 0.75, 0.95] };
    let p = [0, 1, 2].map(|axis| eye[axis] + t * along[axis]);
    let (normal, surface) = match SPHERES.get(i) {
        Some((centre, radius)) => ([0, 1, 2].map(|axis| (p[axis] - centre[axis]) / radius), [0.9, 0.45, 0.2]),
        None if (p[0].floor() + p[2].floor()) % 2.0 == 0.0 => ([0.0, 1.0, 0.0], [0.75; 3]),
        None => ([0.0, 1.0, 0.0], [0.35; 3]),
    };
    // The kernel's rays to the light begin a little above the surface.
    let above = [0, 1, 2].map(|axis| p[axis] + 0.02 * normal[axis]);
    let is_lit = SPHERES.iter().all(|&(centre, radius)| to_sphere(above, LIGHT, centre, radius).is_none());
    let light = if is_lit { dot(normal, LIGHT).max(0.0) } else { 0.0 };
    surface.map(|value| value * (0.25 + 0.75 * light))
}

pub(crate) fn rays_that_march_end_where_rays_meet_spheres_and_floor(ctx: &Context) -> Result<()> {
    let source = Source::wgsl(text("ray_march")).named("ray_march");
    let ray_march = ctx.kernel(source).constant("BLEND", 0.0).build()?;
    for size in SIZES {
        let image = ctx.full([size[1], size[0], 4], 7.0_f32)?;
        ray_march.launch(Groups::covering(size), (&image, number(size[0]), number(size[1])))?;
        assert_pixels(&image.to_vec()?, size, ray_traced);
    }
    Ok(())
}

pub(crate) fn points_are_dots_of_light(ctx: &Context) -> Result<()> {
    let points = sample(ctx, "points")?;
    for size in SIZES {
        let places = noise(4 * 13, 8);
        let image = ctx.full([size[1], size[0]], 7.0_f32)?;
        let device_places = ctx.shaped_to_device(&places, [13, 4])?;
        let args = (&device_places, &image, number(size[0]), number(size[1]), [0.4_f32, 0.6], 0.5_f32, 0.1_f32);
        points.launch(Groups::covering(size), args)?;
        let light = |i: usize| {
            let [x, y] = place(i % size[0], i / size[0], size, [0.0; 2]);
            let square = |point: &[f64]| (point[0] - 0.4 - 0.5 * x).powi(2) + (point[1] - 0.6 - 0.5 * y).powi(2);
            doubles(&places).chunks(4).map(|point| (-square(point) / 0.01).exp()).sum::<f64>().min(1.0)
        };
        let expected: Vec<f64> = (0..size[0] * size[1]).map(light).collect();
        assert_near(&format!("{size:?}"), &image.to_vec()?, &expected, 1e-4);
    }
    Ok(())
}
