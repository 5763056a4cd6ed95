package load

import (
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// factName matches allowed names of requested facts, so that Facts.NAME can be written.
var factName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// askedFacts reads the facts that a play requests from its hosts. Their shape has been checked.
func (f *file) askedFacts(n *yamlpos.Node) []manifest.AskedFact {
	if n = keys.Given(n); n == nil || n.Kind != yamlpos.Map {
		return nil
	}
	var all []manifest.AskedFact
	for _, pair := range n.Pairs {
		name, q := pair.Key, pair.Value
		switch {
		case slices.Contains(facts.Names(), name.Text):
			f.report.Add(name.Errorf("rename the fact", "all hosts have facts with the name %q", name.Text))
		case !factName().MatchString(name.Text):
			f.report.Add(name.Errorf("use letters, digits and _", "a fact cannot be called %q", name.Text))
		case keys.Given(q) == nil:
			f.report.Add(name.Errorf("write one of stat, package, service, getent, command", "%q has no value", name.Text))
		case q.Kind != yamlpos.Map: // which decoding has reported
		case len(q.Pairs) != 1:
			f.report.Add(q.Errorf("write one of stat, package, service, getent, command", "a fact has exactly one query"))
		default:
			if query, ok := f.query(q.Pairs[0]); ok {
				all = append(all, manifest.AskedFact{At: name, Query: query})
			}
		}
	}
	return all
}

// query reads one query of a fact, which is a text that is known before any host is.
func (f *file) query(pair yamlpos.Pair) (q facts.Query, ok bool) {
	key, n := pair.Key.Text, keys.Given(pair.Value)
	if n == nil {
		f.report.Add(pair.Key.Errorf("", "%q has no value", key))
		return q, false
	}
	if n.Kind != yamlpos.Scalar {
		return q, false
	}
	if key == "command" && f.values.IsOpen(n) {
		f.report.Add(n.Errorf(`write a shell variable as $NAME; for anything else use a script, or an exec with "readonly" and "register"`,
			"the command of a fact cannot contain expressions: {{ … }} and ${ … }"))
		return q, false
	}
	if f.values.LiteralText(key, n) == nil {
		return q, false
	}
	words := strings.Fields(n.Text)
	wrong := func(hint, format string, args ...any) (facts.Query, bool) {
		f.report.Add(n.Errorf(hint, format, args...))
		return facts.Query{}, false
	}
	switch {
	case len(words) == 0:
		return wrong("", "%q has no value", key)
	case key == "stat" && !path.IsAbs(n.Text):
		return wrong("", `"stat" needs an absolute path, not %q`, n.Text)
	case key == "getent" && len(words) != 2:
		return wrong("write getent: passwd root", `"getent" needs a database and a key`)
	case key != "stat" && key != "command" && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") }):
		return wrong("", "%q needs a name, not %q", key, n.Text)
	case (key == "package" || key == "service") && len(words) != 1:
		return wrong("write a fact for each", "%q needs one name", key)
	}
	if err := yamlpos.Decode(&yamlpos.Node{Kind: yamlpos.Map, File: n.File, Line: n.Line, Column: n.Column, Pairs: []yamlpos.Pair{pair}}, &q); err != nil {
		return q, false // which decoding the play has reported
	}
	return q, !reflect.ValueOf(q).IsZero()
}

// onlyOneQuestion refuses facts of one name that request different things: each host is queried once for all plays.
func onlyOneQuestion(plays []*manifest.Play) error {
	var errs yamlpos.Errors
	first := map[string]manifest.AskedFact{}
	asked := facts.Queries{}
	for _, p := range plays {
		for _, a := range p.AskedFacts {
			if other, ok := first[a.At.Text]; ok && other.Query != a.Query {
				errs.Add(a.At.Errorf("rename the fact in one of the two plays", "the fact %q has a different query in another play, at %s", a.At.Text, other.At.Pos()))
				continue
			}
			first[a.At.Text], asked[a.At.Text] = a, a.Query
			if len(asked.Collector()) > facts.MaxQueries {
				errs.Add(a.At.Errorf("use one command of the host for several facts", "the queries of all facts together are larger than %d KiB", facts.MaxQueries>>10))
				return errs.Err()
			}
		}
	}
	return errs.Err()
}
