// What device code needs of PyTorch's header of this name: nvcc takes 87 s for all of it, 37 s for this (two cores).
#pragma once
#include <torch/types.h>
