package modules

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/url"
	"strings"
)

// Preparer is a type that needs something from the controller before it is
// sent: the bytes of a file beside the manifest, for example. Prepare is called
// once per host, on the controller, after expressions are resolved and before
// Validate.
type Preparer interface {
	Prepare(ctx context.Context, src Source) error
}

// Source is what the controller does for a [Preparer]. A program without a
// controller (one-shot `ccm-module run`) fills it from the local disk.
type Source struct {
	// File gives the bytes of a file of the play's folder. The path is relative
	// to the manifest; one that leads out of the folder is an error.
	File func(ctx context.Context, path string) (Content, error)
	// Text takes the bytes of a text that the play has rendered, which are here, and
	// gives what stands for them in the catalog.
	Text func(ctx context.Context, text Content) (Content, error)
	// Download gives what a web server has: a content that is promised, and got at
	// most once per run, when the first host asks for it. Where there is no
	// controller, it is nil.
	Download func(ctx context.Context, d Download) (Content, error)
	// Downloaded is Download at once: the hash is known then. Where nothing is applied, nothing
	// is got, and it is promised.
	Downloaded func(ctx context.Context, d Download) (Content, error)
	// Tree has a folder of the play rendered; see [Requirements].Tree. Where there is no
	// controller, it is nil.
	Tree func(ctx context.Context, r TreeRequest) (*Tree, error)
	// Resources opens the folder resources/ beside the manifest, and notes that hosts
	// need it; nil if the play has none.
	Resources func() fs.FS
	// YAML gives a YAML document as JSON; nil where there is no controller. Errors
	// have a line and a column.
	YAML func(text []byte) (json.RawMessage, error)
	// Memo gives what has been made of files of the play: at the first call with a key,
	// for all hosts of a run. It may be called by many goroutines; nil keeps nothing.
	Memo func(key string, make func() any) any
	// Partial says that not all properties are there: others will send them, or they
	// only choose what is asked about (see [Querier]).
	Partial bool
}

// Remember is Memo, or makes anew what nothing is kept of.
func (s Source) Remember(key string, make func() any) any {
	if s.Memo == nil {
		return make()
	}
	return s.Memo(key, make)
}

// A Requirer is a type some of whose resources take more than their properties and the lean
// host program.
type Requirer interface {
	// Requires looks at the values alone. It is asked with zero values for properties that
	// are not known yet.
	Requires() Requirements
}

// Requirements are what a resource takes besides its properties.
type Requirements struct {
	// FullProgram: the full host program, with what the lean one leaves out because most
	// hosts never need it, such as an HTTP client (files behind the build tag "full").
	FullProgram bool
	// Resources: Prepare always looks into the folder resources/ of the play, see
	// [Source].Resources. One that cannot be sent is then told of before any host is
	// contacted.
	Resources bool
	// Tree: Prepare has a folder of the play rendered, see [Source].Tree; nil has none. The
	// controller looks at the templates before any host is contacted, as far as the
	// properties named are literal.
	Tree *TreeUse
	// Downloads are the properties that say what the controller downloads; none if nothing
	// is.
	Downloads []string
}

// RequirementsOf gives those of a resource: none, if its type is no [Requirer].
func RequirementsOf(r Resource) Requirements {
	if q, ok := r.(Requirer); ok {
		return q.Requires()
	}
	return Requirements{}
}

// A Download is a file on a web server.
type Download struct {
	URL                string            // http or https, without a user
	Headers            map[string]string // of the request; no other server is sent them
	Username, Password string            // basic authentication; both "" is none
	SHA256             string            // what the bytes must have, in lower-case hex; "" accepts any
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
