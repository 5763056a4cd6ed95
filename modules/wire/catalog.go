package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A Catalog is what one play means for one host: finished resources in order.
type Catalog struct {
	Check   bool `json:"check,omitempty"`   // predict, change nothing
	Monitor bool `json:"monitor,omitempty"` // run health checks and nothing else
	// Rehearsal is a check whose predictions are forgotten at its end: what it is about is
	// carried out next.
	Rehearsal   bool  `json:"rehearsal,omitempty"`
	Diff        bool  `json:"diff,omitempty"`   // add unified diffs to results
	Follow      bool  `json:"follow,omitempty"` // send the output of commands as it comes, see [Output]
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
	// [modules.Host].Resources: the JSON of a [modules.Tree], whose hash is what the folder is called
	// on the host. It is no content if no entry asked for the folder.
	Resources modules.Content `json:"resources,omitzero"`
	// Once is how the host recognises the catalog if it comes again; nil keeps no results
	// of it.
	Once *Once `json:"once,omitempty"`
	// Remember is what the host is to remember of the play for later runs; nil is nothing.
	Remember *Remember `json:"remember,omitempty"`
	// Undo is the run whose changes are to be taken back. Then the host makes the entries, and
	// names them with [Reversals] before their results; nil takes nothing back.
	Undo *Undo `json:"undo,omitempty"`
	// Confirm has the host take back what nobody confirms; nil has nothing confirmed. It needs a
	// Lock.
	Confirm *Confirm `json:"confirm,omitempty"`
	// Quiet are absolute paths: while one of them is there, the host refuses the catalog.
	Quiet []string `json:"quiet,omitempty"`
	// Watch has the host go on telling what becomes of the entries; nil does not.
	Watch *Watch `json:"watch,omitempty"`
	// A play that uses the results of its resources comes in stages: each is the whole play, as
	// far as it is known then, and begins with the entries of the stage before. Until is the
	// entry before which the stage ends, since it is made of results; 0 is the end of the play.
	// From is how many entries this session has worked on in the stages before. Fixed is how many
	// entries the first stage had, by which a host recognises the catalog; 0 are all of them.
	Until   int     `json:"until,omitempty"`
	From    int     `json:"from,omitempty"`
	Fixed   int     `json:"fixed,omitempty"`
	Play    string  `json:"play,omitempty"`  // names the play for notes of refreshes
	Whole   bool    `json:"whole,omitempty"` // the entries are all that a manifest has for the host
	Entries []Entry `json:"entries"`
}

// MaxPlays is more than a run has.
const MaxPlays = 1 << 16

// Once says which catalog of which run this is. A host that has finished it, or a part of
// it, answers with the results that it has kept, and does not do that part again.
type Once struct {
	Run  string `json:"run"`
	Play int    `json:"play"` // from 1; a part of a rollout adds a multiple of [MaxPlays]
	// For names the other host and the resource, if this catalog runs one resource of another host's play.
	For string `json:"for,omitempty"`
}

// Undo says what is to be taken back of a run.
type Undo struct {
	Run  string   `json:"run"`
	Only []string `json:"only,omitempty"` // resources, as type#name; none are all
	// Maybe says that it is not known whether the run has changed anything here: if it has
	// not, that is no error.
	Maybe bool `json:"maybe,omitempty"`
	// Changed are the resources, as type#name, that the run has reported to have changed here. A resource
	// that is missing in the notes of the host fails.
	Changed []string `json:"changed,omitempty"`
}

// A Lock says who wants to be alone on the host.
type Lock struct {
	Holder string        `json:"holder"`         // who and where, for the error of the other one
	Run    string        `json:"run"`            // run id
	Wait   time.Duration `json:"wait,omitempty"` // how long to wait for another holder
	// First is the run that Run goes on with, and the first one where that goes on with another; "" if it
	// goes on with none. Epoch is how many runs went before. What one of them has done counts as done by Run, and one
	// of a lower epoch is refused from then on.
	First string `json:"first,omitempty"`
	Epoch int    `json:"epoch,omitempty"`
	// Again says that the connection to a program of the same run, or of one that it goes on with, was lost,
	// which is waited for.
	Again bool `json:"again,omitempty"`
}

// Origin is the run in which what is done began: [Lock].First, or the run itself.
func (l *Lock) Origin() string { return cmp.Or(l.First, l.Run) }

// Queries reports whether the catalog changes nothing, since each of its entries is a query.
func (c *Catalog) Queries() bool {
	return len(c.Entries) > 0 && !slices.ContainsFunc(c.Entries, func(e Entry) bool { return e.Query == "" })
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
	// Scope is set if the entry stands for a nested manifest or a block. It has no properties
	// then, and is neither checked nor applied: it sums up the entries of its scope.
	Scope *Scope `json:"scope,omitempty"`

	// After are earlier entries that end before this one begins, whatever comes of
	// them: unlike Require, they do not keep it from running. It counts where entries
	// run at once.
	After []int `json:"after,omitempty"`

	// On says where the entry runs, if that is not this host: it has no properties then, and the
	// controller, which is asked with [Elsewhere], brings it about there.
	On string `json:"on,omitempty"`
	// Once says that it runs on one host of several, each of which asks with [Elsewhere].
	Once bool `json:"once,omitempty"`
	// Refresh are resources of other hosts, or of earlier calls of a session, that the entry subscribes to and that have changed.
	Refresh []string `json:"refresh,omitempty"`
	// Unmet are required resources of earlier calls of a session that went wrong: the entry is skipped because of them.
	Unmet []string `json:"unmet,omitempty"`

	// Unselected says that the run does not select the entry, and what happens if it is to be refreshed;
	// "" if the run selects it. An entry that is not to be refreshed is skipped without a message.
	Unselected Unselected `json:"unselected,omitempty"`
	// Written is the name in the manifest, if it has expressions; empty means Name. A run that cannot evaluate the
	// name notes a due refresh under Written.
	Written string `json:"written,omitempty"`

	// Query asks a [modules.Querier] instead of checking and applying.
	Query string `json:"query,omitempty"`
	// Receive are properties whose values are known only on the way.
	Receive []Receive `json:"receive,omitempty"`
	// Export are the values of a [modules.Sender] that the result hands to the controller.
	Export []string `json:"export,omitempty"`
	// Sema are the semaphores that are held while the entry is applied, sorted.
	Sema  []string `json:"sema,omitempty"`
	Retry int      `json:"retry,omitempty"` // how often it is tried again after a failure
	// Rerun lets a command start again although its end was not seen.
	Rerun   bool          `json:"rerun,omitempty"`
	Delay   time.Duration `json:"delay,omitempty"`   // before each of those
	Timeout time.Duration `json:"timeout,omitempty"` // of one try; 0 is any time
	Limit   float64       `json:"limit,omitempty"`   // tries per second at most; 0 is any number
	Hidden  bool          `json:"hidden,omitempty"`  // defined, and not run; others may depend on it
	Reverse bool          `json:"reverse,omitempty"` // what was there before is noted, see [Remember]
	// NoHistory keeps nothing of what was there before, so that [Undo] cannot take it back.
	NoHistory bool `json:"no_history,omitempty"`

	// Confirm says whether a change of the entry needs to be confirmed; "" is as [Catalog.Confirm]
	// says, without which nothing is.
	Confirm ConfirmMode `json:"confirm,omitempty"`

	// Watch is what of [Catalog.Watch] is otherwise for this entry; nil is nothing.
	Watch *EntryWatch `json:"watch,omitempty"`

	// Fetch is how many bytes the file may have that the host hands over, in [Part]s before the result;
	// 0 has none handed over.
	Fetch int64 `json:"fetch,omitempty"`

	// Reversal says that the entry is none of the play's: its resource has left the
	// manifest, or is that of an earlier run, and the host puts back what was there before.
	// Either end adds such entries by itself, from the [Reversals].
	Reversal bool `json:"reversal,omitempty"`

	// Register says that the controller uses the result: also of a sensitive entry it gets the
	// output, see [Registered].
	Register bool `json:"register,omitempty"`
	// Ran is the run that this one resumes and that has run the entry, which an undo then left as it is;
	// empty means none. What changes something each time is not run again then, except by a refresh.
	Ran string `json:"ran,omitempty"`

	// Awaits are earlier entries by whose results the entry is made, and which are not known:
	// not yet, or not at all since they are only predicted. It has no properties then.
	Awaits []int `json:"awaits,omitempty"`
}

// A Receive fills one property of an entry with a value that another one sends.
type Receive struct {
	Property string `json:"property"`
	// From is the index of an earlier entry; -1 leaves it to the controller, which is
	// asked with a [Import].
	From int    `json:"from"`
	Key  string `json:"key,omitempty"` // of the value; dots lead into it: "state.port"
	// Sender is who sends it, if From is -1, for people: "exec#token of db1".
	Sender string `json:"sender,omitempty"`
}

// A HealthCheck is a question to the host that is asked after a resource has had
// its turn. It has Argv, or Rules.
type HealthCheck struct {
	Name     string          `json:"name"`
	Argv     []string        `json:"argv,omitempty"`  // of a command that answers as plugins of Nagios do
	Rules    json.RawMessage `json:"rules,omitempty"` // of goss, as one JSON object; need the full host program
	Tries    int             `json:"tries"`           // at most, until the answer is OK
	TrySleep time.Duration   `json:"sleep,omitempty"` // between them
	Timeout  time.Duration   `json:"timeout"`         // of each
}

// A Scope is the entries of a nested manifest or a block: so many right before its own
// entry. Scopes in it count with all of theirs.
type Scope struct {
	Entries     int    `json:"entries"`
	FailOnError bool   `json:"fail_on_error,omitempty"` // the rest of the scope is skipped after a failure in it
	Block       *Block `json:"block,omitempty"`         // set if it is a block and no manifest
}

// A Block parts the entries of a scope, scopes in it with all of theirs: first those of the
// block, whose first failure ends the rest of them; then those that run if there was one;
// then those that run in any case.
type Block struct {
	Rescue int `json:"rescue,omitempty"` // so many entries before those of Always
	Always int `json:"always,omitempty"` // the last entries
}

// Unselected says what happens if an entry that the run does not select is to be refreshed.
type Unselected string

const (
	RefreshNow   Unselected = "now"   // it is refreshed in this run
	RefreshLater Unselected = "later" // the refresh stays due until a run selects the entry; the entry has no properties
)

// Ref is how the entry is called: type#alias, or type#name without an alias.
func (e *Entry) Ref() string {
	if e.Alias != "" {
		return e.Type + "#" + e.Alias
	}
	return e.Type + "#" + e.Name
}

// Remember says what a host remembers of a play: what was there before the resources
// that say `reverse` were first applied.
type Remember struct {
	// As is the name of the play for its hosts, see [CheckRememberedAs].
	As string `json:"as"`
	// Whole says that Entries and Kept name every resource that the play has for the
	// host, so that what is missing among them has left the manifest.
	Whole bool `json:"whole,omitempty"`
	// Kept are resources of the play, as type#name, that are not in the catalog and
	// have not left the manifest either.
	Kept []string `json:"kept,omitempty"`
	// Others are resources, as type#name, of plays of the same run that come later on
	// this host. What they look after is not undone.
	Others []string `json:"others,omitempty"`
}

// MaxRememberedAs is how long the name of a play for its hosts may be, in bytes.
const MaxRememberedAs = 128

// CheckRememberedAs checks the name of a play for its hosts: words of letters, digits,
// ., _ and -, with / between them.
func CheckRememberedAs(name string) error {
	good := len(name) <= MaxRememberedAs
	for word := range strings.SplitSeq(name, "/") {
		good = good && word != "" && !strings.ContainsFunc(word, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
		})
	}
	if !good {
		return fmt.Errorf("%.140q names no play: words of letters, digits, ., _ and - with / between them, at most %d bytes", name, MaxRememberedAs)
	}
	return nil
}
