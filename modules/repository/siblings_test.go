package repository

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg"
)

// A listener collects warnings.
type listener struct {
	modules.Reporter
	said []string
}

func (l *listener) Message(_, text string) { l.said = append(l.said, text) }

// TestAmongOthers uses other files that define the same repository. The real apt reads them with ours, and refuses the
// same ones as the check.
func TestAmongOthers(t *testing.T) {
	for _, test := range []struct{ name, properties, file, text, warning, err string }{
		{"another one", ofApt, "etc/apt/sources.list.d/a.list", "deb https://deb.example.net/d bullseye main\ndeb-src https://deb.example.net/d bookworm main\n", "", ""},
		{"a comment", ofApt, "etc/apt/sources.list.d/a.list", "# deb https://deb.example.net/d bookworm main\n", "", ""},
		{"no file of apt", ofApt, "etc/apt/sources.list.d/a.list.save", "deb [signed-by=/k] https://deb.example.net/d bookworm main\n", "", ""},
		{"the same in the old format", ofApt, "etc/apt/sources.list.d/a.list", "deb [arch=amd64] https://deb.example.net/d/ bookworm contrib main\n", "/etc/apt/sources.list.d/a.list also defines the repository https://deb.example.net/d bookworm; remove it from that file", ""},
		{"the same in sources.list", ofApt, "etc/apt/sources.list", "deb https://deb.example.net/d bookworm main\n", "/etc/apt/sources.list also defines the repository https://deb.example.net/d bookworm; remove it from that file", ""},
		{"other components", ofApt, "etc/apt/sources.list.d/a.sources", "Types: deb\nURIs: https://deb.example.net/d\nSuites: bookworm\nComponents: contrib\n", "", ""},
		{"with another key", ofApt, "etc/apt/sources.list.d/a.list", "deb [arch=amd64 signed-by=/a.gpg] https://deb.example.net/d bookworm main\n", "",
			`the file /etc/apt/sources.list.d/a.list also defines the repository https://deb.example.net/d bookworm, with another key (Signed-By "/a.gpg"); then apt would read no repository at all; first remove the repository from that file`},
		{"a later one with the key", ofApt, "etc/apt/sources.list.d/z.sources", "Types: deb\nURIs: https://o.example.net\nSuites: x\nComponents: main\n\nTypes: deb deb-src\nURIs: https://o.example.net https://deb.example.net/d\nSuites: bookworm\nComponents: contrib\nSigned-By: /z.gpg\n", "", ""},
		{"with another key, in the new format", ofApt + `,"signed_by":"/x.gpg"`, "etc/apt/sources.list.d/z.sources", "Types: deb\nURIs: https://o.example.net\nSuites: x\nComponents: main\n\nTypes: deb deb-src\nURIs: https://o.example.net https://deb.example.net/d\nSuites: bookworm\nComponents: contrib\nSigned-By: /z.gpg\n", "",
			`the file /etc/apt/sources.list.d/z.sources also defines the repository https://deb.example.net/d bookworm, with another key (Signed-By "/z.gpg"); then apt would read no repository at all; first remove the repository from that file`},
		{"with another key, and not enabled", ofApt, "etc/apt/sources.list.d/z.sources", "Enabled: no\nTypes: deb\nURIs: https://deb.example.net/d\nSuites: bookworm\nComponents: main\nSigned-By: /z.gpg\n", "", ""},
		{"dnf, an earlier file", ofDnf, "etc/yum.repos.d/a.repo", "[y]\nname=y\n[x]\nname=x\n", "/etc/yum.repos.d/a.repo also defines [x], so dnf ignores the section in /etc/yum.repos.d/x.repo; remove the section from /etc/yum.repos.d/a.repo", ""},
		{"dnf, a later file", ofDnf, "etc/yum.repos.d/z.repo", "[x]\nname=x\n", "/etc/yum.repos.d/z.repo also defines [x]; remove the section from that file", ""},
		{"dnf, no file of it", ofDnf, "etc/yum.repos.d/a.repo.rpmnew", "[x]\nname=x\n", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			modtest.Build(t, root, with(modtest.Node{Path: test.file, Text: test.text}))
			res := modtest.Decode(t, modules.Registry{modtest.Rooted(Type(pkg.Repositories{}))}, "repository", `{`+test.properties+`}`, root)
			heard := &listener{}
			h := modtest.Host()
			heard.Reporter, h.Report = h.Report, heard
			looking := modules.ReadOnly(h)
			looking.Report = heard
			plan, err := res.Check(t.Context(), looking)
			signed := ""
			if strings.Contains(test.properties, "signed_by") {
				signed = "Signed-By: /x.gpg\n"
			}
			if test.err != "" {
				require.EqualError(t, err, test.err)
				modtest.Build(t, root, []modtest.Node{{Path: "etc/apt/sources.list.d/x.sources", Text: aptFile + signed}})
			} else {
				require.NoError(t, err)
				require.NoError(t, res.Apply(t.Context(), h, plan))
			}
			if test.warning == "" {
				require.Empty(t, heard.said)
			} else {
				require.Equal(t, []string{test.warning}, heard.said)
			}
			if !strings.HasPrefix(test.file, "etc/apt") {
				return
			}
			needs.Program(t, "apt-get")
			out, err := exec.Command("apt-get", "-o", "Dir::Etc::sourcelist="+root+"/etc/apt/sources.list", "-o", "Dir::Etc::sourceparts="+root+"/etc/apt/sources.list.d", "indextargets").CombinedOutput()
			require.Equal(t, test.err != "", err != nil, "%s", out)
			require.Equal(t, test.err != "", strings.Contains(string(out), "Conflicting values set for option Signed-By"), "%s", out)
			require.Equal(t, test.warning != "", strings.Contains(string(out), "is configured multiple times"), "%s", out)
		})
	}
}
