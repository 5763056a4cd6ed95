package source

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnclosure(t *testing.T) {
	e := Enclosure{Folder: "/tmp/x", Shown: "web.tgz"}
	for path, want := range map[string]struct {
		has  bool
		call string
	}{
		"/tmp/x/manifest.yaml": {true, "web.tgz/manifest.yaml"},
		"/tmp/x/a/../b.yaml":   {true, "web.tgz/b.yaml"},
		"/tmp/x":               {true, "web.tgz/."},
		"/tmp/x/../y":          {false, "web.tgz/../y"},
		"/tmp/xy/a.yaml":       {false, "web.tgz/../xy/a.yaml"},
		"/etc/passwd":          {false, "web.tgz/../../etc/passwd"},
		"relative":             {false, "relative"},
	} {
		require.Equal(t, want.has, e.Has(path), path)
		require.Equal(t, want.call, e.Call(path), path)
	}
	require.True(t, Enclosure{}.Has("/etc/passwd"), "there is none")
	require.Equal(t, "/etc/passwd", Enclosure{}.Call("/etc/./passwd"))
}

func TestShownName(t *testing.T) {
	for name, want := range map[string]string{
		"web.yaml": "web.yaml",
		"https://ann:hunter2@example.org/web.tgz?token=hunter2": "https://example.org/web.tgz?…",
		"https://example.org:x/hunter2":                         "URL",
	} {
		require.Equal(t, want, ShownName(name), name)
	}
}
