package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A Message is one value of the stream between controller and host program.
// Exactly one field is set. Both ends are the same build, so there are no
// versions.
type Message struct {
	// Module to controller.
	Hello     *Hello     `json:"hello,omitempty"` // first, as one plain line
	Want      *Want      `json:"want,omitempty"`
	Result    *Result    `json:"result,omitempty"` // exactly one per entry, in any order
	Done      *Done      `json:"done,omitempty"`
	Refused   *Refused   `json:"refused,omitempty"`
	Pong      *Empty     `json:"pong,omitempty"`
	Parse     *Parse     `json:"parse,omitempty"`     // answered by Parsed
	Import    *Import    `json:"import,omitempty"`    // answered by Imported
	Semaphore *Semaphore `json:"semaphore,omitempty"` // answered by Granted, unless it releases
	Elsewhere *Elsewhere `json:"elsewhere,omitempty"` // answered by another one
	Reversals *Reversals `json:"reversals,omitempty"` // at most once in a catalog, after the results of its entries
	Untold    *Untold    `json:"untold,omitempty"`    // before the results of a catalog; acknowledged with Ack
	Locked    *Locked    `json:"locked,omitempty"`    // before these, when the lock is not free
	Output    *Output    `json:"output,omitempty"`    // before the result of its entry, if the catalog requests it
	Arm       *Arm       `json:"arm,omitempty"`       // answered by Armed
	Confirmed *Confirmed `json:"confirmed,omitempty"` // answers Proof
	Watchdog  *Watchdog  `json:"watchdog,omitempty"`  // at any time from the first Arm with Set on
	Reverted  *Reverted  `json:"reverted,omitempty"`  // before the results of a catalog; acknowledged with Ack
	Part      *Part      `json:"part,omitempty"`      // before the result of its entry; followed by N raw bytes
	Watched   *Watched   `json:"watched,omitempty"`   // at any time from the end of a catalog with a [Watch] on

	// Controller to module.
	Catalog  *Catalog  `json:"catalog,omitempty"`
	Blob     *Blob     `json:"blob,omitempty"` // followed by N raw bytes
	Ping     *Empty    `json:"ping,omitempty"`
	Stop     *Empty    `json:"stop,omitempty"` // end after the resource that is running
	Kill     *Empty    `json:"kill,omitempty"` // kill its process group and end
	Parsed   *Parsed   `json:"parsed,omitempty"`
	Imported *Imported `json:"imported,omitempty"`
	Granted  *Granted  `json:"granted,omitempty"`
	Ack      *Ack      `json:"ack,omitempty"`
	Armed    *Armed    `json:"armed,omitempty"`
	Proof    *Proof    `json:"proof,omitempty"` // answered by Confirmed
}

// Empty is a message without a content.
type Empty struct{}

// Hello is the first line of the module. Nonce comes first in the JSON, so that [Greeting] can distinguish the line
// from the output of a login shell.
type Hello struct {
	Nonce string          `json:"nonce"`
	Build string          `json:"build"`
	Facts json.RawMessage `json:"facts,omitempty"` // what facts/gather returned
}

// Greeting returns the beginning of the hello line that answers nonce.
func Greeting(nonce string) []byte {
	return fmt.Appendf(nil, `{"hello":{"nonce":%q,`, nonce)
}

// Want requests contents by SHA-256. The controller sends only contents of the
// host's own catalog.
type Want struct {
	SHA256 []string `json:"sha256"`
	// From has the sizes, in bytes, of the parts that the host has from an earlier session. If a part is damaged, the
	// host requests the whole content again.
	From map[string]int64 `json:"from,omitempty"`
}

// A Blob is the header of a part of a content; N raw bytes follow it.
type Blob struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"` // size of the whole content
	Offset int64  `json:"offset"`
	N      int    `json:"n"` // at most [MaxChunk]
	// Gone is the reason why the controller cannot read the content any more.
	Gone string `json:"gone,omitempty"`

	Data []byte `json:"-"` // the raw bytes
}

// MaxChunk bounds the bytes after one Blob header: 64 KiB.
const MaxChunk = 64 << 10

// Done ends a catalog: every entry has had its result, or the run was stopped.
type Done struct {
	Stopped bool `json:"stopped,omitempty"`
	// Armed is the time from now in which the changes must be confirmed, see [Confirm], or 0.
	Armed time.Duration `json:"armed,omitempty"`
}

// Refused reports that the module does not run the catalog.
type Refused struct {
	Phase string `json:"phase"` // lock, protocol, facts, undo, confirm; full: only the full program can
	Error string `json:"error"`
	// Locked reports that another run holds the lock, so that waiting helps.
	Locked bool `json:"locked,omitempty"`
}

// Locked reports that the host waits for its lock, or that it has taken it after a wait.
type Locked struct {
	Waits bool `json:"waits,omitempty"`
}

// Parse requests that the controller parse a YAML document of the host: host programs know only JSON.
type Parse struct {
	ID   int    `json:"id"`   // from 1, another for each question of a session
	Text string `json:"text"` // at most [modules.MaxParse] bytes
}

// Parsed answers a [Parse] with the document as JSON, or with its fault.
type Parsed struct {
	ID    int             `json:"id"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Import requests the values that an entry receives from other hosts. The answer may take
// as long as those do.
type Import struct {
	Index int `json:"i"`
}

// Imported answers an [Import]: values by property, or the reason why there are none.
type Imported struct {
	Index  int                        `json:"i"`
	Values map[string]json.RawMessage `json:"values,omitempty"`
	// Unknown reports that the values cannot be known in a check run.
	Unknown bool `json:"unknown,omitempty"`
	// Sensitive reports that one of the values belongs to a sensitive resource, so that the entry is sensitive, too.
	Sensitive bool   `json:"sensitive,omitempty"`
	Error     string `json:"error,omitempty"`
}

// Semaphore requests the semaphores of an entry, or releases them.
type Semaphore struct {
	Index   int  `json:"i"`
	Release bool `json:"release,omitempty"`
	// Would describes the entry's next action, for people; "" if it is sensitive.
	Would string `json:"would,omitempty"`
}

// Elsewhere requests that the controller run an entry on the host of [Entry.On]. The answer, which has a Status, may
// take as long as other runs occupy that host.
type Elsewhere struct {
	Index int `json:"i"`
	// Refresh reports that something has changed that the entry subscribes to.
	Refresh bool `json:"refresh,omitempty"`
	// Here answers that an entry which runs once does so on the host of the request.
	Here bool `json:"here,omitempty"`
	// Status is the outcome on the other host; empty means that the run ends before the entry.
	Status  Status        `json:"status,omitempty"`
	Grade   modules.Grade `json:"grade,omitempty"`
	Because string        `json:"because,omitempty"`
	Error   string        `json:"error,omitempty"`
}

// Granted reports that an entry holds its semaphores, or why it never will.
type Granted struct {
	Index int    `json:"i"`
	Error string `json:"error,omitempty"`
}

// ErrLocked reports that another run holds the lock of this host and user.
var ErrLocked = errors.New("another run is in progress on this host")

// errNotOne is returned for a message with no field or several.
var errNotOne = errors.New("a message has exactly one field")

// validate checks that exactly one field is set, and bounds.
func (m *Message) validate() error {
	n := 0
	for _, set := range []bool{
		m.Hello != nil, m.Want != nil, m.Result != nil, m.Done != nil, m.Refused != nil, m.Pong != nil,
		m.Catalog != nil, m.Blob != nil, m.Ping != nil, m.Stop != nil, m.Kill != nil,
		m.Parse != nil, m.Parsed != nil, m.Import != nil, m.Imported != nil, m.Semaphore != nil, m.Granted != nil, m.Reversals != nil,
		m.Elsewhere != nil, m.Untold != nil, m.Ack != nil, m.Locked != nil, m.Output != nil,
		m.Arm != nil, m.Armed != nil, m.Proof != nil, m.Confirmed != nil, m.Reverted != nil,
		m.Watched != nil, m.Part != nil, m.Watchdog != nil,
	} {
		if set {
			n++
		}
	}
	if n != 1 {
		return errNotOne
	}
	if b := m.Blob; b != nil {
		if !modules.IsDigest(b.SHA256) || b.Size < 0 || b.Offset < 0 || b.N < 0 || b.N > MaxChunk || b.Offset+int64(b.N) > b.Size {
			return fmt.Errorf("blob header out of bounds")
		}
	}
	if m.Catalog != nil {
		if err := errors.Join(m.Catalog.Confirm.validate(), m.Catalog.Watch.validate()); err != nil {
			return err
		}
	}
	return errors.Join(
		m.Reversals.validate(), m.Untold.validate(), m.Output.validate(),
		m.Arm.validate(), m.Proof.validate(), m.Confirmed.validate(), m.Reverted.validate(), m.Watched.validate(),
		m.Part.validate(), m.Watchdog.validate(),
	)
}
