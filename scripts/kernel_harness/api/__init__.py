"""What this project knows of nvidia-cutlass-dsl: names, changes between releases, messages, pages, NVIDIA's examples.

    api_index, api_source    the installed wheel's names and where they stand; api_changes.yaml, api_since.json
    compile_errors           the sentence of an exception that names the file's own line and what to write instead
    doc_fences               runs the fences of references/
    nvidia_examples          the index of NVIDIA's examples; nvidia_examples.yaml is its data
    own_examples             templates and examples of this project, by the words of their docstrings
"""
