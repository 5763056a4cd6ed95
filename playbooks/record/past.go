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

// A PastResult is how a resource ended on a host in a recorded run.
type PastResult struct {
	Run     string
	Started time.Time // the run
	Result  events.Result
}

// maxPast is how many of the newest runs are asked for what became of a resource.
const maxPast = 200

// Past gives what became of a resource on a host when it was last worked on, and when it was
// last changed; nil if no run that is recorded has done that. Check runs have done nothing.
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

// past gives the last result of a resource on a host in the run, and the last one that
// changed it.
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

// mayHold reports whether a text can stand in a line of JSON: decoding all of them would
// take long.
func mayHold(line []byte, text string) bool {
	escaped := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) })
	return escaped || bytes.Contains(line, []byte(text))
}
