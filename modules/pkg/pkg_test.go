package pkg_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg"
)

func host() modules.Host { return modtest.Host() }

func TestValidate(t *testing.T) {
	for _, test := range []struct{ name, properties, err string }{
		{"nothing but a name", `{"name":"nginx"}`, ""},
		{"all characters", `{"name":"libstdc++6:i386","ensure":"1:2.3~rc1+dfsg^git-4.el9_1"}`, ""},
		{"durations", `{"name":"nginx","cache_valid":"2d","lock_timeout":"90s"}`, ""},
		{"no name", `{}`, `name: name is required`},
		{"a shell", `{"name":"a;b"}`, `name: package name contains dangerous characters: "a;b"`},
		{"a blank", `{"name":"a b"}`, `name: package name contains invalid characters: "a b" (allowed: alphanumeric, ._+:~-)`},
		{"an option", `{"name":"-y"}`, `name: package name "-y" does not begin with a letter or digit`},
		{"a removal in disguise", `{"name":"nginx-"}`, `name: package name ends with a dash: nginx- (to remove a package, write ensure: absent)`},
		{"a shell in the version", `{"name":"a","ensure":"1;2"}`, `ensure: package version/ensure contains dangerous characters: "1;2"`},
		{"an option as a version", `{"name":"a","ensure":"-1"}`, `ensure: package version/ensure is neither a word nor a version: "-1" (write present, absent, latest or a version such as 1.22.1-9)`},
		{"a pattern", `{"name":"a","ensure":"1.*"}`, `ensure: package version/ensure contains dangerous characters: "1.*"`},
		{"a range", `{"name":"a","ensure":">= 1.2, <2:3.0~rc1"}`, ""},
		{"a range that is open", `{"name":"a","ensure":">="}`, `ensure: this is not a range of versions: ">=" (write bounds with commas between them, such as ">= 1.2, < 2"; operators are >=, >, <, <=, = and !=)`},
		{"a shell in a range", `{"name":"a","ensure":">1;2"}`, `ensure: this is not a range of versions: ">1;2" (write bounds with commas between them, such as ">= 1.2, < 2"; operators are >=, >, <, <=, = and !=)`},
		{"an option in a range", `{"name":"a","ensure":"> -1"}`, `ensure: this is not a range of versions: "> -1" (write bounds with commas between them, such as ">= 1.2, < 2"; operators are >=, >, <, <=, = and !=)`},
		{"an absent package on hold", `{"name":"a","ensure":"absent","hold":true}`, `hold: a package that is absent cannot be held`},
		{"a file beside the manifest", `{"name":"a","source":"a.deb"}`, ""},
		{"a URL", `{"name":"a","ensure":"1.2","source":"https://example.net/a.deb","checksum":"sha256:` + strings.Repeat("a", 64) + `"}`, ""},
		{"a URL without a checksum", `{"name":"a","source":"https://example.net/a.deb"}`, "source: a downloaded package needs a checksum (write checksum: \"sha256:…\", as sha256sum prints it)"},
		{"a URL with a password", `{"name":"a","source":"https://u:p@example.net/a.deb"}`, "source: a source may not have a user or a password"},
		{"the latest of a file", `{"name":"a","ensure":"latest","path":"/a.deb"}`, "ensure: a package file has only one version, so latest is not possible (write the version that it has)"},
		{"two files", `{"name":"a","source":"a.deb","path":"/a.deb"}`, "path: 'source' and 'path' are mutually exclusive"},
		{"no checksum", `{"name":"a","path":"/a.deb","checksum":"x"}`, "checksum: \"checksum\" is not a SHA-256 (write checksum: \"sha256:…\", with 64 hexadecimal digits)"},
		{"a checksum of nothing", `{"name":"a","checksum":"` + strings.Repeat("a", 64) + `"}`, "checksum: 'checksum' is about a package that is in a file (write source: https://… or path: /…)"},
		{"no provider of ours", `{"name":"a","provider":"brew"}`, `provider: "brew" is not one of "apt", "dnf", "zypper", "apk", "pacman", "pip", "npm"`},
		{"no unit", `{"name":"a","cache_valid":"3600"}`, `cache_valid: invalid duration "3600" (write a number and a unit, such as 90s, 5m, 1h or 2d)`},
		{"too long", `{"name":"a","lock_timeout":"9999999d"}`, `lock_timeout: invalid duration "9999999d" (write a number and a unit, such as 90s, 5m, 1h or 2d)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := modules.Registry{pkg.Type()}.Decode("package", []byte(test.properties))
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.err)
		})
	}
}
