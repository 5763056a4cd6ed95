//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
)

// examplesOfRoot are the types whose examples need root and a host of their own; the others are
// applied by a test of the controller.
var examplesOfRoot = map[string]string{"group": "group", "user": "user", "service": "service", "package": "pkg", "repository": "repository", "cron": "cron",
	"authorized_key": "authorizedkey", "sysctl": "sysctl", "hostname": "hostname", "timezone": "timezone",
}

// exampleAccount is one that the reset of a stage removes by its name below.
var exampleAccount = regexp.MustCompile(`\b(app|ann|bob|deploy|interns)\b`)

// elsewhere matches examples that need programs which these hosts lack. TestFleetPip and the tests of the type apply them.
var elsewhere = regexp.MustCompile(`provider: (pip|npm)\b`)

var examplePath = regexp.MustCompile(`(^|[\s"'\[({:=])/(etc|opt|srv)\b`)

// TestFleetTypeExamples applies the examples of `ccm-push doc` on a host, twice: the second time nothing is left to do.
func TestFleetTypeExamples(t *testing.T) {
	families := stages(t)
	s := families[slices.IndexFunc(families, func(s *stage) bool { return s.family == "apt" })]
	for _, typ := range builtin.Types() {
		folder, ok := examplesOfRoot[typ.Name]
		if !ok {
			continue
		}
		examples, err := typ.Examples()
		require.NoError(t, err)
		require.NotEmpty(t, examples)
		for _, e := range examples {
			if elsewhere.MatchString(e.Text) {
				continue
			}
			t.Run(typ.Name+"/"+e.Name, func(t *testing.T) {
				f := s.in(t)
				reset := s.functions + resetStage
				f.sh(s.host, reset+"mkdir /opt/e2e/etc /opt/e2e/opt /opt/e2e/srv")
				t.Cleanup(func() { s.sh(s.host, reset) })
				dir := t.TempDir()
				require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("../modules", folder, "examples"))))
				write(t, filepath.Join(dir, "root.yaml"), f.tool("inventory"))
				text := "ccm:\n  resources:\n"
				for line := range strings.Lines(e.Text) {
					text += "    " + line
				}
				// The packages of the repository that the host has.
				text = strings.NewReplacer("nginx", "e2e-web", "rsync", "e2e-one", "telnetd", "e2e-two").Replace(text)
				if typ.Name == "user" || typ.Name == "group" {
					text = exampleAccount.ReplaceAllString(text, "e2e$1")
				}
				write(t, filepath.Join(dir, "site.yaml"), examplePath.ReplaceAllString(text, "${1}/opt/e2e/$2"))
				run := func(flags ...string) run {
					return push(t, dir, append([]string{"-i", "root.yaml", "-l", s.host, "--detailed-exitcode"}, append(flags, "site.yaml")...)...)
				}
				predicted := run("--check")
				first := run()
				require.Contains(t, []int{0, 8}, first.code, "%s%s", first.stdout, first.stderr)
				require.Equal(t, first.code, predicted.code, "%s%s", predicted.stdout, predicted.stderr)
				run().requireCode(t, 0)
			})
		}
	}
}
