//! What a batch's commands have bound, so that nothing is bound twice.
//!
//! Buffers and push constants belong to the pipeline bound last: another pipeline has another layout, and Vulkan keeps
//! descriptors and push constants only between compatible layouts. So binding a pipeline forgets the rest, and a new
//! batch starts with nothing bound. Handles are compared, which is enough, since what a batch has bound lives until the
//! batch is done.

use ash::vk;
use smallvec::SmallVec;

/// The handles and bytes that the commands of one batch have bound.
#[derive(Debug, Default)]
pub(crate) struct BindCache {
    pipeline: vk::Pipeline,
    buffers: SmallVec<[vk::DescriptorBufferInfo; 8]>,
    push_constants: SmallVec<[u8; 64]>,
}

impl BindCache {
    /// Forgets everything, for a new command buffer.
    pub(crate) fn clear(&mut self) {
        self.bind_pipeline(vk::Pipeline::null());
    }

    /// Notes that the pipeline is bound. Returns whether it was not bound before.
    #[inline]
    pub(crate) fn bind_pipeline(&mut self, pipeline: vk::Pipeline) -> bool {
        if self.pipeline == pipeline {
            return false;
        }
        self.pipeline = pipeline;
        self.buffers.clear();
        self.push_constants.clear();
        true
    }

    /// Whether exactly these buffers are bound.
    #[inline]
    pub(crate) fn has_buffers(&self, buffers: &[vk::DescriptorBufferInfo]) -> bool {
        let key = |info: &vk::DescriptorBufferInfo| (info.buffer, info.offset, info.range);
        self.buffers.len() == buffers.len() && self.buffers.iter().zip(buffers).all(|(a, b)| key(a) == key(b))
    }

    /// Notes the buffers that are bound to all bindings of the pipeline.
    #[inline]
    pub(crate) fn set_buffers(&mut self, buffers: &[vk::DescriptorBufferInfo]) {
        if self.buffers.len() == buffers.len() {
            return self.buffers.copy_from_slice(buffers); // Cheaper than to clear and extend.
        }
        self.buffers.clear();
        self.buffers.extend_from_slice(buffers);
    }

    /// Notes the whole block of push constants. Returns whether the block held other bytes before.
    #[inline]
    pub(crate) fn set_push_constants(&mut self, bytes: &[u8]) -> bool {
        if self.push_constants[..] == *bytes {
            return false;
        }
        self.push_constants.clear();
        self.push_constants.extend_from_slice(bytes);
        true
    }
}

#[cfg(test)]
mod tests {
    use ash::vk::Handle;

    use super::*;

    fn pipeline(n: u64) -> vk::Pipeline {
        vk::Pipeline::from_raw(n)
    }

    fn buffer(n: u64, offset: u64, range: u64) -> vk::DescriptorBufferInfo {
        vk::DescriptorBufferInfo { buffer: vk::Buffer::from_raw(n), offset, range }
    }

    #[test]
    fn a_new_batch_has_nothing_bound() {
        let mut cache = BindCache::default();
        assert!(cache.bind_pipeline(pipeline(1)) && cache.set_push_constants(&[0; 4]));
        assert!(!cache.has_buffers(&[buffer(1, 0, 4)]));
        cache.set_buffers(&[buffer(1, 0, 4)]);
        cache.clear();
        assert!(cache.bind_pipeline(pipeline(1)) && cache.set_push_constants(&[0; 4]));
        assert!(!cache.has_buffers(&[buffer(1, 0, 4)]));
    }

    #[test]
    fn the_same_again_is_bound_and_anything_else_is_not() {
        let mut cache = BindCache::default();
        let first = [buffer(1, 0, 64), buffer(2, 0, 64)];
        assert!(cache.bind_pipeline(pipeline(1)) && cache.set_push_constants(&[1, 2, 3, 4]));
        cache.set_buffers(&first);
        assert!(
            !cache.bind_pipeline(pipeline(1)) && !cache.set_push_constants(&[1, 2, 3, 4]) && cache.has_buffers(&first)
        );
        for other in [
            &[buffer(2, 0, 64), buffer(1, 0, 64)][..], // Swapped.
            &[buffer(1, 0, 64), buffer(3, 0, 64)],     // Another buffer,
            &[buffer(1, 0, 64), buffer(2, 4, 64)],     // another place,
            &[buffer(1, 0, 64), buffer(2, 0, 60)],     // another length.
            &first[..1],                               // Fewer.
        ] {
            assert!(!cache.has_buffers(other), "{other:?}");
        }
        assert!(cache.set_push_constants(&[1, 2, 3, 5]));
        assert!(!cache.set_push_constants(&[1, 2, 3, 5]));
        assert!(cache.set_push_constants(&[1, 2, 3, 4])); // Only what stands there last counts.
    }

    #[test]
    fn another_pipeline_has_nothing_of_the_first() {
        let mut cache = BindCache::default();
        let buffers = [buffer(1, 0, 64)];
        for n in [1, 2, 1] {
            assert!(cache.bind_pipeline(pipeline(n)), "{n}");
            assert!(!cache.has_buffers(&buffers) && cache.set_push_constants(&[7; 8]), "{n}");
            cache.set_buffers(&buffers);
        }
    }
}
