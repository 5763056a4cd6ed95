package sshtest

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"strings"
	"time"
)

const version = "SSH-2.0-sshtest\r\n"

// misbehave plays the faults that need no SSH, until the client is gone. It
// reports whether there was one to play.
func misbehave(ctx context.Context, conn net.Conn, f Fault) bool {
	switch f {
	case FaultCloseEarly:
		io.WriteString(conn, version)
	case FaultSilent:
		io.Copy(io.Discard, conn)
	case FaultDrip:
		drip(ctx, conn)
	case FaultEndless:
		line := []byte(strings.Repeat("x", 250) + "\r\n")
		for err := error(nil); err == nil; {
			_, err = conn.Write(line)
		}
	case FaultMalformed:
		io.WriteString(conn, version)
		io.Copy(conn, io.LimitReader(rand.Reader, 1<<20))
	default:
		return false
	}
	return true
}

func drip(ctx context.Context, conn net.Conn) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for _, b := range []byte(strings.Repeat(version, 100)) {
		if _, err := conn.Write([]byte{b}); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
