package exec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[Exec]{
		{Name: "all is well", Of: Exec{Name: "reload", Command: "nginx -s 'reload'", Cwd: "/", Environment: []string{"A=b=c", "_x1=y"}, Path: "/bin:/usr/bin", Timeout: "1m30s", Returns: []int{0, 255}}},
		{Name: "quote in the name", Of: Exec{Name: "echo 'a"}, Err: "name: unterminated single-quoted string (close the quote, or put a backslash before the quote)"},
		{Name: "quote in a name that is only a name", Of: Exec{Name: "it's", Command: "true"}},
		{Name: "quote in the command", Of: Exec{Name: "x", Command: `echo "a`}, Err: "command: unterminated double-quoted string (close the quote, or put a backslash before the quote)"},
		{Name: "backslash at the end", Of: Exec{Name: `echo \`}, Err: "name: unterminated backslash-escape (remove the backslash at the end, or write two backslashes)"},
		{Name: "a shell sees quotes itself", Of: Exec{Name: "echo 'a", Provider: shell}},
		{Name: "blank command", Of: Exec{Name: "x", Command: "  "}, Err: "command: no command specified"},
		{Name: "empty program", Of: Exec{Name: "x", Command: "'' a"}, Err: "command: no command specified"},
		{Name: "blank shell command", Of: Exec{Name: " \n", Provider: shell}, Err: "name: no command specified"},
		{Name: "NUL", Of: Exec{Name: "a\x00b"}, Err: "name: a command must not contain a NUL byte"},
		{Name: "guards", Of: Exec{Name: "x", OnlyIf: "'", Unless: "'"}, Err: "onlyif: unterminated single-quoted string (close the quote, or put a backslash before the quote)\nunless: unterminated single-quoted string (close the quote, or put a backslash before the quote)"},
		{Name: "no equals sign", Of: Exec{Name: "x", Environment: []string{"A=1", "B"}}, Err: `environment[1]: invalid environment variable "B": missing '='`},
		{Name: "no key", Of: Exec{Name: "x", Environment: []string{"=1"}}, Err: `environment[0]: invalid environment variable "=1": empty key`},
		{Name: "no value", Of: Exec{Name: "x", Environment: []string{"A="}}, Err: `environment[0]: invalid environment variable "A=": empty value`},
		{Name: "bad key", Of: Exec{Name: "x", Environment: []string{"a-b=1"}}, Err: `environment[0]: invalid environment variable "a-b=1": the key has a character outside A-Z, a-z, 0-9 and _, or begins with a digit`},
		{Name: "key begins with a digit", Of: Exec{Name: "x", Environment: []string{"1a=1"}}, Err: `environment[0]: invalid environment variable "1a=1": the key has a character outside A-Z, a-z, 0-9 and _, or begins with a digit`},
		{Name: "NUL in a value", Of: Exec{Name: "x", Environment: []string{"a=\x00"}}, Err: `environment[0]: invalid environment variable "a=\x00": the value contains a NUL byte`},
		{Name: "relative directory in path", Of: Exec{Name: "x", Path: "/bin:sbin"}, Err: `path: invalid path: "sbin" is not an absolute path`},
		{Name: "empty directory in path", Of: Exec{Name: "x", Path: "/bin::/sbin"}, Err: "path: invalid path: empty directory in path"},
		{Name: "relative cwd", Of: Exec{Name: "x", Cwd: "src"}, Err: `cwd: "src" is not an absolute path`},
		{Name: "relative creates", Of: Exec{Name: "x", Creates: "done"}, Err: `creates: "done" is not an absolute path`},
		{Name: "exit code", Of: Exec{Name: "x", Returns: []int{0, 256}}, Err: "returns[1]: exit code 256 is outside 0-255"},
		{Name: "timeout", Of: Exec{Name: "x", Timeout: "5"}, Err: `timeout: invalid duration "5" (write a number and a unit, such as 30s, 5m, 2h or 1d)`},
		{Name: "several at once", Of: Exec{Name: "x", Cwd: "a", Creates: "b"}, Err: "cwd: \"a\" is not an absolute path\ncreates: \"b\" is not an absolute path"},
	})
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
