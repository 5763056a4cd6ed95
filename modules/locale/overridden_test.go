package locale

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestOverridden uses files in which LC_ALL overrides the default locale.
func TestOverridden(t *testing.T) {
	for _, test := range []struct{ file, text, want string }{
		{"etc/default/locale", "LANG=C\nLC_ALL=\n#LC_ALL=C\nLC_TIME=C\n", ""},
		{"etc/default/locale", "LC_ALL=de_AT.utf8\n", ""},
		{"etc/default/locale", "LANG=de_AT.UTF-8\nLC_ALL=\"C\"\n", "/etc/default/locale sets LC_ALL to C, which overrides the default locale; remove it there"},
		{"etc/environment", "PATH=/bin\nexport LC_ALL=fr_FR.UTF-8\n", "/etc/environment sets LC_ALL to fr_FR.UTF-8, which overrides the default locale; remove it there"},
		{"etc/locale.conf", "LC_ALL=C\n", ""}, // Debian does not read it
	} {
		l, root := Locale{Name: "de_AT.UTF-8", Default: true}, modtest.Root(t)
		modtest.Build(t, root, debian(modtest.Node{Path: test.file, Text: test.text}))
		h := modtest.RootedHost(root, modtest.Host())
		by, err := l.how(h)
		require.NoError(t, err)
		require.Equal(t, test.want, l.overridden(h.Files, by), test.text)
		l.Default = false
		require.Empty(t, l.overridden(h.Files, by))
	}
}
