package mount_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/mount"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestMountsInForecasts checks resources after others that mount and unmount, and then runs them.
func TestMountsInForecasts(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	const certain, uncertain = " ", " maybe "
	for name, test := range map[string]struct {
		entries []string // type and properties
		check   string   // prediction for the last resource
		run     string
	}{
		"removed once it is unmounted": {
			[]string{`mount {"name":"$ROOT/d/in","ensure":"unmounted"}`, `file {"name":"$ROOT/d","ensure":"absent","force":true}`},
			"changed maybe ", "changed",
		},
		"removed while it is mounted": {
			[]string{`file {"name":"$ROOT/other","ensure":"absent"}`, `file {"name":"$ROOT/d","ensure":"absent","force":true}`},
			"failed $ROOT/d has file systems mounted in it: $ROOT/d/in; unmount them first", "failed $ROOT/d has file systems mounted in it: $ROOT/d/in; unmount them first",
		},
		"mounted before it is removed": {
			[]string{`mount {"name":"$ROOT/e/new","ensure":"mounted","device":"tmpfs","fstype":"tmpfs"}`, `file {"name":"$ROOT/e","ensure":"absent","force":true}`},
			"failed $ROOT/e has file systems mounted in it: $ROOT/e/new; unmount them first", "failed $ROOT/e has file systems mounted in it: $ROOT/e/new; unmount them first",
		},
		"with another mode": {
			[]string{`file {"name":"$ROOT/d","ensure":"directory","mode":"0700"}`, `file {"name":"$ROOT/d/in","ensure":"absent","force":true}`},
			"failed $ROOT/d/in is a mount point; unmount it first", "failed $ROOT/d/in is a mount point; unmount it first",
		},
		"a command may unmount": {
			[]string{`exec {"name":"umount $ROOT/d/in"}`, `file {"name":"$ROOT/d","ensure":"absent","force":true}`},
			"changed maybe ", "changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, []modtest.Node{{Path: "d", Dir: true}, {Path: "d/in", Dir: true}, {Path: "e", Dir: true}, {Path: "e/new", Dir: true}, {Path: "other", Text: "x"}})
			modtest.Tmpfs(t, root+"/d/in")
			require.NoError(t, os.WriteFile(root+"/d/in/precious", nil, 0o600))
			for _, check := range []bool{true, false} {
				types := modules.Registry{exec.Type(), file.Type(), mount.Type()}
				e := &engine.Engine{Host: modtest.Host(), Now: time.Now}
				e.Decode = func(entry *wire.Entry) (modules.Resource, error) { return types.Decode(entry.Type, entry.Properties) }
				cat := &wire.Catalog{Check: check}
				for _, entry := range test.entries {
					kind, text, _ := strings.Cut(strings.ReplaceAll(entry, "$ROOT", root), " ")
					var named struct{ Name string }
					require.NoError(t, json.Unmarshal([]byte(text), &named))
					if kind == "mount" {
						text = strings.Replace(text, "{", `{"fstab":"`+root+`/fstab",`, 1)
					}
					cat.Entries = append(cat.Entries, wire.Entry{Type: kind, Name: named.Name, Properties: []byte(text)})
				}
				var last *wire.Result
				_, err := e.Run(t.Context(), cat, func(r *wire.Result) error {
					last = r
					return nil
				})
				require.NoError(t, err)
				is, want := string(last.Status)+certain, test.run
				if last.Grade != modules.Certain {
					is = string(last.Status) + uncertain
				}
				if check {
					want = test.check
				}
				require.Equal(t, strings.TrimSpace(strings.ReplaceAll(want, "$ROOT", root)), strings.TrimSpace(is+last.Error))
			}
			_ = modtest.Host().Mounts.Unmount(t.Context(), root+"/e/new") // if the run has mounted it
		})
	}
}
