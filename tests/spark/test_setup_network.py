"""Set-up with the real Java and the real resolver, where nothing answers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from resources.java import find_java
from resources.trust import key_store, machine_certificates
from tests.unit.resources.test_setup import Machine, stopped_with


def test_no_network_is_one_line(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    java = find_java()
    assert java is not None
    home = str(java.home or java.executable.resolve().parents[1])
    line = stopped_with(machine.set_up(JAVA_HOME=home))
    assert line.startswith("the Delta JARs could not be fetched: is there a network?")
    assert machine.jars == []


def test_java_reads_our_key_store(tmp_path: Path) -> None:
    java = find_java()
    assert java is not None
    keytool = shutil.which("keytool") or java.executable.resolve().parent / "keytool"
    if not Path(keytool).exists() or not (certificates := machine_certificates()):
        pytest.skip("this machine has no keytool, or no list of certificates")
    store = tmp_path / "trusted.jks"
    store.write_bytes(key_store(certificates))
    command = [str(keytool), "-list", "-keystore", str(store), "-storepass", "changeit"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"contains {len(certificates)} entries" in listed
