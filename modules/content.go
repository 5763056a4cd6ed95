package modules

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
)

// InlineLimit is the size in bytes up to which a content travels within its resource. A larger one travels as a hash,
// and as bytes only if the host requests it.
const InlineLimit = 512

// Content is the bytes of a file: the Go type of every property that means
// them. In a manifest and in `ccm-module run` it is written as a string. On the
// wire it is {"text":…} up to [InlineLimit] bytes (base64 in "data" when they
// are not UTF-8), else {"sha256":…,"size":…}, or {"promised":…}.
type Content struct {
	hash     string // lower-case hex; always set but in the zero value
	size     int64
	bytes    []byte // the bytes themselves, when they are here
	here     bool
	promised bool // hash is a token, and the size is not known
}

// TextContent is a content that is all here.
func TextContent(s string) Content { return BytesContent([]byte(s)) }

// BytesContent is a content that is all here. It keeps b.
func BytesContent(b []byte) Content {
	sum := sha256.Sum256(b)
	return Content{hash: hex.EncodeToString(sum[:]), size: int64(len(b)), bytes: b, here: true}
}

// HashedContent is a content known by its hash (64 lower-case hex digits) and
// size in bytes.
func HashedContent(sha256 string, size int64) Content { return Content{hash: sha256, size: size} }

// PromisedContent returns a content that the controller gets from elsewhere, and only if a host requests it. Nothing is
// known of it except a token to request it with (64 lower-case hex digits). Hash and size come with the bytes.
func PromisedContent(token string) Content { return Content{hash: token, promised: true} }

// Promised reports whether neither hash nor size are known yet.
func (c Content) Promised() bool { return c.promised }

// IsZero reports whether no content was given, which is not the empty content.
func (c Content) IsZero() bool { return c.hash == "" }

// SHA256 is the hash in lower-case hex, or the token of a promised content.
func (c Content) SHA256() string { return c.hash }

// Size is in bytes; 0 of a promised content.
func (c Content) Size() int64 { return c.size }

// Bytes returns the bytes if they are here.
func (c Content) Bytes() (b []byte, here bool) { return c.bytes, c.here }

// Hashed drops the bytes of a content that is too large to travel inline.
func (c Content) Hashed() Content {
	if c.size > InlineLimit {
		return HashedContent(c.hash, c.size)
	}
	return c
}

// UnmarshalText reads a content from a manifest.
func (c *Content) UnmarshalText(b []byte) error {
	*c = BytesContent(append([]byte(nil), b...))
	return nil
}

// SetString is UnmarshalText for a text that does not change any more.
func (c *Content) SetString(text string) { *c = TextContent(text) }

// LocalContents opens the contents that are here, where no controller is.
type LocalContents struct{}

// Open implements [Contents].
func (LocalContents) Open(_ context.Context, c Content) (io.ReadCloser, error) {
	if b, here := c.Bytes(); here {
		return io.NopCloser(bytes.NewReader(b)), nil
	}
	return nil, errors.New("no controller to send the content")
}

type contentJSON struct {
	Text   *string `json:"text,omitempty"`
	Data   []byte  `json:"data,omitempty"`
	SHA256 string  `json:"sha256,omitempty"`
	Size   int64   `json:"size,omitempty"`
	Token  string  `json:"promised,omitempty"`
}

// MarshalJSON writes the wire form.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.IsZero() {
		return []byte("null"), nil
	}
	if c.promised {
		return json.Marshal(contentJSON{Token: c.hash})
	}
	if !c.here || c.size > InlineLimit {
		b := append(append(append(make([]byte, 0, 128), `{"sha256":"`...), c.hash...), '"') // which is hex
		if c.size != 0 {
			b = strconv.AppendInt(append(b, `,"size":`...), c.size, 10)
		}
		return append(b, '}'), nil
	}
	if isText(c.bytes) {
		s := string(c.bytes)
		return json.Marshal(contentJSON{Text: &s})
	}
	return json.Marshal(contentJSON{Data: c.bytes})
}

// UnmarshalJSON reads the wire form, or a plain string.
func (c *Content) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		if string(b) == "null" {
			*c = Content{}
			return nil
		}
		*c = TextContent(s)
		return nil
	}
	var w contentJSON
	if err := DecodeStrict(b, &w); err != nil {
		return err
	}
	switch {
	case w.Text != nil:
		*c = TextContent(*w.Text)
	case w.Data != nil:
		*c = BytesContent(w.Data)
	case IsDigest(w.SHA256) && w.Size >= 0:
		*c = HashedContent(w.SHA256, w.Size)
	case IsDigest(w.Token):
		*c = PromisedContent(w.Token)
	default:
		return fmt.Errorf("content is neither text nor a SHA-256 with a size")
	}
	return nil
}

var contentType = reflect.TypeFor[Content]()

// MissingContents returns the contents among properties whose bytes are not here.
func MissingContents(res any) []Content {
	var lacking []Content
	eachContent(reflect.ValueOf(res), func(c Content) {
		if _, here := c.Bytes(); !here && !c.IsZero() {
			lacking = append(lacking, c)
		}
	})
	return lacking
}

// eachContent visits the contents among properties, wherever they are.
func eachContent(v reflect.Value, visit func(Content)) {
	if v.Type() == contentType {
		visit(v.Interface().(Content))
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			eachContent(v.Elem(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachContent(v.Field(i), visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachContent(v.Index(i), visit)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			eachContent(it.Value(), visit)
		}
	}
}
