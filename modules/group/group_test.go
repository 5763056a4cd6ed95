package group

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestValidate(t *testing.T) {
	gid := func(n int) *int { return &n }
	modtest.Validates(t, []modtest.Verdict[Group]{
		{Name: "all is well", Of: Group{Name: "app", GID: gid(0)}},
		{Name: "the largest id", Of: Group{Name: "app$", GID: gid(4294967294)}},
		{Name: "no id", Of: Group{Name: "app", GID: gid(4294967295)}, Err: "gid: id 4294967295 is outside 0-4294967294"},
		{Name: "less than none", Of: Group{Name: "app", GID: gid(-1)}, Err: "gid: id -1 is outside 0-4294967294"},
		{Name: "a number", Of: Group{Name: "1000"}, Err: `name: "1000" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)`},
		{Name: "an option", Of: Group{Name: "-r"}, Err: `name: "-r" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)`},
		{Name: "two fields", Of: Group{Name: "a:b"}, Err: `name: "a:b" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)`},
		{Name: "two lines", Of: Group{Name: "a\nb"}, Err: `name: "a\nb" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)`},
		{Name: "too long", Of: Group{Name: "abcdefghijklmnopqrstuvwxyz0123456"}, Err: `name: "abcdefghijklmnopqrstuvwxyz0123456" cannot be the name of an account (write a letter, then up to 31 letters, digits, dots, dashes and underscores)`},
		{Name: "root", Of: Group{Name: "root", Ensure: absent}, Err: "ensure: the group root cannot be absent"},
	})
}
