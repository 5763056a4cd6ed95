package engine

import (
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/modules"
)

// Bounds of what one resource may say, in bytes. JSON makes up to six of one;
// all together stay below [modules.MaxFromHost] even then.
const (
	maxText     = 8 << 10 // one message, error or reason
	maxAllNotes = 96 << 10
)

// notes is the [modules.Reporter] of one resource.
type notes struct {
	list []modules.Note
	size int
	full bool
	exit *modules.Exit
}

// Message implements [modules.Reporter].
func (n *notes) Message(level, text string) {
	text = clip(text, maxText)
	n.size += len(text)
	switch {
	case n.full:
	case n.size > maxAllNotes || len(n.list) == modules.MaxParts-1:
		n.full = true
		n.list = append(n.list, modules.Note{Level: "warning", Text: "further messages are left out"})
	default:
		n.list = append(n.list, modules.Note{Level: level, Text: text})
	}
}

// Output implements [modules.Reporter].
func (n *notes) Output(e modules.Exit) { n.exit = &e }

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

const withheld = "[sensitive]"

// withhold takes everything out of a result that could show the contents of a
// sensitive resource. err is where result.Error came from.
func withhold(result *modules.Result, err error) {
	for i := range result.Changes {
		result.Changes[i].Have, result.Changes[i].Want = withheld, withheld
	}
	result.Diff, result.Messages, result.Health = "", nil, withholdHealth(result.Health)
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
		result.Message = "cannot be foreseen: " + safe
	}
}

func redacted(err error) string {
	if r, ok := errors.AsType[modules.Redactor](err); ok {
		return r.Redacted()
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return strings.Join([]string{p.Op, p.Path, p.Err.Error()}, " ")
	}
	return "failed; the details are withheld because the resource is sensitive"
}
