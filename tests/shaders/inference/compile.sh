#!/bin/sh
# Makes the .spv of this folder, with glslang 12 and SPIR-V Tools' spirv-opt.
set -eu
cd "$(dirname "$0")"
glsl() {
    out=$1 in=$2
    shift 2
    glslangValidator -V --quiet --target-env vulkan1.1 -I. "$@" -o "$out.spv" "$in.comp"
}
glsl map_relu map -DELEMENT=float -DSIZE=256 '-DFUNCTION=max(v, 0.0)'
glsl map_silu map -DELEMENT=float -DSIZE=128 '-DFUNCTION=v / (1.0 + exp(-v))'
glsl map_clipped map -DELEMENT=float -DSIZE=512 '-DFUNCTION=clamp(v, params.first, params.second)'
glsl map_step_int map -DELEMENT=int -DSIZE=64 '-DFUNCTION=v > 0 ? 1 : 0'
for name in softmax_rows layer_norm argsort_rows count_classes dequantise matmul pool_windows; do
    glsl "$name" "$name" -DELEMENT=float
done
# Without names, for speed, and for size: what other compilers and packagers leave of a module.
spirv-opt --strip-debug matmul.spv -o matmul_nameless.spv
spirv-opt -O layer_norm.spv -o layer_norm_fast.spv
spirv-opt -Os pool_windows.spv -o pool_windows_small.spv
