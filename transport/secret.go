package transport

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// A Secret holds bytes that are never shown: printed, logged or encoded, it appears as a placeholder.
type Secret struct {
	bytes []byte
	lazy  func() []byte // in their place; nil of others
}

// NewSecret takes the bytes over: the caller must not change them.
func NewSecret(b []byte) *Secret { return &Secret{bytes: b} }

// NewLazySecret calls bytes when the secret is first revealed.
func NewLazySecret(bytes func() []byte) *Secret { return &Secret{lazy: sync.OnceValue(bytes)} }

// Reveal returns the bytes for sending. The caller must not change them.
func (s *Secret) Reveal() []byte {
	if s.lazy != nil {
		return s.lazy()
	}
	return s.bytes
}

// WithheldFrom returns text with each occurrence of s replaced. A nil s returns text.
func (s *Secret) WithheldFrom(text string) string {
	if s == nil {
		return text
	}
	return strings.ReplaceAll(text, string(s.Reveal()), withheld)
}

const withheld = "(secret)"

// Format implements [fmt.Formatter].
func (Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, withheld) }

// MarshalText implements [encoding.TextMarshaler].
func (Secret) MarshalText() ([]byte, error) { return []byte(withheld), nil }

// LogValue implements [slog.LogValuer].
func (Secret) LogValue() slog.Value { return slog.StringValue(withheld) }
