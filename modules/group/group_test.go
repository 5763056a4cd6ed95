package group

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

func TestValidate(t *testing.T) {
	gid := func(n int) *int { return &n }
	for _, test := range []struct {
		name  string
		group Group
		err   string
	}{
		{"all is well", Group{Name: "app", GID: gid(0)}, ""},
		{"the largest id", Group{Name: "app$", GID: gid(4294967294)}, ""},
		{"no id", Group{Name: "app", GID: gid(4294967295)}, "gid: id 4294967295 is outside 0-4294967294"},
		{"less than none", Group{Name: "app", GID: gid(-1)}, "gid: id -1 is outside 0-4294967294"},
		{"a number", Group{Name: "1000"}, `name: "1000" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)`},
		{"an option", Group{Name: "-r"}, `name: "-r" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)`},
		{"two fields", Group{Name: "a:b"}, `name: "a:b" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)`},
		{"two lines", Group{Name: "a\nb"}, `name: "a\nb" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)`},
		{"too long", Group{Name: "abcdefghijklmnopqrstuvwxyz0123456"}, `name: "abcdefghijklmnopqrstuvwxyz0123456" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)`},
		{"root", Group{Name: "root", Ensure: absent}, "ensure: the group root cannot be absent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.group.Validate()
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.err)
			for _, p := range modules.PropertyErrors(err) {
				require.NotEmpty(t, p.Path)
			}
		})
	}
}
