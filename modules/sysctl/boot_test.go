package sysctl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// warnings collects the warnings of a resource.
type warnings struct {
	modules.Discard
	text string
}

func (w *warnings) Message(level, text string) { w.text += level + ": " + text + "\n" }

// TestOverridden uses files that a boot reads after the file of the resource, or in its place.
func TestOverridden(t *testing.T) {
	const own = "/etc/sysctl.d/90-ccm-push.conf"
	sets := func(by, is string) string {
		return "warning: a boot reads " + by + " after " + own + ", and sets vm.swappiness to \"" + is + "\"; remove the line there, or write it there with 'path'\n"
	}
	for name, test := range map[string]struct {
		files map[string]string // "-> target" is a link
		path  string
		want  string
	}{
		"alone":                   {files: map[string]string{}},
		"earlier":                 {files: map[string]string{"/etc/sysctl.d/10-x.conf": "vm.swappiness=60\n", "/usr/lib/sysctl.d/50-x.conf": "vm/swappiness = 60"}},
		"later, the same value":   {files: map[string]string{"/etc/sysctl.d/99-x.conf": "vm.swappiness = 10"}},
		"later, another setting":  {files: map[string]string{"/etc/sysctl.d/99-x.conf": "vm.overcommit_memory = 1\n#vm.swappiness=1\n"}},
		"later":                   {files: map[string]string{"/etc/sysctl.d/99-x.conf": "vm/swappiness=60\n"}, want: sets("/etc/sysctl.d/99-x.conf", "60")},
		"later, of a package":     {files: map[string]string{"/usr/lib/sysctl.d/99-x.conf": "-vm.swappiness = 60\n"}, want: sets("/usr/lib/sysctl.d/99-x.conf", "60")},
		"later, masked":           {files: map[string]string{"/usr/lib/sysctl.d/99-x.conf": "vm.swappiness = 60\n", "/etc/sysctl.d/99-x.conf": "-> /dev/null"}},
		"of two the last":         {files: map[string]string{"/etc/sysctl.d/95-x.conf": "vm.swappiness = 1\n", "/run/sysctl.d/99-x.conf": "vm.swappiness = 2\n"}, want: sets("/run/sysctl.d/99-x.conf", "2")},
		"Debian's sysctl.conf":    {files: map[string]string{"/etc/sysctl.conf": "vm.swappiness = 60\n", "/etc/sysctl.d/99-sysctl.conf": "-> ../sysctl.conf"}, want: sets("/etc/sysctl.d/99-sysctl.conf", "60")},
		"own is Debian's":         {path: "/etc/sysctl.conf", files: map[string]string{"/etc/sysctl.d/99-sysctl.conf": "-> ../sysctl.conf", "/etc/sysctl.d/95-x.conf": "vm.swappiness = 1\n"}},
		"not a name that is read": {files: map[string]string{"/etc/sysctl.d/99-x.conf.dpkg-old": "vm.swappiness = 60\n"}},
		"hidden by one of its name": {
			path: "/usr/lib/sysctl.d/50-x.conf", files: map[string]string{"/etc/sysctl.d/50-x.conf": "# local\n"},
			want: "warning: a boot reads /etc/sysctl.d/50-x.conf in place of /usr/lib/sysctl.d/50-x.conf, which has the same name\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			put := func(name, text string) {
				require.NoError(t, os.MkdirAll(filepath.Dir(root+name), 0o755))
				if target, link := strings.CutPrefix(text, "-> "); link {
					require.NoError(t, os.Symlink(target, root+name))
					return
				}
				require.NoError(t, os.WriteFile(root+name, []byte(text), 0o644))
			}
			at := own
			if test.path != "" {
				at = test.path
			}
			put("/proc/sys/vm/swappiness", "10\n")
			put(at, "vm.swappiness = 10\n")
			for name, text := range test.files {
				put(name, text)
			}
			s := &Sysctl{Name: "vm.swappiness", Value: "10", Path: at}
			h, said := modtest.RootedHost(root, modtest.Host()), new(warnings)
			h.Report = said
			_, err := s.Check(t.Context(), h)
			require.NoError(t, err)
			require.Equal(t, test.want, said.text)
		})
	}
}
