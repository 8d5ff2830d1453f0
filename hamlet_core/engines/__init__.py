"""The engines: each turns one window of one partition into elements; `registry.ENGINES` names them."""
