package output

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// Limits of the shown source: lines, runes of a line, and bytes of a file that are searched.
const (
	maxSourceLines = 20
	maxSourceWidth = 120
	maxSourceFile  = 1 << 20
)

// WithSource is the text of an error with the line of the source below each place that it names,
// and a mark where in that line it is.
func WithSource(err error) string {
	text := err.Error()
	for i, one := range placed(err) {
		if i == maxSourceLines {
			break
		}
		source := sourceLine(one)
		if source == "" {
			continue
		}
		said := one.Error()
		first, rest, more := strings.Cut(said, "\n  hint: ")
		with := first + source
		if more {
			with += "\n  hint: " + rest
		}
		text = strings.Replace(text, said, with, 1)
	}
	return text
}

// placed are the errors with a place that an error is made of.
func placed(err error) (all []*yamlpos.Error) {
	switch err := err.(type) {
	case *yamlpos.Error:
		return []*yamlpos.Error{err}
	case interface{ Unwrap() []error }:
		for _, one := range err.Unwrap() {
			all = append(all, placed(one)...)
		}
	case interface{ Unwrap() error }:
		return placed(err.Unwrap())
	}
	return all
}

// sourceLine returns the line of an error and a mark below it, each after a line feed; empty if it cannot be shown.
func sourceLine(e *yamlpos.Error) string {
	if e.Line < 1 || e.File == "" {
		return ""
	}
	line, ok := lineOf(filepath.Join(e.Folder, e.File), e.Line)
	if !ok || strings.TrimSpace(line) == "" || printable.MaySecret(line) {
		return ""
	}
	runes := []rune(events.Line(strings.ReplaceAll(line, "\t", " ")))
	column := max(e.Column, 1) - 1
	if e.Column < 1 || column > len(runes) {
		return "\n    " + cut(runes, 0)
	}
	from := 0
	if column >= maxSourceWidth {
		from = column - maxSourceWidth/2
	}
	return "\n    " + cut(runes, from) + "\n    " + strings.Repeat(" ", column-from) + "^"
}

func cut(runes []rune, from int) string {
	return string(runes[from:min(len(runes), from+maxSourceWidth)])
}

// lineOf reads a line of a text file; it refuses a line with a secret.
func lineOf(path string, number int) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	in := bufio.NewReader(io.LimitReader(f, maxSourceFile))
	secret := -1 // how far the line is indented of which the secret has further lines
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		switch indent := len(line) - len(strings.TrimLeft(line, " ")); {
		case strings.Contains(line, "!secret"), strings.Contains(line, "!vault"):
			if secret < 0 || indent <= secret {
				secret = indent
			}
		case strings.TrimSpace(line) != "" && indent <= secret:
			secret = -1
		}
		if n == number {
			return line, line != "" && utf8.ValidString(line) && secret < 0
		}
		if err != nil {
			return "", false
		}
	}
}
