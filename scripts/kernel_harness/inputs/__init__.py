"""Inputs that no kernel file has seen, made from its own.

    variations, hostile      of floating-point values; signs, nonfinite, ties, thresholds, together, enlarged, alike,
                             sinks
    integers, indices, masks of integers and of booleans; structured, symbols: the rules that they keep;
                             reference_source
    refused                  that a reference may refuse
    arguments                of numbers, flags and names
    seeding, rare_draws      other draws of get_inputs, and those that are rare
    case_sizes, shrinking    sizes: small ones; between, paths: between those of the cases, beside numbers in the file;
                             case_numbers, claims: what the cases and docstrings say of them; vast: above 2^31 elements
    unset                    keywords of get_inputs that no case sets
    layouts                  views, one at a time, and parts of longer tensors
    input_sets               sets that rotate while a kernel is timed
"""
