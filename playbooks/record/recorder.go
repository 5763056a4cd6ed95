package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// The files of a run.
const (
	headerFile = "run.json"
	eventsFile = "events.jsonl"
	endFile    = "end.json"
	inputsFile = "inputs.json"
)

// A Recorder is a reporter that writes the record of one run. The record begins with the [events.RunStart]; a refused
// run has no record.
type Recorder struct {
	store  Store
	header Header
	warn   func(string) // called once if the record cannot be written
	copied Copy         // may be nil
	// inputs returns the hashes of the files that the run has read, or nil if there are no more than have;
	// a nil function records none.
	inputs func(have int) map[string]string
	read   int // files whose hashes are recorded

	folder string
	lines  *events.JSON

	mu     sync.Mutex // held by whatever uses the fields below: Settle is called while others report
	file   *delayed   // locked while the run is in progress; nil before and after
	broken error      // why the record ended early
}

// Recorder makes the recorder of a run.
func (s Store) Recorder(h Header, warn func(string)) *Recorder {
	return &Recorder{store: s, header: h, warn: warn}
}

// A Copy receives the data of a record as it is written. It never blocks, and owns the data that it receives.
type Copy interface {
	Begin(h Header)
	Lines(text []byte) // whole lines of events
	End(e End)
}

// CopyTo copies all recorded data to c.
func (r *Recorder) CopyTo(c Copy) *Recorder {
	r.copied = c
	return r
}

// WithInputs records the files that the run reads while it is in progress: templates, data and nested manifests are
// read for each host. They are recorded before a host may delete its results, and at the end.
func (r *Recorder) WithInputs(inputs func(have int) map[string]string) *Recorder {
	r.inputs = inputs
	return r
}

func (r *Recorder) writeInputs() error {
	if r.inputs == nil {
		return nil
	}
	hashes := r.inputs(r.read)
	if hashes == nil {
		return nil
	}
	r.read = len(hashes)
	return writeJSON(r.folder, inputsFile, hashes)
}

// Report records e.
func (r *Recorder) Report(e events.Event) { r.ReportAll([]events.Event{e}) }

// ReportAll records events, which are in the file a moment later. It omits the output of running commands: their
// results have it.
func (r *Recorder) ReportAll(all []events.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(all, isOutput) {
		all = slices.DeleteFunc(slices.Clone(all), isOutput)
	}
	for _, e := range all {
		if begin, ok := e.(events.RunStart); ok {
			r.attempt(r.begin(begin))
		}
	}
	if r.file == nil {
		return
	}
	r.lines.ReportAll(all)
	r.attempt(r.lines.Err())
	for _, e := range all {
		if end, ok := e.(events.Summary); ok && r.file != nil {
			r.attempt(r.end(end))
		}
	}
}

func isOutput(e events.Event) bool {
	_, is := e.(events.Output)
	return is
}

// Sync writes the reported events to the file.
func (r *Recorder) Sync() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		r.attempt(errors.Join(r.file.Sync(), r.writeInputs()))
	}
}

// Settle returns once the reported events are on disk. An error means that the record ended early, so the record cannot
// replace the results that hosts have kept.
func (r *Recorder) Settle() error {
	r.mu.Lock()
	file, broken := r.file, r.broken
	r.mu.Unlock()
	if file == nil || broken != nil {
		return broken
	}
	err := file.Settle() // others report in the meantime
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.file == file {
			r.attempt(err)
		}
	}
	return err
}

// attempt ends the record at the first error. The run continues.
func (r *Recorder) attempt(err error) {
	if err == nil {
		return
	}
	if r.file != nil { // else there is no record at all, as with --no-record
		r.broken = err
	}
	r.warn(fmt.Sprintf("the record of this run ends here: %v", err))
	r.close()
}

// close lets others see that nothing is written any more.
func (r *Recorder) close() {
	if r.file != nil {
		_ = r.file.Close() // its error would be the error that it is closed for, if there is one
		r.file = nil
	}
}

func (r *Recorder) begin(e events.RunStart) error {
	if err := r.store.make(); err != nil {
		return err
	}
	r.folder = filepath.Join(r.store.Folder, r.header.Run)
	if err := os.Mkdir(r.folder, 0o700); err != nil {
		return err
	}
	h := r.header
	h.Format, h.Plays = format, e.Plays
	// The events file is created first: a folder without the header is not a run yet.
	file, err := os.OpenFile(filepath.Join(r.folder, eventsFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	r.file = &delayed{file: file, copied: r.copied}
	r.lines = events.NewShortJSON(r.file)
	// Where files cannot be locked, a run under way looks like a killed one.
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if r.copied != nil {
		r.copied.Begin(h)
	}
	if err := writeJSON(r.folder, headerFile, h); err != nil {
		return err
	}
	return syncFolder(r.store.Folder)
}

func (r *Recorder) end(e events.Summary) error {
	defer r.close()
	// The end comes last: a run that has one has all of its events.
	if err := errors.Join(r.file.Settle(), r.writeInputs()); err != nil {
		return err
	}
	end := endOf(e)
	if err := writeJSON(r.folder, endFile, end); err != nil {
		return err
	}
	if r.copied != nil {
		r.copied.End(*end)
	}
	return r.store.pruneDaily(e.Time)
}

func endOf(e events.Summary) *End {
	return &End{Ended: e.Time, Interrupted: e.Interrupted, Totals: e.Totals}
}

// writeJSON writes a file that readers see whole or not at all, also after a loss of power: it is on
// the disk, with its name, when writeJSON returns.
func writeJSON(folder, name string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(folder, name)
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncFolder(folder)
}

// syncFolder writes the names of a folder to the disk. Some file systems cannot: then it is as on
// disk as it gets.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, folder.Close())
}
