package render

import (
	"encoding/json"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// Lookup is lookup(path) and lookup(path, default).
func (r *Run) Lookup(args []any) (any, error) {
	path, ok := args[0].(string)
	if !ok {
		return nil, diag.Faultf("lookup: the path must be a string, not %s", KindName(args[0]))
	}
	if err := r.Step(); err != nil {
		return nil, err
	}
	value, found, err := r.find(path)
	switch {
	case err != nil || found:
		return value, err
	case len(args) > 1 && args[1] != nil:
		return args[1], nil
	case r.Lenient:
		return "", nil
	}
	return nil, r.Env.MissingKey(path)
}

// LookupComputed is lookup of a path that is computed: it may be what a host sent, so no
// error shows it.
func (r *Run) LookupComputed(args []any) (any, error) {
	value, err := r.Lookup(args)
	if _, isText := args[0].(string); err == nil || !isText || r.Dead != nil {
		return value, err
	}
	return nil, diag.Faultf("lookup: the computed path has no value").WithHint("give a default: lookup(…, …)")
}

// File is file(path): the content of a file of the play, as it is.
func (r *Run) File(args []any) (any, error) {
	name, ok := args[0].(string)
	if !ok {
		return nil, diag.Faultf("file: the path must be a string, not %s", KindName(args[0]))
	}
	content, err := r.Env.Files.Read(name)
	return string(content), err
}

// StringArgs returns the arguments of a function that takes texts; see [TextOf].
func StringArgs(function string, args []any) ([]string, error) {
	list := make([]string, len(args))
	for i, arg := range args {
		s, err := TextOf(arg)
		if err != nil {
			return nil, diag.Faultf("%s: argument %d must be a string, not %s", function, i+1, KindName(arg))
		}
		list[i] = s
	}
	return list, nil
}

// ReplaceText is replace(text, old, new[, count]).
func ReplaceText(args []any) (any, error) {
	s, err := StringArgs("replace", args[:3])
	if err != nil {
		return nil, err
	}
	count := -1
	if len(args) == 4 {
		n, ok := ListIndex(args[3])
		if !ok {
			return nil, diag.Faultf("replace: the count must be an integer, not %s", KindName(args[3]))
		}
		count = n
	}
	found := strings.Count(s[0], s[1])
	if growth := len(s[2]) - len(s[1]); growth > 0 && found > (MaxOutput-len(s[0]))/growth {
		return nil, TooLong("replace")
	}
	return strings.Replace(s[0], s[1], s[2], count), nil
}

// TooLong returns the error for a function whose text would be longer than [MaxOutput].
func TooLong(function string) error {
	return diag.Faultf("%s: the text grows beyond %d MiB", function, MaxOutput>>20)
}

// JSONText writes a value as JSON; html has <, > and & written as escapes. A text for
// indent puts each entry on a line of its own.
func (r *Run) JSONText(function string, v any, indent string, html bool) (string, error) {
	value, err := PlainCopy(r, v)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	enc.SetIndent("", indent)
	if err := enc.Encode(value); err != nil {
		return "", diag.Faultf("%s: the value cannot be written as JSON", function)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Write adds a file to the scaffold that is being rendered.
func (r *Run) Write(args []any) (any, error) {
	s, err := StringArgs("write", args)
	if err != nil {
		return nil, err
	}
	if r.target == nil {
		return nil, diag.Faultf(`"write" works only in templates of a scaffold`)
	}
	return "", r.target.WriteFile(s[0], s[1])
}
