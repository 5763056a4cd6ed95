package extravars

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/sealed"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

// Read reads the values of -e: one or several key=value, whose values are strings, @FILE, or a map in YAML or JSON. The
// errors show no value. keys opens encrypted values, and may be nil. @- is stdin, which can be read once.
func Read(ctx context.Context, args []string, stdin io.Reader, keys *sealed.Ring) ([]templates.Layer, error) {
	var extra []templates.Layer
	read := false
	for _, arg := range args {
		if arg == Stdin {
			if read {
				return nil, errors.New("-e @-: standard input can be read once")
			}
			read = true
		}
		more, err := readOne(ctx, arg, stdin, keys.Opener())
		if err != nil {
			return nil, err
		}
		extra = append(extra, more)
	}
	return extra, nil
}

// Stdin is the value of -e that means standard input.
const Stdin = "@-"

func readOne(ctx context.Context, arg string, stdin io.Reader, by yamlpos.Opener) (templates.Layer, error) {
	path, isFile := strings.CutPrefix(arg, "@")
	switch {
	case arg == Stdin:
		data, err := io.ReadAll(io.LimitReader(stdin, maxStdin))
		if err != nil {
			return templates.Layer{}, fmt.Errorf("reading standard input: %w", err)
		}
		return extraDocument("standard input", data, by)
	case isFile:
		data, err := readFile(ctx, path)
		if err != nil {
			return templates.Layer{}, err
		}
		return extraDocument(path, data, by)
	case strings.HasPrefix(strings.TrimSpace(arg), "{"):
		layer, err := extraDocument("-e", []byte(arg), by)
		return layer, unquotedError(err)
	}
	values, err := assignments(arg)
	return templates.Layer{Name: "-e", Values: values}, err
}

// maxStdin is above the limit of YAML, in bytes: a longer text is refused for that.
const maxStdin = 17 << 20

// secretNames are the ends of names of variables whose values are secrets, most likely.
var secretNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(passwd|password|passphrase|secret|token|api_?key|private_?key|credentials?)$`)
})

// InTheClear names the variables that args give, and not a file, whose values look like secrets: everybody on
// this machine can read the words of a command.
func InTheClear(args []string, layers []templates.Layer) (names []string) {
	for i, l := range layers {
		if strings.HasPrefix(args[i], "@") {
			continue
		}
		for name, value := range l.Values {
			if text, isText := value.(string); secretNames().MatchString(name) && (!isText || text != "" && !strings.HasPrefix(text, "{{")) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func extraDocument(name string, data []byte, by yamlpos.Opener) (templates.Layer, error) {
	doc, err := parseDocument(name, data, by)
	return templates.Layer{Name: "-e", Values: plainMap(doc), Node: doc}, err
}

// unquotedError removes values that errors about a map on the command line quote, which YAML takes for aliases or tags:
// they may be secrets.
func unquotedError(err error) error {
	var errs, safe yamlpos.Errors
	errs.Add(err)
	for _, e := range errs {
		if strings.ContainsAny(e.Msg, "*&!") {
			at := yamlpos.Node{File: e.File, Line: e.Line, Column: e.Column}
			e = at.Errorf("put quotes around a value that begins with *, & or !", "this is not YAML (it is not shown, as it may hold a secret)")
		}
		safe.Add(e)
	}
	return safe.Err()
}

// assignments reads key=value, or several separated by blanks. As in Ansible, a value with blanks is quoted. Quotes
// that do not enclose the whole value are part of it.
func assignments(arg string) (map[string]any, error) {
	values := map[string]any{}
	last := ""
	words, err := splitAssignments(arg)
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		switch {
		case ok && key != "":
			values[key], last = unquoted(value), key
		case last != "":
			return nil, fmt.Errorf("-e %s=…: the text after the space is not key=value\n  hint: put a value with spaces in quotes: -e '%s=\"…\"'", last, last)
		case ok:
			return nil, notAssignment("=…")
		default:
			return nil, notAssignment(word)
		}
	}
	if len(words) == 0 {
		return nil, notAssignment(arg)
	}
	return values, nil
}

func notAssignment(word string) error {
	return fmt.Errorf("-e %q: the argument is not understood; write key=value, @file.yaml or a YAML map", word)
}

const blanks = " \t\r\n"

// splitAssignments splits at blanks outside quotes and expressions. Without blanks there is nothing to split, and a
// single quote has no meaning.
func splitAssignments(arg string) ([]string, error) {
	if !strings.ContainsAny(arg, blanks) {
		return []string{arg}, nil
	}
	var words []string
	begin := -1 // of the word under way
	for i := 0; i < len(arg); i++ {
		if strings.IndexByte(blanks, arg[i]) >= 0 {
			if begin >= 0 {
				words = append(words, arg[begin:i])
			}
			begin = -1
			continue
		}
		if begin < 0 {
			begin = i
		}
		switch end := quoteEnd(arg, i); {
		case strings.HasPrefix(arg[i:], "{{") && strings.Contains(arg[i:], "}}"):
			i += strings.Index(arg[i:], "}}") + 1
		case end < 0:
			key, _, _ := strings.Cut(arg[begin:i], "=")
			return nil, fmt.Errorf("-e %s=…: a quote is not closed\n  hint: write a value with a quote as YAML: -e '{%s: \"…\"}'", key, key)
		default:
			i = end
		}
	}
	if begin >= 0 {
		words = append(words, arg[begin:])
	}
	return words, nil
}

// quoteEnd returns the offset of the last character of the unit at i. A unit is a quoted text with both quotes, a
// backslash with a quote, or any other character. quoteEnd returns -1 for a quote that is not closed.
func quoteEnd(s string, i int) int {
	quote := s[i]
	switch {
	case quote == '\\' && i+1 < len(s) && isQuote(s[i+1]):
		return i + 1
	case !isQuote(quote):
		return i
	}
	for i++; i < len(s); i++ {
		switch s[i] {
		case quote:
			return i
		case '\\':
			i++
		}
	}
	return -1
}

func isQuote(c byte) bool { return c == '"' || c == '\'' }

// unquoted returns a value without the quotes around it. Between them a backslash escapes a quote or a backslash.
func unquoted(value string) string {
	if value == "" || !isQuote(value[0]) || quoteEnd(value, 0) != len(value)-1 {
		return value
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\'`, `'`).Replace(value[1 : len(value)-1])
}

// ReadFacts returns the facts of a file, overridden by KEY=VALUE pairs, as in the documentation of CCM (its program has
// the other precedence). The values of pairs are texts, and dots in a key have no meaning.
func ReadFacts(ctx context.Context, path string, pairs []string) (map[string]any, error) {
	facts, err := factsFile(ctx, path)
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			err = errors.Join(err, fmt.Errorf("--fact %q: write KEY=VALUE; --facts FILE takes facts with types and levels", pair))
			continue
		}
		if facts == nil {
			facts = map[string]any{}
		}
		facts[key] = value
	}
	return facts, err
}

// factsFile reads --facts; it may be unset.
func factsFile(ctx context.Context, path string) (map[string]any, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readFile(ctx, path)
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(path, data, nil)
	if doc != nil {
		var errs yamlpos.Errors
		doc.RefuseSecrets(&errs)
		err = errors.Join(err, errs.Err())
	}
	facts := plainMap(doc)
	if err != nil {
		return nil, err
	}
	return printedFacts(path, facts)
}

// printedFacts returns the facts within what ccm-push facts prints: {"host": …, "facts": {…}}
// with --output json, else HOST: {…}. Other facts are returned unchanged. A file
// with the facts of several hosts is an error.
func printedFacts(path string, facts map[string]any) (map[string]any, error) {
	if inner, ok := facts["facts"].(map[string]any); ok && len(facts) == 2 && facts["host"] != nil {
		return inner, nil
	}
	var hosts []string
	for name, value := range facts {
		if inner, ok := value.(map[string]any); ok && name != "host" && isGathered(inner) {
			hosts = append(hosts, name)
		}
	}
	switch {
	case len(hosts) == 0 || len(hosts) < len(facts):
		return facts, nil
	case len(hosts) > 1:
		slices.Sort(hosts)
		return nil, fmt.Errorf("the file %s has the facts of %d hosts: %s\n  hint: --facts takes the facts of one host: ccm-push facts %s > %s", path, len(hosts), strings.Join(hosts, ", "), hosts[0], path)
	}
	return facts[hosts[0]].(map[string]any), nil
}

// isGathered reports whether facts come from a host: each host has host.info.
func isGathered(facts map[string]any) bool {
	host, ok := facts["host"].(map[string]any)
	_, ok2 := host["info"].(map[string]any)
	return ok && ok2
}
