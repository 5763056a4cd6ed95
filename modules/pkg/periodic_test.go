package pkg

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestOnlyPeriodic reads settings of apt that change what apt chooses, and others.
func TestOnlyPeriodic(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, []modtest.Node{{Path: "etc", Dir: true}, {Path: "etc/apt", Dir: true}, {Path: "etc/apt/apt.conf.d", Dir: true}, {Path: "etc/apt/preferences.d", Dir: true}})
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"20auto-upgrades":       {"// daily\nAPT::Periodic::Update-Package-Lists \"1\";\n\nAPT::Periodic::Unattended-Upgrade \"1\";\n", true},
		"52site":                {"Unattended-Upgrade::Origins-Pattern {\n  \"origin=Debian\";\n};\n", true},
		"50unattended-upgrades": {"Unattended-Upgrade::Mail \"root\";\nAPT::Default-Release \"testing\";\n", false},
		"70site":                {"APT::Install-Recommends \"false\";\n", false},
		"80site":                {"APT {\n  Periodic { Enable \"1\"; };\n};\n", false},
	} {
		modtest.Build(t, root, []modtest.Node{{Path: "etc/apt/apt.conf.d/" + name, Text: test.text}})
		require.Equal(t, test.want, onlyPeriodic(modtest.RootedHost(root, modtest.Host()).Files, "/etc/apt/apt.conf.d/"+name), name)
	}
	files := modtest.RootedHost(root, modtest.Host()).Files
	require.True(t, onlyPeriodic(files, "/etc/apt/apt.conf.d/20listchanges"), "created by a script")
	require.False(t, onlyPeriodic(files, "/etc/apt/apt.conf.d/90other"))
	require.False(t, onlyPeriodic(files, "/etc/apt/preferences.d/20listchanges"))
}
