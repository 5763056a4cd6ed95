package engine

import (
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// Limits of the report of one resource, in bytes. JSON needs up to six bytes for one; the total stays below
// [wire.MaxFromHost] even then.
const (
	maxText       = 8 << 10 // one message, error or reason; one value of a change
	maxAllNotes   = 96 << 10
	maxAllChanges = 128 << 10
)

// maxNotes leaves two of the notes of a result to the engine, for a warning before the resource's own notes and a
// message after them.
const maxNotes = modules.MaxParts - 2

// said collects the report of one resource: its [modules.Reporter].
type said struct {
	head, tail noteList // the first messages and the last
	omitted    int      // number of dropped messages between head and tail
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

// list returns the messages of the resource, with a mark in place of dropped ones.
func (s *said) list() []modules.Note {
	list := slices.Clip(s.head.notes)
	if s.omitted > 0 {
		list = append(list, modules.Note{Level: "warning", Text: excerpt.Mark(int64(s.omitted), "message")})
	}
	return append(list, s.tail.notes...)
}

// A noteList holds the messages at one end of a report, up to a limit.
type noteList struct {
	notes []modules.Note
	size  int // size of their texts
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

// after is the [modules.Reporter] of the Check that verifies Apply. It drops facts that the first Check has reported.
type after struct{ report modules.Reporter }

func (after) Message(string, string) {}
func (after) Output(modules.Exit)    {}

// State implements [modules.Reporter].
func (a after) State(s modules.State) { a.report.State(modules.State{After: s.Last()}) }
