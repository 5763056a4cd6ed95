package printable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// JSON gives v as JSON on one line without a newline; <, > and & stay as they are.
// Invalid UTF-8 becomes U+FFFD, and what a terminal could obey an escape, which
// means the same to whoever parses it. The error is that of [json.Encoder].
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return escapeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

// escapeJSON writes those characters of a JSON text as escapes that JSON allows
// but a terminal may obey. In JSON, they can stand in strings only.
func escapeJSON(b []byte) []byte {
	if bytes.IndexFunc(b, isHostile) < 0 {
		return b
	}
	out := make([]byte, 0, len(b)+32)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if isHostile(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}
