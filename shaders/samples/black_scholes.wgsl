// call = spot * N(d1) - strike * exp(-rate * years) * N(d2), put = call - spot + strike * exp(-rate * years), d1 =
// (log(spot / strike) + (rate + volatility^2 / 2) * years) / (volatility * sqrt(years)), d2 = d1 - volatility *
// sqrt(years)
//
// Prices of European options after Black and Scholes; N is the distribution function of the normal distribution.
// Dispatch one invocation per option: covering (number of options). The shortest array counts. `years` is above zero.

struct Params {
    rate: f32,
    volatility: f32,
}

@group(0) @binding(0) var<storage, read> spot: array<f32>;
@group(0) @binding(1) var<storage, read> strike: array<f32>;
@group(0) @binding(2) var<storage, read> years: array<f32>;
@group(0) @binding(3) var<storage, read_write> call: array<f32>;
@group(0) @binding(4) var<storage, read_write> put: array<f32>;
var<immediate> params: Params;

// Abramowitz and Stegun 26.2.17: a polynomial of the fifth degree with an error below 7.5e-8.
fn normal_distribution(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.2316419 * abs(x));
    let series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
    let tail = 0.39894228 * exp(-0.5 * x * x) * series;
    return select(tail, 1.0 - tail, x >= 0.0);
}

@compute @workgroup_size(64)
fn black_scholes(@builtin(global_invocation_id) at: vec3<u32>) {
    let i = at.x;
    let n = min(min(arrayLength(&spot), arrayLength(&strike)), min(arrayLength(&years), arrayLength(&call)));
    if i >= min(n, arrayLength(&put)) {
        return;
    }
    let deviation = params.volatility * sqrt(years[i]);
    let drift = (params.rate + 0.5 * params.volatility * params.volatility) * years[i];
    let d1 = (log(spot[i] / strike[i]) + drift) / deviation;
    let d2 = d1 - deviation;
    let discounted = strike[i] * exp(-params.rate * years[i]);
    call[i] = spot[i] * normal_distribution(d1) - discounted * normal_distribution(d2);
    put[i] = discounted * normal_distribution(-d2) - spot[i] * normal_distribution(-d1);
}
