"""What a user may say to Spark, and what of ours it replaces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hamlet_core.errors import HamletError
from resources import spark
from resources.environments import Environment, environment
from resources.problems import EnvironmentProblem
from resources.spark import BRIEF, DELTA_EXTENSION, SMALL, settings


def write(folder: Path, text: str) -> dict[str, str]:
    file = folder / "spark.conf"
    file.write_text(text)
    return {"HAMLET_SPARK_CONF": str(file), "HAMLET_SPARK_MASTER": "spark://host:7077"}


def test_settings_of_a_file_stand_above_ours_and_lists_are_joined(tmp_path):
    environ = write(
        tmp_path,
        "# for our store\n\n"
        "spark.hadoop.fs.s3a.endpoint   http://minio:9000\n"
        "spark.executorEnv.AWS_REGION=eu-north-1\n"
        "spark.driver.memory = 3g\n"
        "spark.jars /opt/hadoop-aws.jar\n"
        "spark.sql.extensions org.example.More\n"
        "spark.driver.extraJavaOptions -Da=b -Dc=d e\n",
    )
    found = settings(environment("cluster", environ))
    ours = settings(environment("cluster", {"HAMLET_SPARK_MASTER": "spark://host:7077"}))
    assert found["spark.hadoop.fs.s3a.endpoint"] == "http://minio:9000"
    assert found["spark.executorEnv.AWS_REGION"] == "eu-north-1"
    assert (ours["spark.driver.memory"], found["spark.driver.memory"]) == ("4g", "3g")
    assert found["spark.jars"] == ",".join(filter(None, (ours["spark.jars"], "/opt/hadoop-aws.jar")))
    assert found["spark.sql.extensions"] == f"{DELTA_EXTENSION},org.example.More"
    assert found["spark.driver.extraJavaOptions"] == f"{ours['spark.driver.extraJavaOptions']} -Da=b -Dc=d e"
    assert found["spark.hadoop.fs.s3.impl"].endswith("S3AFileSystem")


@pytest.mark.parametrize("line", ["fs.s3a.endpoint x", "spark.name", "spark.name ="])
def test_a_line_that_is_no_setting_is_refused_with_its_place(tmp_path, line):
    with pytest.raises(HamletError, match=r"E509.*line 2 of .*spark.conf") as refused:
        environment("cluster", write(tmp_path, f"spark.a b\n{line}\n"))
    assert line in refused.value.message


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(HamletError, match=r"E509.*/none cannot be read"):
        environment("local", {"HAMLET_SPARK_CONF": "/none"})


@pytest.mark.parametrize(
    ("work", "quick", "interpreted"),
    [(SMALL, True, True), (SMALL + 1, True, False), (BRIEF, True, False), (BRIEF + 1, False, False)],
)
def test_java_compiles_once_where_there_is_little_to_read_and_spark_not_at_all_where_there_is_less(
    monkeypatch: pytest.MonkeyPatch, work: int, quick: bool, interpreted: bool
) -> None:
    seen: list[Environment] = []

    def stop(*, chosen: Environment) -> None:
        seen.append(chosen)
        raise EnvironmentProblem("enough", code="E500")

    monkeypatch.setattr(spark.SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(spark, "require_healthy", stop)
    monkeypatch.setattr(spark, "_expected", [])
    spark.expect(work)
    with pytest.raises(EnvironmentProblem):
        spark.spark_session(environment("local"))
    assert ("-XX:TieredStopAtLevel=1" in seen[0].java_options) is quick
    assert (settings(seen[0]).get("spark.sql.codegen.wholeStage") == "false") is interpreted


def test_a_brief_session_is_brief_once_and_never_on_a_cluster() -> None:
    local, ci = environment("local"), environment("ci")
    assert local.brief().brief() == local.brief() != local
    assert local.small().small() == local.small() != local.brief()
    assert ci.brief() == ci.small() == ci
    cluster = replace(local, local=False)
    assert cluster.brief() == cluster.small() == cluster


def test_the_memory_of_a_session_that_goes_on_is_bounded_here_and_a_clusters_is_its_own() -> None:
    local = environment("local")
    assert "-XX:MaxNewSize=256m" in settings(local.lasting())["spark.driver.extraJavaOptions"].split()
    assert "-XX:MaxNewSize" not in settings(local)["spark.driver.extraJavaOptions"]
    assert replace(local, local=False).lasting().java_options == ()


def test_what_a_user_sets_stands_above_what_a_small_session_does(tmp_path: Path) -> None:
    given = environment("local", write(tmp_path, "spark.sql.codegen.wholeStage true\n"))
    assert settings(given.small())["spark.sql.codegen.wholeStage"] == "true"


@pytest.mark.parametrize("place", ["a file", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "nowhere"])
def test_java_is_told_one_collector_and_a_users_before_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    """With two of them Java does not start."""
    given = "-Da=b -XX:+UseG1GC"
    line = f"spark.driver.extraJavaOptions {given}\n" if place == "a file" else "\n"
    if place.isupper():
        monkeypatch.setenv(place, given)
    options = settings(environment("local", write(tmp_path, line)).small())[
        "spark.driver.extraJavaOptions"
    ].split()
    assert [option for option in options if option.endswith("GC")] == {
        "a file": ["-XX:+UseG1GC"],
        "nowhere": ["-XX:+UseSerialGC"],
    }.get(place, [])
    assert "-XX:TieredStopAtLevel=1" in options
