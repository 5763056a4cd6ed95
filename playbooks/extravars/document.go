package extravars

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func readFile(ctx context.Context, path string) ([]byte, error) {
	data, err := yamlpos.ReadFile(ctx, path)
	if reason, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("reading %s: %w", path, reason.Err)
	}
	return data, err
}

// parseDocument reads YAML or JSON of one document, a map. It returns nil for an empty text. by opens encrypted values,
// and may be nil.
func parseDocument(name string, data []byte, by yamlpos.Opener) (*yamlpos.Node, error) {
	docs, err := yamlpos.Parse(name, yamlOfJSON(data), yamlpos.Secrets(), yamlpos.KeepSealed(by))
	switch {
	case err != nil:
		return nil, err
	case len(docs) == 0 || docs[0].Kind == yamlpos.Scalar && docs[0].Value == nil:
		return nil, nil
	case len(docs) > 1:
		return nil, docs[1].Errorf("", "only one document is expected")
	case docs[0].Kind != yamlpos.Map:
		return nil, docs[0].Errorf("write key: value", "this is not a map")
	}
	return docs[0], nil
}

// plainMap returns a document as plain values, or nil.
func plainMap(doc *yamlpos.Node) map[string]any {
	if doc == nil {
		return nil
	}
	return doc.Any().(map[string]any)
}

// yamlOfJSON rewrites the parts of JSON that yaml.v3 does not read: \/ and characters that are escaped as a pair of
// surrogates. Other text is returned unchanged.
func yamlOfJSON(data []byte) []byte {
	if !json.Valid(data) {
		return data
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' { // a backslash occurs in strings only
			out = append(out, data[i])
			continue
		}
		switch r, width := surrogates(data[i:]); {
		case width > 0:
			out = utf8.AppendRune(out, r)
			i += width - 1
		case data[i+1] == '/':
			out = append(out, '/')
			i++
		default:
			out = append(out, data[i], data[i+1])
			i++
		}
	}
	return out
}

// surrogates reads the character of two escapes, and their width. A lone surrogate means U+FFFD; the width is 0 if
// there is none.
func surrogates(escapes []byte) (rune, int) {
	first := escaped(escapes)
	if !utf16.IsSurrogate(first) {
		return 0, 0
	}
	const width = len(`\ud83d`)
	if r := utf16.DecodeRune(first, escaped(escapes[width:])); r != utf8.RuneError {
		return r, 2 * width
	}
	return utf8.RuneError, width
}

// escaped returns the code of an escape such as \ud83d, or -1.
func escaped(escape []byte) rune {
	if len(escape) < len(`\ud83d`) || escape[0] != '\\' || escape[1] != 'u' {
		return -1
	}
	code, err := strconv.ParseUint(string(escape[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(code)
}
