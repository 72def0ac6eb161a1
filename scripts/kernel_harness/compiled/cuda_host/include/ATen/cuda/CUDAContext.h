// PyTorch's header of this name, for host code without a GPU.
#pragma once
#include <ATen/cuda/Exceptions.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace at::cuda {

inline cudaDeviceProp* getDeviceProperties(c10::DeviceIndex) {
  static cudaDeviceProp known = [] {
    const auto attribute = [](cudaDeviceAttr id) {
      int value = 0;
      cudaDeviceGetAttribute(&value, id, 0);
      return value;
    };
    cudaDeviceProp made = {};
    made.major = attribute(cudaDevAttrComputeCapabilityMajor);
    made.minor = attribute(cudaDevAttrComputeCapabilityMinor);
    made.warpSize = attribute(cudaDevAttrWarpSize);
    made.multiProcessorCount = attribute(cudaDevAttrMultiProcessorCount);
    made.maxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock);
    made.maxThreadsPerMultiProcessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
    made.regsPerBlock = attribute(cudaDevAttrMaxRegistersPerBlock);
    made.sharedMemPerBlock = attribute(cudaDevAttrMaxSharedMemoryPerBlock);
    made.sharedMemPerBlockOptin = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    made.sharedMemPerMultiprocessor = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    return made;
  }();
  return &known;
}

inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(0); }
inline int warp_size() { return 32; }
inline bool is_available() { return true; }

}  // namespace at::cuda
