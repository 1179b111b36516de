//! Arrays with their axes reversed.

use vkarray::Element;

use crate::array::DistArray;
use crate::decomposition::Region;
use crate::error::DistError;

impl<'t, T: Element> DistArray<'t, T> {
    /// The array with its axes reversed. Its grid of ranks is reversed too, so that parts, their ghost zones and
    /// borders are those of this array, seen along reversed axes; the ghost zones are zeros. Each part goes to one rank
    /// in one message. Blocks as [`halo`](DistArray::halo) does.
    ///
    /// # Errors
    /// A rank has ended or disagrees on the call, or a copy fails.
    pub fn transpose(&self) -> Result<Self, DistError> {
        self.agree("transpose")?;
        let divided = self.decomposition();
        let target = DistArray::zeros(self.local().context(), self.transport(), &divided.reversed())?;
        target.receive(&self.interior().t(), |rank| Ok(reversed(divided.part(rank)?)))?;
        Ok(target)
    }
}

fn reversed(Region { mut start, mut shape }: Region) -> Region {
    start.reverse();
    shape.reverse();
    Region { start, shape }
}
