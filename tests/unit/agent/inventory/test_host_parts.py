# SPDX-License-Identifier: Apache-2.0
"""Processors, memory, name, boot, vendor, controller, TPM, graphics: each collector on recorded machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.agent.inventory.bmc import collect_bmc, parse_v4, parse_v6
from muster.agent.inventory.boot import collect_boot, read_secure_boot, tell_device
from muster.agent.inventory.cpu import collect_cpu, parse_cpuinfo
from muster.agent.inventory.found import CannotTell
from muster.agent.inventory.gpus import collect_gpus, parse_names
from muster.agent.inventory.hostname import name_host
from muster.agent.inventory.memory import collect_memory, parse_modules
from muster.agent.inventory.mounts import Mount, parse_mounts
from muster.agent.inventory.system_vendor import collect_system_vendor
from muster.agent.inventory.tpm import collect_tpm
from muster.model.wire.inventory import Boot, Cpu, Gpu, Interface, Memory, SystemVendor
from muster.run import LATE, Said
from tests.unit.agent.inventory.machines.kvm import KVM
from tests.unit.agent.inventory.machines.server import SERVER
from tests.unit.agent.inventory.recorded import Recording, plant
from tests.unit.service.running import finish

GIB = 1024**3


def test_processors_of_a_guest_have_their_frequency_from_the_kernel(tmp_path: Path) -> None:
    found = finish(collect_cpu(plant(tmp_path, KVM)))
    assert found.inventory.cpu == Cpu(
        architecture="x86_64",
        model_name="Intel Xeon Processor (Icelake)",
        count=8,
        frequency=2095.078,
        flags=("fpu", "vme", "hypervisor", "avx2"),
    )
    assert found.troubles == ()


def test_the_highest_frequency_counts(tmp_path: Path) -> None:
    cpu = finish(collect_cpu(plant(tmp_path, SERVER))).inventory.cpu
    assert cpu is not None
    assert cpu.frequency == 3810.791


@pytest.mark.parametrize("lscpu", [Said(LATE, "", "too late"), "%&$", "[]", {"lscpu": 7}, {"lscpu": [None]}])
def test_without_lscpu_the_kernel_tells(tmp_path: Path, lscpu: object) -> None:
    found = finish(collect_cpu(plant(tmp_path, KVM.but(lscpu=lscpu, uname="aarch64\n"))))
    assert found.inventory.cpu == Cpu(
        architecture="aarch64", model_name="Xeon", count=2, frequency=2095.078, flags=None
    )


def test_no_processor_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(CannotTell, match="lscpu is not there; /proc/cpuinfo tells of no processor"):
        finish(collect_cpu(plant(tmp_path, Recording())))


def test_flags_of_arm_are_called_features() -> None:
    assert parse_cpuinfo("processor\t: 0\nFeatures\t: fp asimd\n") == Cpu(count=1, flags=("fp", "asimd"))


def test_memory_is_what_is_built_in(tmp_path: Path) -> None:
    assert finish(collect_memory(plant(tmp_path, KVM))).inventory.memory == Memory(
        physical_bytes=16 * GIB, usable_bytes=16_384_000 * 1024, physical_bytes_method="dmidecode"
    )


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("Size: 16384 MB", 16 * GIB),
        ("Size: 16 GiB", 16 * GIB),
        ("Size: 2 TB", 2048 * GIB),
        ("Size: 512 kB", 512 * 1024),
        ("Size: 99999999999999999999 GB", 0),
        ("Size: No Module Installed", 0),
        ("Cache Size: 16 GB", 0),
        ("Volatile Size: 16 GB", 0),
    ],
)
def test_sizes_of_modules(line: str, size: int) -> None:
    assert parse_modules(f"Memory Device\n\t{line}\n\tForm Factor: DIMM\n") == size


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (Said(LATE, "", "dmidecode did not end within 10 s"), "dmidecode did not end within 10 s"),
        (Said(1, "No SMBIOS nor DMI entry point found, sorry.\n", ""), "No SMBIOS nor DMI entry point found"),
        ("\0\0garbage", "it lists no module"),
    ],
)
def test_without_dmidecode_memory_is_what_can_be_used(tmp_path: Path, said: object, reason: str) -> None:
    found = finish(collect_memory(plant(tmp_path, KVM.but(dmidecode=said))))
    usable = 16_384_000 * 1024
    assert found.inventory.memory == Memory(
        physical_bytes=usable, usable_bytes=usable, physical_bytes_method="meminfo"
    )
    assert reason in found.troubles[0]


CARDS = (
    Interface(
        name="eth2", type="physical", mac_address="02:00:00:00:00:02", ipv4_addresses=("192.0.2.2/24",)
    ),
    Interface(name="br0", type="bridge", mac_address="02:00:00:00:00:03", ipv4_addresses=("192.0.2.3/24",)),
    Interface(name="eth0", type="physical", mac_address="02:00:00:00:00:00", ipv4_addresses=()),
    Interface(name="eth1", type="vlan", mac_address="02:00:00:00:AB:01", ipv6_addresses=("2001:db8::1/64",)),
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("node-0", "node-0"),
        ("localhost", "02-00-00-00-ab-01"),
        ("Localhost.LocalDomain", "02-00-00-00-ab-01"),
        ("(none)", "02-00-00-00-ab-01"),
        (None, "02-00-00-00-ab-01"),
    ],
)
def test_a_host_without_a_name_is_called_by_its_first_card_in_use(name: str | None, expected: str) -> None:
    assert name_host(name, CARDS) == expected


def test_a_host_without_name_and_addresses_keeps_what_it_has() -> None:
    assert name_host("localhost", CARDS[1:3]) == "localhost"


def test_boot_from_a_medium(tmp_path: Path) -> None:
    boot = finish(collect_boot(plant(tmp_path, KVM))).inventory.boot
    assert boot == Boot(
        current_boot_mode="bios",
        secure_boot_state="NotSupported",
        command_line=str(KVM.files["proc/cmdline"]).strip(),
        device_type="ephemeral",
    )


def test_boot_over_the_network(tmp_path: Path) -> None:
    boot = finish(collect_boot(plant(tmp_path, SERVER))).inventory.boot
    assert boot is not None
    assert (boot.current_boot_mode, boot.secure_boot_state) == ("uefi", "Enabled")
    assert (boot.pxe_interface, boot.device_type) == ("02:00:0b:00:00:00", "ephemeral")


@pytest.mark.parametrize(
    ("value", "state"),
    [(b"\x06\0\0\0\0", "Disabled"), (b"\x01", "Unknown"), (b"\x06\0\0\0\x07", "Unknown"), (None, "Unknown")],
)
def test_secure_boot(tmp_path: Path, value: bytes | None, state: str) -> None:
    (tmp_path / "efivars").mkdir()
    if value is not None:
        (tmp_path / "efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c").write_bytes(value)
    assert read_secure_boot(tmp_path) == state


def test_firmware_that_has_variables_but_no_secure_boot(tmp_path: Path) -> None:
    (tmp_path / "efivars").mkdir()
    (tmp_path / "efivars/BootOrder-8be4df61").write_bytes(b"")
    assert read_secure_boot(tmp_path) == "NotSupported"


def mounts(*lines: str) -> tuple[Mount, ...]:
    return parse_mounts("".join(f"22 1 {line} rw\n" for line in lines))


OVERLAY = "0:21 / / rw - overlay muster"


@pytest.mark.parametrize(
    ("command_line", "mounted", "kind"),
    [
        ("muster.boot=12ab", (), "persistent"),
        ("coreos.liveiso=x", (OVERLAY,), "ephemeral"),
        ("", (OVERLAY, "0:23 / /run/muster/state rw - tmpfs muster"), "ephemeral"),
        ("", (OVERLAY, "8:4 / /run/muster/state rw - ext4 /dev/sda4"), "persistent"),
        ("", ("8:4 / / rw shared:1 master:2 - xfs /dev/sda4",), "persistent"),
        ("", ("7:1 / / ro - ext4 /dev/loop1",), "ephemeral"),
        ("", (), None),
    ],
)
def test_what_is_written_stays_or_not(command_line: str, mounted: tuple[str, ...], kind: str | None) -> None:
    assert tell_device(command_line, mounts(*mounted)) == kind


def test_lines_of_mounts_that_make_no_sense_are_left_out() -> None:
    assert parse_mounts("garbage\n\n1 2 3\n - - -\n22 1 8:1 / /my\\040disk rw - ext4 /dev/sda1 rw\n") == (
        Mount("8:1", "/my disk", "ext4", "/dev/sda1"),
    )


def test_vendor(tmp_path: Path) -> None:
    assert finish(collect_system_vendor(plant(tmp_path, SERVER))).inventory.system_vendor == SystemVendor(
        manufacturer="Supermicro", product_name="AS -1115CS-TNR", serial_number="MSTN1500000", virtual=False
    )


def test_clouds_that_hide_who_they_are(tmp_path: Path) -> None:
    dmi = "sys/class/dmi/id"
    hidden = {f"{dmi}/product_family": "RHV\n", f"{dmi}/chassis_asset_tag": "OracleCloud.com\n"}
    vendor = finish(collect_system_vendor(plant(tmp_path, KVM.but(hidden)))).inventory.system_vendor
    assert vendor is not None
    assert (vendor.product_name, vendor.manufacturer, vendor.virtual) == ("oVirt", "OracleCloud.com", True)


def test_whether_a_machine_is_virtual_may_be_unknown(tmp_path: Path) -> None:
    found = finish(collect_system_vendor(plant(tmp_path, Recording())))
    assert found.inventory.system_vendor == SystemVendor()
    assert "systemd-detect-virt is not there" in found.troubles[0]


def test_the_controller_is_asked_when_there_is_one(tmp_path: Path) -> None:
    found = finish(collect_bmc(plant(tmp_path, SERVER))).inventory
    assert (found.bmc_address, found.bmc_v6address) == ("203.0.113.10", "2001:db8:f::10")


def test_without_a_controller_nobody_is_asked(tmp_path: Path) -> None:
    machine = plant(tmp_path, KVM)
    found = finish(collect_bmc(machine))
    assert (found.inventory.bmc_address, found.inventory.bmc_v6address) == ("0.0.0.0", "::/0")
    assert not machine.asked
    assert not found.troubles


def test_a_controller_without_a_program_to_ask_it_is_no_trouble(tmp_path: Path) -> None:
    machine = plant(tmp_path, Recording({"dev/ipmi0": ""}))
    found = finish(collect_bmc(machine))
    assert (found.inventory.bmc_address, found.troubles) == ("0.0.0.0", ())
    assert len(machine.asked) == 1


def test_a_controller_that_hangs_is_asked_once(tmp_path: Path) -> None:
    machine = plant(tmp_path, SERVER.but(ipmitool=Said(LATE, "", "ipmitool did not end within 3 s")))
    found = finish(collect_bmc(machine))
    assert found.inventory.bmc_address == "0.0.0.0"
    assert found.troubles == ("the management controller does not answer: ipmitool did not end within 3 s",)
    assert len(machine.asked) == 1


@pytest.mark.parametrize("text", ["", "IP Address : 0.0.0.0\n", "IP Address : 999.1.1.1\n", "garbage"])
def test_no_address_of_a_controller(text: str) -> None:
    assert parse_v4(text) == ""


@pytest.mark.parametrize(
    ("slot", "address"),
    [
        ("    Enabled:        yes\n    Address: 2001:db8::5/64\n    Status: active\n", "2001:db8::5"),
        ("    Enabled:        no\n    Address: 2001:db8::5/64\n    Status: active\n", ""),
        ("    Source/Type:    static\n    Address: 2001:db8::5/64\n    Status: active\n", ""),
        ("    Source/Type:    SLAAC\n    Address: 2001:db8::5/64\n    Status: disabled\n", ""),
        ("    Source/Type:    SLAAC\n    Address: ::/0\n    Status: active\n", ""),
        ("    Source/Type:    SLAAC\n    Address: garbage\n    Status: active\n", ""),
    ],
)
def test_v6_addresses_of_a_controller(slot: str, address: str) -> None:
    assert parse_v6(f"IPv6 Address 0:\n{slot}") == address


@pytest.mark.parametrize(("major", "version"), [("1", "1.2"), ("2", "2.0")])
def test_tpm(tmp_path: Path, major: str, version: str) -> None:
    machine = plant(tmp_path, Recording({"sys/class/tpm/tpm0/tpm_version_major": f"{major}\n"}))
    assert finish(collect_tpm(machine)).inventory.tpm_version == version


def test_no_tpm(tmp_path: Path) -> None:
    assert finish(collect_tpm(plant(tmp_path, KVM))).inventory.tpm_version == "none"


def test_a_tpm_of_unknown_version(tmp_path: Path) -> None:
    machine = plant(tmp_path, Recording({"sys/class/tpm/tpm0/tpm_version_major": "9\n"}))
    with pytest.raises(CannotTell, match="9"):
        finish(collect_tpm(machine))


def test_gpus(tmp_path: Path) -> None:
    assert finish(collect_gpus(plant(tmp_path, KVM))).inventory.gpus == (
        Gpu(
            address="0000:00:01.0",
            vendor_id="1af4",
            device_id="1050",
            vendor="Red Hat, Inc.",
            name="Virtio 1.0 GPU",
        ),
    )


def test_gpus_without_names(tmp_path: Path) -> None:
    found = finish(collect_gpus(plant(tmp_path, KVM.but(lspci=Said(1, "", "cannot open /sys")))))
    assert found.inventory.gpus == (Gpu(address="0000:00:01.0", vendor_id="1af4", device_id="1050"),)
    assert "cannot open /sys" in found.troubles[0]


def test_names_of_devices_that_make_no_sense_are_left_out() -> None:
    assert parse_names('0:0 "a\n\nx y\n0:1 "c [0300]" "v" "n [x] [12ab]"\n') == {"0:1": ("v", "n [x]")}
