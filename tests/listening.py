"""The sockets on which processes listen, as Linux lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from mead.cpu import list_processes

LISTENS, ACCEPTS = "0A", 0x10000
"""The state of a TCP socket that listens, and the flag of such a Unix socket."""


def descendants(pid: int) -> set[int]:
    """A process with all that it has started, directly or not."""
    found, processes = {pid}, list(list_processes())
    while new := {one.pid for one in processes if one.parent in found} - found:
        found |= new
    return found


def listening_tcp(pids: Iterable[int]) -> dict[int, IPv4Address | IPv6Address]:
    """By port, the addresses on which these processes listen."""
    inodes, found = set(_inodes(pids)), {}
    for table in ("tcp", "tcp6"):
        for fields in _table(table):
            address, state, inode = fields[1], fields[3], fields[9]
            if state == LISTENS and inode in inodes:
                host, port = address.split(":")
                found[int(port, 16)] = _address(host)
    return found


def listening_unix(pids: Iterable[int]) -> list[Path]:
    """The files of Unix sockets on which these processes listen."""
    inodes = set(_inodes(pids))
    return [
        Path(fields[7])
        for fields in _table("unix")
        if len(fields) > 7 and int(fields[3], 16) & ACCEPTS and fields[6] in inodes and fields[7].startswith("/")
    ]


def _table(name: str) -> list[list[str]]:
    return [line.split() for line in Path("/proc/net", name).read_text().splitlines()[1:]]


def _inodes(pids: Iterable[int]) -> Iterator[str]:
    for pid in pids:
        with suppress(OSError):  # the process or the file is gone
            for file in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    kind, _, inode = str(file.readlink()).partition(":[")
                    if kind == "socket":
                        yield inode.rstrip("]")


def _address(text: str) -> IPv4Address | IPv6Address:
    """Linux writes addresses as words of four bytes, the lowest byte first."""
    words = [bytes.fromhex(text[place : place + 8])[::-1] for place in range(0, len(text), 8)]
    address = ip_address(b"".join(words))
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
