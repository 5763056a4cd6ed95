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
	Parse   *Parse   `json:"parse,omitempty"` // answered by Parsed
	Need    *Need    `json:"need,omitempty"`  // answered by Given
	Turn    *Turn    `json:"turn,omitempty"`  // answered by Granted, unless it is Over
	Left    *Left    `json:"left,omitempty"`  // at most once in a catalog, behind the results of its entries

	// Controller to module.
	Catalog *Catalog `json:"catalog,omitempty"`
	Blob    *Blob    `json:"blob,omitempty"` // followed by N raw bytes
	Ping    *Empty   `json:"ping,omitempty"`
	Stop    *Empty   `json:"stop,omitempty"` // end after the resource that is running
	Kill    *Empty   `json:"kill,omitempty"` // kill its process group and end
	Parsed  *Parsed  `json:"parsed,omitempty"`
	Given   *Given   `json:"given,omitempty"`
	Granted *Granted `json:"granted,omitempty"`
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
	Earlier string `json:"earlier,omitempty"`
	// Parallel is how many entries may be worked on at once in an applying run, if
	// neither depends on the other through Require, Subscribe, After or Receive. 0 and 1 are
	// one after the other, in their order, in which each stands behind all that it
	// depends on. With any but 0 the entries are a graph: what a check run does not know
	// of one puts those in doubt that depend on it, and no others.
	Parallel int `json:"parallel,omitempty"`
	// Resources is the folder of programs that the play brings along, see
	// [Host].Resources: the JSON of a [Tree], whose hash is what the folder is called
	// on the host. It is no content if no entry asked for the folder.
	Resources Content `json:"resources,omitzero"`
	// Remember is what the host is to remember of the play for later runs; nil is nothing.
	Remember *Remember `json:"remember,omitempty"`
	Entries  []Entry   `json:"entries"`
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

	// After are earlier entries that end before this one begins, whatever comes of
	// them: unlike Require, they do not keep it from running. It counts where entries
	// run at once.
	After []int `json:"after,omitempty"`

	// Query asks a [Querier] instead of checking and applying.
	Query string `json:"query,omitempty"`
	// Receive are properties whose values are known only on the way.
	Receive []Receive `json:"receive,omitempty"`
	// Export are the values of a [Sender] that the result hands to the controller.
	Export []string `json:"export,omitempty"`
	// Sema are the semaphores that are held while the entry is applied, sorted.
	Sema    []string      `json:"sema,omitempty"`
	Retry   int           `json:"retry,omitempty"`   // how often it is tried again after a failure
	Delay   time.Duration `json:"delay,omitempty"`   // before each of those
	Timeout time.Duration `json:"timeout,omitempty"` // of one try; 0 is any time
	Limit   float64       `json:"limit,omitempty"`   // tries per second at most; 0 is any number
	Hidden  bool          `json:"hidden,omitempty"`  // defined, and not run; others may depend on it
	Reverse bool          `json:"reverse,omitempty"` // what was there before is noted, see [Remember]

	// Left says that the entry is none of the play's: it has left the manifest, and the
	// host puts back what was there before. Either end adds such entries by itself, to
	// what a [Left] tells.
	Left bool `json:"left,omitempty"`
}

// A Receive fills one property of an entry with a value that another one sends.
type Receive struct {
	Property string `json:"property"`
	// From is the index of an earlier entry; -1 leaves it to the controller, which is
	// asked with a [Need].
	From int    `json:"from"`
	Key  string `json:"key,omitempty"` // of the value; dots lead into it: "state.port"
	// Sender is who sends it, if From is -1, for people: "exec#token of db1".
	Sender string `json:"sender,omitempty"`
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
	Index       int           `json:"i"`
	Status      Status        `json:"status,omitempty"` // "" is Stable
	Check       bool          `json:"check,omitempty"`  // nothing was done
	Refreshed   bool          `json:"refreshed,omitempty"`
	RefreshedBy []string      `json:"refreshed_by,omitempty"` // the resources whose change that followed, as [Entry.Ref] has them
	Uncertain   bool          `json:"uncertain,omitempty"`    // a prediction that an earlier resource may make wrong
	Because     string        `json:"because,omitempty"`      // that resource; or what it was skipped for
	Message     string        `json:"message,omitempty"`      // what was or would be done, or why nothing was
	Messages    []Note        `json:"messages,omitempty"`
	Error       string        `json:"error,omitempty"` // set when failed
	Done        bool          `json:"done,omitempty"`  // failed after Message had been done: on a health check
	Changes     []Change      `json:"changes,omitempty"`
	Diff        string        `json:"diff,omitempty"`
	Exit        *Exit         `json:"exit,omitempty"` // of a resource that is a command
	Duration    time.Duration `json:"ns,omitempty"`

	Health []HealthVerdict `json:"health,omitempty"` // of the entry's health checks

	State     *State                     `json:"state,omitempty"`
	ErrorKind ErrorKind                  `json:"error_kind,omitempty"` // of Error, if that is known
	Sent      map[string]json.RawMessage `json:"sent,omitempty"`       // what the entry exports
	Tries     int                        `json:"tries,omitempty"`      // if it took more than one
	Killed    bool                       `json:"killed,omitempty"`     // failed when it was told to kill what runs
}

// MaxParts bounds the changes and the notes of one result: the engine says no
// more, and a controller takes no more.
const MaxParts = 1000

// The levels of notes. The last three are for whoever looks for a fault.
const (
	LevelError   = "error"
	LevelWarning = "warning"
	LevelInfo    = "info"
	LevelVerbose = "verbose"
	LevelDebug   = "debug"
	LevelTrace   = "trace"
)

// A Note is a line that a resource had to say.
type Note struct {
	Level string `json:"level"` // such as [LevelInfo]
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

// Parse asks the controller to read a YAML document of the host's: host programs
// know only JSON.
type Parse struct {
	ID   int    `json:"id"`   // from 1, another for each question of a session
	Text string `json:"text"` // at most [MaxParse] bytes
}

// MaxParse bounds a YAML document of a host, in bytes: 256 KiB.
const MaxParse = 256 << 10

// Parsed answers a [Parse]: with the document as JSON, or with what is wrong.
type Parsed struct {
	ID    int             `json:"id"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Need asks for what an entry receives from other hosts. The answer may take as
// long as those do.
type Need struct {
	Index int `json:"i"`
}

// Given answers a [Need]: values by property, or why there are none.
type Given struct {
	Index  int                        `json:"i"`
	Values map[string]json.RawMessage `json:"values,omitempty"`
	// Unknown says that in a check run nobody can know the values.
	Unknown bool `json:"unknown,omitempty"`
	// Sensitive says that one of the values is of a sensitive resource, so that the
	// entry is one too.
	Sensitive bool   `json:"sensitive,omitempty"`
	Error     string `json:"error,omitempty"`
}

// Turn asks for the semaphores of an entry, or gives them back.
type Turn struct {
	Index int  `json:"i"`
	Over  bool `json:"over,omitempty"`
}

// Granted says that an entry holds its semaphores.
type Granted struct {
	Index int `json:"i"`
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
		m.Parse != nil, m.Parsed != nil, m.Need != nil, m.Given != nil, m.Turn != nil, m.Granted != nil, m.Left != nil,
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
	return m.Left.validate()
}
