"""Any kernel file compiled without a GPU, and the facts in what came out.

    capture                  PTX and cubin of a file's cases; stand_in plays the GPU; listen_cute, listen_triton,
                             listen_cuda, import_hook
    cuda_source, cuda_extension   CUDA C++ of load_inline; cuda_host/ is its host side, in C++
    cubin, ptx, sass         readers
    inspection               inspect_kernel.py: kernel_facts, expect (the file's EXPECT), occupancy; forbidden: what
                             EXPECT forbids, in all cases
"""
