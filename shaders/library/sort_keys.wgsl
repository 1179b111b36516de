// keys[i] = the key of the number source[i]
//
// A number of 64 bits has its low word first in `source`, and a key its high word. The text before this file defines
// `key_of.wgsl`. Covers (number of elements).

@group(0) @binding(0) var<storage, read> source: array<Key>;
@group(0) @binding(1) var<storage, read_write> keys: array<Key>;

@compute @workgroup_size(256)
fn sort_keys(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&keys) {
        keys[id.x] = to_key(key_of(words_of(source[id.x])));
    }
}
