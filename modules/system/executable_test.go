package system

import (
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// TestWrittenIsExecutable writes programs and runs them at once, while other commands are
// being started: those have the file open for writing until they are another program.
func TestWrittenIsExecutable(t *testing.T) {
	host := New()
	run := func(argv ...string) error {
		_, err := host.Commands.Run(t.Context(), modules.Command{Argv: argv})
		return err
	}
	dir := t.TempDir()
	var others sync.WaitGroup
	var ended atomic.Bool
	for range 4 {
		others.Go(func() {
			for !ended.Load() && assert.NoError(t, run("true")) {
			}
		})
	}
	for i := range 50 {
		program := filepath.Join(dir, strconv.Itoa(i))
		require.NoError(t, host.Files.Write(t.Context(), program, strings.NewReader("#!/bin/sh\n"), modules.Attributes{Mode: 0o755, UID: -1, GID: -1}))
		if !assert.NoError(t, run(program)) {
			break
		}
	}
	ended.Store(true)
	others.Wait()
}
