# SPDX-License-Identifier: Apache-2.0
"""The smallest guest that can be talked to: 512 bytes that greet on the serial line, echo, and end on `p`."""

from __future__ import annotations

GREETING = "tiny guest says hello"


class _Code:
    """Machine code whose jumps are filled in when all labels are known."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._labels: dict[str, int] = {}
        self._gaps: list[tuple[int, int, str]] = []

    def emit(self, text: str) -> None:
        self.data += bytes.fromhex(text)

    def label(self, name: str) -> None:
        self._labels[name] = len(self.data)

    def gap(self, opcode: str, name: str, *, size: int = 1) -> None:
        """A jump (1), a call (2) or an absolute address (0) in two bytes."""
        self.emit(opcode)
        self._gaps.append((len(self.data), size, name))
        self.data += bytes(size or 2)

    def finish(self) -> bytes:
        for at, size, name in self._gaps:
            target = self._labels[name]
            value = target + 0x7C00 if size == 0 else target - at - size
            self.data[at : at + (size or 2)] = (value & (0xFF if size == 1 else 0xFFFF)).to_bytes(
                size or 2, "little"
            )
        return bytes(self.data)


def build_guest() -> bytes:
    """A disk that boots."""
    code = _Code()
    code.emit("31c08ed8fc")  # xor ax,ax; mov ds,ax; cld
    code.gap("be", "text", size=0)  # mov si,text
    code.label("print")
    code.emit("ac84c0")  # lodsb; test al,al
    code.gap("74", "loop")
    code.gap("e8", "put", size=2)
    code.gap("eb", "print")
    code.label("loop")
    code.emit("fbf4bafd03eca801")  # sti; hlt; mov dx,3fd; in al,dx; test al,1
    code.gap("74", "loop")
    code.emit("baf803ec3c70")  # mov dx,3f8; in al,dx; cmp al,'p'
    code.gap("74", "off")
    code.gap("e8", "put", size=2)
    code.gap("eb", "loop")
    code.label("put")
    code.emit("50bafd03")  # push ax; mov dx,3fd
    code.label("wait")
    code.emit("eca820")  # in al,dx; test al,20
    code.gap("74", "wait")
    code.emit("58baf803eec3")  # pop ax; mov dx,3f8; out dx,al; ret
    code.label("off")
    code.emit("ba0406b80020ef")  # mov dx,604; mov ax,2000; out dx,ax: ACPI power off on q35
    code.label("halt")
    code.emit("f4")
    code.gap("eb", "halt")
    code.label("text")
    code.data += f"{GREETING}\r\n\0".encode()
    return code.finish().ljust(510, b"\0") + b"\x55\xaa" + bytes((1 << 20) - 512)
