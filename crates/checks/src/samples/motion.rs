//! The steps of simulations: heat, waves, bodies, the Game of Life, birds. Each runs several steps, with the arrays
//! exchanged, so that a wrong value at the border spreads.

use vkarray::{Context, Groups};

use super::{assert_near, doubles, noise, sample};
use crate::{Result, number};

/// Width and height: single cells and lines, sizes around a workgroup, and a prime.
const SIZES: [[usize; 2]; 6] = [[1, 1], [1, 7], [9, 2], [15, 17], [16, 16], [37, 23]];

/// What a cell gains from its four neighbours, or nothing for a cell at the border.
fn spread(cells: &[f64], [width, height]: [usize; 2], i: usize) -> Option<f64> {
    let (x, y) = (i % width, i / width);
    let is_inside = x > 0 && y > 0 && x + 1 < width && y + 1 < height;
    is_inside.then(|| [i - 1, i + 1, i - width, i + width].iter().map(|&j| cells[j] - cells[i]).sum())
}

pub(crate) fn heat_spreads_and_the_border_keeps_its_temperature(ctx: &Context) -> Result<()> {
    let heat = sample(ctx, "heat")?;
    for size in SIZES {
        let start = noise(size[0] * size[1], 1);
        let mut expected = doubles(&start);
        let (mut a, mut b) = (ctx.slice_to_device(&start)?, ctx.full([start.len()], -9.0_f32)?);
        for _ in 0..5 {
            heat.launch(Groups::covering(size), (&a, &b, number(size[0]), number(size[1]), 0.2_f32))?;
            let next = |i: usize| expected[i] + 0.2 * spread(&expected, size, i).unwrap_or(0.0);
            expected = (0..expected.len()).map(next).collect();
            std::mem::swap(&mut a, &mut b);
        }
        assert_near(&format!("{size:?}"), &a.to_vec()?, &expected, 1e-5);
    }
    Ok(())
}

pub(crate) fn waves_run_and_the_border_stays_at_zero(ctx: &Context) -> Result<()> {
    let wave = sample(ctx, "wave")?;
    for size in SIZES {
        let n = size[0] * size[1];
        let start = [noise(n, 1), noise(n, 2)];
        let [mut before, mut now] = start.each_ref().map(|values| doubles(values));
        let [mut b, mut a] = [ctx.slice_to_device(&start[0])?, ctx.slice_to_device(&start[1])?];
        for _ in 0..5 {
            wave.launch(Groups::covering(size), (&a, &b, number(size[0]), number(size[1]), 0.3_f32))?;
            let after = |i: usize| spread(&now, size, i).map_or(0.0, |sum| 2.0 * now[i] - before[i] + 0.3 * sum);
            (before, now) = (now.clone(), (0..n).map(after).collect());
            std::mem::swap(&mut a, &mut b);
        }
        assert_near(&format!("{size:?}"), &a.to_vec()?, &now, 1e-4);
    }
    Ok(())
}

pub(crate) fn bodies_attract_each_other(ctx: &Context) -> Result<()> {
    let nbody = sample(ctx, "nbody")?;
    for n in [1_usize, 2, 63, 64, 65, 131] {
        // Positions within a cube around zero, and masses from 0 to 1.
        let places: Vec<f32> =
            noise(4 * n, 3).iter().enumerate().map(|(i, v)| if i % 4 < 3 { 4.0 * v - 2.0 } else { *v }).collect();
        let mut bodies: Vec<[f64; 4]> =
            doubles(&places).chunks(4).map(|body| [body[0], body[1], body[2], body[3]]).collect();
        let mut speeds = vec![[0.0; 3]; n];
        let mut now = ctx.shaped_to_device(&places, [n, 4])?;
        let mut next = ctx.zeros::<f32>([n, 4])?;
        let velocity = ctx.zeros::<f32>([n, 4])?;
        for _ in 0..3 {
            nbody.launch(Groups::covering(n), (&now, &velocity, &next, 0.01_f32, 0.5_f32))?;
            std::mem::swap(&mut now, &mut next);
            let old = bodies.clone();
            for (body, speed) in bodies.iter_mut().zip(&mut speeds) {
                for other in &old {
                    let to: [f64; 3] = std::array::from_fn(|axis| other[axis] - body[axis]);
                    let cube = (to.iter().map(|x| x * x).sum::<f64>() + 0.25).powf(1.5);
                    (0..3).for_each(|axis| speed[axis] += 0.01 * other[3] * to[axis] / cube);
                }
                (0..3).for_each(|axis| body[axis] += 0.01 * speed[axis]);
            }
        }
        assert_near(&format!("{n} bodies"), &now.to_vec()?, bodies.as_flattened(), 1e-5);
        let found: Vec<f32> = velocity.to_vec()?.chunks(4).flat_map(|speed| speed[..3].to_vec()).collect();
        assert_near(&format!("speed of {n} bodies"), &found, speeds.as_flattened(), 1e-4);
    }
    Ok(())
}

pub(crate) fn cells_live_and_die_in_a_world_without_border(ctx: &Context) -> Result<()> {
    let life = sample(ctx, "life")?;
    for [width, height] in SIZES {
        let start = noise(width * height, 4);
        let mut alive: Vec<bool> = start.iter().map(|&value| value > 0.5).collect();
        let mut now = ctx.slice_to_device(&start)?;
        let mut next = ctx.full([start.len()], 7.0_f32)?;
        for generation in 0..4 {
            life.launch(Groups::covering([width, height]), (&now, &next, number(width), number(height)))?;
            std::mem::swap(&mut now, &mut next);
            // Conway's rules: a cell is born with three neighbours, and stays alive with two or three.
            let n_neighbours = |i: usize| {
                let (x, y) = (i % width, i / width);
                let ways = (0..9)
                    .filter(|way| *way != 4)
                    .map(|way| ((x + width + way % 3 - 1) % width, (y + height + way / 3 - 1) % height));
                ways.filter(|(x, y)| alive[y * width + x]).count()
            };
            alive = (0..alive.len()).map(|i| matches!((alive[i], n_neighbours(i)), (_, 3) | (true, 2))).collect();
            let expected: Vec<f32> = alive.iter().map(|&is_alive| f32::from(u8::from(is_alive))).collect();
            assert_eq!(now.to_vec()?, expected, "{width} x {height}, generation {generation}");
        }
    }
    Ok(())
}

pub(crate) fn birds_fly_with_their_neighbours(ctx: &Context) -> Result<()> {
    let boids = sample(ctx, "boids")?;
    let (radius, step) = (0.2, 0.05);
    for n in [1_usize, 2, 63, 65, 149] {
        let start: Vec<f32> =
            noise(4 * n, 5).iter().enumerate().map(|(i, v)| if i % 4 < 2 { *v } else { 0.8 * v - 0.4 }).collect();
        let now = ctx.shaped_to_device(&start, [n, 4])?;
        let next = ctx.zeros::<f32>([n, 4])?;
        boids.launch(Groups::covering(n), (&now, &next, 0.2_f32, 0.05_f32))?;
        let birds: Vec<[f64; 4]> = doubles(&start).chunks(4).map(|bird| [bird[0], bird[1], bird[2], bird[3]]).collect();
        let mut expected = Vec::new();
        for (i, bird) in birds.iter().enumerate() {
            // The nearest of the copies of a bird on both sides of each edge.
            let offset = |other: &[f64; 4], axis: usize| {
                let copies = [-1.0, 0.0, 1.0].map(|copy| other[axis] - bird[axis] + copy);
                copies.into_iter().min_by(|a, b| a.abs().total_cmp(&b.abs())).expect("three copies")
            };
            let others = birds
                .iter()
                .enumerate()
                .filter(|(j, _)| *j != i)
                .map(|(_, other)| (other, [offset(other, 0), offset(other, 1)]));
            let near: Vec<_> = others.filter(|(_, to)| to[0].hypot(to[1]) < radius).collect();
            let count = near.len() as f64;
            let mut speed = [bird[2], bird[3]];
            for axis in 0..2 {
                for (other, to) in &near {
                    let is_too_near = to[0].hypot(to[1]) < radius / 3.0;
                    let away = if is_too_near { -to[axis] } else { 0.0 };
                    speed[axis] += step
                        * (2.0 * to[axis] / count + 2.0 * (other[2 + axis] - bird[2 + axis]) / count + 12.0 * away);
                }
            }
            let length = speed[0].hypot(speed[1]);
            speed = speed.map(|x| x / length * length.clamp(0.1, 0.3));
            expected.extend([0, 1].map(|axis| (bird[axis] + step * speed[axis]).rem_euclid(1.0)));
            expected.extend(speed);
        }
        assert_near(&format!("{n} birds"), &next.to_vec()?, &expected, 1e-5);
    }
    Ok(())
}
