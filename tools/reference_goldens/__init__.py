"""Parts of make_reference_goldens.py: the stub host of the reference, the JSON writer, one module of cases a topic."""
