package modtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/system"
)

// Host returns the machine that the test runs on, with inline contents, no forecast, and a reporter that drops
// everything. The memory of types is next to the test program, and is removed with it.
func Host() modules.Host {
	h := system.New()
	h.Private = ""
	if program, err := os.Executable(); err == nil {
		h.Private = filepath.Join(filepath.Dir(program), "private")
	}
	h.Stage = func(ctx context.Context, name string, r io.Reader, a modules.Attributes, use func(string) error) error {
		return system.Stage(stageDir())(ctx, name, r, a, use)
	}
	h.Contents = modules.LocalContents{}
	quiet := modules.ReadOnly(h)
	h.Report, h.Forecast = quiet.Report, quiet.Forecast
	return h
}

// stageDir returns a directory for the temporary files of check runs: next to the test program if possible, so that it is
// removed with the program.
var stageDir = sync.OnceValue(func() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	dir, err := os.MkdirTemp(filepath.Dir(program), "stage-")
	if err != nil { // another user has built the program
		dir, _ = os.MkdirTemp("", "stage-")
	}
	return dir
})

// expand puts values for $ROOT, and for $UID and $GID, which name a user and a
// group that a test may give files to: another one for root, else its own.
func expand(text, root string) string {
	uid, gid := Account()
	return strings.NewReplacer("$ROOT", root, "$UID", strconv.Itoa(uid), "$GID", strconv.Itoa(gid)).Replace(text)
}

// Account returns the values of $UID and $GID.
func Account() (uid, gid int) {
	if os.Geteuid() == 0 {
		return 1, 1
	}
	return os.Geteuid(), os.Getegid()
}

// Decode makes a resource of a type from properties in JSON, as the wire has them. $ROOT, $UID and $GID are expanded.
func Decode(t testing.TB, types modules.Registry, name, properties, root string) modules.Resource {
	t.Helper()
	res, err := types.Decode(name, []byte(expand(properties, root)))
	if err != nil {
		t.Fatal(fmt.Errorf("decoding %s: %w", properties, err))
	}
	return res
}
