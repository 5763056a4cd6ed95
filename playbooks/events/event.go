package events

import (
	"encoding/json"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// An Event is one thing that happened in a run: one of the types of this file.
type Event interface {
	name() string        // the value of "event" in JSON
	stamp() Stamp        // when it happened, and in which run
	stamped(Stamp) Event // the same event with another stamp
}

// A Stamp has the time of an event and its run. [Stream] fills in zero fields.
type Stamp struct {
	Time time.Time `json:"-"`
	Run  string    `json:"-"` // run id
}

func (s Stamp) stamp() Stamp { return s }

// RunStart is the first event: every file has been read without an error and no
// host has been contacted.
type RunStart struct {
	Stamp
	Check     bool     `json:"check" doc:"nothing is changed"`
	Diff      bool     `json:"diff" doc:"results have diffs"`
	Manifests []string `json:"manifests" doc:"as given; empty for an ad-hoc run"`
	Version   string   `json:"version" doc:"of ccm-push"`
	Monitor   bool     `json:"monitor,omitempty" doc:"only health checks are run"`
	Hosts     int      `json:"hosts" doc:"how many the plays select together"`
	Undoes    string   `json:"undoes,omitempty" doc:"the run that this one takes back"`
	// Plays are the plays of the run with their selected hosts, for the record of the run.
	Plays []SelectedPlay `json:"-"`
}

// A SelectedPlay is a play, and the hosts that it selects in the order of the inventory.
type SelectedPlay struct {
	Name  string   `json:"name"`
	Hosts []string `json:"hosts"`
	// Addresses are the addresses of the hosts, in their order; empty means that the name is the address.
	Addresses []string `json:"addresses,omitempty"`
	// Done are hosts that an earlier run, which this one resumes, has finished the play on.
	Done []string `json:"done,omitempty"`
	// The play's own settings for escalation on its hosts, if it has any.
	Become       *bool  `json:"become,omitempty"`
	BecomeUser   string `json:"become_user,omitempty"`
	BecomeMethod string `json:"become_method,omitempty"`
}

// PlayStart begins a batch of a play. Its hosts are in the order of the inventory.
type PlayStart struct {
	Stamp
	Play    string   `json:"play" doc:"its name"`
	Hosts   []string `json:"hosts" doc:"of this batch, in the order of the inventory"`
	Number  int      `json:"number" doc:"of the play in the run, from 1"`
	Batch   int      `json:"batch" doc:"from 1; 0 while a rollout only looks for the hosts that will change"`
	Batches int      `json:"batches" doc:"at least 1; 0 where batch is"`
}

// Status is the outcome of a resource.
type Status string

// The statuses of a [Result].
const (
	Stable  Status = "stable"
	Changed Status = "changed" // or would change, if Check is set
	Skipped Status = "skipped"
	Failed  Status = "failed"
	Rescued Status = "rescued" // failed in a block that has a rescue, which has run then
)

// HasFailed reports whether the resource has failed, rescued or not.
func (s Status) HasFailed() bool { return s == Failed || s == Rescued }

// Cause is why a resource is changed.
type Cause string

// The causes of a [Result].
const (
	Intent   Cause = "intent"   // the manifest requires another state than before, or a change each time
	Drift    Cause = "drift"    // the host has changed since a run left the resource in the manifest's state
	Notified Cause = "notified" // a subscription alone
	Undone   Cause = "undo"     // a run is taken back
	ByRun    Cause = "run"      // a watched resource was changed by another run
)

// Result is the outcome of one resource on one host.
type Result struct {
	Stamp
	Play         string            `json:"play" doc:"name of the play"`
	Host         string            `json:"host" doc:"the host that it is for"`
	On           string            `json:"on,omitempty" doc:"where, if it ran on another host than that; controller is where ccm-push runs"`
	Type         string            `json:"type" doc:"of the resource"`
	Name         string            `json:"name" doc:"of the resource"`
	Alias        string            `json:"alias" doc:"of the resource; empty if it has none"`
	Status       Status            `json:"status" doc:"how it ended; changed in a check result: it would change; rescued: it failed in a block, and the rescue of that block ran" enum:"stable,changed,skipped,failed,rescued"`
	Check        bool              `json:"check" doc:"nothing was done: the run was a check run, or the resource has noop"`
	Refreshed    bool              `json:"refreshed" doc:"it acted because something it subscribes to changed"`
	RefreshedBy  []string          `json:"refreshed_by,omitempty" doc:"the resources whose change it followed"`
	Certain      bool              `json:"certain" doc:"false: a prediction that may turn out wrong"`
	Grade        string            `json:"grade,omitempty" doc:"how sure a prediction is: certain is never wrong, likely is right in at least 99 of 100 cases, unknown may be wrong; not there in results of a real run" enum:"certain,likely,unknown"`
	Because      string            `json:"because" doc:"likely or unknown: the resource that it depends on; skipped: the reason"`
	WouldFail    bool              `json:"would_fail,omitempty" doc:"the resource would fail, unless the resource in because removes the cause; status is changed"`
	Reason       string            `json:"reason,omitempty" doc:"skipped: a code for the reason" enum:"block_ended,control,hidden,no_health_checks,not_needed,not_restorable,not_selected,play_ended,requirement_failed,rescue_not_needed"`
	Message      string            `json:"message" doc:"the action, done or planned"`
	Messages     []Note            `json:"messages" doc:"other messages of the resource"`
	Error        string            `json:"error" doc:"set when failed or rescued"`
	Changed      bool              `json:"changed" doc:"the host was changed, also by one that failed afterwards, on a health check; not there in check results"`
	Changes      []Change          `json:"changes" doc:"properties that differed"`
	Diff         string            `json:"diff" doc:"unified, only with --diff, --report or --junit"`
	Facts        map[string]string `json:"facts,omitempty" doc:"facts of the host that the play reads and that diff contains, by path"`
	HealthChecks []HealthCheck     `json:"health_checks,omitempty" doc:"health checks that ran, in the order of the manifest"`
	State        *ResourceState    `json:"state,omitempty" doc:"the state of the resource before and after, if its type reports it"`
	Restart      []json.RawMessage `json:"restart,omitempty" doc:"restarts that are needed before the change takes effect"`
	ErrorKind    string            `json:"error_kind,omitempty" doc:"the kind of failure, if known" enum:"unknown,forbidden,failed"`
	Tries        int               `json:"tries,omitempty" doc:"if it took more than one"`
	Due          bool              `json:"due,omitempty" doc:"the run does not select the resource: a refresh of it stays due, or in a check run would stay due"`
	Once         string            `json:"once,omitempty" doc:"set if it runs on one host of a batch for all of them: its name as the manifest writes it"`
	Repair       bool              `json:"repair,omitempty" doc:"on a watched host: the play ran again because resources had drifted"`
	Left         bool              `json:"left,omitempty" doc:"the resource has left the manifest and is undone"`
	Fetched      string            `json:"fetched,omitempty" doc:"the file here that a file of the host was fetched into, or in a check run would be"`
	Cause        Cause             `json:"cause,omitempty" doc:"why it is changed, or would be; not there if it is not known" enum:"intent,drift,notified,undo"`

	Duration time.Duration `json:"-"`
	Killed   bool          `json:"killed,omitempty" doc:"it failed because the run was interrupted"`
	Unknown  bool          `json:"unknown,omitempty" doc:"it failed, and its outcome is unknown: a command began, and its end was not seen"`
	Hint     string        `json:"hint,omitempty" doc:"of a failed one: what to do next"`
	Command  *Command      `json:"-"` // command of an exec resource
	// Sensitive makes a [Stream] withhold the diff, the output and both values of every change. The reporting side
	// masks Message, Messages and Error, since only it knows what they contain.
	Sensitive bool `json:"-"`
	// Registers has the registrations that the reporting side makes for the resource.
	Registers []registry.Registration `json:"-"`
	// Written is nil unless the resource failed and is written in a file.
	Written *Place `json:"written,omitempty" doc:"the place of a failed resource in its manifest"`
	// Index is the number of the resource in the play, on its host. Kept is set if the host had kept the result: it was
	// made before the connection that transferred it. Earlier is set if it is from a run that this one resumes.
	Index   int  `json:"-"`
	Kept    bool `json:"-"`
	Earlier bool `json:"-"`
}

// A Place is a position in a file of the controller.
type Place struct {
	File   string `json:"file" doc:"as it is named in errors"`
	Line   int    `json:"line" doc:"from 1"`
	Column int    `json:"column" doc:"from 1, in characters"`
}

// PlaceOf returns the place of a node, or nil if it is in no file.
func PlaceOf(n *yamlpos.Node) *Place {
	if n == nil || n.Line < 1 {
		return nil
	}
	return &Place{File: n.File, Line: n.Line, Column: n.Column}
}

// String is file:line:column.
func (p *Place) String() string {
	return (&yamlpos.Error{File: p.File, Line: p.Line, Column: p.Column}).Pos()
}

// Output is a part of the output of a resource's command while it runs: whole lines. The result of the resource has all
// kept output.
type Output struct {
	Stamp
	Play    string `json:"play" doc:"name of the play"`
	Host    string `json:"host" doc:"name of the host"`
	Type    string `json:"type" doc:"type of the resource"`
	Name    string `json:"name" doc:"name of the resource"`
	Alias   string `json:"alias" doc:"its alias; empty if it has none"`
	Stream  string `json:"stream" enum:"stdout,stderr" doc:"where the command has written it"`
	Text    string `json:"text" doc:"whole lines"`
	Dropped int    `json:"dropped,omitempty" doc:"lines after this text, of both streams, that were not sent because there were too many"`
}

// The streams of an [Output].
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// A ResourceState is the state of a resource before and after it ran, as JSON documents in the words of its type. A nil
// part is not known.
type ResourceState struct {
	Before json.RawMessage `json:"before,omitempty" doc:"the state before, in the fields of its type"`
	After  json.RawMessage `json:"after,omitempty" doc:"the state after, in the fields of its type"`
}

// A Note is a line that a resource had to say.
type Note struct {
	Level string `json:"level" doc:"error, warning, info, verbose, debug or trace"`
	Text  string `json:"text" doc:"the message"`
}

// verbosity returns how often -v must be set before text shows the note.
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
	Property string `json:"property" doc:"its name"`
	Have     string `json:"have" doc:"the value found; contents as sha256:…"`
	Want     string `json:"want" doc:"the desired value; contents as sha256:…"`
}

// A HealthCheck is the result of a health check of a resource.
type HealthCheck struct {
	Name   string `json:"name" doc:"of the check"`
	Status string `json:"status" doc:"its answer" enum:"OK,WARNING,CRITICAL,UNKNOWN"`
	Tries  int    `json:"tries" doc:"how many it took"`
	Output string `json:"output" doc:"of the last one"`
}

// A Command is the result of the program of an exec resource. Of long output the two ends are kept, with a mark between
// them that has the number of omitted bytes.
type Command struct {
	Stdout        string `json:"stdout" doc:"its output; only the beginning and the end if it is long"`
	Stderr        string `json:"stderr" doc:"its output; only the beginning and the end if it is long"`
	ExitCode      int    `json:"exit_code" doc:"of the program"`
	StdoutDropped int64  `json:"stdout_dropped,omitempty" doc:"bytes that are not in stdout"`
	StderrDropped int64  `json:"stderr_dropped,omitempty" doc:"bytes that are not in stderr"`
}

// MessageKind is the position of a [Message] in a play.
type MessageKind string

// The kinds of message.
const (
	Pre  MessageKind = "pre"  // before the first resource
	Post MessageKind = "post" // after the last one
)

// Message is a text that a play has for people.
type Message struct {
	Stamp
	Play string      `json:"play" doc:"name of the play"`
	Host string      `json:"host" doc:"where; empty if it is about the whole play"`
	Kind MessageKind `json:"kind" doc:"before the first resource, or after the last one" enum:"pre,post"`
	Text string      `json:"text" doc:"for people"`
}

// Unreachable reports that no session could be opened with a host: connect, host key or authentication.
type Unreachable struct {
	Stamp
	Play       string `json:"play" doc:"name of the play"`
	Host       string `json:"host" doc:"where"`
	Error      string `json:"error" doc:"the error"`
	Hint       string `json:"hint" doc:"the next step for the operator; may be empty"`
	Reason     string `json:"reason,omitempty" doc:"a code for the error, if it has one" enum:"authentication_refused,connection_refused,host_key_changed,host_key_revoked,host_key_unknown,name_not_found,no_route,timeout"`
	Via        string `json:"via,omitempty" doc:"the jump host that caused the error; error and hint are about it"`
	UnknownKey bool   `json:"unknown_key,omitempty" doc:"known_hosts has no key of the host, or of the jump host"`
}

// HostFailed reports that a host failed as a whole. Phase is become, install, start, facts, compile, lock, confirm,
// lost, protocol, deadline or soak.
type HostFailed struct {
	Stamp
	Play   string `json:"play" doc:"name of the play"`
	Host   string `json:"host" doc:"where"`
	Phase  string `json:"phase" doc:"the phase in which it failed" enum:"become,install,start,facts,compile,lock,undo,confirm,lost,protocol,deadline,soak"`
	Reason string `json:"reason,omitempty" doc:"a code for the error, if it has one" enum:"become_refused,locked,no_answer,no_build,no_space,not_installed,same_machine,timeout"`
	Error  string `json:"error" doc:"the error"`
	Hint   string `json:"hint" doc:"the next step for the operator; may be empty"`
	Rest
	// Cause is the error whose text is Error, if it has places in files; else nil.
	Cause error `json:"-"`
}

// Interrupted reports that the run was interrupted before a host finished a play.
type Interrupted struct {
	Stamp
	Play  string `json:"play" doc:"name of the play"`
	Host  string `json:"host" doc:"where"`
	Phase string `json:"phase,omitempty" doc:"the phase of a rollout after the play in which it was interrupted" enum:"soak"`
	Rest
}

// Reconnect reports that a connection was lost while a catalog ran, and that the host continues it over another one.
type Reconnect struct {
	Stamp
	Play      string        `json:"play" doc:"name of the play"`
	Host      string        `json:"host" doc:"where"`
	Error     string        `json:"error" doc:"of the connection that was lost"`
	Reported  int           `json:"reported" doc:"how many results had come before"`
	Remaining int           `json:"remaining" doc:"how many resources had none"`
	Duration  time.Duration `json:"-"` // until there was another one
}

// Untold reports changes and failures of an earlier run on a host that the run could not report. They are not part of
// the totals.
type Untold struct {
	Stamp
	Play    string         `json:"play" doc:"of this run"`
	Host    string         `json:"host" doc:"where"`
	Earlier string         `json:"earlier" doc:"the id of the run that could not report it"`
	Number  int            `json:"-"` // number of the play in that run, from 1
	For     string         `json:"for,omitempty" doc:"the host whose resource ran here, if that is another host"`
	Holder  string         `json:"holder" doc:"user and machine of that run"`
	Since   time.Time      `json:"since" doc:"when that run began"`
	Results []UntoldResult `json:"results" doc:"how resources had ended"`
	More    int            `json:"more,omitempty" doc:"how many more results there are"`
}

// An UntoldResult is the outcome of a resource.
type UntoldResult struct {
	Type    string `json:"type" doc:"of the resource"`
	Name    string `json:"name" doc:"of the resource"`
	Status  Status `json:"status" doc:"how it had ended" enum:"changed,failed,rescued,skipped"`
	Message string `json:"message,omitempty" doc:"the action"`
	Error   string `json:"error,omitempty" doc:"set when failed or rescued"`
	Unknown bool   `json:"unknown,omitempty" doc:"as in a result"`
}

// A Rest describes the resources of a play that have no result.
type Rest struct {
	// NotReached is 0 also if the host had not begun the play, so that its resources are not known. If the host failed,
	// the outcome of Next is unknown.
	NotReached int      `json:"not_reached,omitempty" doc:"how many resources have no result"`
	Next       string   `json:"next,omitempty" doc:"the first of them"`
	RefreshDue []string `json:"refresh_due,omitempty" doc:"resources without a result whose refresh the next run does"`
}

// State is the final state of a host.
type State string

// The states of a host.
const (
	StateOK          State = "ok"
	StateFailed      State = "failed" // the host, or one of its resources
	StateUnreachable State = "unreachable"
	StateInterrupted State = "interrupted" // before it finished its plays
	StateIncomplete  State = "incomplete"  // well, but the run ended before all of its plays
	StateNotStarted  State = "not_started" // only for a play: the host did not begin it
)

// A PlayEnd is the final state of a host in one of its plays.
type PlayEnd struct {
	Number int   `json:"number" doc:"of the play in the run, from 1"`
	State  State `json:"state" doc:"how the host ended it" enum:"ok,failed,unreachable,interrupted,not_started"`
}

// Counts are numbers of resources by status.
type Counts struct {
	Stable        int `json:"stable" doc:"resources that are stable"`
	Changed       int `json:"changed" doc:"resources that changed; in a check run, resources that would change"`
	Skipped       int `json:"skipped" doc:"resources that are skipped"`
	Failed        int `json:"failed" doc:"resources that failed"`
	WouldChange   int `json:"would_change" doc:"resources with noop that would change; 0 in a check run"`
	FailedChanged int `json:"failed_changed" doc:"failed and rescued resources that had changed the host before they failed"`
	NotReached    int `json:"not_reached" doc:"resources without a result"`
	Drift         int `json:"drift,omitempty" doc:"changed resources whose cause is drift"`
	WouldFail     int `json:"would_fail,omitempty" doc:"changed resources of a check run that would fail, unless an earlier resource removes the cause"`
	Unknown       int `json:"unknown,omitempty" doc:"failed and rescued resources whose outcome is unknown"`
	Rescued       int `json:"rescued,omitempty" doc:"resources that failed in a block whose rescue then ran"`
}

// Sum is the number of results.
func (c Counts) Sum() int {
	return c.Stable + c.Changed + c.Skipped + c.Failed + c.WouldChange + c.Rescued
}

// HostDone reports that a host is finished in this run. [Tally.HostDone] makes one.
type HostDone struct {
	Stamp
	Host  string `json:"host" doc:"which"`
	State State  `json:"state" doc:"how it ended; incomplete: nothing failed, but the run ended before the host had all of its plays" enum:"ok,failed,unreachable,interrupted,incomplete"`
	Counts
	Uncertain   int           `json:"uncertain" doc:"predictions that are likely or unknown"`
	Likely      int           `json:"likely,omitempty" doc:"predictions that are likely"`
	PlaysNotRun int           `json:"plays_not_run,omitempty" doc:"how many of its plays did not start; they are its last ones"`
	Plays       []PlayEnd     `json:"plays,omitempty" doc:"how each play of this host ended, in the order of the plays"`
	Duration    time.Duration `json:"-"`
	Phases      Phases        `json:"-"`
	Steps       []Step        `json:"-"` // the phases as they went, for traces; records have none
}

// A Step is a phase of a host in a play.
type Step struct {
	Phase string // connect, login (a part of it), start, compile or apply
	Play  int    // number of the play in the run, from 1
	Began time.Time
	Took  time.Duration
}

// Phases has the durations of a host's steps, for all plays together. In the rest of its duration, the host waited for
// other hosts.
type Phases struct {
	Connect time.Duration // dial, verify, log in
	Start   time.Duration // start of the host program, until its facts have arrived
	Compile time.Duration
	Apply   time.Duration // from the catalog to its last result
}

// Summary is the last event. [Tally.Summary] makes one.
type Summary struct {
	Stamp
	Check       bool `json:"check" doc:"nothing was changed"`
	Interrupted bool `json:"interrupted" doc:"the run was interrupted"`
	// NotStarted and PlaysNotRun are filled in by the caller that runs the plays.
	NotStarted  []string `json:"not_started,omitempty" doc:"hosts that the run did not start"`
	PlaysNotRun []string `json:"plays_not_run,omitempty" doc:"plays that no host began"`
	// RolloutStopped is too.
	RolloutStopped bool `json:"rollout_stopped,omitempty" doc:"a rollout has stopped, or is held"`
	// Watch is too.
	Watch  *WatchTotals           `json:"watch,omitempty" doc:"totals of the watched hosts at the end"`
	Hosts  map[string]HostSummary `json:"-"`
	Totals Totals                 `json:"-"`
}

// A HostSummary is the final state of one host with its counts.
type HostSummary struct {
	State State `json:"state" doc:"how it ended" enum:"ok,failed,unreachable,interrupted,incomplete"`
	Counts
	Duration time.Duration `json:"-"`
}

// Totals are the sums over all hosts.
type Totals struct {
	Hosts     HostTotals     `json:"hosts" doc:"hosts by state"`
	Resources ResourceTotals `json:"resources" doc:"resources by status"`
	// CertainShare is nil if the run was not a check run or had no results.
	CertainShare *float64 `json:"certain_share,omitempty" doc:"the part of the results of a check run that are certain, 0 to 1"`
}

// HostTotals are numbers of hosts by state.
type HostTotals struct {
	OK          int `json:"ok" doc:"hosts"`
	Failed      int `json:"failed" doc:"hosts that failed, or one of their resources did"`
	Unreachable int `json:"unreachable" doc:"hosts that no session could be opened with"`
	Interrupted int `json:"interrupted" doc:"hosts that were interrupted before they finished"`
	Incomplete  int `json:"incomplete,omitempty" doc:"hosts on which nothing failed, but the run ended before they had all of their plays"`
	NotStarted  int `json:"not_started" doc:"hosts that the run did not start"`
	Reverted    int `json:"reverted,omitempty" doc:"failed hosts that have reverted changes that were not confirmed"`
}

// Sum returns the number of processed hosts.
func (t HostTotals) Sum() int { return t.OK + t.Failed + t.Unreachable + t.Interrupted + t.Incomplete }

// ResourceTotals are numbers of resources over all hosts.
type ResourceTotals struct {
	Counts
	Uncertain    int           `json:"uncertain" doc:"predictions that are likely or unknown"`
	Likely       int           `json:"likely,omitempty" doc:"predictions that are likely"`
	HealthChecks *HealthCounts `json:"health_checks,omitempty" doc:"health checks by status, if any ran"`
}

// HealthCounts are numbers of health checks by their answer.
type HealthCounts struct {
	OK       int `json:"ok" doc:"answers"`
	Warning  int `json:"warning" doc:"answers"`
	Critical int `json:"critical" doc:"answers"`
	Unknown  int `json:"unknown" doc:"answers"`
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

// OfRun sets the run of an event that has none.
func OfRun(e Event, run string) Event {
	st := e.stamp()
	if st.Run != "" {
		return e
	}
	st.Run = run
	return e.stamped(st)
}

// HostOf returns the host of an event, or "" for an event of several hosts.
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
	case ResourceStart:
		return e.Host
	case Untold:
		return e.Host
	case HostDone:
		return e.Host
	case Output:
		return e.Host
	case HostRolling:
		return e.Host
	case HostRolled:
		return e.Host
	case Armed:
		return e.Host
	case Watchdog:
		return e.Host
	case Confirmed:
		return e.Host
	case Reverted:
		return e.Host
	case Watched:
		return e.Host
	case Drifted:
		return e.Host
	case Repaired:
		return e.Host
	case Fighting:
		return e.Host
	case RepairWaits:
		return e.Host
	case Unwatched:
		return e.Host
	}
	return ""
}

func (RunStart) name() string    { return "run_start" }
func (PlayStart) name() string   { return "play_start" }
func (Result) name() string      { return "result" }
func (Output) name() string      { return "output" }
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
func (e Output) stamped(s Stamp) Event      { e.Stamp = s; return e }
func (e Message) stamped(s Stamp) Event     { e.Stamp = s; return e }
func (e Unreachable) stamped(s Stamp) Event { e.Stamp = s; return e }
func (e HostFailed) stamped(s Stamp) Event  { e.Stamp = s; return e }
func (e Interrupted) stamped(s Stamp) Event { e.Stamp = s; return e }
func (e Reconnect) stamped(s Stamp) Event   { e.Stamp = s; return e }
func (e Untold) stamped(s Stamp) Event      { e.Stamp = s; return e }
func (e HostDone) stamped(s Stamp) Event    { e.Stamp = s; return e }
func (e Summary) stamped(s Stamp) Event     { e.Stamp = s; return e }

// FailureText returns the error of an event about a host that has failed as a whole.
func FailureText(e Event) string {
	switch e := e.(type) {
	case Unreachable:
		return e.Error
	case HostFailed:
		return e.Error
	}
	return "it has not answered"
}
