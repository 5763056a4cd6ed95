package pkg

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// texts is a host that has these files, and no others.
type texts struct {
	modules.FileReader
	files map[string]string
}

func (t texts) Stat(name string) (modules.FileInfo, error) {
	if _, ok := t.files[name]; !ok {
		return modules.FileInfo{}, fs.ErrNotExist
	}
	return modules.FileInfo{Kind: modules.Regular}, nil
}

func (t texts) Open(name string) (io.ReadCloser, error) {
	text, ok := t.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

// TestHeld reads files that dnf 4.14 and zypper 1.14 have written, and one as documented for dnf 5.
func TestHeld(t *testing.T) {
	at := func(files map[string]string) *access { return &access{files: texts{files: files}} }
	const added = "\n# Added lock on Thu Nov 26 23:44:51 2026\nfoo-0:1.1-1.*\nfoo-bar-2:3.0-1.*\nplain\n"
	dnf4 := dnf{rpmdb{at(map[string]string{dnfLockSetup: "", dnfLocks: added})}}
	dnf5 := dnf{rpmdb{at(map[string]string{dnf5Locks: "version = \"1.0\"\n\n[[packages]]\nname = \"foo\"\n[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"=\"\nvalue = \"1.1-1\"\n"})}}
	dnf5.program = "dnf5"
	entry := func(name, comparator string) string {
		return "[[packages]]\nname = " + name + "  # by hand\ncomment = \"name = 'x'\"\n[[packages.conditions]]\nkey = \"evr\"\ncomparator = '" + comparator + "'  # = is one\nvalue = \"0:1-1\"\n"
	}
	written := dnf{rpmdb{at(map[string]string{dnf5Locks: "version = \"1.0\"\n" + entry(`"excluded"`, "!=") + entry(`'lib*'`, "=") + entry(`"bound"`, "<")})}}
	written.program = "dnf5"
	locks := zypper{rpmdb{at(map[string]string{zypperHolds: "\ntype: package\nmatch_type: glob\ncase_sensitive: on\nsolvable_name: foo\n\ntype: package\nsolvable_name: plain*\n"})}}
	for _, test := range []struct {
		m    holding
		held string
		not  string
	}{
		{dnf4, "foo foo-bar plain foo.noarch", "bar fo foo-bar-2 foo-0"},
		{dnf5, "foo", "evr 1.1-1"},
		{written, "libfoo libfoo.noarch", "excluded bound x"},
		{locks, "foo plain plainer", "fo foo-bar"},
		{zypper{rpmdb{at(nil)}}, "", "foo"},
		{dnf{rpmdb{at(map[string]string{dnfLockSetup: ""})}}, "", "foo"},
	} {
		for want, names := range map[bool]string{true: test.held, false: test.not} {
			for name := range strings.FieldsSeq(names) {
				held, err := test.m.held(name, State{})
				require.NoError(t, err)
				require.Equal(t, want, held, "%T %s", test.m, name)
			}
		}
	}
	for m, want := range map[holding]string{
		dnf{rpmdb{at(nil)}}: "dnf holds packages by its plugin versionlock, which is not there; install python3-dnf-plugin-versionlock",
		apk{}:               `apk cannot hold packages; write the version in the property "ensure": apk stores the version in /etc/apk/world, and upgrades keep this version`,
		pacman{}:            "pacman holds the packages of IgnorePkg in /etc/pacman.conf; set IgnorePkg with an ini resource",
	} {
		_, err := m.held("foo", State{})
		require.EqualError(t, err, want)
	}
	require.ErrorIs(t, apk{}.setHold(t.Context(), nil, true), errors.ErrUnsupported)
}
