"""Print what g++ needs to link an object of export.py into a program: headers, libraries and where they lie."""

from pathlib import Path

from cutlass.cute.runtime import find_runtime_libraries

libraries = [Path(library) for library in find_runtime_libraries(enable_tvm_ffi=True)]
(tvm_ffi,) = [library for library in libraries if library.name == "libtvm_ffi.so"]
paths = [f"-Wl,-rpath,{library.parent}" for library in libraries]
print(f"-I{tvm_ffi.parents[1] / 'include'}", *libraries, *paths, "-ldl -lpthread")
