package expr

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// resolveURI resolves a URI reference against an absolute URI (RFC 3986, section 5),
// and writes the result in its normal form: dot segments are gone, an empty path
// behind a host is a slash, and characters that no URI has are percent-encoded.
func resolveURI(base, reference string) (string, error) {
	if base == "" {
		return "", errors.New("the base is empty; write an absolute URI, such as https://example.com/")
	}
	b, err := url.Parse(base)
	switch {
	case err != nil:
		return "", wrongURI("base", base, err)
	case b.Scheme == "":
		return "", fmt.Errorf("the base %q is no absolute URI: it has no scheme, such as https://", base)
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

// wrongURI is the error of a text that is no URI.
func wrongURI(what, text string, err error) error {
	if own, ok := errors.AsType[*url.Error](err); ok {
		err = own.Err
	}
	return fmt.Errorf("the %s %q is no URI: %w", what, text, err)
}

// encodeQuery writes characters that no query has as %XX; what is encoded stays so.
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
