package record

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A PastResult is the outcome of a resource on a host in a recorded run.
type PastResult struct {
	Run     string
	Started time.Time // the run
	Result  events.Result
}

// maxPast is how many of the newest runs are searched for results of a resource.
const maxPast = 200

// Past returns the last result of a resource on a host, and the last result with a change; nil if no recorded run has
// one. Check runs are ignored.
func (s Store) Past(host, typeName, name string) (last, change *PastResult, err error) {
	runs, err := s.List()
	if err != nil {
		return nil, nil, err
	}
	for _, r := range runs[:min(len(runs), maxPast)] {
		if r.Check || !r.Selected(host) {
			continue
		}
		inRun, changed, readErr := r.past(host, typeName, name)
		if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) { // it may be removed just now
			err = errors.Join(err, readErr)
		}
		if last == nil {
			last = inRun
		}
		if changed != nil {
			return last, changed, err
		}
	}
	return last, nil, err
}

// past returns the last result of a resource on a host in the run, and the last one with a change.
func (r *Run) past(host, typeName, name string) (last, change *PastResult, err error) {
	number := 0
	for line, err := range r.Lines() {
		number++
		if err != nil {
			return last, change, err
		}
		if !mayHold(line, host) || !mayHold(line, name) {
			continue
		}
		e, err := events.Decode(line)
		if err != nil {
			r.warnOf("an unreadable line of a record is ignored: %v", &LineError{filepath.Join(r.folder, eventsFile), number, err})
			continue
		}
		result, ok := e.(events.Result)
		if !ok || result.Check || result.Host != host || result.Type != typeName || result.Name != name {
			continue
		}
		last = &PastResult{r.Header.Run, r.Started, result}
		if result.Changed || result.Status == events.Changed {
			change = last
		}
	}
	return last, change, nil
}

// mayHold reports whether a line of JSON may contain a text: decoding all lines would take long.
func mayHold(line []byte, text string) bool {
	escaped := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) })
	return escaped || bytes.Contains(line, []byte(text))
}
