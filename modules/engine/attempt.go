package engine

import (
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// errForgotten is the error of a command that may have run in a run that this one resumes.
var errForgotten = modules.Refuse("unknown whether an earlier run has started the command: the host has deleted the record of the command, because later runs had too many commands")

// begin notes on the host that the turn starts a command, if it does. A session that continues the catalog then
// knows of the command, even if the host program is killed.
func (t *turn) begin(command modules.Repeat) {
	if t.began = command; command == modules.NoCommand {
		return
	}
	if j := t.job; j.wasCut() && !j.toldCut {
		j.toldCut = true
		t.said.Message("warning", "the command was cut, and runs again: "+j.cut.Lost())
	}
	if t.ended == 0 {
		for _, why := range t.run.engine.Failed[t.job.index] {
			text := "the command failed in the run that this one resumes"
			if why != "" { // the status may be the only output of the command
				text += ": " + why
			}
			t.said.Message("info", text)
		}
	}
	t.noteAttempt(true)
}

// endTry notes that a try of the turn's command has ended, and that another one may follow.
func (t *turn) endTry(try int) {
	t.ended = try
	if t.began != modules.NoCommand {
		t.noteAttempt(false)
	}
	t.began = modules.NoCommand
}

func (t *turn) noteAttempt(running bool) {
	j, begins := t.job, t.run.engine.Begins
	if begins == nil {
		return
	}
	var err error
	note := &notes.Attempt{
		Index: j.index, Type: j.entry.Type, Name: j.entry.Name, Command: notes.CommandOf(j.entry.Type, j.entry.Name, t.resolved()), Tries: t.ended, Running: running,
		Repeatable: t.began == modules.Repeatable || j.entry.Rerun,
	}
	t.run.real.outside(func() { err = begins(note) })
	if err != nil && running {
		t.said.Message("warning", fmt.Sprintf("the host could not note that the command begins, so a run that continues this one may start it again: %v", err))
	}
}

// resume returns the number of the first try. Tries that ended in an earlier session count.
func (t *turn) resume() int {
	cut := t.job.cut
	if cut == nil {
		return 1
	}
	t.ended = min(cut.Tries, t.job.entry.Retry)
	return t.ended + 1
}

// wasCut reports whether a command of the job began in an earlier session, and its end was not seen.
func (j *job) wasCut() bool { return j.cut != nil && j.cut.Running && !j.predicts() }

// tellDone completes a result that finds nothing left to do after the command was cut: the command has run.
func (t *turn) tellDone() {
	if j := t.job; j.wasCut() && j.result.Status == "" {
		j.toldCut, j.result.Status, j.result.Message = true, wire.Changed, "executed"
		t.said.Message("warning", "the command was cut, and its guard finds nothing left to do: "+j.cut.Lost())
	}
}

// tellCut adds to the result that an earlier session started the command, unless the result has it already: the job was
// skipped, or its guard could not be checked.
func (j *job) tellCut() {
	text := ""
	switch {
	case j.cut == nil || j.predicts() || j.toldCut || j.restarting:
		return
	case j.cut.Running:
		text = "the command was cut, and its outcome is unknown: " + j.cut.Lost()
	case j.result.Status != wire.Skipped:
		return // the number of tries is in the result
	default:
		text = fmt.Sprintf("the command failed before the connection was lost (tries: %d)", j.cut.Tries)
	}
	j.toldCut = true
	j.result.Messages = append(j.result.Messages, modules.Note{Level: "warning", Text: text})
}
