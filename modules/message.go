package modules

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// RunInterrupted ends the error of a resource that was killed, whatever for: the host
// program is not told why.
const RunInterrupted = "the run was interrupted"

// A Message is one value of the stream between controller and host program.
// Exactly one field is set. Both ends are the same build, so there are no
// versions.
type Message struct {
	// Module to controller.
	Hello   *Hello   `json:"hello,omitempty"` // first, as one plain line
	Want    *Want    `json:"want,omitempty"`
	Result  *Result  `json:"result,omitempty"` // exactly one per entry, in any order
	Done    *Done    `json:"done,omitempty"`
	Refused *Refused `json:"refused,omitempty"`
	Pong    *Empty   `json:"pong,omitempty"`

	// Controller to module.
	Catalog *Catalog `json:"catalog,omitempty"`
	Blob    *Blob    `json:"blob,omitempty"` // followed by N raw bytes
	Ping    *Empty   `json:"ping,omitempty"`
	Stop    *Empty   `json:"stop,omitempty"` // end after the resource that is running
	Kill    *Empty   `json:"kill,omitempty"` // kill its process group and end
}

// Empty is a message without a content.
type Empty struct{}

// Hello is the first line of the module. Nonce comes first in the JSON, so that
// [Greeting] can tell the line from what a login shell prints.
type Hello struct {
	Nonce string          `json:"nonce"`
	Build string          `json:"build"`
	Facts json.RawMessage `json:"facts,omitempty"` // what facts/gather returned
}

// Greeting is how the hello line that answers nonce begins.
func Greeting(nonce string) []byte {
	return fmt.Appendf(nil, `{"hello":{"nonce":%q,`, nonce)
}

// A Catalog is what one play means for one host: finished resources in order.
type Catalog struct {
	Check       bool  `json:"check,omitempty"`   // predict, change nothing
	Monitor     bool  `json:"monitor,omitempty"` // run health checks and nothing else
	Diff        bool  `json:"diff,omitempty"`    // add unified diffs to results
	FailOnError bool  `json:"fail_on_error,omitempty"`
	Lock        *Lock `json:"lock,omitempty"` // taken before the first resource; nil takes none
	// Earlier, in a check run, is what this session does not know of and would have
	// changed the host: an earlier play that ran as another user. "" is nothing.
	Earlier string  `json:"earlier,omitempty"`
	Entries []Entry `json:"entries"`
}

// A Lock says who wants to be alone on the host.
type Lock struct {
	Holder string        `json:"holder"`         // who and where, for the error of the other one
	Run    string        `json:"run"`            // run id
	Wait   time.Duration `json:"wait,omitempty"` // how long to wait for another holder
}

// An Entry is one resource of a catalog. Require and Subscribe are indexes of
// earlier entries.
type Entry struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Alias      string          `json:"alias,omitempty"`
	Properties json.RawMessage `json:"properties,omitempty"`
	Require    []int           `json:"require,omitempty"`
	Subscribe  []int           `json:"subscribe,omitempty"`
	Excluded   bool            `json:"excluded,omitempty"` // by control; has no properties
	Check      bool            `json:"check,omitempty"`    // noop: predict this one even in an applying run
	Sensitive  bool            `json:"sensitive,omitempty"`
	Monitor    bool            `json:"monitor,omitempty"` // only its health checks run
	Health     []HealthCheck   `json:"health,omitempty"`
	// Scope is set if the entry stands for a nested manifest. It has no properties
	// then, and is neither checked nor applied: it sums up the entries of its scope.
	Scope *Scope `json:"scope,omitempty"`
}

// A Scope is the entries of a nested manifest: so many right before its own
// entry. Scopes in it count with all of theirs.
type Scope struct {
	Entries     int  `json:"entries"`
	FailOnError bool `json:"fail_on_error,omitempty"` // the rest of the scope is skipped after a failure in it
}

// Ref is how the entry is called: type#alias, or type#name without an alias.
func (e *Entry) Ref() string {
	if e.Alias != "" {
		return e.Type + "#" + e.Alias
	}
	return e.Type + "#" + e.Name
}

// Status is how a resource ended.
type Status string

// The statuses. The wire leaves Stable out.
const (
	Stable  Status = "stable"
	Changed Status = "changed"
	Skipped Status = "skipped"
	Failed  Status = "failed"
)

// A Result is how one entry ended. A stable one is little more than its index.
type Result struct {
	Index     int           `json:"i"`
	Status    Status        `json:"status,omitempty"` // "" is Stable
	Check     bool          `json:"check,omitempty"`  // nothing was done
	Refreshed bool          `json:"refreshed,omitempty"`
	Uncertain bool          `json:"uncertain,omitempty"` // a prediction that an earlier resource may make wrong
	Because   string        `json:"because,omitempty"`   // that resource; or what it was skipped for
	Message   string        `json:"message,omitempty"`   // what was or would be done, or why nothing was
	Messages  []Note        `json:"messages,omitempty"`
	Error     string        `json:"error,omitempty"` // set when failed
	Done      bool          `json:"done,omitempty"`  // failed after Message had been done: on a health check
	Changes   []Change      `json:"changes,omitempty"`
	Diff      string        `json:"diff,omitempty"`
	Exit      *Exit         `json:"exit,omitempty"` // of a resource that is a command
	Duration  time.Duration `json:"ns,omitempty"`

	Health []HealthVerdict `json:"health,omitempty"` // of the entry's health checks
}

// MaxParts bounds the changes and the notes of one result: the engine says no
// more, and a controller takes no more.
const MaxParts = 1000

// A Note is a line that a resource had to say.
type Note struct {
	Level string `json:"level"` // info, warning, error
	Text  string `json:"text"`
}

// Want asks for contents by SHA-256. The controller answers only for those of
// the host's own catalog.
type Want struct {
	SHA256 []string `json:"sha256"`
}

// A Blob is the header of a part of a content; N raw bytes follow it.
type Blob struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"` // of the whole content
	Offset int64  `json:"offset"`
	N      int    `json:"n"` // at most [MaxChunk]
	// Gone says that the controller cannot read the content any more, and why.
	Gone string `json:"gone,omitempty"`

	Data []byte `json:"-"` // the raw bytes
}

// MaxChunk bounds the bytes after one Blob header: 64 KiB.
const MaxChunk = 64 << 10

// Done ends a catalog: every entry has had its result, or the run was stopped.
type Done struct {
	Stopped bool `json:"stopped,omitempty"`
}

// Refused says that the module will not work on the catalog at all.
type Refused struct {
	Phase string `json:"phase"` // lock, protocol, facts
	Error string `json:"error"`
	// Locked says that another run holds the lock, so that waiting helps.
	Locked bool `json:"locked,omitempty"`
}

// ErrLocked says that another run holds the lock of this host and user.
var ErrLocked = errors.New("another run is at work on this host")

// errNotOne is returned for a message with no field or several.
var errNotOne = errors.New("a message has exactly one field")

// validate checks that exactly one field is set, and bounds.
func (m *Message) validate() error {
	n := 0
	for _, set := range []bool{
		m.Hello != nil, m.Want != nil, m.Result != nil, m.Done != nil, m.Refused != nil, m.Pong != nil,
		m.Catalog != nil, m.Blob != nil, m.Ping != nil, m.Stop != nil, m.Kill != nil,
	} {
		if set {
			n++
		}
	}
	if n != 1 {
		return errNotOne
	}
	if b := m.Blob; b != nil {
		if !isDigest(b.SHA256) || b.Size < 0 || b.Offset < 0 || b.N < 0 || b.N > MaxChunk || b.Offset+int64(b.N) > b.Size {
			return fmt.Errorf("blob header out of bounds")
		}
	}
	return nil
}
