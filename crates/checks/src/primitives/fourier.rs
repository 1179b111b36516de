//! Fourier transforms, of which a formula gives every element.

use std::f64::consts::TAU;

use vkarray::array::Complex32;
use vkarray::prelude::*;

use crate::Result;

pub(crate) fn impulses_become_waves_of_their_place_and_come_back(ctx: &Context) -> Result<()> {
    for n in [1_usize, 2, 16, 512, 4096, 1 << 15] {
        let places = [0, 1 % n, n / 2, n - 1, n / 3];
        let one = Complex32 { re: 1.0, im: 0.0 };
        let mut host = vec![Complex32::default(); places.len() * n];
        for (row, place) in places.into_iter().enumerate() {
            host[row * n + place] = one;
        }
        let waves = ctx.slice_to_device(&host)?.reshape([places.len(), n])?.fft(1)?;
        for (i, found) in waves.to_vec()?.into_iter().enumerate() {
            let (sine, cosine) = (-TAU * (places[i / n] * (i % n) % n) as f64 / n as f64).sin_cos();
            let error = (f64::from(found.re) - cosine).abs().max((f64::from(found.im) - sine).abs());
            assert!(error < 2e-6, "element {i} of {n}: {found:?}, not {cosine} + {sine} i");
        }
        for (i, (found, x)) in waves.ifft(1)?.to_vec()?.into_iter().zip(&host).enumerate() {
            assert!((found.re - x.re).abs().max(found.im.abs()) < 2e-6, "element {i} of {n} comes back as {found:?}");
        }
    }
    Ok(())
}
