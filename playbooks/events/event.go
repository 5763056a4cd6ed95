package events

import (
	"encoding/json"
	"time"
)

// An Event is one thing that happened in a run: one of the types of this file.
type Event interface {
	name() string        // the value of "event" in JSON
	stamp() Stamp        // when it happened, and in which run
	stamped(Stamp) Event // the same event with another stamp
}

// A Stamp says when an event happened and in which run. [Stream] fills in what
// is zero.
type Stamp struct {
	Time time.Time `json:"-"`
	Run  string    `json:"-"` // run id
}

func (s Stamp) stamp() Stamp { return s }

// RunStart is the first event: every file has been read without an error and no
// host has been contacted.
type RunStart struct {
	Stamp
	Check     bool     `json:"check"`
	Diff      bool     `json:"diff"`
	Manifests []string `json:"manifests"`         // as given; empty for an ad-hoc run
	Version   string   `json:"version"`           // of ccm-push
	Monitor   bool     `json:"monitor,omitempty"` // only health checks are run
	Hosts     int      `json:"hosts"`             // how many the plays select together
	// Plays are those of the run with the hosts they select, for the record of the run.
	Plays []SelectedPlay `json:"-"`
}

// A SelectedPlay is a play, and the hosts that it selects in the order of the inventory.
type SelectedPlay struct {
	Name  string   `json:"name"`
	Hosts []string `json:"hosts"`
}

// PlayStart begins a batch of a play. Its hosts stand in the order of the
// inventory.
type PlayStart struct {
	Stamp
	Play    string   `json:"play"`
	Hosts   []string `json:"hosts"`   // of this batch
	Number  int      `json:"number"`  // of the play in the run, from 1
	Batch   int      `json:"batch"`   // from 1
	Batches int      `json:"batches"` // at least 1
}

// Status is how a resource ended.
type Status string

// The statuses of a [Result].
const (
	Stable  Status = "stable"
	Changed Status = "changed" // or would change, if Check is set
	Skipped Status = "skipped"
	Failed  Status = "failed"
)

// Result is how one resource ended on one host.
type Result struct {
	Stamp
	Play        string   `json:"play"`
	Host        string   `json:"host"`
	Type        string   `json:"type"`
	Name        string   `json:"name"`
	Alias       string   `json:"alias"`
	Status      Status   `json:"status"`
	Check       bool     `json:"check"` // nothing was done: a check run, or noop
	Refreshed   bool     `json:"refreshed"`
	RefreshedBy []string `json:"refreshed_by,omitempty"` // the resources whose change it followed
	Certain     bool     `json:"certain"`                // false: a prediction that may turn out wrong
	Because     string   `json:"because"`                // what it depends on if not certain, or what it was skipped for
	Message     string   `json:"message"`
	Messages    []Note   `json:"messages"`
	Error       string   `json:"error"` // set when failed
	// Changed says that the host was changed: by what Message says, also if the
	// resource failed after that, on a health check.
	Changed bool     `json:"changed"`
	Changes []Change `json:"changes"`
	Diff    string   `json:"diff"` // unified
	// HealthChecks are those of the resource that have been asked, in the order of
	// the manifest.
	HealthChecks []HealthCheck `json:"health_checks,omitempty"`
	// State is how the resource was found and left, if its type tells.
	State *ResourceState `json:"state,omitempty"`
	// Restart names what has to be restarted before the resource counts: objects such
	// as {"service":"sshd"}.
	Restart   []json.RawMessage `json:"restart,omitempty"`
	ErrorKind string            `json:"error_kind,omitempty"` // unknown, forbidden or failed, if that is known of Error
	Tries     int               `json:"tries,omitempty"`      // if it took more than one
	// Left says that the resource has left the manifest, and was put back as it had been
	// before. Type and Name are then what the host says.
	Left bool `json:"left,omitempty"`

	Duration time.Duration `json:"-"`
	Killed   bool          `json:"killed,omitempty"` // failed because the run was interrupted
	Command  *Command      `json:"-"`                // of a resource that is a command: exec
	// Sensitive makes a [Stream] withhold the diff, the output and both values of
	// every change. Message, Messages and Error are left to the reporting side,
	// which alone knows what it has put there.
	Sensitive bool `json:"-"`
}

// A ResourceState is how a resource was before and after its turn, as JSON documents
// in the words of its type. A part that is nil is not known.
type ResourceState struct {
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// A Note is a line that a resource had to say.
type Note struct {
	Level string `json:"level"` // error, warning, info, verbose, debug, trace
	Text  string `json:"text"`
}

// verbosity is how often -v has to be given before text shows the note.
func (n Note) verbosity() int {
	switch n.Level {
	case "verbose":
		return 1
	case "debug", "trace":
		return 2
	}
	return 0
}

// loud reports whether a note is a reason to look at a resource.
func (n Note) loud() bool { return n.Level != "info" && n.verbosity() == 0 }

// A Change is one property that differed, with both values as short texts.
type Change struct {
	Property string `json:"property"`
	Have     string `json:"have"`
	Want     string `json:"want"`
}

// A HealthCheck is what came of a health check of a resource.
type HealthCheck struct {
	Name   string `json:"name"`
	Status string `json:"status"` // OK, WARNING, CRITICAL, UNKNOWN
	Tries  int    `json:"tries"`  // that it took
	Output string `json:"output"` // of the last one
}

// A Command is how the program of an exec resource ended. Of long output the two ends
// are kept, with a mark between them; so many bytes are missing there.
type Command struct {
	Stdout        string `json:"stdout"`
	Stderr        string `json:"stderr"`
	ExitCode      int    `json:"exit_code"`
	StdoutDropped int64  `json:"stdout_dropped,omitempty"`
	StderrDropped int64  `json:"stderr_dropped,omitempty"`
}

// MessageKind says where in a play a [Message] stands.
type MessageKind string

// The kinds of message.
const (
	Pre  MessageKind = "pre"  // before the first resource
	Post MessageKind = "post" // after the last one
)

// Message is a text that a play has for people.
type Message struct {
	Stamp
	Play string      `json:"play"`
	Host string      `json:"host"` // empty if it is about the whole play
	Kind MessageKind `json:"kind"`
	Text string      `json:"text"`
}

// Unreachable says that no session could be opened with a host: connect, host
// key or authentication.
type Unreachable struct {
	Stamp
	Play  string `json:"play"`
	Host  string `json:"host"`
	Error string `json:"error"`
	Hint  string `json:"hint"` // what to do next; may be empty
	// Via is the jump host that is to blame; Error and Hint are about it, and the
	// same for all hosts behind it.
	Via string `json:"via,omitempty"`
	// UnknownKey says that known_hosts has no key of the host, or of the jump host.
	UnknownKey bool `json:"unknown_key,omitempty"`
}

// HostFailed says that a host failed as a whole. Phase is become, install,
// start, facts, compile, lock, lost, protocol or deadline.
type HostFailed struct {
	Stamp
	Play  string `json:"play"`
	Host  string `json:"host"`
	Phase string `json:"phase"`
	Error string `json:"error"`
	Hint  string `json:"hint"` // what to do next; may be empty
	Rest
}

// Interrupted says that the run was interrupted before a host was done with a play.
type Interrupted struct {
	Stamp
	Play string `json:"play"`
	Host string `json:"host"`
	Rest
}

// Reconnect says that a connection was lost in the midst of a catalog, and that the host
// goes on with that over another one.
type Reconnect struct {
	Stamp
	Play  string `json:"play"`
	Host  string `json:"host"`
	Error string `json:"error"` // of the connection that was lost
	// Reported is how many results had come before, and Remaining how many entries had none.
	Reported  int           `json:"reported"`
	Remaining int           `json:"remaining"`
	Duration  time.Duration `json:"-"` // until there was another one
}

// Untold is what an earlier run has changed on a host, or failed at, and could not tell. It
// is no part of the totals.
type Untold struct {
	Stamp
	Play    string         `json:"play"` // of this run
	Host    string         `json:"host"`
	Earlier string         `json:"earlier"` // run id
	Holder  string         `json:"holder"`  // who ran it, and where, in the words of the host
	Since   time.Time      `json:"since"`   // when it began
	Results []UntoldResult `json:"results"`
	More    int            `json:"more,omitempty"` // results that are not among those
}

// An UntoldResult is how a resource had ended.
type UntoldResult struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Status  Status `json:"status"` // changed or failed
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
}

// A Rest is what became of the resources of a play that have no result.
type Rest struct {
	// NotReached is how many they are; 0 also if the host had not begun with the
	// play, so that they are not known. Next is the first of them: of a host that
	// failed, it is not known what became of it.
	NotReached int    `json:"not_reached,omitempty"`
	Next       string `json:"next,omitempty"`
	// RefreshDue are those of them that subscribe to what has changed. The host has
	// noted that, so the next run refreshes them.
	RefreshDue []string `json:"refresh_due,omitempty"`
}

// State is how a host ended.
type State string

// The states of a host.
const (
	StateOK          State = "ok"
	StateFailed      State = "failed" // the host, or one of its resources
	StateUnreachable State = "unreachable"
	StateInterrupted State = "interrupted" // before it was done with its plays
)

// Counts are numbers of resources by status.
type Counts struct {
	Stable  int `json:"stable"`
	Changed int `json:"changed"` // or would change, in a check run
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
	// WouldChange are resources with noop that would change, in a run that is no
	// check run.
	WouldChange int `json:"would_change"`
	// FailedChanged are those of the failed ones that had changed the host.
	FailedChanged int `json:"failed_changed"`
	NotReached    int `json:"not_reached"` // see [Rest]
}

// Sum is the number of results.
func (c Counts) Sum() int { return c.Stable + c.Changed + c.Skipped + c.Failed + c.WouldChange }

// HostDone says that a host has no more to do in this run. [Tally.HostDone]
// makes one.
type HostDone struct {
	Stamp
	Host  string `json:"host"`
	State State  `json:"state"`
	Counts
	Uncertain int `json:"uncertain"` // of the counted ones
	// PlaysNotRun are how many of its plays, the last ones, the host did not enter.
	PlaysNotRun int           `json:"plays_not_run,omitempty"`
	Duration    time.Duration `json:"-"`
	Phases      Phases        `json:"-"`
}

// Phases are how long the steps of a host have taken, all plays together. What is
// missing to the duration was spent waiting for other hosts.
type Phases struct {
	Connect time.Duration // dial, verify, log in
	Start   time.Duration // of the host program, until its facts are here
	Compile time.Duration
	Apply   time.Duration // from the catalog to its last result
}

// Summary is the last event. [Tally.Summary] makes one.
type Summary struct {
	Stamp
	Check       bool `json:"check"`
	Interrupted bool `json:"interrupted"`
	// NotStarted are the hosts that the run ended before, and PlaysNotRun the plays
	// that no host began. Whoever runs the plays fills them in.
	NotStarted  []string               `json:"not_started,omitempty"`
	PlaysNotRun []string               `json:"plays_not_run,omitempty"`
	Hosts       map[string]HostSummary `json:"-"`
	Totals      Totals                 `json:"-"`
}

// A HostSummary is how one host ended.
type HostSummary struct {
	State State `json:"state"`
	Counts
	Duration time.Duration `json:"-"`
}

// Totals are the sums over all hosts.
type Totals struct {
	Hosts     HostTotals     `json:"hosts"`
	Resources ResourceTotals `json:"resources"`
	// CertainShare is the part of a check run's results that are certain, 0 to 1;
	// nil if the run was no check run or had no results.
	CertainShare *float64 `json:"certain_share,omitempty"`
}

// HostTotals are numbers of hosts by state.
type HostTotals struct {
	OK          int `json:"ok"`
	Failed      int `json:"failed"`
	Unreachable int `json:"unreachable"`
	Interrupted int `json:"interrupted"`
	NotStarted  int `json:"not_started"` // the run ended before it came to them
}

// Sum is the number of hosts that were worked on.
func (t HostTotals) Sum() int { return t.OK + t.Failed + t.Unreachable + t.Interrupted }

// ResourceTotals are numbers of resources over all hosts.
type ResourceTotals struct {
	Counts
	Uncertain int `json:"uncertain"` // of the counted ones
	// HealthChecks counts the health checks that were asked; nil if there was none.
	HealthChecks *HealthCounts `json:"health_checks,omitempty"`
}

// HealthCounts are numbers of health checks by their answer.
type HealthCounts struct {
	OK       int `json:"ok"`
	Warning  int `json:"warning"`
	Critical int `json:"critical"`
	Unknown  int `json:"unknown"`
}

// Sum is the number of health checks.
func (c HealthCounts) Sum() int { return c.OK + c.Warning + c.Critical + c.Unknown }

func (c *HealthCounts) add(status string) {
	switch status {
	case "OK":
		c.OK++
	case "WARNING":
		c.Warning++
	case "CRITICAL":
		c.Critical++
	default:
		c.Unknown++
	}
}

// OfRun gives an event that lacks its run the id of one.
func OfRun(e Event, run string) Event {
	st := e.stamp()
	if st.Run != "" {
		return e
	}
	st.Run = run
	return e.stamped(st)
}

// HostOf gives the host that an event is about; "" if it is about several.
func HostOf(e Event) string {
	switch e := e.(type) {
	case Result:
		return e.Host
	case Message:
		return e.Host
	case Unreachable:
		return e.Host
	case HostFailed:
		return e.Host
	case Interrupted:
		return e.Host
	case Reconnect:
		return e.Host
	case Untold:
		return e.Host
	case HostDone:
		return e.Host
	}
	return ""
}

func (RunStart) name() string    { return "run_start" }
func (PlayStart) name() string   { return "play_start" }
func (Result) name() string      { return "result" }
func (Message) name() string     { return "message" }
func (Unreachable) name() string { return "unreachable" }
func (HostFailed) name() string  { return "host_failed" }
func (Interrupted) name() string { return "interrupted" }
func (Reconnect) name() string   { return "reconnect" }
func (Untold) name() string      { return "untold" }
func (HostDone) name() string    { return "host_done" }
func (Summary) name() string     { return "summary" }

func (e RunStart) stamped(s Stamp) Event    { e.Stamp = s; return e }
func (e PlayStart) stamped(s Stamp) Event   { e.Stamp = s; return e }
func (e Result) stamped(s Stamp) Event      { e.Stamp = s; return e }
func (e Message) stamped(s Stamp) Event     { e.Stamp = s; return e }
func (e Unreachable) stamped(s Stamp) Event { e.Stamp = s; return e }
func (e HostFailed) stamped(s Stamp) Event  { e.Stamp = s; return e }
func (e Interrupted) stamped(s Stamp) Event { e.Stamp = s; return e }
func (e Reconnect) stamped(s Stamp) Event   { e.Stamp = s; return e }
func (e Untold) stamped(s Stamp) Event      { e.Stamp = s; return e }
func (e HostDone) stamped(s Stamp) Event    { e.Stamp = s; return e }
func (e Summary) stamped(s Stamp) Event     { e.Stamp = s; return e }
