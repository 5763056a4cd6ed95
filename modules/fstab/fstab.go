// Package fstab reads and edits the file of that name, fstab(5): comments, other lines and their order are not changed.
package fstab

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// Path is the path of the file.
const Path = "/etc/fstab"

// The fields of a line.
const (
	Device = iota
	Point
	Type
	Options
	Dump
	Pass
)

// Fields reads a line; none if it has no file system. The last two may be missing.
func Fields(line string) []string {
	all := strings.Fields(line)
	if len(all) < 4 || strings.HasPrefix(all[0], "#") {
		return nil
	}
	for len(all) < 6 {
		all = append(all, "0")
	}
	for i, word := range all {
		all[i] = unescape.Replace(word)
	}
	return all[:6]
}

var (
	escape   = strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`)
	unescape = strings.NewReplacer(`\134`, `\`, `\040`, " ", `\011`, "\t")
)

// Line is the line with such fields.
func Line(fields []string) string {
	words := slices.Clone(fields)
	for i, word := range words {
		words[i] = escape.Replace(word)
	}
	return strings.Join(words, " ")
}

const absent = "absent"

// Keep edits a text so that a file system has one line, in its first place: is reports whether a line belongs to it,
// want are its fields. If want is nil, its lines are removed.
func Keep(t *edit.Text, is func(fields []string) bool, want []string) (edit.Done, error) {
	have, will := absent, ""
	if want != nil {
		will = Line(want)
	}
	changed := t.KeepLine(will, func(line string) (string, bool) {
		fields := Fields(line)
		if fields == nil || !is(fields) {
			return "", false
		}
		if have == absent {
			have = strings.Join(strings.Fields(line), " ")
		}
		if !slices.Equal(fields, want) {
			line = will + comment(line)
		}
		return line, true
	})
	if !changed {
		return edit.Done{}, nil
	}
	return edit.Done{Action: "edited fstab", Changes: []modules.Change{{Property: "fstab", Have: edit.Shown(have), Want: edit.Shown(cmp.Or(will, absent))}}}, nil
}

// comment returns the text of a line from the # after its fields on, with a blank before it.
func comment(line string) string {
	words := strings.Fields(line)
	for i, word := range words {
		if i >= 4 && strings.HasPrefix(word, "#") {
			return " " + strings.Join(words[i:], " ")
		}
	}
	return ""
}
