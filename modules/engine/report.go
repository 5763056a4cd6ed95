package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/excerpt"
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

// said is what one resource has said: its [modules.Reporter].
type said struct {
	head, tail noteList // the first messages and the last
	omitted    int      // how many of those between are not kept
	exit       *modules.Exit
	state      modules.State
}

// Message implements [modules.Reporter].
func (s *said) Message(level, text string) {
	note := modules.Note{Level: level, Text: excerpt.Of(text, maxText)}
	if len(s.tail.notes) == 0 && s.head.takes(note) {
		s.head.add(note)
		return
	}
	for !s.tail.takes(note) {
		s.tail.drop()
		s.omitted++
	}
	s.tail.add(note)
}

// list is what the resource has said, with a mark where it was too much.
func (s *said) list() []modules.Note {
	list := slices.Clip(s.head.notes)
	if s.omitted > 0 {
		list = append(list, modules.Note{Level: "warning", Text: excerpt.Mark(int64(s.omitted), "message")})
	}
	return append(list, s.tail.notes...)
}

// A noteList is as many notes as one end of those of a resource may have.
type noteList struct {
	notes []modules.Note
	size  int // of their texts
}

func (l *noteList) takes(note modules.Note) bool {
	return len(l.notes) < (maxNotes-1)/2 && l.size+len(note.Text) <= maxAllNotes/2
}

func (l *noteList) add(note modules.Note) {
	l.notes = append(l.notes, note)
	l.size += len(note.Text)
}

func (l *noteList) drop() {
	l.size -= len(l.notes[0].Text)
	l.notes = l.notes[1:]
}

// Output implements [modules.Reporter].
func (s *said) Output(e modules.Exit) { s.exit = &e }

// State implements [modules.Reporter].
func (s *said) State(of modules.State) {
	if of.Before != nil {
		s.state.Before = of.Before
	}
	if of.After != nil {
		s.state.After = of.After
	}
	if of.Restart != nil {
		s.state.Restart = of.Restart
	}
}

// bounded gives as many changes as a result may tell, and the number of the others.
func bounded(changes []modules.Change) []modules.Change {
	var kept []modules.Change
	room := maxAllChanges
	for i, c := range changes {
		c = modules.Change{Property: excerpt.Of(c.Property, maxText), Have: excerpt.Of(c.Have, maxText), Want: excerpt.Of(c.Want, maxText)}
		room -= len(c.Property) + len(c.Have) + len(c.Want)
		if others := len(changes) - i; room < 0 || others > 1 && i == modules.MaxParts-1 {
			return append(kept, modules.Change{Property: "others", Have: fmt.Sprintf("%d more", others), Want: "changed"})
		}
		kept = append(kept, c)
	}
	return kept
}

// unpredictable words an error of a check run that may be one only because earlier
// resources have not been carried out. text is as much of it as may be shown.
func unpredictable(err error, text string) string {
	if other, ok := errors.AsType[modules.NotYet](err); ok {
		return excerpt.Of("Would have asked for the state of "+string(other)+"; known after apply", maxText)
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
		result.Message = unpredictable(err, safe)
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
