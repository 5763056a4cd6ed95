package record

import (
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// format is the version of a run's files. Files of a newer ccm-push are not touched.
const format = 1

// A Header describes a run. The caller that starts the run fills it in, except fields with another comment.
type Header struct {
	Format    int       `json:"format"` // filled in by the recorder
	Run       string    `json:"run"`
	Started   time.Time `json:"started"`
	User      string    `json:"user"` // user of the run
	Host      string    `json:"host"` // and where
	PID       int       `json:"pid"`
	Version   string    `json:"version"`   // of ccm-push
	Directory string    `json:"directory"` // working directory, for relative paths
	Command   string    `json:"command"`   // apply, check-health, undo or ad-hoc
	What      string    `json:"what"`      // the manifests, or the resource of an ad-hoc call, for people
	Check     bool      `json:"check,omitempty"`
	Session   string    `json:"session,omitempty"` // session of an ad-hoc call
	// AdHoc is set if the purpose was the output of a command, see [events.TextOptions].
	AdHoc bool   `json:"ad_hoc,omitempty"`
	Flags []Flag `json:"flags,omitempty"`
	// Manifests are the manifests of the command line, in its order; Files are the other files from which plays were
	// read.
	Manifests []Manifest `json:"manifests,omitempty"`
	Files     []Manifest `json:"files,omitempty"`
	// Resumes is the run that this one resumes, and Origin the first one of that chain.
	Resumes string `json:"resumes,omitempty"`
	Origin  Origin `json:"origin,omitzero"`
	// Undoes is the run that this one takes back.
	Undoes string `json:"undoes,omitempty"`
	// UndoesToo are the runs that resumed Undoes, which are taken back with it.
	UndoesToo []string `json:"undoes_too,omitempty"`
	// UndoesOnly names the resources that an undo is limited to, as TYPE#NAME; empty means all.
	UndoesOnly []string `json:"undoes_only,omitempty"`
	// Plays are filled in by the recorder.
	Plays []events.SelectedPlay `json:"plays"`
}

// TakesBack reports whether the run takes back the run with an id.
func (h Header) TakesBack(id string) bool {
	return h.Undoes == id || slices.Contains(h.UndoesToo, id)
}

// Applied reports whether the run applied manifests: it was not a check run, a health check, an undo or an
// ad-hoc call.
func (h Header) Applied() bool {
	return len(h.Manifests) > 0 && !h.Check && h.Command != "check-health" && h.Undoes == ""
}

// Partial reports whether an undo was limited to resources or hosts.
func (h Header) Partial() bool {
	return len(h.UndoesOnly) > 0 || slices.ContainsFunc(h.Flags, func(f Flag) bool { return f.Name == "limit" })
}

// selects reports whether an undo includes a resource.
func (h Header) selects(r events.Result) bool {
	return len(h.UndoesOnly) == 0 || slices.ContainsFunc(h.UndoesOnly, func(ref string) bool {
		return ref == r.Type+"#"+r.Name || ref == r.Type+"#"+r.Alias
	})
}

// A Flag is an option that was given.
type Flag struct {
	Name  string   `json:"name"`
	Words []string `json:"words,omitempty"` // its values
	// Withheld is set if it had values that are not recorded, since they may be secrets.
	Withheld bool `json:"withheld,omitempty"`
}

// A Manifest is a file that plays were read from.
type Manifest struct {
	Path string `json:"path"` // as given; of a URL without user, password and query
	// SHA256 is the checksum of the file, in hex; empty if it is not a file on this machine.
	SHA256 string `json:"sha256,omitempty"`
	// Withheld is set if the path is incomplete, since the rest may be a secret.
	Withheld bool `json:"withheld,omitempty"`
}

// An End describes how a run ended. A killed run has none.
type End struct {
	Ended       time.Time     `json:"ended"`
	Interrupted bool          `json:"interrupted,omitempty"`
	Totals      events.Totals `json:"totals"`
}

// An Outcome is a run's end in a word.
type Outcome string

// The outcomes of a run. Of several the worst counts.
const (
	OK          Outcome = "ok"
	Failed      Outcome = "failed"
	Unreachable Outcome = "unreachable" // hosts, and none failed
	Interrupted Outcome = "interrupted" // interrupted by Ctrl-C or a signal
	Incomplete  Outcome = "incomplete"  // hosts did not get all of their plays, and none failed
	Running     Outcome = "running"
	Killed      Outcome = "killed" // the program ended before the run did
)

// Outcome is the end in a word.
func (e End) Outcome() Outcome {
	switch h := e.Totals.Hosts; {
	case e.Interrupted:
		return Interrupted
	case h.Failed > 0 || e.Totals.Resources.Failed > 0:
		return Failed
	case h.Unreachable > 0:
		return Unreachable
	case h.NotStarted+h.Incomplete > 0:
		return Incomplete
	}
	return OK
}
