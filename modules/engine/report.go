package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/modules"
)

// Bounds of what one resource may say, in bytes. JSON makes up to six of one;
// all together stay below [modules.MaxFromHost] even then.
const (
	maxText       = 8 << 10 // one message, error or reason; one value of a change
	maxAllNotes   = 96 << 10
	maxAllChanges = 128 << 10
)

// maxNotes leaves two of the notes of a result to the engine, which may have to
// warn of something before a resource has its say, and to tell what waits after it.
const maxNotes = modules.MaxParts - 2

// notes is the [modules.Reporter] of one resource.
type notes struct {
	list  []modules.Note
	size  int
	full  bool
	exit  *modules.Exit
	state modules.State
}

// Message implements [modules.Reporter].
func (n *notes) Message(level, text string) {
	text = clip(text, maxText)
	n.size += len(text)
	switch {
	case n.full:
	case n.size > maxAllNotes || len(n.list) == maxNotes-1:
		n.full = true
		n.list = append(n.list, modules.Note{Level: "warning", Text: "further messages are left out"})
	default:
		n.list = append(n.list, modules.Note{Level: level, Text: text})
	}
}

// Output implements [modules.Reporter].
func (n *notes) Output(e modules.Exit) { n.exit = &e }

// State implements [modules.Reporter].
func (n *notes) State(s modules.State) {
	if s.Before != nil {
		n.state.Before = s.Before
	}
	if s.After != nil {
		n.state.After = s.After
	}
	if s.Restart != nil {
		n.state.Restart = s.Restart
	}
}

// clip cuts text to at most n bytes, not within a character.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// bounded gives as many changes as a result may tell, and the number of the others.
func bounded(changes []modules.Change) []modules.Change {
	var kept []modules.Change
	room := maxAllChanges
	for i, c := range changes {
		c = modules.Change{Property: clip(c.Property, maxText), Have: clip(c.Have, maxText), Want: clip(c.Want, maxText)}
		room -= len(c.Property) + len(c.Have) + len(c.Want)
		if left := len(changes) - i; room < 0 || left > 1 && i == modules.MaxParts-1 {
			return append(kept, modules.Change{Property: "others", Have: fmt.Sprintf("%d more", left), Want: "changed"})
		}
		kept = append(kept, c)
	}
	return kept
}

// unforeseen words an error of a check run that may be one only because earlier
// resources have not been carried out. text is as much of it as may be shown.
func unforeseen(err error, text string) string {
	if other, ok := errors.AsType[modules.NotYet](err); ok {
		return clip("Would have asked for the state of "+string(other)+"; known after apply", maxText)
	}
	return "cannot be foreseen: " + text
}

const withheld = "[sensitive]"

// withhold takes everything out of a result that could show the contents of a
// sensitive resource. err is where result.Error came from.
func withhold(result *modules.Result, err error) {
	for i := range result.Changes {
		result.Changes[i].Have, result.Changes[i].Want = withheld, withheld
	}
	result.Diff, result.Messages, result.Health = "", nil, withholdHealth(result.Health)
	result.State = nil
	if result.Exit != nil {
		result.Exit = &modules.Exit{Code: result.Exit.Code, Elapsed: result.Exit.Elapsed}
	}
	if err == nil {
		return
	}
	safe := redacted(err)
	if result.Status == modules.Failed {
		result.Error = safe
	} else {
		result.Message = unforeseen(err, safe)
	}
}

func redacted(err error) string {
	if r, ok := errors.AsType[modules.Redactor](err); ok {
		return r.Redacted()
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Error()
	}
	return "failed; the details are withheld because the resource is sensitive"
}
