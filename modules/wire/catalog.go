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

// A Catalog is one play for one host: finished resources in order.
type Catalog struct {
	Check   bool `json:"check,omitempty"`   // predict, change nothing
	Monitor bool `json:"monitor,omitempty"` // run health checks and nothing else
	// Rehearsal is a check whose predictions are dropped at its end: the same changes are applied next.
	Rehearsal   bool  `json:"rehearsal,omitempty"`
	Diff        bool  `json:"diff,omitempty"`   // add unified diffs to results
	Follow      bool  `json:"follow,omitempty"` // send the output of commands as it comes, see [Output]
	FailOnError bool  `json:"fail_on_error,omitempty"`
	Lock        *Lock `json:"lock,omitempty"` // taken before the first resource; nil takes none
	// Earlier names, in a check run, an earlier change that this session does not know: a play that ran as another
	// user. Empty means none.
	Earlier string `json:"earlier,omitempty"`
	// Parallel is the number of entries that may run at once in an applying run, if neither depends on the other
	// through Require, Subscribe, After or Receive. With 0 and 1 they run one after the other, in their order, in which
	// every entry follows its requirements. With any number except 0 the entries are a graph: an unknown effect of an
	// entry makes a check run doubt only the entries that depend on it.
	Parallel int `json:"parallel,omitempty"`
	// Resources is the play's folder of programs, see [modules.Host].Resources: the JSON of a [modules.Tree], whose
	// hash is the name of the folder on the host. It is empty if no entry needs the folder.
	Resources modules.Content `json:"resources,omitzero"`
	// Once identifies the catalog if it comes again; nil keeps no results of it.
	Once *Once `json:"once,omitempty"`
	// Remember describes the records of the play for later runs; nil means none.
	Remember *Remember `json:"remember,omitempty"`
	// Undo is the run whose changes are reverted. The host creates the entries, and names them with [Reversals] before
	// their results. nil reverts nothing.
	Undo *Undo `json:"undo,omitempty"`
	// Confirm makes the host revert unconfirmed changes; nil means that no change needs confirmation. It requires a
	// Lock.
	Confirm *Confirm `json:"confirm,omitempty"`
	// Quiet are absolute paths: while one of them is there, the host refuses the catalog.
	Quiet []string `json:"quiet,omitempty"`
	// Watch makes the host report later changes of the entries; nil does not.
	Watch *Watch `json:"watch,omitempty"`
	// A play that uses the results of its resources comes in stages. Each stage is the play as far as it is known by
	// then, and begins with the entries of the stage before. Until is the first entry that needs results of this stage;
	// 0 means that the stage reaches the end of the play. From is the number of entries that this session has run in
	// earlier stages. Fixed is the number of entries of the first stage, by which a host recognises the catalog; 0
	// means all of them.
	Until   int     `json:"until,omitempty"`
	From    int     `json:"from,omitempty"`
	Fixed   int     `json:"fixed,omitempty"`
	Play    string  `json:"play,omitempty"`  // names the play for notes of refreshes
	Whole   bool    `json:"whole,omitempty"` // the entries are the manifest's complete list for the host
	Entries []Entry `json:"entries"`
}

// MaxPlays is more than a run has.
const MaxPlays = 1 << 16

// Once identifies a catalog of a run. A host that has finished the catalog, or a part of it, answers with the kept
// results, and does not repeat that part.
type Once struct {
	Run  string `json:"run"`
	Play int    `json:"play"` // from 1; a part of a rollout adds a multiple of [MaxPlays]
	// For names the other host and the resource, if this catalog runs one resource of another host's play.
	For string `json:"for,omitempty"`
}

// Undo selects the changes of a run to revert.
type Undo struct {
	Run  string   `json:"run"`
	Only []string `json:"only,omitempty"` // resources, as type#name; none are all
	// Maybe reports that the run may have changed nothing here, which is then not an error.
	Maybe bool `json:"maybe,omitempty"`
	// Changed are the resources, as type#name, that the run has reported to have changed here. A resource
	// that is missing in the notes of the host fails.
	Changed []string `json:"changed,omitempty"`
}

// A Lock describes the run that locks the host.
type Lock struct {
	Holder string        `json:"holder"`         // operator and machine, as shown to a run that finds the lock taken
	Run    string        `json:"run"`            // run id
	Wait   time.Duration `json:"wait,omitempty"` // how long to wait for another holder
	// First is the first run in the chain of runs that Run resumes; "" if it resumes none. Epoch is the number of
	// earlier runs of the chain. Their changes count as changes of Run, and a run of the chain with a lower epoch is
	// refused from then on.
	First string `json:"first,omitempty"`
	Epoch int    `json:"epoch,omitempty"`
	// Again reports that the connection to a program of the same run, or of one that it resumes, was lost. The lock
	// waits for the end of that program.
	Again bool `json:"again,omitempty"`
}

// Origin returns the run in which the work began: [Lock].First, or the run itself.
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
	Excluded   bool            `json:"excluded,omitempty"` // excluded by control; without properties
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

	// On names the host that runs the entry, if that is not this one: the entry has no properties then. The host
	// requests it with [Elsewhere], and the controller runs it there.
	On string `json:"on,omitempty"`
	// Once marks an entry that runs on only one of several hosts. Each of them requests it with [Elsewhere].
	Once bool `json:"once,omitempty"`
	// Refresh are resources of other hosts, or of earlier calls of a session, that the entry subscribes to and that have changed.
	Refresh []string `json:"refresh,omitempty"`
	// Unmet are required resources of earlier calls of a session that went wrong: the entry is skipped because of them.
	Unmet []string `json:"unmet,omitempty"`

	// Unselected is set if the run does not select the entry, and describes what happens if it has to be refreshed; ""
	// if the run selects it. An entry without a refresh is skipped without a message.
	Unselected Unselected `json:"unselected,omitempty"`
	// Action is the action of an event that has one: a due refresh of the entry keeps it.
	Action string `json:"action,omitempty"`
	// Written is the name in the manifest, if it has expressions; empty means Name. A run that cannot evaluate the
	// name notes a due refresh under Written.
	Written string `json:"written,omitempty"`

	// Query is the query for a [modules.Querier], in place of checking and applying.
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
	Delay   time.Duration `json:"delay,omitempty"`   // wait before each further try
	Timeout time.Duration `json:"timeout,omitempty"` // limit of one try; 0 means none
	Limit   float64       `json:"limit,omitempty"`   // most tries per second; 0 means any number
	Hidden  bool          `json:"hidden,omitempty"`  // defined, and not run; others may depend on it
	Reverse bool          `json:"reverse,omitempty"` // the former state is recorded, see [Remember]
	// NoHistory keeps no former state, so that [Undo] cannot revert the entry.
	NoHistory bool `json:"no_history,omitempty"`

	// Confirm decides whether a change of the entry needs to be confirmed; "" means the mode of [Catalog.Confirm],
	// without which no change does.
	Confirm ConfirmMode `json:"confirm,omitempty"`

	// Watch has the entry's differences from [Catalog.Watch]; nil means none.
	Watch *EntryWatch `json:"watch,omitempty"`

	// Fetch is the largest allowed size of the file, in bytes, that the host sends in [Part]s before the result; 0
	// means no file.
	Fetch int64 `json:"fetch,omitempty"`

	// Reversal marks an entry outside of the play: its resource has left the manifest, or belongs to an earlier run,
	// and the host restores its former state. Each end adds such entries by itself, from the [Reversals].
	Reversal bool `json:"reversal,omitempty"`

	// Register marks an entry whose result the controller uses: it gets the output of a sensitive entry, too, see
	// [Registered].
	Register bool `json:"register,omitempty"`
	// Ran is the resumed run that has run the entry; the undo then left the entry unchanged. Empty means none. A
	// resource that changes something in every run is run again only for a refresh.
	Ran string `json:"ran,omitempty"`

	// Awaits are earlier entries by whose results the entry is made, and which are not known:
	// not yet, or not at all since they are only predicted. It has no properties then.
	Awaits []int `json:"awaits,omitempty"`
}

// A Receive fills one property of an entry with a value that another one sends.
type Receive struct {
	Property string `json:"property"`
	// From is the index of an earlier entry; with -1 the host requests the value from the controller with an [Import].
	From int    `json:"from"`
	Key  string `json:"key,omitempty"` // key of the value; dots select members: "state.port"
	// Sender names the sender for people, if From is -1: "exec#token of db1".
	Sender string `json:"sender,omitempty"`
}

// A HealthCheck runs on the host after a resource has had its turn. It has Argv, or Rules.
type HealthCheck struct {
	Name     string          `json:"name"`
	Argv     []string        `json:"argv,omitempty"`  // command that answers like a plugin of Nagios
	Rules    json.RawMessage `json:"rules,omitempty"` // rules of goss, as one JSON object; they need the full host program
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

// A Block divides the entries of a scope, including inner scopes, into three parts: the block itself, which its first
// failure ends; the rescue, which runs after such a failure; and the part that always runs.
type Block struct {
	Rescue int `json:"rescue,omitempty"` // number of entries of the rescue, which precede those of Always
	Always int `json:"always,omitempty"` // the last entries
}

// Unselected describes what happens if an entry that the run does not select has to be refreshed.
type Unselected string

const (
	RefreshNow   Unselected = "now"   // the refresh happens in this run
	RefreshLater Unselected = "later" // the refresh stays due until a run selects the entry; the entry has no properties
)

// Ref returns the name of the entry in reports: type#alias, or type#name without an alias.
func (e *Entry) Ref() string {
	if e.Alias != "" {
		return e.Type + "#" + e.Alias
	}
	return e.Type + "#" + e.Name
}

// Remember describes the records of a play on a host: the states before resources with `reverse` were first applied.
type Remember struct {
	// As is the name of the play for its hosts, see [CheckRememberedAs].
	As string `json:"as"`
	// Whole reports that Entries and Kept name every resource of the play for the host, so that a missing one has left
	// the manifest.
	Whole bool `json:"whole,omitempty"`
	// Kept are resources of the play, as type#name, that are not in the catalog and
	// have not left the manifest either.
	Kept []string `json:"kept,omitempty"`
	// Others are resources, as type#name, of later plays of the same run on this host. Things that they manage are not
	// undone.
	Others []string `json:"others,omitempty"`
}

// MaxRememberedAs bounds the name of a play in the records of its hosts, in bytes.
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
		return fmt.Errorf("%.140q is not the name of a play: use words of letters, digits, ., _ and - with / between them, at most %d bytes", name, MaxRememberedAs)
	}
	return nil
}
