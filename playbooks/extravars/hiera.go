package extravars

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/sealed"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/templates"
)

// HieraVariable is the environment variable that names the document of --hiera by default,
// as in CCM.
const HieraVariable = "CCM_HIERA_DATA"

// Buckets has NATS' values under keys.
type Buckets interface {
	Value(ctx context.Context, bucket, key string) ([]byte, error)
}

// A Document is a document with data, hierarchy and overrides of its own, which has been read.
type Document struct {
	Name string `json:"name"` // name in positions
	Data []byte `json:"data"`
	// Foreign reports that it is not a file of the operator: its commands do not run.
	Foreign bool `json:"foreign,omitempty"`
}

// ReadHiera reads the document of --hiera, which is in a file, on the web or in a bucket of NATS, or else that of
// [HieraVariable]. Without either it returns none. buckets may be nil.
func ReadHiera(ctx context.Context, flag, variable string, buckets Buckets, warn func(string)) (*Document, error) {
	from := cmp.Or(flag, variable)
	if from == "" {
		return nil, nil
	}
	name, data, err := hieraData(ctx, from, buckets, warn)
	switch {
	case err != nil && flag == "":
		return nil, fmt.Errorf("%w\n  hint: %s names it", err, HieraVariable)
	case err != nil:
		return nil, fmt.Errorf("--hiera: %w", err)
	}
	return &Document{Name: name, Data: data, Foreign: strings.Contains(from, "://")}, nil
}

// Source returns the data of the document; nil for no document. keys opens encrypted values, and may be nil.
func (d *Document) Source(keys *sealed.Ring, warn func(string)) (*templates.Source, error) {
	if d == nil {
		return nil, nil
	}
	if d.Foreign {
		keys = keys.Foreign("this file comes from another user")
	}
	src, err := parseHiera(d.Name, d.Data, keys.Opener())
	if src != nil {
		for _, w := range src.Warnings() {
			warn(w)
		}
	}
	return src, err
}

// Plain returns the source of a document without secrets; nil for an empty document. A secret in it is an error.
func (d *Document) Plain(warn func(string)) (*templates.Source, error) {
	doc, err := parseDocument(d.Name, d.Data, nil)
	if err != nil || doc == nil {
		return nil, err
	}
	if doc.Secret {
		return nil, doc.Errorf("ccm-push render prints the data of a play and withholds its secrets", "the document has secrets, which would be printed")
	}
	return d.Source(nil, warn)
}

// hieraData reads a file or a URL; name is its name in positions.
func hieraData(ctx context.Context, from string, buckets Buckets, warn func(string)) (name string, data []byte, err error) {
	scheme, _, isURL := strings.Cut(from, "://")
	if !isURL {
		user, _, hasAt := strings.Cut(from, "@")
		if hasAt && strings.Contains(user, ":") && !isFile(from) {
			return "", nil, errors.New("the value is not a file, and a URL must begin with https:// (ccm-push does not print the value, because it may contain a password)")
		}
		data, err = readFile(ctx, from)
		return from, data, err
	}
	switch strings.ToLower(scheme) {
	case "http", "https":
	case "kv":
		return bucketData(ctx, from, buckets, warn)
	default:
		return "", nil, fmt.Errorf("%q is not a supported scheme: use http://, https://, kv:// or the path of a file", scheme)
	}
	page, err := source.ParsePage(from)
	if err != nil {
		return "", nil, err
	}
	if page.InTheClear() {
		warn(fmt.Sprintf("%s: the password goes there unencrypted; use https://", page))
	}
	data, err = page.Read(ctx, http.DefaultTransport, source.DataLimits)
	return page.String(), data, err
}

// bucketData reads NATS' value under a key. As in CCM, a missing value is an error.
func bucketData(ctx context.Context, from string, buckets Buckets, warn func(string)) (name string, data []byte, err error) {
	at, sum, err := source.ParsePinned(from)
	if err != nil {
		return "", nil, err
	}
	if buckets == nil {
		return "", nil, fmt.Errorf("%s: buckets of NATS are not read here", at)
	}
	data, err = buckets.Value(ctx, at.Bucket, at.Key)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", at, err)
	}
	if len(data) == 0 {
		return "", nil, fmt.Errorf("%s: it is empty; write data: {} for no data", at)
	}
	return at.String(), data, at.Verify(data, sum, warn)
}

func parseHiera(name string, data []byte, by yamlpos.Opener) (*templates.Source, error) {
	doc, err := parseDocument(name, data, by)
	if err != nil || doc == nil {
		return nil, err
	}
	for _, pair := range doc.Pairs {
		switch pair.Key.Text {
		case "data", "hierarchy", "overrides":
		default:
			return nil, pair.Key.Errorf(`it has the keys "data", "hierarchy" and "overrides"`, "unknown key %q", pair.Key.Text)
		}
	}
	src, err := templates.ParseSource(templates.Parts{
		Data: doc.Get("data"), Hierarchy: doc.Get("hierarchy"), Overrides: doc.Get("overrides"),
	})
	if err != nil {
		return nil, err
	}
	return &src, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
