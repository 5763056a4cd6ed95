package runs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

// continuing returns the words after ccm-push that continue a recorded run; nil if no command does. For an
// undo they include its resources, its --limit, and the options that differ from the run that it takes back.
func continuing(store record.Store, h record.Header) []string {
	switch {
	case h.Undoes != "":
		words := append([]string{"undo", h.Undoes}, h.UndoesOnly...)
		return append(words, flagWords(ownFlags(store, h))...)
	case len(h.Manifests) > 0:
		return []string{"resume", h.Run} // the rest is recorded
	}
	return nil
}

// ownFlags returns the flags of an undo that its command needs again.
func ownFlags(store record.Store, h record.Header) []record.Flag {
	var recorded []record.Flag
	if run, err := store.Find(h.Undoes); err == nil {
		recorded = run.Flags
	}
	return slices.DeleteFunc(unrecorded(h.Flags, recorded), func(f record.Flag) bool {
		return f.Name != "limit" && slices.Contains(notForUndo, f.Name)
	})
}

// unrecorded returns the flags whose values differ from the recorded flags of a run. --limit is always among them.
func unrecorded(flags, recorded []record.Flag) []record.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f record.Flag) bool {
		return f.Name != "limit" && !f.Withheld && slices.ContainsFunc(recorded, func(r record.Flag) bool {
			return r.Name == f.Name && !r.Withheld && slices.Equal(r.Words, f.Words)
		})
	})
}

// flagWords returns flags as words of a command line, without values that are not recorded.
func flagWords(flags []record.Flag) []string {
	var words []string
	for _, f := range flags {
		for _, value := range f.Words {
			if f.Name == "limit" || f.Name == "inventory" {
				words = append(words, "--"+f.Name, value)
			} else {
				words = append(words, "--"+f.Name+"="+value) // a boolean flag takes no further word
			}
		}
	}
	return words
}

// continuingHint returns the hint for a recorded run that was killed.
func continuingHint(a *app.App, h record.Header) string {
	store, err := a.Records()
	if words := continuing(store, h); words != nil && err == nil {
		return arguments.Pasted(words) + " continues it"
	}
	return arguments.Pasted([]string{"runs", "show", h.Run}) + " prints its results; an ad-hoc call is not resumed"
}

// asGiven returns the given command for a shell: words, and the flags that run has not recorded. more replaces the
// flag instead; if instead is empty, all flags are kept. Flags whose values may be secrets are only named.
func asGiven(words []string, given []record.Flag, run *record.Run, instead string, more ...string) string {
	flags := slices.DeleteFunc(unrecorded(given, run.Flags), func(f record.Flag) bool { return f.Name == instead })
	text := arguments.Pasted(slices.Concat(words, flagWords(flags), more))
	if names := fleet.Withheld(flags); len(names) > 0 {
		text += fmt.Sprintf(" (with %s as before)", strings.Join(names, ", "))
	}
	return text
}
