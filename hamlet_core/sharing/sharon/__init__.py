"""The optimizer of SHARON (Poppe et al., ICDE 2018): which parts of fixed-length sequences queries share, before a run."""
