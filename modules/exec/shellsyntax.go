package exec

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// Warnings implements [modules.Warner]: shell syntax in commands that run without a shell.
func (e *Exec) Warnings() []*modules.PropertyError {
	if e.Provider != "" && e.Provider != "posix" {
		return nil
	}
	var all []*modules.PropertyError
	command := modules.PropertyError{Path: "command", Msg: e.Command}
	if e.Command == "" {
		command = modules.PropertyError{Path: "name", Msg: e.Name}
	}
	for _, c := range []modules.PropertyError{command, {Path: "onlyif", Msg: e.OnlyIf}, {Path: "unless", Msg: e.Unless}} {
		if msg := forShell(c.Msg); msg != "" {
			all = append(all, &modules.PropertyError{Path: c.Path, Msg: msg})
		}
	}
	return all
}

// forShell returns the part of a command that only a shell would understand; "" means none. Quoted text is literal,
// except $ and ` in double quotes.
func forShell(command string) string {
	words := shellWords(command)
	if len(words) == 0 {
		return ""
	}
	const none = "needs a shell, but exec does not start one; add provider: shell"
	first := words[0].bare
	switch {
	case first == "cd":
		return `"cd" ` + none + `, or set "cwd" to the folder`
	case slices.Contains(shellCommands, first):
		return strconv.Quote(first) + " " + none
	case assignment().MatchString(first):
		return fmt.Sprintf(`%s… %s, or set the variable under "environment"`, first[:strings.Index(first, "=")+1], none)
	}
	inner := slices.Contains(interpreters, path.Base(first)) // they expand $ themselves
	for i, w := range words {
		found := ""
		switch {
		case operator().MatchString(w.bare) && !(w.bare == ";" && path.Base(first) == "find"):
			found = w.bare
		case w.bare == "~" || strings.HasPrefix(w.bare, "~/"):
			found = "~"
		case strings.Contains(w.bare, "*") && strings.HasPrefix(w.bare, "/") && slices.Contains(takesNoPattern, path.Base(first)):
			found = "*"
		case i > 0 && len(w.bare) > 1 && strings.HasSuffix(w.bare, ";") && i < len(words)-1, i == 0 && strings.HasSuffix(w.bare, ";"):
			found = ";"
		case !inner:
			found = expansion().FindString(w.expanded)
		}
		if found != "" {
			return fmt.Sprintf("%q %s, or write '%s' in the command to pass it unchanged", found, none, found)
		}
		inner = inner || script().MatchString(w.bare)
	}
	return ""
}

var (
	// shellCommands are commands that are built into the shell.
	shellCommands = []string{
		".", "source", "export", "unset", "set", "shopt", "alias", "unalias", "eval", "exec", "ulimit", "umask", "trap", "pushd", "popd", "declare",
		"local", "read", "wait", "type", "command", "builtin", "if", "for", "while", "until", "case", "function", "[[", "((", "{", "!",
	}
	// interpreters are programs whose arguments have a $ of their own.
	interpreters = []string{"awk", "gawk", "mawk", "jq", "envsubst"}
	// takesNoPattern are programs that do not expand * in a path themselves.
	takesNoPattern = []string{"rm", "cp", "mv", "ls", "cat", "chmod", "chown", "chgrp", "touch", "ln", "du", "head", "tail", "gzip", "sha256sum"}

	operator = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\|\|?|\|&|&&?|;|[0-9&]?(>>?|<)(&[0-9-]|[/$~.\w-][^<>]*)?)$`)
	})
	expansion  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\\$[A-Za-z_][A-Za-z0-9_]*|\\$\\(|`") })
	assignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`) })
	script     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-[a-z]*[ce]$`) }) // sh -c, perl -ne
)

// A shellWord is a word of a command. bare is its unquoted beginning, up to the first quote. expanded is the text that
// a shell would expand: bare and the text in double quotes.
type shellWord struct{ bare, expanded string }

// shellWords splits a command as the host will, and separates the quoted text.
func shellWords(command string) []shellWord {
	var words []shellWord
	var w *shellWord
	quoted := false // whether a part of the word is
	quote := rune(0)
	escaped := false
	for _, c := range command {
		if quote == 0 && !escaped && strings.ContainsRune(" \t\n", c) {
			w, quoted = nil, false
			continue
		}
		if w == nil {
			words = append(words, shellWord{})
			w = &words[len(words)-1]
		}
		switch {
		case escaped:
			escaped = false
			w.expanded += "\x00" // so that nothing joins over it
		case c == '\\' && quote != '\'':
			escaped, quoted = true, true
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, quoted = c, true
		case quote == '\'':
			w.expanded += "\x00"
		default:
			w.expanded += string(c)
			if quote == 0 && !quoted {
				w.bare += string(c)
			}
		}
	}
	return words
}
