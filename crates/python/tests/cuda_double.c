/* A double of CUDA's driver, for the tests without a GPU: it maps the exported memory of lavapipe, whose descriptors are files
 * with a header, so that the addresses of "CUDA" are addresses of the process. `double_live` counts what was not given back. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct handle { int type; struct { int fd; uint64_t unused; } handle; uint64_t size; uint32_t rest[17]; };
struct range { uint64_t offset, size; uint32_t rest[17]; };
struct memory { char *start; size_t length; uint64_t first, size; };

enum { INVALID_VALUE = 1, NO_CONTEXT = 201 };
static int live, depth;

/* Whether a call has to fail, by the environment. */
static int fails(const char *call) {
    const char *named = getenv("DOUBLE_FAILS");
    return named && !strcmp(named, call);
}

int double_live(void) { return live; }
int cuInit(unsigned flags) { return flags; }
int cuGetErrorString(int code, const char **text) { *text = code == INVALID_VALUE ? "invalid argument" : "no context"; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuCtxPushCurrent_v2(void *context) { depth++; return context ? 0 : INVALID_VALUE; }
int cuCtxPopCurrent_v2(void **context) { *context = NULL; return depth-- > 0 ? 0 : NO_CONTEXT; }
int cuCtxSynchronize(void) { return depth ? 0 : NO_CONTEXT; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &live; return device == 1 ? 0 : INVALID_VALUE; }

/* The second device is that of the array: its UUID is in the environment. */
int cuDeviceGetUuid(unsigned char *uuid, int device) {
    const char *text = getenv("DOUBLE_UUID");
    memset(uuid, 0, 16);
    for (int i = 0; device == 1 && text && i < 16; i++) sscanf(text + 2 * i, "%2hhx", &uuid[i]);
    return 0;
}

int cuPointerGetAttribute(int *value, int attribute, uint64_t pointer) {
    *value = 1;
    return depth && attribute == 9 && pointer ? 0 : INVALID_VALUE;
}

int cuImportExternalMemory(struct memory **out, const struct handle *handle) {
    struct stat file;
    uint64_t header[2];
    if (!depth || fails("import") || handle->type != 1 || fstat(handle->handle.fd, &file) || pread(handle->handle.fd, header, 16, 0) != 16)
        return INVALID_VALUE;
    struct memory *memory = malloc(sizeof *memory);
    *memory = (struct memory){NULL, (size_t)file.st_size, header[1], handle->size};
    memory->start = mmap(NULL, memory->length, PROT_READ | PROT_WRITE, MAP_SHARED, handle->handle.fd, 0);
    if (memory->start == MAP_FAILED || memory->first + memory->size > memory->length) return INVALID_VALUE;
    close(handle->handle.fd);
    live++;
    *out = memory;
    return 0;
}

int cuExternalMemoryGetMappedBuffer(uint64_t *address, struct memory *memory, const struct range *range) {
    if (!depth || range->offset + range->size > memory->size || fails("map")) return INVALID_VALUE;
    live++;
    *address = (uint64_t)(uintptr_t)(memory->start + memory->first + range->offset);
    return 0;
}

int cuMemFree_v2(uint64_t address) {
    live--;
    return depth && address ? 0 : INVALID_VALUE;
}

int cuDestroyExternalMemory(struct memory *memory) {
    live--;
    munmap(memory->start, memory->length);
    free(memory);
    return depth ? 0 : NO_CONTEXT;
}

int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t size) {
    if (!depth) return NO_CONTEXT;
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, size);
    return 0;
}
