package dsc

import (
	"encoding/json"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/excerpt"
	"github.com/ccm-push/ccm-push/modules/process"
)

// A note is a line that a resource has written to its standard error.
type note struct{ level, text string }

// The levels of messages.
const (
	info    = modules.LevelInfo
	warning = modules.LevelWarning
	failing = modules.LevelError
)

// messages is the parsed standard error of a program.
type messages struct {
	notes []note
	plain []string // lines in no known form
	fatal bool     // an error object of the first design: a failure whatever the exit code
}

// levels are the words for levels in all dialects.
var levels = map[string]string{
	"error": failing, "err": failing, "fatal": failing, "critical": failing,
	"warn": warning, "warning": warning,
	"info": info, "information": info, "informational": info,
	"verbose": modules.LevelVerbose, "debug": modules.LevelDebug, "trace": modules.LevelTrace,
}

// readMessages reads what a program has written to its standard error.
func readMessages(dialect manifest.Dialect, stderr string) messages {
	var s messages
	for line := range strings.Lines(stderr) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		var object map[string]any
		if !strings.HasPrefix(strings.TrimSpace(line), "{") || process.Decode(line, &object) != nil {
			s.plain = append(s.plain, line)
			continue
		}
		n, ok := structured(object)
		told, nested := object["error"].(map[string]any)
		if nested && !ok && dialect == manifest.First {
			n, ok = note{failing, noMessage(told)}, true
		}
		switch {
		case ok:
			s.notes = append(s.notes, n)
			s.fatal = s.fatal || dialect == manifest.First && nested
		case dialect == manifest.First:
			s.notes = append(s.notes, note{warning, line})
		default:
			s.plain = append(s.plain, line)
		}
	}
	return s
}

// structured reads one message: {"error": "…"} and its siblings, with a text or an object that has a message; {"level":
// …, "message": …}; and the form of the tracing library that DSC itself uses, whose message is below fields.
func structured(object map[string]any) (note, bool) {
	if word, ok := object["level"].(string); ok {
		level, known := levels[strings.ToLower(word)]
		if fields, ok := object["fields"].(map[string]any); ok {
			object = fields
		}
		text, ok := object["message"].(string)
		return note{level, text}, known && ok
	}
	if len(object) != 1 {
		return note{}, false
	}
	for word, value := range object {
		level, known := levels[strings.ToLower(word)]
		if !known {
			return note{}, false
		}
		switch value := value.(type) {
		case string:
			return note{level, value}, true
		case map[string]any:
			text, ok := value["message"].(string)
			if strings.TrimSpace(text) == "" {
				return note{}, false
			}
			code, _ := code(value)
			return note{level, text + code}, ok
		}
	}
	return note{}, false
}

// noMessage returns the text for an error without a message: it quotes the other content.
func noMessage(told map[string]any) string {
	if code, has := code(told); has && len(told) == 1 {
		return "an error without a message" + code
	}
	instead, err := json.Marshal(told)
	if err != nil {
		return "an error without a message"
	}
	return "an error without a message: " + string(instead)
}

// code returns the suffix for a message that also has a code.
func code(object map[string]any) (text string, has bool) {
	switch code := object["code"].(type) {
	case string:
		text = code
	case json.Number:
		text = string(code)
	}
	if text == "" {
		return "", false
	}
	return " (code " + text + ")", true
}

// evidence returns the messages of a failed program about the failure: its plain lines, or else its errors. rest has
// its other messages; all of them, if the text was too long. hide removes secrets before the text is shortened.
func (s messages) evidence(hide func(string) string) (text string, rest messages) {
	const most = 2 << 10 // bytes
	text, rest = strings.TrimSpace(strings.Join(s.plain, "\n")), messages{notes: s.notes}
	if text == "" {
		var errs []string
		rest.notes = nil
		for _, n := range s.notes {
			if n.level == failing {
				errs = append(errs, n.text)
			} else {
				rest.notes = append(rest.notes, n)
			}
		}
		text = strings.TrimSpace(strings.Join(errs, "; "))
	}
	if text = hide(text); len(text) > most {
		return excerpt.Of(text, most), s
	}
	return text, rest
}
