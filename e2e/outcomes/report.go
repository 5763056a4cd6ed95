package outcomes

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// An Event is an event of a record, with the fields that the rules are about.
type Event struct {
	Event, Run, Play, Host, On, Type, Name, Status, Error, Phase, Message, Because, Earlier, For string
	Time                                                                                         time.Time
	Check, Killed                                                                                bool
	Unknown                                                                                      Flag
	Once                                                                                         string
	Undoes                                                                                       string
	Tries                                                                                        int
	RolloutStopped                                                                               bool `json:"rollout_stopped"`
	Messages                                                                                     []Message
	Results                                                                                      []Event
	Totals                                                                                       struct {
		Resources struct{ Stable, Changed, Skipped, Failed, Rescued int }
	}
}

func (e Event) String() string {
	text := fmt.Sprintf("%s %s %s#%s %s", e.Event, e.Host, e.Type, e.Name, e.Status)
	for _, more := range []struct {
		name, text string
		set        bool
	}{
		{"on", e.On, e.On != ""}, {"unknown", "", bool(e.Unknown)}, {"killed", "", e.Killed}, {"check", "", e.Check},
		{"phase", e.Phase, e.Phase != ""}, {"earlier", e.Earlier, e.Earlier != ""}, {"for", e.For, e.For != ""}, {"because", e.Because, e.Because != ""}, {"error", e.Error, e.Error != ""},
	} {
		if more.set {
			text += strings.TrimRight(" "+more.name+" "+more.text, " ")
		}
	}
	for _, r := range e.Results {
		text += fmt.Sprintf(" [%s#%s %s %s]", r.Type, r.Name, r.Status, r.Error)
	}
	return text
}

// A Flag is true where an event has the key with the value true; totals have a number there.
type Flag bool

// UnmarshalJSON implements [json.Unmarshaler].
func (f *Flag) UnmarshalJSON(text []byte) error {
	*f = string(text) == "true"
	return nil
}

// A Message is a note of a result.
type Message struct{ Level, Text string }

// failed reports whether a result is a failure, rescued or not.
func (e Event) failed() bool { return e.Status == "failed" || e.Status == "rescued" }

// A Run is a recorded run.
type Run struct {
	ID     string
	Do     string // run, resume, undo or close
	Call   int    // the call that made it, from 0
	Events []Event
}

// A Called is how a call ended.
type Called struct {
	Call
	Begin    time.Time
	Took     time.Duration
	Status   int // exit status; -1 if a signal killed it
	Output   string
	Runs     []Run // that it recorded
	Printed  []Event
	TimedOut bool
}

// readRun reads the record of a run. A last line that was not written whole is left out.
func readRun(folder string) (Run, error) {
	r := Run{ID: filepath.Base(folder)}
	file, err := os.Open(filepath.Join(folder, "events.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer file.Close()
	r.Events, err = readEvents(bufio.NewReader(file))
	return r, err
}

// readEvents reads events, a line each.
func readEvents(lines *bufio.Reader) ([]Event, error) {
	var all []Event
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return all, nil // the last line is written in part
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return all, fmt.Errorf("%w: %q", err, line)
		}
		all = append(all, e)
	}
}
