package outcomes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Began command is one execution of a command, as it wrote it down itself.
type Began struct {
	Name   string // of the resource; with each, of the element
	For    string // the host that it is for
	At     string // the host where it ran
	Begin  time.Time
	End    time.Time // zero if it was killed
	Status int
	Call   int // the call of the case in which it began, from 0
	pid    string
}

func (b Began) String() string {
	end := "was cut"
	if !b.End.IsZero() {
		end = fmt.Sprintf("ended %s with status %d", b.End.Format("05.000"), b.Status)
	}
	return fmt.Sprintf("%s for %s on %s began %s in call %d, %s", b.Name, b.For, b.At, b.Begin.Format("05.000"), b.Call+1, end)
}

// cut reports whether the command did not come to its end.
func (b Began) cut() bool { return b.End.IsZero() }

// A Snapshot is the files of a host, by path: mode, owner and content.
type Snapshot map[string]string

// A Truth records what happened on the hosts.
type Truth struct {
	Began  []Began
	Before map[string]Snapshot // by host, before the first call
	After  map[string]Snapshot // after the last call that was no undo
	Undone map[string]Snapshot // after the last undo; nil if there was none
}

// ReadLog reads what the commands of a host wrote down.
func ReadLog(at, text string) ([]Began, error) {
	var all []Began
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 5 {
			return nil, fmt.Errorf("the log of %s has the line %q", at, line)
		}
		nano, err := strconv.ParseInt(f[4], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the log of %s: %w", at, err)
		}
		when := time.Unix(0, nano)
		if f[0] == "B" {
			all = append(all, Began{Name: f[1], For: f[2], At: at, Begin: when, pid: f[3]})
			continue
		}
		open := slices.IndexFunc(all, func(b Began) bool { return b.Name == f[1] && b.For == f[2] && b.pid == f[3] && b.cut() })
		if open < 0 || len(f) < 6 {
			return nil, fmt.Errorf("the log of %s has an end without a beginning: %q", at, line)
		}
		all[open].End = when
		if all[open].Status, err = strconv.Atoi(f[5]); err != nil {
			return nil, fmt.Errorf("the log of %s: %w", at, err)
		}
	}
	return all, nil
}

// sorted sorts executions by their beginning and says in which call each one began.
func sorted(all []Began, calls []time.Time) []Began {
	slices.SortFunc(all, func(a, b Began) int { return cmp.Compare(a.Begin.UnixNano(), b.Begin.UnixNano()) })
	for i := range all {
		for n, begin := range calls {
			if !all[i].Begin.Before(begin) {
				all[i].Call = n
			}
		}
	}
	return all
}
