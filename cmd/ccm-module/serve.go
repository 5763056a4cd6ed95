package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/facts/gather"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/system"
)

// serve greets the controller and works on its catalogs.
func serve(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return usageError("usage: ccm-module serve NONCE COLLECTORS")
	}
	report, err := gather.Gather(ctx, collectors(args[1]), gatherOptions())
	if err != nil {
		return err
	}
	if err := modules.WriteHello(out, &modules.Hello{Nonce: args[0], Build: build, Facts: report}); err != nil {
		return err
	}
	dir, err := ownDir()
	if err != nil {
		return err
	}
	journal, err := system.NewJournal(dir)
	if err != nil {
		return err
	}
	session := &engine.Session{
		Registry: builtin.Types(),
		Host:     system.New(),
		SpoolDir: dir,
		Lock: func(ctx context.Context, l modules.Lock) (func(), error) {
			return system.Lock(ctx, l, dir)
		},
		Journal: journal,
		Rules:   rules,
		Now:     time.Now,
	}
	return session.Serve(ctx, in, out)
}

// collectors reads the list of the command line: "-" is none.
func collectors(arg string) []string {
	if arg == "-" {
		return nil
	}
	return strings.Split(arg, ",")
}

// ownDir is the folder of this program, which only its user can change.
func ownDir() (string, error) {
	self, err := os.Executable()
	return filepath.Dir(self), err
}
