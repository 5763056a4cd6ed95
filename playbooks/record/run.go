package record

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A Run is a recorded run.
type Run struct {
	Header
	End *End // nil if it has not ended, or was killed

	folder string
	warn   func(string) // nil drops warnings
}

// ErrNewer is wrapped by the error of a record that a newer ccm-push has written.
var ErrNewer = errors.New("written by a newer ccm-push")

// open reads the header and the end of a run. The error wraps [fs.ErrNotExist] if the run has no
// header (yet), and [ErrNewer] if this program does not know its format.
func (s Store) open(id string) (*Run, error) {
	r := &Run{folder: filepath.Join(s.Folder, id), warn: s.Warn}
	if err := readJSON(r.folder, headerFile, &r.Header); err != nil {
		return nil, err
	}
	if r.Format > format {
		return nil, fmt.Errorf("%w: %s has format %d, which only ccm-push %s reads", ErrNewer, r.folder, r.Format, r.Version)
	}
	if r.Header.Run != id { // {} and null are JSON, too
		return nil, fmt.Errorf("reading %s: it names run %q", filepath.Join(r.folder, headerFile), r.Header.Run)
	}
	var end End
	switch err := readJSON(r.folder, endFile, &end); {
	case err == nil:
		r.End = &end
	case !errors.Is(err, fs.ErrNotExist):
		r.warnOf("%v; reading the end of the run from its events", err)
		r.End = r.endOfEvents()
	}
	return r, nil
}

func (r *Run) warnOf(text string, args ...any) {
	if r.warn != nil {
		r.warn(fmt.Sprintf(text, args...))
	}
}

// endOfEvents returns the end as the events have it; nil if they have none.
func (r *Run) endOfEvents() *End {
	var end *End
	for e, err := range r.Events() {
		if s, ok := e.(events.Summary); ok && err == nil {
			end = endOf(s)
		}
	}
	return end
}

func readJSON(folder, name string, to any) error {
	path := filepath.Join(folder, name)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// Inputs returns the hashes of the files that the run has read, by absolute path. A run of an older ccm-push
// has none.
func (r *Run) Inputs() (map[string]string, error) {
	var hashes map[string]string
	err := readJSON(r.folder, inputsFile, &hashes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return hashes, err
}

// Outcome returns how the run ended.
func (r *Run) Outcome() Outcome {
	switch {
	case r.End != nil:
		return r.End.Outcome()
	case r.running():
		return Running
	}
	return Killed
}

// running reports whether the recorder still holds its lock.
func (r *Run) running() bool {
	file, err := os.Open(filepath.Join(r.folder, eventsFile))
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// Lines yields the lines of the events, complete ones only: the last line of a killed run may be cut off. A line is
// valid until the next one is read.
func (r *Run) Lines() iter.Seq2[[]byte, error] {
	return r.lines(func() bool { return false })
}

// lines yields the recorded events, then follows the file while more returns true.
func (r *Run) lines(more func() bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		file, err := os.Open(filepath.Join(r.folder, eventsFile))
		if err != nil {
			yield(nil, err)
			return
		}
		defer file.Close()
		in := bufio.NewReaderSize(file, 64<<10)
		var begun []byte // beginning of a line that is not complete yet
		for {
			line, err := in.ReadBytes('\n')
			if len(begun) > 0 {
				line = append(begun, line...)
			}
			if errors.Is(err, io.EOF) {
				if begun = line; !more() {
					return
				}
				continue
			}
			begun = nil
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// Events returns the events of the run, as far as it got. Unreadable lines are skipped with a warning. An error is the
// last element.
func (r *Run) Events() iter.Seq2[events.Event, error] { return r.decoded(r.Lines(), nil) }

// readable returns the events of the run like [Run.Events], and calls gap where a line is skipped.
func (r *Run) readable(gap func()) iter.Seq2[events.Event, error] { return r.decoded(r.Lines(), gap) }

func (r *Run) decoded(lines iter.Seq2[[]byte, error], gap func()) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		var first error
		bad := 0
		for e, err := range r.Decode(filepath.Join(r.folder, eventsFile), lines) {
			if line, ok := errors.AsType[*LineError](err); ok {
				first = cmp.Or(first, error(line))
				bad++
				if gap != nil {
					gap()
				}
				continue
			}
			if !yield(e, err) {
				break
			}
		}
		if bad > 0 {
			r.warnOf("run %s: %d unreadable line(s) in its record are ignored, the first is %v", r.Header.Run, bad, first)
		}
	}
}

// followTime is the interval at which a followed run is checked for new events.
const followTime = 100 * time.Millisecond

// Follow yields the events of the run, including future ones, until the run has ended or was killed. The end of ctx is
// an error, which is the last element.
func (r *Run) Follow(ctx context.Context) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		over := false
		more := func() bool {
			if over || ctx.Err() != nil {
				return false
			}
			select {
			case <-ctx.Done():
			case <-time.After(followTime):
			}
			over = r.over() // after that the file is complete, and is read once more
			return true
		}
		for e, err := range r.decoded(r.lines(more), nil) {
			if !yield(e, err) {
				return
			}
		}
		if err := ctx.Err(); err != nil && !over {
			yield(nil, err)
		}
	}
}

// over reports whether nothing is written any more, and learns how the run has ended.
func (r *Run) over() bool {
	killed := !r.running()
	var end End
	if readJSON(r.folder, endFile, &end) == nil {
		r.End = &end
	}
	return killed || r.End != nil
}

// A LineError is a line of events that cannot be read.
type LineError struct {
	From   string // the file, or what else the line is from
	Number int    // from 1
	Err    error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.From, e.Number, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// Decode decodes lines of events of the run; from names where they are from. A line that cannot be
// decoded is a [LineError], and the next ones follow. Any other error is the last.
func (h Header) Decode(from string, lines iter.Seq2[[]byte, error]) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		number := 0
		for line, err := range lines {
			number++
			if err != nil {
				yield(nil, fmt.Errorf("%s:%d: %w", from, number, err))
				return
			}
			e, err := events.Decode(line)
			if err != nil {
				if !yield(nil, &LineError{from, number, err}) {
					return
				}
				continue
			}
			if start, ok := e.(events.RunStart); ok {
				start.Plays = h.Plays
				e = start
			}
			if !yield(events.OfRun(e, h.Run), nil) {
				return
			}
		}
	}
}

// Tally counts the events of the run, also if it has no end.
func (r *Run) Tally() (*events.Tally, error) {
	tally := new(events.Tally)
	for e, err := range r.Events() {
		if err != nil {
			return nil, err
		}
		tally.Report(e)
	}
	return tally, nil
}

// Totals returns the totals at the end, or until the run was killed.
func (r *Run) Totals() (events.Totals, error) {
	if r.End != nil {
		return r.End.Totals, nil
	}
	tally, err := r.Tally()
	if err != nil {
		return events.Totals{}, err
	}
	return tally.SoFar().Totals, nil
}
