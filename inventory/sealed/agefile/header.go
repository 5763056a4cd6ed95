package agefile

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"filippo.io/age"

	"github.com/ccm-push/ccm-push/inventory/sealed/recipients"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Header lists the readers of a file and contains its key. It is a comment, which every reader of YAML skips.
type Header struct {
	File    string // path from the folder of .ccm-secrets.yaml, with slashes
	Readers []Who
	wrapped []byte // encrypted by age: the key, and the hash of the lines above

	Start, End int // in bytes, of the text
	Line       int
}

// Who is a reader of a file: a name, and a public key.
type Who struct{ Name, Key string }

const (
	begin      = "# ccm-push secrets 1: values with !age are for those below (ccm-push secret who)"
	end        = "# ccm-push secrets end"
	lineLength = 76
)

// HeaderStart is the beginning of each header, in every version.
const HeaderStart = "# ccm-push secrets "

// Names returns the names of the readers.
func (h *Header) Names() (names []string) {
	for _, r := range h.Readers {
		names = append(names, r.Name)
	}
	return names
}

// clear returns the lines that are not encrypted. They are authenticated by the key.
func (h *Header) clear() string {
	var b strings.Builder
	b.WriteString(begin + "\n# file: " + h.File + "\n")
	for _, r := range h.Readers {
		b.WriteString("# reader: " + r.Name + " " + r.Key + "\n")
	}
	return b.String()
}

// Text returns the comment.
func (h *Header) Text() string {
	var b strings.Builder
	b.WriteString(h.clear())
	for text := base64.StdEncoding.EncodeToString(h.wrapped); text != ""; {
		n := min(lineLength, len(text))
		b.WriteString("# " + text[:n] + "\n")
		text = text[n:]
	}
	b.WriteString(end + "\n")
	return b.String()
}

// newHeader makes a key for a file and a header with the key.
func newHeader(file string, readers []recipients.Reader) (*Header, *dataKey, error) {
	if strings.ContainsFunc(file, unicode.IsControl) || !utf8.ValidString(file) {
		return nil, nil, errors.New("a file of such a name cannot be encrypted")
	}
	h := &Header{File: file}
	var to []age.Recipient
	for _, r := range readers {
		h.Readers = append(h.Readers, Who{r.Name, r.Key.Text})
		to = append(to, r.Key.Recipient)
	}
	key := new(dataKey)
	rand.Read(key[:]) // which never fails
	clear := sha256.Sum256([]byte(h.clear()))
	var err error
	h.wrapped, err = encrypt(slices.Concat(key[:], clear[:]), to)
	return h, key, err
}

// unwrap returns the key of the values, if one of the identities can read it.
func (h *Header) unwrap(identities []age.Identity) (*dataKey, error) {
	in, err := decrypt(bytes.NewReader(h.wrapped), identities)
	if err != nil {
		return nil, err
	}
	key, clear := new(dataKey), sha256.Sum256([]byte(h.clear()))
	raw, err := io.ReadAll(io.LimitReader(in, 1<<10))
	if err != nil || len(raw) != len(key)+len(clear) || subtle.ConstantTimeCompare(raw[len(key):], clear[:]) != 1 {
		return nil, errHeader
	}
	copy(key[:], raw)
	return key, nil
}

// errHeader is why a header that was changed is refused.
var errHeader = errors.New("the header was changed by something else than ccm-push")

// FindHeader returns the header of a file, or nil.
func FindHeader(name string, text []byte) (*Header, error) {
	var found *Header
	line, at := 0, 0
	for at < len(text) {
		line++
		length := lengthOf(text[at:])
		if !bytes.HasPrefix(text[at:], []byte(HeaderStart)) {
			at += length
			continue
		}
		if found != nil {
			return nil, &yamlpos.Error{File: name, Line: line, Column: 1, Msg: "there is a second header of ccm-push secret", Hint: mergeHint}
		}
		h, err := parseHeader(text[at:])
		if err != nil {
			return nil, &yamlpos.Error{File: name, Line: line, Column: 1, Msg: err.Error(), Hint: mergeHint}
		}
		h.Start, h.Line = at, line
		h.End += at
		found = h
		line += bytes.Count(text[h.Start:h.End], []byte("\n")) - 1
		at = h.End
	}
	return found, nil
}

const mergeHint = "restore the file (git checkout), or one side of a merge"

// lengthOf returns the length of the first line, including its break.
func lengthOf(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}

// parseHeader reads the header at the beginning of a text. It accepts only the canonical form: a changed header is
// refused.
func parseHeader(text []byte) (*Header, error) {
	h := &Header{}
	var wrapped strings.Builder
	at := 0
	for n := 0; ; n++ {
		length := lengthOf(text[at:])
		line := strings.TrimSuffix(strings.TrimSuffix(string(text[at:at+length]), "\n"), "\r")
		at += length
		body, ok := strings.CutPrefix(line, "# ")
		switch {
		case !ok || length == 0:
			return nil, errHeader
		case line == end:
			return h.complete(text[:at], wrapped.String())
		case n == 0:
		case strings.HasPrefix(body, "file: "):
			h.File = strings.TrimPrefix(body, "file: ")
		case strings.HasPrefix(body, "reader: "):
			name, key, _ := strings.Cut(strings.TrimPrefix(body, "reader: "), " ")
			h.Readers = append(h.Readers, Who{name, key})
		default:
			wrapped.WriteString(body)
		}
	}
}

// complete reads the encrypted lines, and compares the formatted header with the text that was read.
func (h *Header) complete(text []byte, wrapped string) (*Header, error) {
	var err error
	if h.wrapped, err = encoding.DecodeString(wrapped); err != nil {
		return nil, errHeader
	}
	h.End = len(text)
	got := string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	if strings.TrimSuffix(got, "\n") != strings.TrimSuffix(h.Text(), "\n") {
		return nil, errHeader
	}
	return h, nil
}
