"""Result rows of one query turned on their side: a row per window and group, a typed column per group and aggregate."""

from pipelines.wide.shape import WideShape, group_types, wide_shape
from pipelines.wide.values import widened

__all__ = ["WideShape", "group_types", "wide_shape", "widened"]
