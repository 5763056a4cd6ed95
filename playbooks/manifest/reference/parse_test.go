package reference

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/builtin"
)

// The sender's name ends where a resource of that name exists, even if a value follows earlier or later.
func TestSplitValue(t *testing.T) {
	for _, c := range []struct{ text, exists, ref, key string }{
		{"exec#token.stdout_trimmed", "exec#token", "exec#token", "stdout_trimmed"},
		{"exec#token.stdout", "exec#token", "exec#token", "stdout"},
		{"exec#a.stdout.stdout", "exec#a.stdout", "exec#a.stdout", "stdout"},
		{"dsc#/etc/x.conf.state.port", "dsc#/etc/x.conf", "dsc#/etc/x.conf", "state.port"},
		{"dsc#/etc/x.state.state.port", "dsc#/etc/x", "dsc#/etc/x", "state.state.port"},
		{"dsc#/etc/x.state.state.port", "", "dsc#/etc/x.state", "state.port"},
		{"exec#echo a.b.stdout", "", "exec#echo a.b", "stdout"},
	} {
		n := &yamlpos.Node{File: "site.yaml", Line: 1, Column: 1, Text: c.text}
		ref, key, err := SplitValue(n, builtin.Types(), func(ref string) bool { return ref == c.exists })
		require.NoError(t, err, c.text)
		require.Equal(t, [2]string{c.ref, c.key}, [2]string{ref, key}, c.text)
	}
}

func FuzzSplitValue(f *testing.F) {
	f.Add("exec#token.stdout", "exec#token")
	f.Add("file#a.state.b", "")
	f.Add("dsc#a.state.b", "")
	f.Fuzz(func(t *testing.T, text, exists string) {
		n := &yamlpos.Node{File: "site.yaml", Text: text}
		ref, key, err := SplitValue(n, builtin.Types(), func(ref string) bool { return ref == exists })
		if err == nil {
			require.Equal(t, text, ref+"."+key)
			_, _, err = Parse(&yamlpos.Node{Text: ref})
			require.NoError(t, err)
		}
	})
}
