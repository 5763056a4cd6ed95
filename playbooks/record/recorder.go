package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// The files of a run.
const (
	headerFile = "run.json"
	eventsFile = "events.jsonl"
	endFile    = "end.json"
)

// A Recorder is a reporter that writes the record of one run. It begins with the
// [events.RunStart]: of a run that was refused there is none.
type Recorder struct {
	store  Store
	header Header
	warn   func(string) // told once what cannot be written

	folder string
	file   *os.File // locked as long as the run goes on; nil before and after
	lines  *events.JSON
}

// Recorder makes the recorder of a run.
func (s Store) Recorder(h Header, warn func(string)) *Recorder {
	return &Recorder{store: s, header: h, warn: warn}
}

// Report records e.
func (r *Recorder) Report(e events.Event) { r.ReportAll([]events.Event{e}) }

// ReportAll records events in one write.
func (r *Recorder) ReportAll(all []events.Event) {
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

// attempt gives the record up at the first error. The run goes on.
func (r *Recorder) attempt(err error) {
	if err == nil {
		return
	}
	r.warn(fmt.Sprintf("the record of this run ends here: %v", err))
	r.close()
}

// close lets others see that nothing is written any more.
func (r *Recorder) close() {
	if r.file != nil {
		r.file.Close()
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
	// The events come first: a folder without the header is no run yet.
	file, err := os.OpenFile(filepath.Join(r.folder, eventsFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	r.file, r.lines = file, events.NewShortJSON(file)
	// Where files cannot be locked, a run under way looks like a killed one.
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return writeJSON(r.folder, headerFile, h)
}

func (r *Recorder) end(e events.Summary) error {
	defer r.close()
	if err := writeJSON(r.folder, endFile, End{Ended: e.Time, Interrupted: e.Interrupted, Totals: e.Totals}); err != nil {
		return err
	}
	return r.store.pruneDaily(e.Time)
}

// writeJSON writes a file that readers see whole or not at all.
func writeJSON(folder, name string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
