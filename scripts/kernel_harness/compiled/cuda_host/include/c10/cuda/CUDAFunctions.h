// PyTorch's header of this name, for host code without a GPU.
#pragma once
#include <c10/core/Device.h>
#include <c10/cuda/CUDAException.h>

namespace c10::cuda {
inline DeviceIndex device_count() { return 1; }
inline DeviceIndex current_device() { return 0; }
inline void set_device(DeviceIndex) {}
inline void device_synchronize() {}
inline void stream_synchronize(cudaStream_t) {}
}  // namespace c10::cuda
