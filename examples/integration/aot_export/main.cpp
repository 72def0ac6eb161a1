// Call the exported GELU from C++, linked into the program: no Python, no compiler and no CUDA headers.
//
//   g++ -std=c++17 main.cpp FOLDER/gelu.o -o gelu $(python flags.py)
//
// Exit code 0: right on this GPU, 1: wrong, 6: linked and called here, but there is no NVIDIA driver to run it.
#include <dlfcn.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" int __tvm_ffi_gelu(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);

namespace {

uint16_t ToBFloat16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float ToFloat(uint16_t x) {
  uint32_t bits = static_cast<uint32_t>(x) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

// A flat bfloat16 tensor of n elements at `data`, which the caller owns.
DLTensor Flat(void* data, int64_t* n, int64_t* stride, DLDevice device) {
  return DLTensor{data, device, 1, DLDataType{kDLBfloat, 16, 1}, n, stride, 0};
}

void Gelu(DLTensor* x, DLTensor* out) { tvm::ffi::Function::InvokeExternC(nullptr, __tvm_ffi_gelu, x, out); }

// The part of the CUDA driver that this program needs, found at run time.
template <typename... Args>
void Driver(void* library, const char* name, Args... args) {
  auto call = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  int status = call == nullptr ? -1 : call(args...);
  if (status != 0) {
    std::fprintf(stderr, "%s failed with %d\n", name, status);
    std::exit(1);
  }
}

}  // namespace

int main() {
  int64_t n = 1000, stride = 1;
  std::vector<uint16_t> x(n), out(n);
  for (int64_t i = 0; i < n; ++i) x[i] = ToBFloat16(-4.0f + 8.0f * i / n);

  void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
  if (cuda == nullptr) {
    DLTensor cpu_x = Flat(x.data(), &n, &stride, {kDLCPU, 0}), cpu_out = Flat(out.data(), &n, &stride, {kDLCPU, 0});
    try {
      Gelu(&cpu_x, &cpu_out);
    } catch (const tvm::ffi::Error& error) {
      std::printf("linked; a CPU tensor is refused: %s\n", error.what());
    }
    std::printf("no NVIDIA driver here: nothing was launched\n");
    return 6;
  }

  void *context = nullptr, *device_x = nullptr, *device_out = nullptr;
  size_t bytes = n * sizeof(uint16_t);
  Driver(cuda, "cuInit", 0u);
  Driver(cuda, "cuDevicePrimaryCtxRetain", &context, 0);
  Driver(cuda, "cuCtxSetCurrent", context);
  Driver(cuda, "cuMemAlloc_v2", &device_x, bytes);
  Driver(cuda, "cuMemAlloc_v2", &device_out, bytes);
  Driver(cuda, "cuMemcpyHtoD_v2", device_x, static_cast<const void*>(x.data()), bytes);

  DLTensor gpu_x = Flat(device_x, &n, &stride, {kDLCUDA, 0}), gpu_out = Flat(device_out, &n, &stride, {kDLCUDA, 0});
  Gelu(&gpu_x, &gpu_out);  // on the stream of TVMFFIEnvSetStream; by default the legacy default stream

  Driver(cuda, "cuCtxSynchronize");
  Driver(cuda, "cuMemcpyDtoH_v2", static_cast<void*>(out.data()), device_out, bytes);
  double worst = 0;
  for (int64_t i = 0; i < n; ++i) {
    double v = ToFloat(x[i]), exact = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    worst = std::fmax(worst, std::fabs(ToFloat(out[i]) - exact));
  }
  std::printf("largest error %g: %s\n", worst, worst < 0.02 ? "PASS" : "FAIL");
  return worst < 0.02 ? 0 : 1;
}
