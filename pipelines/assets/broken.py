"""A workload of a folder that cannot be read: it stops no other, and says what is wrong where people look."""

import dagster as dg

from hamlet_core.errors import HamletError
from pipelines.assets.place import Place
from pipelines.assets.presenting import telling
from resources import tables


def broken_asset(place: Place, problem: HamletError) -> dg.AssetsDefinition:
    """The plan of a workload with a mistake: its description and its run tell the mistake."""
    spec = dg.AssetSpec(
        place.key(tables.PLAN.name),
        group_name=place.group("plan"),
        description=f"**This workload cannot be run.**\n\n~~~\n{problem}\n~~~\n\nCorrect it and reload the code location.",
        owners=list(place.settings.owners),
        tags={"hamlet/problem": problem.code},
    )

    @dg.multi_asset(specs=[spec], name=place.step("plan"))
    def refuse(context: dg.AssetExecutionContext) -> None:
        """Fail with the mistake in the workload."""
        with telling(context):
            raise problem

    return refuse
