package start

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
)

const testGreeting = `{"hello":{"nonce":"NONCE",`

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       answer
		rest       string
		noise      string
		err        string
	}{
		{name: "greeting", text: testGreeting + "}}\nrest", want: answer{hello: []byte(testGreeting + "}}")}, rest: "rest"},
		{name: "greeting with CR", text: testGreeting + "}}\r\n", want: answer{hello: []byte(testGreeting + "}}")}},
		{name: "greeting behind a prompt", text: "# " + testGreeting + "}}\n", want: answer{hello: []byte(testGreeting + "}}")}},
		{name: "need", text: "hi\nneed NONCE linux amd64\nrest", want: answer{os: "linux", arch: "amd64"}, rest: "rest", noise: `"hi\n"`},
		{name: "need without gzip", text: "need NONCE linux amd64 nogzip /a b\n", want: answer{os: "linux", arch: "amd64", fail: "nogzip", dir: "/a b"}},
		{name: "need without gzip and a directory", text: "need NONCE linux amd64 nogzip\n", err: "the output ended", noise: `"need NONCE linux amd64 nogzip\n"`},
		{name: "fail", text: "fail NONCE nospace /a b\n", want: answer{fail: "nospace", dir: "/a b"}},
		{name: "fail without a directory", text: "fail NONCE nodir\n", want: answer{fail: "nodir"}},
		{name: "another nonce", text: "need OTHER linux amd64\n", err: "the output ended", noise: `"need OTHER linux amd64\n"`},
		{name: "need with too many words", text: "need NONCE linux amd64 x\n", err: "the output ended", noise: `"need NONCE linux amd64 x\n"`},
		{name: "fail without a word", text: "fail NONCE \n", err: "the output ended", noise: `"fail NONCE \n"`},
		{name: "half a greeting", text: testGreeting, err: "the output ended", noise: `"{\"hello\":{\"nonce\":\"NONCE\","`},
		{name: "nothing", err: "the output ended"},
		{name: "blank lines", text: "\n\n \n", err: "the output ended"},
		{name: "binary", text: "\x00\xff\x1b[2J", err: "the output ended", noise: `"\x00\xff\x1b[2J"`},
		{name: "too much", text: strings.Repeat("x\n", maxNoise), err: "more than 64 KiB were printed before its greeting", noise: `"` + strings.Repeat(`x\n`, transport.MaxQuoted/4) + `[… 65338 bytes left out …]\n` + strings.Repeat(`x\n`, transport.MaxQuoted/4-1) + `x"`},
		{name: "too long a line", text: strings.Repeat("x", 2*maxNoise) + testGreeting + "\n", err: "more than 64 KiB were printed before its greeting", noise: `"` + strings.Repeat(`x`, transport.MaxQuoted/2) + `[… 65337 bytes left out …]` + strings.Repeat(`x`, transport.MaxQuoted/2) + `"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(test.text), iotest.OneByteReader(strings.NewReader(test.text))} {
				h := answerReader{nonce: "NONCE", greeting: []byte(testGreeting)}
				buffered := bufio.NewReaderSize(r, 1024)
				a, err := h.next(buffered)
				if test.err != "" {
					require.EqualError(t, err, test.err)
				} else {
					require.NoError(t, err)
					rest, err := io.ReadAll(buffered)
					require.NoError(t, err)
					require.Equal(t, test.rest, string(rest))
				}
				require.Equal(t, test.want, a)
				require.Equal(t, test.noise, quotedNoise(string(h.noise)))
			}
		})
	}
}

func TestLongGreeting(t *testing.T) {
	h := answerReader{nonce: "NONCE", greeting: []byte(testGreeting)}
	line := testGreeting + strings.Repeat("x", maxGreeting/2)
	a, err := h.next(bufio.NewReader(strings.NewReader(line + "\n")))
	require.NoError(t, err)
	require.Len(t, a.hello, len(line))
	_, err = h.next(bufio.NewReader(strings.NewReader(line + line + "\n")))
	require.EqualError(t, err, "its greeting is longer than 4 MiB")
}

// FuzzAnswers puts noise before a greeting. The reader must find the greeting after any noise that is not an answer
// itself.
func FuzzAnswers(f *testing.F) {
	for _, noise := range []string{"", "hi\n", "> ", "need OTHER linux amd64\n", "need NONCE a b c\n", "need NONCE a b nogzip /\x1b\n", "fail NONCE \n", "{\"hello\":", "\x00\xff\r\n\n", strings.Repeat("x", 5000)} {
		f.Add([]byte(noise))
	}
	f.Fuzz(func(t *testing.T, noise []byte) {
		h := answerReader{nonce: "NONCE", greeting: []byte(testGreeting)}
		r := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(noise), strings.NewReader(testGreeting+"}}\nrest")), 64)
		a, err := h.next(r)
		require.LessOrEqual(t, len(h.noise), maxNoise+1)
		require.NotContains(t, quotedNoise(string(h.noise)), "\x1b")
		if err != nil {
			require.Greater(t, len(noise), maxNoise-len(testGreeting)-10)
			return
		}
		if bytes.Contains(noise, []byte("NONCE")) {
			return // it may have answered
		}
		require.Equal(t, testGreeting+"}}", string(a.hello))
		rest, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, "rest", string(rest))
	})
}
