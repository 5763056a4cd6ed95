package exec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name string
		exec Exec
		err  string
	}{
		{"all is well", Exec{Name: "reload", Command: "nginx -s 'reload'", Cwd: "/", Environment: []string{"A=b=c", "_x1=y"}, Path: "/bin:/usr/bin", Timeout: "1m30s", Returns: []int{0, 255}}, ""},
		{"quote in the name", Exec{Name: "echo 'a"}, "name: unterminated single-quoted string (close the quote, or put a backslash before it)"},
		{"quote in a name that is only a name", Exec{Name: "it's", Command: "true"}, ""},
		{"quote in the command", Exec{Name: "x", Command: `echo "a`}, "command: unterminated double-quoted string (close the quote, or put a backslash before it)"},
		{"backslash at the end", Exec{Name: `echo \`}, "name: unterminated backslash-escape (close the quote, or put a backslash before it)"},
		{"a shell sees quotes itself", Exec{Name: "echo 'a", Provider: shell}, ""},
		{"blank command", Exec{Name: "x", Command: "  "}, "command: no command specified"},
		{"empty program", Exec{Name: "x", Command: "'' a"}, "command: no command specified"},
		{"blank shell command", Exec{Name: " \n", Provider: shell}, "name: no command specified"},
		{"NUL", Exec{Name: "a\x00b"}, "name: a command must not contain a NUL byte"},
		{"guards", Exec{Name: "x", OnlyIf: "'", Unless: "'"}, "onlyif: unterminated single-quoted string (close the quote, or put a backslash before it)\nunless: unterminated single-quoted string (close the quote, or put a backslash before it)"},
		{"no equals sign", Exec{Name: "x", Environment: []string{"A=1", "B"}}, `environment[1]: invalid environment variable "B": missing '='`},
		{"no key", Exec{Name: "x", Environment: []string{"=1"}}, `environment[0]: invalid environment variable "=1": empty key`},
		{"no value", Exec{Name: "x", Environment: []string{"A="}}, `environment[0]: invalid environment variable "A=": empty value`},
		{"bad key", Exec{Name: "x", Environment: []string{"a-b=1"}}, `environment[0]: invalid environment variable "a-b=1": the key has a character outside A-Z, a-z, 0-9 and _, or begins with a digit`},
		{"key begins with a digit", Exec{Name: "x", Environment: []string{"1a=1"}}, `environment[0]: invalid environment variable "1a=1": the key has a character outside A-Z, a-z, 0-9 and _, or begins with a digit`},
		{"NUL in a value", Exec{Name: "x", Environment: []string{"a=\x00"}}, `environment[0]: invalid environment variable "a=\x00": the value contains a NUL byte`},
		{"relative directory in path", Exec{Name: "x", Path: "/bin:sbin"}, `path: invalid path: "sbin" is not an absolute path`},
		{"empty directory in path", Exec{Name: "x", Path: "/bin::/sbin"}, "path: invalid path: empty directory in path"},
		{"relative cwd", Exec{Name: "x", Cwd: "src"}, `cwd: "src" is not an absolute path`},
		{"relative creates", Exec{Name: "x", Creates: "done"}, `creates: "done" is not an absolute path`},
		{"exit code", Exec{Name: "x", Returns: []int{0, 256}}, "returns[1]: exit code 256 is outside 0-255"},
		{"timeout", Exec{Name: "x", Timeout: "5"}, `timeout: invalid duration "5" (write a number and a unit, such as 30s, 5m, 2h or 1d)`},
		{"several at once", Exec{Name: "x", Cwd: "a", Creates: "b"}, "cwd: \"a\" is not an absolute path\ncreates: \"b\" is not an absolute path"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.exec.Validate()
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

func durations() map[string]time.Duration {
	return map[string]time.Duration{
		"":       0,
		"0":      0,
		"0s":     0,
		"30s":    30 * time.Second,
		"1h30m":  90 * time.Minute,
		"1.5h":   90 * time.Minute,
		".5s":    500 * time.Millisecond,
		"250ms":  250 * time.Millisecond,
		"5us":    5 * time.Microsecond,
		"5µs":    5 * time.Microsecond,
		"1d":     24 * time.Hour,
		"1w2d":   9 * 24 * time.Hour,
		"1M":     30 * 24 * time.Hour,
		"1y":     365 * 24 * time.Hour,
		"1y1M1m": 395*24*time.Hour + time.Minute,
	}
}

func notDurations() []string {
	return []string{"5", "s", "1", "-1s", "+1s", "1 s", "1s ", "1x", "1.2.3s", "1s5", "1e3s", "NaNs", "infs", "1000000y", "١s"}
}

func TestParseTimeout(t *testing.T) {
	for text, want := range durations() {
		got, err := parseTimeout(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range notDurations() {
		_, err := parseTimeout(text)
		require.Error(t, err, text)
	}
}

func FuzzParseTimeout(f *testing.F) {
	for text := range durations() {
		f.Add(text)
	}
	for _, text := range notDurations() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseTimeout(text)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, got, time.Duration(0))
		again, err := parseTimeout(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}
