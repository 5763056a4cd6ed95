package source

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFormatOf(t *testing.T) {
	for _, tt := range []struct {
		file, text string
		want       Format
	}{
		{"hosts", "[web]\na\n", INI},
		{"hosts", "web1\nweb2\n", INI},
		{"hosts", "web1 ansible_host=a\n", INI},
		{"hosts", "# c\n\nweb1:22\n", INI},
		{"hosts", "all:\n  hosts:\n", YAML},
		{"hosts", "all: {hosts: {a: }}", YAML},
		{"hosts", "---\nall:\n", YAML},
		{"hosts", `{"all": {}}`, YAML},
		{"hosts", `"all": {}`, YAML},
		{"hosts", "", YAML},
		{"hosts.yaml", "# c\n[web] # d\na\n", INI},
		{"hosts.yaml", "[a, b]\n", YAML},
		{"hosts.yaml", "web1\n", YAML},
		{"hosts.ini", "all:\n", INI},
		{"inventory.cfg", "[web]\n", INI},
		{"hosts.toml", "[web]\n", TOML},
	} {
		require.Equal(t, tt.want, FormatOf(tt.file, []byte(tt.text)), "%s %q", tt.file, tt.text)
	}
}
