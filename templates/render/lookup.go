package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// Lookup finds a gjson path (github.com/tidwall/gjson, SYNTAX.md) in the roots
// facts, data and so on. A key that is there is found even if it is null.
func (e *Env) Lookup(path string) (value any, found bool, err error) {
	if keys, plain := plainPath(path); plain {
		value, found = e.walk(keys)
		value, err = used(value)
		return value, found, err
	}
	snapshot, inside, err := e.jsonFor(path)
	if fault, refused := errors.AsType[*diag.Fault](err); refused {
		return nil, false, fault
	}
	if err != nil {
		return nil, false, diag.Faultf("lookup of %q: the values cannot be written as JSON", path)
	}
	result := gjson.GetBytes(snapshot, inside)
	if !result.Exists() {
		return nil, false, nil
	}
	value, err = fromResult(result)
	return value, true, err
}

// plainPath splits a path that holds nothing gjson treats specially. Such a
// path is walked without making JSON of everything.
func plainPath(path string) (keys []string, plain bool) {
	for i := range len(path) {
		c := path[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c >= 0x80:
		case c == '.', c == '_', c == '-', c == '/', c == ' ':
		default:
			return nil, false
		}
	}
	keys = strings.Split(path, ".")
	for _, key := range keys {
		if key == "" {
			return nil, false
		}
	}
	return keys, true
}

// walk follows keys of maps and indexes of lists.
func (e *Env) walk(keys []string) (value any, found bool) {
	name := strings.ToUpper(keys[0][:1]) + keys[0][1:]
	value, found = e.Root(name)
	if !found || strings.ToLower(name) != keys[0] {
		return nil, false
	}
	for _, key := range keys[1:] {
		if value, found = e.element(value, key); !found {
			return nil, false
		}
	}
	return WholeNumber(value), true
}

// element follows one step of a path.
func (e *Env) element(container any, key string) (any, bool) {
	switch c := container.(type) {
	case map[string]any:
		return e.Key(c, key)
	case []any:
		i, err := strconv.ParseUint(key, 10, 31)
		if err != nil || int(i) >= len(c) {
			return nil, false
		}
		return c[i], true
	}
	return nil, false
}

// fromResult converts a gjson result to a plain value.
func fromResult(r gjson.Result) (any, error) {
	switch r.Type {
	case gjson.Null:
		return nil, nil
	case gjson.String:
		return r.Str, nil
	case gjson.True, gjson.False:
		return r.Bool(), nil
	case gjson.Number:
		return ParseNumber(r.Raw)
	}
	dec := json.NewDecoder(strings.NewReader(r.Raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, diag.Faultf("the path does not return one JSON value")
	}
	return PlainCopy(nil, v)
}

// NoRoot returns the error for a path that does not begin with a root; nil if it does, or if that is unknown.
func NoRoot(path string) *diag.Fault {
	root, _, known := LookupPath(path)
	if !known || root != "" {
		return nil
	}
	first, rest, _ := strings.Cut(path, ".")
	f := diag.Faultf("lookup of %q: a path begins with facts, data, environ, item, host, groups, hosts, play, run or results", path)
	switch first {
	case "env":
		return f.WithHint("write Environ.NAME")
	case "file":
		return f.WithHint("write file(PATH)")
	case "vars":
		return f.WithHint("write Data.KEY")
	case "hostvars":
		return f.WithHint("write hosts.%s", rest)
	case "template":
		return f.WithHint("write template(FILE)")
	}
	if slices.Contains(RootNames(), first) {
		return f.WithHint("write %s.%s", strings.ToLower(first), rest)
	}
	return f.WithHint("write data.%s for a key of the data", path)
}

// MissingKey returns the error for a path that leads nowhere, with the existing keys.
func (e *Env) MissingKey(path string) error {
	hint := "if the key may be missing, write lookup(" + strconv.Quote(path) + ", DEFAULT)"
	last := path[strings.LastIndexByte(path, '.')+1:]
	if elsewhere := diag.AnsibleVariable(last); elsewhere != "" {
		hint = elsewhere
	} else if near := e.near(path); near != "" {
		hint = joined(near, hint)
	}
	return diag.Faultf("missing key %q", path).WithHint("%s", hint)
}

// near describes the last value on a path that leads nowhere; "" if that cannot be known.
func (e *Env) near(path string) string {
	keys, isPlain := plainPath(path)
	if !isPlain {
		return ""
	}
	for n := len(keys) - 1; n > 0; n-- {
		if container, found := e.walk(keys[:n]); found {
			return DescribeKeys(strings.Join(keys[:n], "."), container, keys[n])
		}
	}
	roots := map[string]any{}
	for _, name := range e.Available() {
		roots[strings.ToLower(name)] = nil
	}
	return DescribeKeys("", roots, keys[0])
}

// DescribeKeys returns a hint for a key that a container does not have: the existing keys. It never shows values.
func DescribeKeys(where string, container any, key string) string {
	if where == "" {
		where = "this context"
	}
	switch c := container.(type) {
	case map[string]any:
		names := SortedKeys(c)
		if hint := diag.DidYouMean(names, key); hint != "" {
			return hint
		}
		if len(names) == 0 {
			return where + " has no keys"
		}
		return where + " has " + diag.ListNames(names)
	case []any:
		return fmt.Sprintf("%s is a list of %d", where, len(c))
	}
	return fmt.Sprintf("%s is %s", where, KindName(container))
}

// Fact finds a gjson path below the facts of a host, for a program that shows
// them. The error lists the keys that are there instead.
func Fact(facts map[string]any, path string) (any, error) {
	env := &Env{Facts: facts}
	path = "facts." + path
	value, found, err := env.Lookup(path)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, &diag.Error{Msg: "unknown fact " + strings.TrimPrefix(path, "facts."), Hint: env.near(path)}
	}
	return value, nil
}

// LookupPath splits a gjson path, as far as it is plain keys. known is false if even the root is unknown; the root is
// "" if no root has that name.
func LookupPath(path string) (root string, keys []string, known bool) {
	for key := range strings.SplitSeq(path, ".") {
		if _, plain := plainPath(key); !plain {
			break
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return "", nil, false
	}
	for _, root := range RootNames() {
		if strings.ToLower(root) == keys[0] {
			return root, keys[1:], true
		}
	}
	return "", nil, true
}
