package sshtest

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh/agent"
)

// ServeAgent serves an agent on a socket until the test ends.
func ServeAgent(tb testing.TB, held agent.Agent) (socket string) {
	tb.Helper()
	dir, err := os.MkdirTemp("", "agent") // the path of a socket has a limit that the folder of a test may exceed
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		tb.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			work.Go(func() {
				defer conn.Close()
				_ = agent.ServeAgent(held, conn)
			})
		}
	})
	tb.Cleanup(func() {
		listener.Close()
		work.Wait()
		os.RemoveAll(dir)
	})
	return filepath.Join(dir, "s")
}
