package process_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/process"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an object", "{}\n", ""},
		{"blanks around it", " \r\n\t{\"a\": 1} \r\n\n", ""},
		{"nothing", "", "it is empty"},
		{"blanks", " \n\n", "it is empty"},
		{"a line instead", "Warning: please upgrade\n", `line 1 is "Warning: please upgrade"`},
		{"a line before", "Warning: please upgrade\r\n{}\n", `line 1 is "Warning: please upgrade"`},
		{"blank lines before that", "\n\n  hello\n{}", `line 3 is "hello"`},
		{"a line after", "{}\n\nDone.\nBye.\n", `more follows: line 3 is "Done."`},
		{"a value after", "{}{}", `more follows: line 1 is "{}{}"`},
		{"a line within", "{\n  \"a\": 1,\nWarning: please upgrade\n}\n", `line 3 is "Warning: please upgrade"`},
		{"what begins as JSON does", "[INFO] read it\n{}", `line 1 is "[INFO] read it"`},
		{"a word that begins as null does", "note: old\n{}", `line 1 is "note: old"`},
		{"one wrong word", `{"a": {"ü": nope}}`, "line 1 is wrong at column 14: `{\"a\": {\"ü\": nope}}`"},
		{"half", "{\n  \"a\": [\n", "it ends too early: line 2 is `\"a\": [`"},
		{"another kind", "[]\n", `line 1 is "[]"`},
		{"a number that begins a line", "\n404 not found", `line 2 is "404 not found"`},
		{"another kind below", "{\n\"a\": 1,\n\"b\": \"x\"}", "line 3 is `\"b\": \"x\"}`"},
		{"control characters", "\x1b[31mred\u202e\a\"\n", `line 1 is "\x1b[31mred\u202e\a\""`},
		{"backquotes", "run `x \"y\"`\n", `line 1 is "run ` + "`x \\\"y\\\"`" + `"`},
		{"no UTF-8", "\xff\xfe\n", `line 1 is "\xff\xfe"`},
		{"a long line", strings.Repeat("x", 1000), `line 1 is "` + strings.Repeat("x", 100) + "[… 800 bytes left out …]" + strings.Repeat("x", 100) + `"`},
		{"the end of a long line", `{"a":"` + strings.Repeat("x", 1000) + `",oh}`, "line 1 is wrong at column 1009: `…" + strings.Repeat("x", 48) + `",oh}` + "`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var into struct {
				A any  `json:"a"`
				B bool `json:"b"`
			}
			err := process.Decode(c.text, &into)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.want)
		})
	}
}

func TestValues(t *testing.T) {
	all, err := process.Values(" {}\n[1]\n\n\"x\"")
	require.NoError(t, err)
	var at []int
	for _, v := range all {
		at = append(at, v.At)
	}
	require.Equal(t, []int{1, 4, 9}, at)
	_, err = process.Values("{}\n{}\nDone.\n{}\n")
	require.EqualError(t, err, `line 3 is "Done."`)
	all, err = process.Values("\n")
	require.NoError(t, err)
	require.Empty(t, all)
}

// TestHiding removes a secret from the whole line, so that no part of it is left where the line is cut.
func TestHiding(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "s3cret", "***") }
	for _, text := range []string{
		"token s3cret", strings.Repeat("x", 97) + "s3cret" + strings.Repeat("x", 300),
		`{"a": "` + strings.Repeat("x", 400) + `s3cret", ` + strings.Repeat(" ", 40) + "oh", "{} s3cret", `{"a": "s3cret`,
	} {
		var into map[string]any
		f, ok := process.Decode(text, &into).(*process.Fault)
		require.True(t, ok)
		require.NotContains(t, f.Hiding(hide), "s3")
		require.NotContains(t, f.Hiding(hide), "cret")
	}
}

func TestEnds(t *testing.T) {
	for text, want := range map[string][2]string{
		"":                    {"", ""},
		"\n \n":               {"", ""},
		"a":                   {"a", "a"},
		"\r\n a \r\nb\n c \n": {"a", "c"},
	} {
		require.Equal(t, want, [2]string{process.First(text), process.Last(text)}, "%q", text)
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{"", "Warning\n{}", "{}\nx", "[1", "{\"a\": é\xff}", strings.Repeat("é", 300) + "{"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var into struct {
			A []string `json:"a"`
		}
		if err := process.Decode(text, &into); err != nil {
			require.Less(t, len(err.Error()), 1500)
			require.True(t, utf8.ValidString(err.Error()))
			require.NotContains(t, err.Error(), "\n")
		}
		_, _ = process.Values(text)
	})
}
