package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// words is the argument vector taken apart, before cobra sees it.
type words struct {
	flags   []string // with their values
	cut     bool     // the last of flags lacks its value
	args    []string // the others: a subcommand and its words, a pattern, or manifests
	command bool     // the first of args is a subcommand
	forced  bool     // -- precedes the first of args, which is a host pattern
	adHoc   string   // resource type after the pattern; empty means none
	rest    []string // words after the type, unchanged: ls -la
}

// forCobra returns the arguments to pass to cobra.
func (w words) forCobra() []string {
	switch {
	case w.cut: // so that cobra reports the error
		return w.flags
	case w.command:
		return slices.Concat(w.flags, w.args)
	}
	// Cobra takes no word after -- for a subcommand or a flag.
	return slices.Concat(w.flags, []string{"--"}, w.args)
}

// splitArguments finds the resource type of an ad-hoc call: argument 2, not counting flags and their values, unless
// argument 1 is a subcommand. The words after it belong to the resource, even if they look like flags. After -- there
// are no flags.
func splitArguments(argv []string, flags *pflag.FlagSet, isCommand, isType func(string) bool) words {
	var w words
	literal := false // -- has been seen
	for i := 0; i < len(argv); i++ {
		arg := argv[i]
		first := len(w.args) == 0
		switch {
		case arg == "--" && !literal:
			literal, w.forced = true, first
		case strings.HasPrefix(arg, "-") && arg != "-" && !literal:
			w.flags = append(w.flags, arg)
			if takesValue(arg, flags) {
				if i++; i == len(argv) {
					w.cut = true
					return w
				}
				w.flags = append(w.flags, argv[i])
			}
		case first && !w.forced && isCommand(arg):
			w.command, w.args = true, argv[i:]
			return w
		case len(w.args) == 1 && isType(arg):
			w.adHoc, w.rest = arg, argv[i+1:]
			if len(w.rest) > 0 && w.rest[0] == "--" { // from the habit of ssh and others
				w.rest = w.rest[1:]
			}
			return w
		default:
			w.args = append(w.args, arg)
		}
	}
	return w
}

// takesValue reports whether the next argument is the value of this flag.
func takesValue(arg string, flags *pflag.FlagSet) bool {
	if strings.Contains(arg, "=") {
		return false
	}
	if name, long := strings.CutPrefix(arg, "--"); long {
		f := flags.Lookup(name)
		return f != nil && f.NoOptDefVal == ""
	}
	// In -vi hosts.yaml only the last letter can take the next argument; in
	// -ihosts.yaml the rest of the word is the value.
	for i := 1; i < len(arg); i++ {
		f := flags.ShorthandLookup(arg[i : i+1]) // a byte: it panics at anything longer
		if f == nil {
			return false
		}
		if f.NoOptDefVal == "" {
			return i == len(arg)-1
		}
	}
	return false
}
