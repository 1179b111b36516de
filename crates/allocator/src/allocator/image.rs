//! [`Image`]: the image that a block keeps beside bytes of it, for kernels that read or write them as texels.
//!
//! An image is made by the first kernel that takes the bytes as one, and lives as long as the block and the work that uses
//! it. It is always in the layout `GENERAL` between operations. The device tracks its uses by an id of its own, as if it
//! were a block of one byte. Whoever records work on it copies the bytes to it first, unless [`Image::is_current`] says
//! that no one wrote them since.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;
use vkarray_driver::hazard::{BlockAccess, BlockId, Mode, Stage};
use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{Device, Owned};

use super::{Allocator, Block};
use crate::error::Result;
use crate::kind::MemoryKind;
use crate::vulkan::{ChunkMemory, ChunkSource, ImageShape, create_image, create_view, format_properties, texel_view};

/// Images that a block keeps, at most; the one that was made first goes.
const KEPT: usize = 4;

/// The images of a block, each of a range of its bytes.
pub(super) type Images = Mutex<Vec<(Range<u64>, Arc<Image>)>>;

/// An image beside bytes of a block.
#[derive(Debug)]
pub struct Image {
    view: Owned<vk::ImageView>, // Destroyed before the image that it shows.
    image: Owned<vk::Image>,    // Destroyed before the memory that it is bound to.
    _memory: ChunkMemory,
    shape: ImageShape,
    /// What the device does with optimal images of the format.
    features: vk::FormatFeatureFlags,
    id: BlockId,
    /// The block's write count when the image last had its bytes, plus one; 0 if it never had them.
    copied: AtomicU64,
    device: Arc<Device>,
}

impl Image {
    fn new(source: &Arc<ChunkSource>, shape: &ImageShape) -> Result<Self> {
        let device = Arc::clone(source.device());
        let image = create_image(&device, shape)?;
        let memory = source.make_image(image.raw(), MemoryKind::Device)?;
        let view = create_view(&device, image.raw(), shape)?;
        let features = format_properties(&device, shape.format).optimal_tiling_features;
        let id = device.track_block_after(&[]);
        Ok(Self { view, image, _memory: memory, shape: *shape, features, id, copied: AtomicU64::new(0), device })
    }

    /// The image.
    pub fn raw(&self) -> vk::Image {
        self.image.raw()
    }

    /// All of the image, as its shape says.
    pub fn view(&self) -> vk::ImageView {
        self.view.raw()
    }

    /// Its type, format and size.
    pub fn shape(&self) -> &ImageShape {
        &self.shape
    }

    /// Whether the device interpolates between its texels.
    pub fn is_filterable(&self) -> bool {
        self.features.contains(vk::FormatFeatureFlags::SAMPLED_IMAGE_FILTER_LINEAR)
    }

    /// Describes a use of the image, which writes it if it copies to it or its kernel writes it.
    pub fn access(&self, writes: bool) -> BlockAccess {
        let mode = if writes { Mode::Write } else { Mode::Read };
        BlockAccess { mode, ..BlockAccess::read(self.id, 0..1, Stage::Compute) }
    }

    /// Whether it holds the bytes of its block as they are now. Memory that others than this program's device and host
    /// write is never known to be unchanged.
    pub fn is_current(&self, block: &Block) -> bool {
        block.memory().owner().is_none() && self.copied.load(Ordering::Relaxed) == block.write_count() + 1
    }

    /// Notes that recorded work makes it hold the bytes of its block as they were after `count` writes; `None` if that is
    /// not known.
    pub fn note_copied(&self, count: Option<u64>) {
        self.copied.store(count.map_or(0, |count| count + 1), Ordering::Relaxed);
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: the image got the id from this device, and batches keep the image until their work is done, so this is
        // the last use of the id, and its uses are over.
        drop(unsafe { self.device.retire_block(self.id) });
    }
}

impl Block {
    /// The image beside these bytes of the block, made if there is none of this shape yet. Its contents are those that
    /// the last operation left, or undefined.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds), [`Error::NoSuchImage`](crate::Error::NoSuchImage); and the errors
    /// of [`Allocator::allocate`].
    pub fn image(&self, bytes: &Range<u64>, shape: &ImageShape) -> Result<Arc<Image>> {
        self.check_bytes(bytes)?;
        let images = self.images.get_or_init(|| Box::new(Mutex::new(Rank::Images, Vec::new())));
        let is_it = |(range, image): &&(Range<u64>, Arc<Image>)| range == bytes && image.shape == *shape;
        if let Some((_, image)) = images.lock().iter().find(is_it) {
            return Ok(Arc::clone(image));
        }
        let image = Arc::new(self.allocator().make_image(shape)?);
        let mut kept = images.lock();
        let oldest = (kept.len() == KEPT).then(|| kept.remove(0));
        kept.push((bytes.clone(), Arc::clone(&image)));
        drop(kept);
        drop(oldest); // Without the lock, since it may free memory.
        Ok(image)
    }

    /// A view of these bytes of the block as texels. Whoever uses it in work keeps it until the work is done.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds), [`Error::NoSuchImage`](crate::Error::NoSuchImage),
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn texels(
        &self,
        bytes: &Range<u64>,
        format: (vk::Format, u64),
        is_storage: bool,
    ) -> Result<Owned<vk::BufferView>> {
        texel_view(self.device(), self.binding(bytes)?, format, is_storage)
    }
}

impl Allocator {
    /// Makes an image; if memory runs out, once more after all that is free was given back.
    fn make_image(&self, shape: &ImageShape) -> Result<Image> {
        self.device().check_lost()?;
        let source = match self.shared.images.get() {
            Some(source) => source,
            None => {
                let made = ChunkSource::new(self.device())?;
                self.shared.images.get_or_init(|| made)
            }
        };
        let make = || Image::new(source, shape);
        make().or_else(|error| self.retry_outside(error, make))
    }

    /// Bytes of the images beside blocks, which are no part of [`Allocator::usage`].
    pub fn image_bytes(&self) -> u64 {
        let source = self.shared.images.get().filter(|_| !self.device().is_forked());
        source.map_or(0, |source| source.usage().in_use)
    }
}
