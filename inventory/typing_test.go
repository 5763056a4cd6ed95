package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// YAML's literals are those of YAML 1.2, where Ansible has those of 1.1; INI's are
// Python's.
func TestTyping(t *testing.T) {
	for _, tt := range []struct {
		literal   string
		yaml, ini any
	}{
		{"yes", "yes", "yes"},
		{"on", "on", "on"},
		{"true", true, "true"},
		{"True", true, true},
		{"0755", int64(493), "0755"},
		{"012", int64(10), "012"},
		{"0o17", int64(15), int64(15)},
		{"0x1f", int64(31), int64(31)},
		{"1e3", 1000.0, 1000.0},
		{"1_000", int64(1000), int64(1000)},
		{"1:30", "1:30", "1:30"},
		{"2024-01-02", "2024-01-02", "2024-01-02"},
		{"2024-01-02 03:04:05", "2024-01-02 03:04:05", "2024-01-02 03:04:05"},
		{"~", nil, "~"},
		{"null", nil, "null"},
		{"None", "None", nil},
		{"1.10", 1.1, 1.1},
		{"'1.10'", "1.10", "1.10"},
		{"[1, 'a']", []any{int64(1), "a"}, []any{int64(1), "a"}},
	} {
		t.Run(tt.literal, func(t *testing.T) {
			require.Equal(t, map[string]any{"x": tt.yaml}, load(t, "all: {hosts: {h: }, vars: {x: "+tt.literal+"}}").Host("h").Vars())
			require.Equal(t, map[string]any{"x": tt.ini}, loadINI(t, "h\n[all:vars]\nx="+tt.literal+"\n").Host("h").Vars())
		})
	}
}

// Where a boolean is meant, the words of YAML 1.1 are ones, in quotes and without.
func TestTypingOfConnections(t *testing.T) {
	for word, want := range map[string]bool{"yes": true, "on": true, "True": true, "'yes'": true, "no": false, "off": false, "false": false} {
		require.Equal(t, want, load(t, "all: {hosts: {h: {ansible_become: "+word+"}}}").Host("h").Connection().Become, word)
		require.Equal(t, want, loadINI(t, "h\n[all:vars]\nansible_become="+word+"\n").Host("h").Connection().Become, word)
	}
}

// Keys that are no text stand for their text below vars, and are refused as names.
func TestTypingOfKeys(t *testing.T) {
	require.Equal(t, map[string]any{"d": map[string]any{"12": int64(1), "true": int64(2)}}, load(t, "all: {hosts: {h: {d: {12: 1, true: 2}}}}").Host("h").Vars())
}
