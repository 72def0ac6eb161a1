"""Rows of any number of pages, gathered by a Triton kernel whose offsets are as wide as the places are: in a cache of
several gigabytes they wrap.

catalogue: D10
seen at: a stranger's file (a paged cache)
expect: WRONG_RESULT
needs: triton
check: sizes-far
"""

import torch
import triton
import triton.language as tl

TEST_CASES = {"few": {"pages": 9, "tokens": 4}, "wide": {"pages": 30, "tokens": 11, "width": 320}}


def get_inputs(pages=64, page=16, width=128, tokens=33, device="cuda"):
    """A cache of any number of pages, and the places of tokens in it."""
    cache = torch.randn(pages, page, width, dtype=torch.bfloat16, device=device)
    return [cache, torch.randint(0, pages * page, (tokens,), dtype=torch.int32, device=device)]


def reference_fn(cache, places):
    return cache.flatten(0, 1)[places.long()]


@triton.jit
def gather(cache_ptr, places_ptr, out_ptr, width, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    source = tl.load(places_ptr + token) * width
    for start in range(0, width, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(out_ptr + token * width + i, tl.load(cache_ptr + source + i, mask=i < width), mask=i < width)


def kernel_fn(cache, places):
    out = cache.new_empty(places.numel(), cache.shape[2])
    gather[(places.numel(),)](cache, places, out, cache.shape[2], BLOCK=128)
    return out
