package expr

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// codeFunctions write text in other ways, and read it.
var codeFunctions = []*function{
	pure("base64", 1, 1, func(args []any) (any, error) {
		return base64.StdEncoding.EncodeToString([]byte(args[0].(string))), nil
	}, kString),
	pure("base64ToString", 1, 1, func(args []any) (any, error) { return fromBase64(args[0].(string)) }, kString),
	pure("dataUri", 1, 1, func(args []any) (any, error) {
		return "data:application/json;base64," + base64.StdEncoding.EncodeToString([]byte(args[0].(string))), nil
	}, kString),
	pure("dataUriToString", 1, 1, fromDataURI, kString),
	pure("uri", 2, 2, func(args []any) (any, error) { return resolveURI(args[0].(string), args[1].(string)) }, kString),
	pure("uriComponent", 1, 1, func(args []any) (any, error) { return percentEncode(args[0].(string)), nil }, kString),
	pure("uriComponentToString", 1, 1, func(args []any) (any, error) { return percentDecode(args[0].(string)) }, kString),
}

var errNotText = errors.New("the decoded value is not UTF-8 text")

func fromBase64(s string) (any, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	switch {
	case err != nil:
		return nil, errors.New("the text is not Base64")
	case !utf8.Valid(b):
		return nil, errNotText
	}
	return string(b), nil
}

// fromDataURI reads data:[TYPE][;charset=utf-8];base64,TEXT (RFC 2397).
func fromDataURI(args []any) (any, error) {
	head, data, ok := strings.Cut(args[0].(string), ",")
	head, isData := strings.CutPrefix(head, "data:")
	parts := strings.Split(head, ";")
	if !ok || !isData || strings.Contains(parts[0], "=") || strings.HasPrefix(parts[0], ":") {
		return nil, errors.New("the text is not a data URI, such as data:text/plain;base64,SGk=")
	}
	isBase64, charsets := false, 0
	for _, part := range parts[1:] {
		charset, isCharset := strings.CutPrefix(part, "charset=")
		switch {
		case part == "base64":
			isBase64 = true
		case !isCharset || charsets > 0:
			return nil, fmt.Errorf("the data URI has a part %q that is not known", part)
		case !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "utf8"):
			return nil, fmt.Errorf("the charset %q is not UTF-8", charset)
		default:
			charsets++
		}
	}
	if !isBase64 {
		return nil, errors.New("the data URI is not in Base64")
	}
	return fromBase64(data)
}

// percentEncode writes all but the unreserved characters of RFC 3986 as %XX.
func percentEncode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; isName(c) || c == '-' || c == '.' || c == '~' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func percentDecode(s string) (any, error) {
	var b strings.Builder
	for rest := s; rest != ""; {
		before, after, found := strings.Cut(rest, "%")
		b.WriteString(before)
		if !found {
			break
		}
		if len(after) < 2 {
			return nil, errors.New("a % is not followed by two hexadecimal digits")
		}
		c, err := hex.DecodeString(after[:2])
		if err != nil {
			return nil, errors.New("a % is not followed by two hexadecimal digits")
		}
		b.Write(c)
		rest = after[2:]
	}
	if !utf8.ValidString(b.String()) {
		return nil, errNotText
	}
	return b.String(), nil
}

// murmur64A returns the MurmurHash64A of data with seed 0 (Austin Appleby, public domain).
func murmur64A(data []byte) uint64 {
	const m, r = 0xc6a4a7935bd1e995, 47
	h := uint64(len(data)) * m
	for ; len(data) >= 8; data = data[8:] {
		k := binary.LittleEndian.Uint64(data) * m
		k ^= k >> r
		h = (h ^ k*m) * m
	}
	if len(data) > 0 {
		var last [8]byte
		copy(last[:], data)
		h = (h ^ binary.LittleEndian.Uint64(last[:])) * m
	}
	h ^= h >> r
	h *= m
	return h ^ h>>r
}

// lowerBase32 writes the bytes of n, the lowest first, in Base32 of RFC 4648 without
// padding, in lower case.
func lowerBase32(n uint64) string {
	const digits = "abcdefghijklmnopqrstuvwxyz234567"
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	n = binary.BigEndian.Uint64(b[:])
	var out [13]byte
	for i := range out {
		out[i] = digits[n>>59]
		n <<= 5
	}
	return string(out[:])
}

// resolveURI resolves a URI reference against an absolute URI (RFC 3986, section 5), and writes the result in its
// normal form: dot segments are removed, an empty path after a host becomes a slash, and characters not allowed in a
// URI are percent-encoded.
func resolveURI(base, reference string) (string, error) {
	if base == "" {
		return "", errors.New("the base is empty; write an absolute URI, such as https://example.com/")
	}
	b, err := url.Parse(base)
	switch {
	case err != nil:
		return "", wrongURI("base", base, err)
	case b.Scheme == "":
		return "", fmt.Errorf("the base %q is not an absolute URI: it has no scheme, such as https://", base)
	case b.Opaque != "":
		return "", fmt.Errorf("nothing can be resolved against the base %q, which has no path", base)
	case strings.HasPrefix(reference, "///"):
		return "", fmt.Errorf("the reference %q begins with three slashes", reference)
	}
	r, err := url.Parse(reference)
	if err != nil {
		return "", wrongURI("reference", reference, err)
	}
	out := b.ResolveReference(r)
	out.OmitHost = r.OmitHost || b.OmitHost && r.Scheme == "" // which it forgets
	if out.Path == "" && out.Host != "" {
		out.Path = "/"
	}
	if out.Host == "" && slices.Contains([]string{"http", "https", "ftp", "ws", "wss"}, out.Scheme) {
		return "", fmt.Errorf("the result %q has no host", out)
	}
	out.Host = strings.ToLower(out.Host)
	out.RawQuery = encodeQuery(out.RawQuery)
	return out.String(), nil
}

// wrongURI returns the error for a text that is not a URI.
func wrongURI(what, text string, err error) error {
	if own, ok := errors.AsType[*url.Error](err); ok {
		err = own.Err
	}
	return fmt.Errorf("the %s %q is not a URI: %w", what, text, err)
}

// encodeQuery writes characters not allowed in a query as %XX; encoded characters are not encoded again.
func encodeQuery(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
