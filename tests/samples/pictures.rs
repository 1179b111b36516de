//! Drawings and filters. A pixel on the border of two surfaces may fall to either side: a pixel is compared if the host
//! gets the same for places a little beside it, and most pixels have to be of that kind.

use vkarray::{Groups, Source};

use super::{assert_near, doubles, noise, number, sample};
use crate::fixture::{Fixture, contents};

/// Width and height: around a workgroup, and a prime.
const SIZES: [[usize; 2]; 4] = [[1, 1], [15, 17], [16, 16], [61, 43]];

/// The place of a pixel: zero in the middle, one at the upper edge; `shift` moves it.
fn place(x: usize, y: usize, [width, height]: [usize; 2], shift: [f64; 2]) -> [f64; 2] {
    let half = |i: usize, n: usize| (i as f64 + 0.5 - n as f64 / 2.0) / (height as f64 / 2.0);
    [half(x, width) + shift[0], -half(y, height) + shift[1]]
}

/// Compares each pixel of `found` that does not depend on a small shift with `colour` of its place.
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

#[test]
fn the_mandelbrot_set_has_the_colour_of_the_step_that_leaves_the_circle() {
    let fixture = Fixture::open();
    let mandelbrot = sample(&fixture, "mandelbrot");
    for size in SIZES {
        let image = fixture.full([size[1], size[0], 4], 7.0_f32).unwrap();
        let (width, height) = (number(size[0]), number(size[1]));
        mandelbrot.launch(Groups::covering(size), (&image, width, height, [-0.7_f32, 0.1], 1.25_f32)).unwrap();
        assert_pixels(&contents(&image), size, |[x, y]| {
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
}

/// The least positive distance along a ray to a sphere.
fn to_sphere(from: [f64; 3], along: [f64; 3], centre: [f64; 3], radius: f64) -> Option<f64> {
    let to = [0, 1, 2].map(|axis| from[axis] - centre[axis]);
    let (b, c) = (dot(to, along), dot(to, to) - radius * radius);
    let root = (b * b - c).sqrt(); // NaN where the ray misses.
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

#[test]
fn rays_that_march_end_where_rays_meet_spheres_and_floor() {
    let fixture = Fixture::open();
    let source = Source::wgsl(vkarray_shaders::sample("ray_march").unwrap());
    let ray_march = fixture.kernel(source).constant("BLEND", 0.0).build().unwrap();
    for size in SIZES {
        let image = fixture.full([size[1], size[0], 4], 7.0_f32).unwrap();
        ray_march.launch(Groups::covering(size), (&image, number(size[0]), number(size[1]))).unwrap();
        assert_pixels(&contents(&image), size, ray_traced);
    }
}

#[test]
fn the_bilateral_filter_is_a_mean_with_weights_of_space_and_colour() {
    let fixture = Fixture::open();
    let bilateral = sample(&fixture, "bilateral");
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
        let source = fixture.shaped_to_device(&source, [height, width, 4]).unwrap();
        let smooth = fixture.full([height, width, 4], 7.0_f32).unwrap();
        let args = (&source, &smooth, number(width), number(height), number(radius), 2.5_f32, 0.4_f32);
        bilateral.launch(Groups::covering([width, height]), args).unwrap();
        assert_near(&format!("{width} x {height}, {radius}"), &contents(&smooth), &expected, 1e-5);
    }
}

#[test]
fn numbers_get_the_colours_between_those_of_the_table() {
    let fixture = Fixture::open();
    let field: Vec<f32> = noise(301, 7).iter().map(|value| 8.0 * value - 3.0).collect(); // From -3 to 5.
    let x = fixture.slice_to_device(&field).unwrap();
    let image = fixture.full([301, 4], 7.0_f32).unwrap();
    sample(&fixture, "colour_map").launch(Groups::covering(301), (&x, &image, -2.0_f32, 4.0_f32)).unwrap();
    let table = [[0.05, 0.03, 0.25], [0.35, 0.05, 0.5], [0.8, 0.2, 0.35], [0.97, 0.55, 0.2], [0.98, 0.95, 0.6]];
    let mut expected = Vec::new();
    for value in doubles(&field) {
        // Each colour of the table counts by how near its number is.
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
    assert_near("colours", &contents(&image), &expected, 1e-5);
}

#[test]
fn points_are_dots_of_light() {
    let fixture = Fixture::open();
    let points = sample(&fixture, "points");
    for size in SIZES {
        let places = noise(4 * 13, 8);
        let image = fixture.full([size[1], size[0]], 7.0_f32).unwrap();
        let device_places = fixture.shaped_to_device(&places, [13, 4]).unwrap();
        let args = (&device_places, &image, number(size[0]), number(size[1]), [0.4_f32, 0.6], 0.5_f32, 0.1_f32);
        points.launch(Groups::covering(size), args).unwrap();
        let light = |i: usize| {
            let [x, y] = place(i % size[0], i / size[0], size, [0.0; 2]);
            let square = |point: &[f64]| (point[0] - 0.4 - 0.5 * x).powi(2) + (point[1] - 0.6 - 0.5 * y).powi(2);
            doubles(&places).chunks(4).map(|point| (-square(point) / 0.01).exp()).sum::<f64>().min(1.0)
        };
        let expected: Vec<f64> = (0..size[0] * size[1]).map(light).collect();
        assert_near(&format!("{size:?}"), &contents(&image), &expected, 1e-4);
    }
}
