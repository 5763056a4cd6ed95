package ral

import (
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// levels are the levels of libral's log lines, with their names in reports.
var levels = map[string]string{"debug": "debug", "info": "info", "warn": "warning", "warning": "warning", "error": "error"}

// logLine takes a line of standard error apart: "LEVEL: text", in any case, with or
// without the blank; without a level it is a warning.
func logLine(line string) (level, text string) {
	word, rest, found := strings.Cut(line, ":")
	if level = levels[strings.ToLower(strings.TrimSpace(word))]; found && level != "" {
		return level, strings.TrimSpace(rest)
	}
	return "warning", strings.TrimSpace(line)
}

// maxLogLines is the number of reported lines of one call.
const maxLogLines = 100

// log reports the lines of a provider's standard error. Debug messages are omitted.
func log(report modules.Reporter, stderr modules.Output) {
	var lines []string
	for line := range strings.Lines(stderr.Text) {
		if level, text := logLine(line); text != "" && level != "debug" {
			lines = append(lines, line)
		}
	}
	for _, line := range excerpt.Lines(lines, maxLogLines) {
		report.Message(logLine(line))
	}
}

// recorder is a [modules.Reporter] that keeps messages for another one.
type recorder struct {
	modules.Discard
	notes []modules.Note
}

// Message implements [modules.Reporter].
func (k *recorder) Message(level, text string) {
	if len(k.notes) < modules.MaxParts {
		k.notes = append(k.notes, modules.Note{Level: level, Text: text})
	}
}

func (k *recorder) tell(to modules.Reporter) {
	for _, n := range k.notes {
		to.Message(n.Level, n.Text)
	}
}
