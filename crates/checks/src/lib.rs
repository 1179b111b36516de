//! Checks of the primitives and of the sample shaders on a device, against computations on the host.
//!
//! [`CHECKS`] lists them. `vkarray check` runs each on the devices of a machine, and the project's own tests run each under
//! the validation layer. A check is a function of a context: it returns an error of the library, panics where a result is
//! wrong, and returns nothing otherwise. It opens no device and prints nothing.
//!
//! ```
//! use vkarray::prelude::*;
//!
//! # fn main() -> anyhow::Result<()> {
//! let ctx = Context::open_default()?;
//! let is_about_masks = |check: &&vkarray_checks::Check| check.name.contains("masks");
//! for check in vkarray_checks::CHECKS.iter().filter(is_about_masks) {
//!     (check.run)(&ctx)?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | folder | has |
//! |---|---|
//! | `primitives` | functions of arrays |
//! | `samples` | the shaders of `shaders/samples/` |
#![forbid(unsafe_code)]

mod primitives;
mod samples;

pub use primitives::elementary::{function, largest_errors};
use vkarray::Context;
use vkarray::device::DeviceInfo;

/// What a check returns.
pub type Result<T> = vkarray::Result<T>;

/// One check.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The part of the library that the check tests: `primitives` or `samples`.
    pub room: &'static str,
    /// The statement that holds if the check passes.
    pub name: &'static str,
    /// A feature that a device may lack. Without it, the check ends with the library's error for a missing capability.
    /// A test of the command runs all checks without any optional feature, so a feature that is not named here is
    /// found.
    pub need: Option<Need>,
    /// Runs the check.
    ///
    /// # Errors
    ///
    /// The errors of the library.
    ///
    /// # Panics
    ///
    /// If a result is wrong.
    pub run: fn(&Context) -> Result<()>,
}

/// A feature, or several joined by " and ", and whether a device has them.
pub type Need = (&'static str, fn(&DeviceInfo) -> bool);

const DOUBLES: Need = ("shader_float64", |info| info.features.shader_float64);
const LONGS: Need = ("shader_int64", |info| info.features.shader_int64);
const DOUBLES_AND_LONGS: Need =
    ("shader_float64 and shader_int64", |info| info.features.shader_float64 && info.features.shader_int64);
/// `VK_SUBGROUP_FEATURE_ARITHMETIC_BIT`.
const SUBGROUP_SUMS: Need = ("subgroup arithmetic", |info| info.subgroup.operations & 4 != 0);

/// Gives the names of all checks to another macro, such as one that makes a test function of each.
#[macro_export]
macro_rules! for_each_check {
    ($use:ident) => {
        $use! {
            primitives::elementwise {
                every_element_is_computed_whatever_the_size,
                operands_and_targets_may_have_any_strides,
                repeated_elements_compute_like_their_copies,
                numbers_of_up_to_32_bits_compute,
                integers_of_64_bits_compute LONGS,
                short_integers_compute_in_64_bits LONGS,
                doubles_compute DOUBLES,
            }
            primitives::elementary {
                functions_are_as_exact_as_the_guide_says,
                functions_of_halves_are_rounded_once_more,
                subnormal_numbers_that_are_selected_keep_their_bits,
                powers_of_subnormal_numbers_are_exact_too,
                large_quotients_are_rounded_down_as_by_numpy,
            }
            primitives::reductions {
                any_axes_of_any_layout_are_reduced,
                rows_of_any_length_are_reduced,
                positions_of_special_floats_are_numpys,
                sums_of_any_length_are_exact_for_integers,
                more_than_2_to_the_24_elements_are_reduced_to_the_end,
                elements_that_take_long_to_compute_are_all_added DOUBLES_AND_LONGS,
                nan_wins_and_the_first_of_equals_is_found,
                float_sums_are_within_the_stated_bound_and_repeat,
                statistics_are_numpys,
                variances_of_distant_numbers_are_precise,
            }
            primitives::scan {
                running_sums_of_integers_of_any_length_are_exact,
                running_sums_and_products_follow_any_axis_of_any_view,
                running_sums_of_floats_are_within_the_bound_of_serial_sums,
            }
            primitives::fourier {
                impulses_become_waves_of_their_place_and_come_back,
            }
            primitives::sorting {
                floats_are_sorted_as_by_a_stable_sort_of_the_host,
                rows_and_columns_of_any_view_are_sorted,
                different_values_come_with_places_and_counts,
                values_are_found_and_counted_between_edges,
            }
            primitives::indexing {
                indices_take_slices_along_any_axis_of_any_view,
                indices_out_of_range_wrap_around_or_are_clipped,
                elements_are_taken_along_an_axis_and_put_by_flat_index,
            }
            primitives::masks {
                masks_select_elements_of_every_size_in_order,
                masks_select_rows,
            }
            primitives::matrices {
                products_of_fractions_are_within_the_bound_of_serial_sums,
                long_inner_lengths_are_added_up_to_the_end,
                long_sums_of_64_bits_are_added_up_to_the_end LONGS,
                ones_are_on_the_diagonal_asked_for_and_nowhere_else,
            }
            primitives::random {
                bits_are_those_of_the_host_from_any_position_and_of_any_length,
                wide_bits_are_those_of_the_host_and_of_numpy,
                uniform_numbers_are_the_upper_bits_as_a_fraction,
                integers_are_products_of_bits_and_the_length_of_the_range,
                normal_numbers_follow_from_the_bits_and_have_their_moments,
                a_draw_fills_views_and_host_memory_in_c_order_and_leaves_the_rest,
            }
            samples::numbers {
                saxpy_adds_a_multiple_of_each_element,
                points_in_the_circle_are_counted_exactly_and_give_pi,
                options_have_the_prices_of_the_formula_by_integration,
                softmax_of_each_row_adds_up_to_one_and_does_not_overflow,
            }
            samples::pictures {
                the_mandelbrot_set_has_the_colour_of_the_step_that_leaves_the_circle,
                the_julia_set_is_black_where_points_stay,
                rays_that_march_end_where_rays_meet_spheres_and_floor,
                points_are_dots_of_light,
            }
            samples::filters {
                an_inverted_picture_has_the_complement_of_each_colour,
                a_convolution_is_the_sum_of_weighted_neighbours,
                the_bilateral_filter_is_a_mean_with_weights_of_space_and_colour,
                a_turned_picture_is_interpolated_at_the_places_that_it_came_from,
                numbers_get_the_colours_between_those_of_the_table,
            }
            samples::motion {
                heat_spreads_and_the_border_keeps_its_temperature,
                waves_run_and_the_border_stays_at_zero,
                bodies_attract_each_other,
                cells_live_and_die_in_a_world_without_border,
                birds_fly_with_their_neighbours,
            }
            samples::sums {
                every_step_of_the_reduction_gives_the_sum,
                the_step_of_the_reduction_by_subgroups_gives_the_sum SUBGROUP_SUMS,
                a_scan_gives_the_sum_before_each_element,
                every_step_of_the_matrix_product_gives_the_product,
                a_histogram_counts_numbers_also_those_outside,
                a_radix_sort_is_stable_in_each_digit_and_sorts_in_eight,
                the_stages_of_the_fourier_transform_give_its_sums_and_their_inverse,
            }
        }
    };
}

macro_rules! table {
    (@need $need:ident) => { Some($need) };
    (@need) => { None };
    ($($room:ident::$file:ident { $($name:ident $($need:ident)?,)* })*) => {
        /// All checks, in reading order.
        pub const CHECKS: &[Check] = &[$($(Check {
            room: stringify!($room),
            name: stringify!($name),
            need: table!(@need $($need)?),
            run: $room::$file::$name,
        },)*)*];
    };
}
for_each_check!(table);

/// A size, as a push constant or an index.
fn number(n: usize) -> u32 {
    u32::try_from(n).expect("sizes of checks are small")
}

/// A size as a signed number.
fn int(n: usize) -> i32 {
    i32::try_from(n).expect("sizes of checks are small")
}
