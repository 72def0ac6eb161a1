// Included before everything else in an extension that is built for the simulator: its CUDA tensors are CPU tensors.
#pragma once
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

#define is_cuda() is_cpu()
#define kCUDA kCPU
