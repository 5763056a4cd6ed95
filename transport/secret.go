package transport

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// A Secret is bytes that are never shown: however it is printed, logged or
// encoded, what comes out says only that it is one.
type Secret struct {
	bytes []byte
	lazy  func() []byte // in their place; nil of others
}

// NewSecret takes the bytes over: the caller must not change them.
func NewSecret(b []byte) *Secret { return &Secret{bytes: b} }

// NewLazySecret asks for the bytes when they are first revealed.
func NewLazySecret(bytes func() []byte) *Secret { return &Secret{lazy: sync.OnceValue(bytes)} }

// Reveal gives the bytes to whoever has to send them. They must not be changed.
func (s *Secret) Reveal() []byte {
	if s.lazy != nil {
		return s.lazy()
	}
	return s.bytes
}

// WithheldFrom is text with s withheld wherever it stands there; nil withholds nothing.
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
