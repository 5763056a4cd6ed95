package modules

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/url"
	"strings"
)

// Preparer is a type that needs something from the controller before it is sent: the bytes of a file next to the
// manifest, for example. Prepare is called once per host, on the controller, after expressions are resolved and before
// Validate.
type Preparer interface {
	Prepare(ctx context.Context, src Source) error
}

// Source has the controller's services for a [Preparer]. A program without a controller (one-shot `ccm-module run`)
// provides them from the local disk.
type Source struct {
	// File returns the bytes of a file of the play's folder. The path is relative to the manifest; a path out of the
	// folder is an error.
	File func(ctx context.Context, path string) (Content, error)
	// Text takes a text that the play has rendered, and returns the content that represents it in the catalog.
	Text func(ctx context.Context, text Content) (Content, error)
	// Download returns a file of a web server as a promised content. It is downloaded at most once per run, when the
	// first host requests it. nil without a controller.
	Download func(ctx context.Context, d Download) (Content, error)
	// Downloaded is Download at once: the hash is known then. Where nothing is applied, nothing
	// is got, and it is promised.
	Downloaded func(ctx context.Context, d Download) (Content, error)
	// Tree has a folder of the play rendered; see [Requirements].Tree. Where there is no
	// controller, it is nil.
	Tree func(ctx context.Context, r TreeRequest) (*Tree, error)
	// Resources opens the folder resources/ next to the manifest, and records that hosts need it; nil if the play has
	// none.
	Resources func() fs.FS
	// YAML converts a YAML document to JSON; nil without a controller. Errors have a line and a column.
	YAML func(text []byte) (json.RawMessage, error)
	// Memo returns a value made of files of the play: make is called at the first call with a key, for all hosts of a
	// run. Goroutines may call Memo concurrently; nil keeps nothing.
	Memo func(key string, make func() any) any
	// Partial reports that some properties are missing: others will send them, or the properties only select the object
	// of a query (see [Querier]).
	Partial bool
}

// Remember is Memo, or calls make if nothing is kept.
func (s Source) Remember(key string, make func() any) any {
	if s.Memo == nil {
		return make()
	}
	return s.Memo(key, make)
}

// A Requirer is a type some of whose resources take more than their properties and the lean
// host program.
type Requirer interface {
	// Requires depends on the values alone. It is called with zero values for properties that are not known yet.
	Requires() Requirements
}

// Requirements are the needs of a resource in addition to its properties.
type Requirements struct {
	// FullProgram: the full host program, with parts that the lean one omits because most hosts never need them, such
	// as an HTTP client (files behind the build tag "full").
	FullProgram bool
	// Resources: Prepare always reads the folder resources/ of the play, see [Source].Resources. If the folder cannot
	// be sent, an error is reported before any host is contacted.
	Resources bool
	// Tree: Prepare has a folder of the play rendered, see [Source].Tree; nil has none. The
	// controller looks at the templates before any host is contacted, as far as the
	// properties named are literal.
	Tree *TreeUse
	// Downloads are the properties with downloads of the controller; none if there are no downloads.
	Downloads []string
}

// RequirementsOf returns the requirements of a resource; none if its type is not a [Requirer].
func RequirementsOf(r Resource) Requirements {
	if q, ok := r.(Requirer); ok {
		return q.Requires()
	}
	return Requirements{}
}

// A Download is a file on a web server.
type Download struct {
	URL                string            // http or https, without a user
	Headers            map[string]string // headers of the request; they are sent to no other server
	Username, Password string            // basic authentication; both empty means none
	SHA256             string            // required hash of the bytes, in lower-case hex; empty accepts any
	MaxSize            int64             // bytes
}

// String names the file, without what could be a secret in its URL.
func (d Download) String() string { return ShownURL(d.URL) }

// IsURL reports whether a source is on a web server, and no file of the play.
func IsURL(source string) bool {
	scheme, _, found := strings.Cut(source, "://")
	return found && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http"))
}

// ShownURL is a URL without user, password, query and fragment, any of which can
// hold a secret.
func ShownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a URL that cannot be read" // the text of err has all of it
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if u.RawQuery != "" {
		shown.RawQuery = "…"
	}
	return shown.String()
}
