package dial

import "golang.org/x/sys/unix"

// acknowledge sends the acknowledgement that is due (tcp(7), TCP_QUICKACK).
func acknowledge(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) }
