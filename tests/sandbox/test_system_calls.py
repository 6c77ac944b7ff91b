"""The filter of system calls, as the kernel would run it for each ABI."""

import errno
import platform
import socket
import struct

import pytest

from rundry.agent.sandbox.system_calls import filter_program

ALLOW, ERROR = 0x7FFF0000, 0x00050000
ARCHES = {"x86_64": 0xC000003E, "i386": 0x40000003, "aarch64": 0xC00000B7, "arm": 0x40000028}
MACHINES = {"x86_64": ("x86_64", "i386"), "aarch64": ("aarch64", "arm")}
NUMBERS = {
    "x86_64": {"add_key": 248, "request_key": 249, "keyctl": 250, "perf": 298, "bpf": 321, "userfaultfd": 323},
    "i386": {"add_key": 286, "request_key": 287, "keyctl": 288, "perf": 336, "bpf": 357, "userfaultfd": 374},
    "aarch64": {"add_key": 217, "request_key": 218, "keyctl": 219, "perf": 241, "bpf": 280, "userfaultfd": 282},
    "arm": {"add_key": 309, "request_key": 310, "keyctl": 311, "perf": 364, "bpf": 386, "userfaultfd": 388},
}
IO_URING = (425, 426, 427)
SOCKETS = {"x86_64": (41, 53), "i386": (359, 360), "aarch64": (198, 199), "arm": (281, 288)}
PRLIMIT = {"x86_64": 302, "i386": 340, "aarch64": 261, "arm": 369}
PTRACE = {"x86_64": 101, "i386": 26, "aarch64": 117, "arm": 26}
EVERY_ABI = [(machine, abi) for machine, abis in MACHINES.items() for abi in abis]


def answer(program: bytes, arch: int, number: int, *arguments: int) -> int:
    """Run classic BPF over `struct seccomp_data` (linux/seccomp.h)."""
    data = struct.pack("<iIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = list(struct.iter_unpack("<HBBI", program))
    at = value = 0
    while True:
        code, if_true, if_false, constant = steps[at]
        at += 1
        match code:
            case 0x20:
                value = struct.unpack_from("<I", data, constant)[0]
            case 0x15:
                at += if_true if value == constant else if_false
            case 0x35:
                at += if_true if value >= constant else if_false
            case 0x06:
                return constant
            case _:
                raise AssertionError(code)


@pytest.mark.parametrize(("machine", "abi"), EVERY_ABI)
@pytest.mark.parametrize("limits_others", [False, True])
def test_listed_calls_are_not_there_for_any_abi_of_the_processor(machine, abi, limits_others):
    program = filter_program(machine, limits_others=limits_others)
    for number in (*NUMBERS[abi].values(), *IO_URING):
        assert answer(program, ARCHES[abi], number) == ERROR | errno.ENOSYS
    assert answer(program, ARCHES[abi], PTRACE[abi]) == ALLOW


@pytest.mark.parametrize(("machine", "abi"), EVERY_ABI)
def test_only_families_that_a_network_namespace_separates_are_allowed(machine, abi):
    program = filter_program(machine, limits_others=True)
    for number in SOCKETS[abi]:
        for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
            assert answer(program, ARCHES[abi], number, family) == ALLOW
        for family in (socket.AF_VSOCK, socket.AF_ALG, socket.AF_PACKET, socket.AF_CAN, 44, 0, 1 << 31):
            assert answer(program, ARCHES[abi], number, family) == ERROR | errno.EAFNOSUPPORT


def test_the_multiplexed_socket_call_of_i386_makes_no_sockets():
    program = filter_program("x86_64", limits_others=True)
    for call in (1, 8):  # socket and socketpair, whose family is in memory
        assert answer(program, ARCHES["i386"], 102, call) == ERROR | errno.ENOSYS
    for call in (2, 3, 4, 9):  # bind, connect, listen, send
        assert answer(program, ARCHES["i386"], 102, call) == ALLOW


def test_x32_has_no_calls_at_all():
    program = filter_program("x86_64", limits_others=True)
    for number in (0, 1, 41, 250, 519):
        assert answer(program, ARCHES["x86_64"], 0x40000000 | number) == ERROR | errno.ENOSYS


@pytest.mark.parametrize(("machine", "abi"), EVERY_ABI)
def test_limits_of_others_are_read_and_own_ones_are_set(machine, abi):
    number, address = PRLIMIT[abi], 0x7F00_0000_1000
    held = filter_program(machine, limits_others=False)
    assert answer(held, ARCHES[abi], number, 0, 7, address) == ALLOW
    assert answer(held, ARCHES[abi], number, 4711, 7, 0, address) == ALLOW
    for pointer in (address, 0x1000, 0x7F_0000_0000):
        assert answer(held, ARCHES[abi], number, 4711, 7, pointer) == ERROR | errno.EPERM
    assert answer(filter_program(machine, limits_others=True), ARCHES[abi], number, 4711, 7, address) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_the_abi_of_another_processor_has_no_calls(machine):
    program = filter_program(machine, limits_others=True)
    for arch in {*ARCHES.values(), 0xC00000F3} - {ARCHES[abi] for abi in MACHINES[machine]}:
        assert answer(program, arch, 0) == ERROR | errno.ENOSYS


def test_without_numbers_for_a_processor_there_is_no_filter():
    assert filter_program("s390x", limits_others=True) == b""
    assert (filter_program(limits_others=True) != b"") == (platform.machine() in MACHINES)
