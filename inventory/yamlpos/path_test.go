package yamlpos

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPath(t *testing.T) {
	users := Path{}.Key("users")
	first, second := users.Item(0).Key("key"), users.Item(1).Key("key")
	require.Equal(t, "users[0].key", first.String(), "a longer path does not change a shorter one")
	require.Equal(t, "users[1].key", second.String())
	require.Equal(t, `hosts."web1.example.org".pass_word-1`, Path{}.Key("hosts").Key("web1.example.org").Key("pass_word-1").String())
	require.Equal(t, `""`, Path{}.Key("").String())
	require.Equal(t, `#1.a`, Path{Document: 1}.Key("a").String())
	require.Equal(t, `#1[0]`, Path{Document: 1}.Item(0).String())
	require.Equal(t, "", Path{}.String())

	got, err := ParsePath("hosts.web 1.a")
	require.NoError(t, err)
	require.Equal(t, Path{}.Key("hosts").Key("web 1").Key("a"), got)
	for _, wrong := range []string{".a", "a.", "a..b", "a[", "a[x]", "a[-1]", "a[01]", `"a`, `a"b"`, "#0.a", "#.a", "#x", "a]", "a.[0]", "a[0]b", `"a"b`, "a[99999999]"} {
		_, err := ParsePath(wrong)
		require.ErrorIs(t, err, errPath, wrong)
	}
}

func FuzzPath(f *testing.F) {
	f.Add("users[0].key", "b.c", 1)
	f.Add(`#1."a.b"`, "", 0)
	f.Fuzz(func(t *testing.T, text, key string, document int) {
		if p, err := ParsePath(text); err == nil {
			again, err := ParsePath(p.String())
			require.NoError(t, err)
			require.Equal(t, p, again)
		}
		made := Path{Document: max(0, document%maxNodes)}.Key(key).Item(2).Key(text)
		again, err := ParsePath(made.String())
		require.NoError(t, err)
		if valid := made.String(); again.String() != valid {
			t.Fatalf("%q became %q", valid, again.String())
		}
	})
}
