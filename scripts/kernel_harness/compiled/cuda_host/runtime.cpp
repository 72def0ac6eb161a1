// The part of the CUDA runtime that host code of a PyTorch extension calls, without a GPU: memory is the CPU's, streams
// are one, and a launch is handed to the callbacks below. Linked into the extension in place of libcudart; what is
// missing here is an undefined symbol when the extension is imported. No CUDA headers: the layouts are those of the
// CUDA runtime API 13, https://docs.nvidia.com/cuda/cuda-runtime-api/.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

namespace {

struct Dim3 { unsigned x, y, z; };
struct Attribute { int id; char padding[4]; unsigned value[16]; };
struct Config { Dim3 grid, block; size_t shared; void* stream; Attribute* attributes; unsigned count; };

struct Callbacks {
  void (*launch)(const char* kernel, const unsigned* geometry, size_t shared, int shared_limit, int large_cluster, int overlaps,
                 void** arguments);
  uint64_t (*allocate)(size_t bytes);
  void (*release)(uint64_t address);
  void (*written)(uint64_t address, size_t bytes);
  int (*attribute)(int id);
  void (*symbol)(const char* variable, size_t offset, uint64_t address, size_t bytes, int is_written);
} callbacks;

struct Kernel { std::string name; int shared_limit = 0, large_cluster = 0; };

std::map<const void*, Kernel>& kernels() {
  static std::map<const void*, Kernel> known;  // filled while other static objects are made
  return known;
}

std::map<const void*, std::string>& variables() {
  static std::map<const void*, std::string> known;
  return known;
}

Config pending;
int last_error = 0;

enum { kInvalidSymbol = 13, kSymbolNotFound = 98 };
enum { kCluster = 4, kProgrammatic = 6 };                     // cudaLaunchAttributeID
enum { kSharedLimit = 8, kLargeCluster = 14 };                // cudaFuncAttribute

int run(const void* function, Dim3 grid, Dim3 block, Dim3 cluster, size_t shared, int overlaps, void** arguments) {
  auto found = kernels().find(function);
  if (found == kernels().end()) return last_error = kSymbolNotFound;
  const unsigned geometry[9] = {grid.x, grid.y, grid.z, block.x, block.y, block.z, cluster.x, cluster.y, cluster.z};
  const Kernel& kernel = found->second;
  callbacks.launch(kernel.name.c_str(), geometry, shared, kernel.shared_limit, kernel.large_cluster, overlaps, arguments);
  return 0;
}

int move(const void* symbol, const void* memory, size_t bytes, size_t offset, int is_written) {
  auto found = variables().find(symbol);
  if (found == variables().end()) return last_error = kInvalidSymbol;
  callbacks.symbol(found->second.c_str(), offset, reinterpret_cast<uint64_t>(memory), bytes, is_written);
  return 0;
}

}  // namespace

extern "C" {

void simulated_cuda_callbacks(const Callbacks* given) { callbacks = *given; }

// What nvcc's host code calls of its own accord.
void** __cudaRegisterFatBinary(void*) { static void* handle; return &handle; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterVar(void**, char* host, char*, const char* name, int, size_t, int, int) { variables()[host] = name; }
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, void*, void*, void*, void*, int*) {
  kernels()[host].name = name;
}
int __cudaGetKernel(const void** kernel, const void* function) { *kernel = function; return 0; }
unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, void* stream) {
  pending = {grid, block, shared, stream, nullptr, 0};
  return 0;
}
int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared, void* stream) {
  *grid = pending.grid;
  *block = pending.block;
  *shared = pending.shared;
  *static_cast<void**>(stream) = pending.stream;
  return 0;
}
int cudaLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared, void*) {
  return run(function, grid, block, {1, 1, 1}, shared, 0, arguments);
}
int __cudaLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared, void* stream) {
  return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}
int cudaLaunchKernelExC(const Config* config, const void* function, void** arguments) {
  Dim3 cluster = {1, 1, 1};
  int overlaps = 0;
  for (unsigned i = 0; i < config->count; ++i) {
    const Attribute& attribute = config->attributes[i];
    if (attribute.id == kCluster) cluster = {attribute.value[0], attribute.value[1], attribute.value[2]};
    if (attribute.id == kProgrammatic) overlaps = attribute.value[0];
  }
  return run(function, config->grid, config->block, cluster, config->shared, overlaps, arguments);
}

// What authors call.
int cudaFuncSetAttribute(const void* function, int attribute, int value) {
  auto found = kernels().find(function);
  if (found == kernels().end()) return last_error = kSymbolNotFound;
  if (attribute == kSharedLimit) found->second.shared_limit = value;
  if (attribute == kLargeCluster) found->second.large_cluster = value;
  return 0;
}
int cudaFuncSetCacheConfig(const void*, int) { return 0; }
int cudaDeviceGetAttribute(int* value, int attribute, int) {
  *value = callbacks.attribute(attribute);
  return 0;
}
int cudaGetDevice(int* device) { *device = 0; return 0; }
int cudaSetDevice(int) { return 0; }
int cudaGetDeviceCount(int* count) { *count = 1; return 0; }
int cudaDeviceSynchronize() { return 0; }
int cudaStreamSynchronize(void*) { return 0; }
int cudaGetLastError() { int error = last_error; last_error = 0; return error; }
int cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorString(int error) {
  return error == 0 ? "no error" : error == kSymbolNotFound ? "named symbol not found" : "invalid argument";
}
const char* cudaGetErrorName(int error) {
  return error == 0 ? "cudaSuccess" : error == kSymbolNotFound ? "cudaErrorSymbolNotFound" : "cudaErrorInvalidValue";
}
int cudaMalloc(void** pointer, size_t bytes) {
  *pointer = reinterpret_cast<void*>(callbacks.allocate(bytes));
  return 0;
}
int cudaMallocAsync(void** pointer, size_t bytes, void*) { return cudaMalloc(pointer, bytes); }
int cudaFree(void* pointer) {
  if (pointer) callbacks.release(reinterpret_cast<uint64_t>(pointer));
  return 0;
}
int cudaFreeAsync(void* pointer, void*) { return cudaFree(pointer); }
int cudaMemset(void* pointer, int value, size_t bytes) {
  std::memset(pointer, value, bytes);
  callbacks.written(reinterpret_cast<uint64_t>(pointer), bytes);
  return 0;
}
int cudaMemsetAsync(void* pointer, int value, size_t bytes, void*) { return cudaMemset(pointer, value, bytes); }
int cudaMemcpy(void* to, const void* from, size_t bytes, int) {
  std::memmove(to, from, bytes);
  callbacks.written(reinterpret_cast<uint64_t>(to), bytes);
  return 0;
}
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void*) { return cudaMemcpy(to, from, bytes, kind); }
int cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, int) {
  return move(symbol, from, bytes, offset, 1);
}
int cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset, int kind, void*) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
int cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, int) {
  return move(symbol, to, bytes, offset, 0);
}

}  // extern "C"
