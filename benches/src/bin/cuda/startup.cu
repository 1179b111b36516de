// The kernels of `bench/startup.wgsl`. TYPE and FUNCTION are macros.
#define WIDTH 128

__device__ TYPE combine(TYPE a, TYPE b) {
    return FUNCTION;
}

extern "C" __global__ void map(const TYPE* x, const TYPE* y, TYPE* out, unsigned n) {
    for (unsigned k = 0; k < 4; k++) {
        unsigned i = (blockIdx.x * WIDTH + threadIdx.x) * 4 + k;
        if (i < n) {
            out[i] = combine(x[i], combine(y[i], x[i]));
        }
    }
}

extern "C" __global__ void sum(const TYPE* x, const TYPE* y, TYPE* out, unsigned n) {
    __shared__ TYPE tile[WIDTH];
    unsigned i = blockIdx.x * WIDTH + threadIdx.x;
    tile[threadIdx.x] = i < n ? combine(x[i], y[i]) : TYPE(0);
    __syncthreads();
    for (unsigned half = WIDTH / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            tile[threadIdx.x] += tile[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = tile[0];
    }
}

extern "C" __global__ void stencil(const TYPE* x, const TYPE* y, TYPE* out, unsigned n) {
    unsigned i = blockIdx.x * WIDTH + threadIdx.x;
    if (i >= n) {
        return;
    }
    TYPE value = combine(x[(i + n - 1) % n], x[i]) + combine(x[i], x[(i + 1) % n]);
    for (unsigned k = 2; k < 8; k++) {
        value = combine(value, y[(i + k) % n]);
    }
    out[i] = value;
}

extern "C" __global__ void product(const TYPE* x, const TYPE* y, TYPE* out, unsigned n) {
    __shared__ TYPE left[256], right[256];
    unsigned row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    unsigned at = threadIdx.y * 16 + threadIdx.x;
    TYPE value = TYPE(0);
    for (unsigned start = 0; start < n; start += 16) {
        left[at] = x[row * n + start + threadIdx.x];
        right[at] = y[(start + threadIdx.y) * n + column];
        __syncthreads();
        for (unsigned k = 0; k < 16; k++) {
            value += combine(left[threadIdx.y * 16 + k], right[k * 16 + threadIdx.x]);
        }
        __syncthreads();
    }
    out[row * n + column] = value;
}

extern "C" __global__ void sort(const TYPE* x, const TYPE* y, TYPE* out, unsigned n) {
    __shared__ TYPE tile[WIDTH];
    unsigned local = threadIdx.x, i = blockIdx.x * WIDTH + local;
    tile[local] = combine(x[i], y[i]);
    __syncthreads();
    for (unsigned size = 2; size <= WIDTH; size *= 2) {
        for (unsigned distance = size / 2; distance > 0; distance /= 2) {
            unsigned other = local ^ distance;
            if (other > local) {
                TYPE a = tile[local], b = tile[other];
                if ((a > b) == ((local & size) == 0)) {
                    tile[local] = b;
                    tile[other] = a;
                }
            }
            __syncthreads();
        }
    }
    out[i] = tile[local];
}
