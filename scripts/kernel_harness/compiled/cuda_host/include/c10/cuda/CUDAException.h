// PyTorch's header of this name, for host code without a GPU.
#pragma once
#include <cuda_runtime_api.h>
#include <c10/util/Exception.h>

#define C10_CUDA_CHECK(EXPR)                                                                       \
  do {                                                                                             \
    const cudaError_t c10_cuda_error = (EXPR);                                                     \
    TORCH_CHECK(c10_cuda_error == cudaSuccess, "CUDA error: ", cudaGetErrorString(c10_cuda_error)); \
  } while (0)
#define C10_CUDA_CHECK_WARN(EXPR) C10_CUDA_CHECK(EXPR)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
