package dsc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
)

// A reader reads a document and its includes.
type reader struct {
	opts      Options
	instances []*draft // in the order written
	byRef     map[string]*Instance
	errs      yamlpos.Errors
	depth     int      // nesting of groups and included documents
	files     []string // the chain of included documents
}

// add reports an error, unless that has been done.
func (r *reader) add(err error) {
	if !errors.Is(err, errReported) {
		r.errs.Add(err)
	}
}

// distinct returns the errors sorted, each once.
func (r *reader) distinct() error {
	sorted, _ := r.errs.Err().(yamlpos.Errors)
	return slices.CompactFunc(sorted, func(a, b *yamlpos.Error) bool { return *a == *b }).Err()
}

// A scope is a document or a group: it has the names that its expressions can use.
type scope struct {
	*reader
	node   *yamlpos.Node
	file   string
	given  *yamlpos.Node // values of parameters, or nil
	parent *scope        // scope around a group, or nil

	parameters lazy
	variables  lazy
	functions  map[string]*expr.Function // functions by name in lower case
	names      []string                  // names of the functions

	byID     map[string][]*draft // resources by id, the type in lower case; of groups: all within
	security string
	groups   []*draft // groups that every dependsOn within includes: see draft.after
	assert   bool
	prefix   string // names of the groups around, for names that are taken
	loop     *loop  // around a group that is copied
}

// maxNesting bounds the nesting of groups and included documents.
const maxNesting = 16

func (r *reader) scope(n, given *yamlpos.Node, parent *scope, file string) *scope {
	s := &scope{reader: r, node: n, given: given, parent: parent, file: file, byID: map[string][]*draft{}}
	if parent != nil {
		s.security, s.prefix, s.assert = parent.security, parent.prefix, parent.assert
	}
	return s
}

// read reads a document up to its resources, whose properties are not looked at yet.
func (s *scope) read(ctx context.Context) {
	var keys documentKeys
	s.add(yamlpos.Decode(s.node, &keys))
	s.directives()
	s.parameters = s.parameterTable()
	s.variables = s.variableTable()
	s.readFunctions()
	for _, name := range s.parameters.names() {
		s.parameterValue(ctx, name) // so that a mistake is reported even if the parameter is not used
	}
	for _, name := range s.variables.names() {
		s.variableValue(ctx, name)
	}
	list := s.node.Get("resources")
	switch {
	case list.IsNull():
		s.add(s.node.Errorf("write resources: [{name: ..., type: Owner/Thing, properties: {...}}]", `the document has no "resources"`))
	case list.Kind != yamlpos.List:
		s.add(list.Errorf("write a list: - name: ...", `"resources" must be a list, not %s`, list.Describe()))
	default:
		for _, item := range list.Items {
			s.resource(ctx, item)
		}
	}
}

// directives reads the document's directives.
func (s *scope) directives() {
	at := member(s.node, "directives", "securityContext")
	if at == nil || at.Text == "" { // as documents before 3.2 write it
		at = member(s.node, "metadata", "Microsoft.DSC", "securityContext")
	}
	s.security = s.securityOf(at, s.security)
	if at := member(s.node, "directives", "resourceDiscovery"); at != nil && !slices.Contains([]string{"preDeployment", "duringDeployment"}, at.Text) {
		s.add(at.Errorf("write preDeployment or duringDeployment", `"resourceDiscovery" cannot be %q`, at.Text))
	}
}

// securityOf returns the user that a node requires for the host program; empty means any. If the node has none, the
// surrounding document's setting counts.
func (s *scope) securityOf(at *yamlpos.Node, around string) string {
	if at == nil {
		return around
	}
	switch written := strings.ToLower(at.Text); written {
	case "":
		return around
	case "current":
		return ""
	case "elevated", "restricted":
		return written
	}
	s.add(at.Errorf("write current, elevated or restricted", `"securityContext" cannot be %q`, at.Text))
	return around
}

// member leads into maps; nil if something is not there.
func member(n *yamlpos.Node, path ...string) *yamlpos.Node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		n = n.Get(key)
	}
	return n
}

// lazy are values that are evaluated when they are needed.
type lazy map[string]*item

type item struct {
	key, node *yamlpos.Node
	state     int // 0: not evaluated; 1: being evaluated; 2: done
	result    expr.Result
	err       error
}

func (l lazy) names() []string {
	var names []string
	for name := range l {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// errReported marks an error that has been reported with its place.
var errReported = errors.New("reported")

// get evaluates an item once. chain are the items of its kind that are being
// evaluated.
func (s *scope) get(what string, l lazy, name string, evaluate func(*item) (expr.Result, error)) (expr.Result, error) {
	i := l[name]
	switch i.state {
	case 1:
		return expr.Result{}, &expr.Placed{Err: i.key.Errorf("one of them needs a value that does not depend on the others", "circular %s: %s depends on itself through %s", what, name, l.circle(name))}
	case 0:
		i.state = 1
		i.result, i.err = evaluate(i)
		i.state = 2
		if i.err != nil {
			s.add(i.err)
			i.err = &expr.Placed{Err: errReported}
		}
	}
	return i.result, i.err
}

// circle names the others that are being evaluated.
func (l lazy) circle(name string) string {
	var names []string
	for _, other := range l.names() {
		if l[other].state == 1 && other != name {
			names = append(names, other)
		}
	}
	if len(names) == 0 {
		return name
	}
	return strings.Join(names, ", ")
}

// expression evaluates the text of a node that is an expression.
func (s *scope) expression(ctx context.Context, n *yamlpos.Node, names *expr.Names) (expr.Result, error) {
	p, err := expr.NewEvaluator(names, nil).Eval(ctx, n.Text)
	if err != nil {
		return expr.Result{}, placed(n, err)
	}
	return p, nil
}

// placed adds the place in the file to an error.
func placed(n *yamlpos.Node, err error) error {
	if own, ok := errors.AsType[*expr.Placed](err); ok {
		return own.Err
	}
	e, ok := errors.AsType[*expr.Error](err)
	if !ok {
		return n.Errorf("", "%v", err)
	}
	at := *n
	switch {
	case e.Column == 0 || n.Computed:
	case strings.Contains(n.Text, "\n"):
		return n.Errorf(e.Hint, "column %d of the expression: %s", e.Column, e.Msg)
	case n.Quoted:
		at.Column += e.Column
	default:
		at.Column += e.Column - 1
	}
	return at.Errorf(e.Hint, "%s", e.Msg)
}

// isExpression reports whether a node is a string with an expression.
func isExpression(n *yamlpos.Node) bool {
	if n == nil || n.Kind != yamlpos.Scalar {
		return false
	}
	_, isText := n.Value.(string)
	return isText && expr.Is(n.Text)
}

// exprNames returns the names for expressions of resources.
func (s *scope) exprNames(ctx context.Context, l *loop, resource func(id string) (string, error)) *expr.Names {
	return &expr.Names{
		Parameter: s.parameter(ctx), Variable: s.variable(ctx), Function: s.function, CopyIndex: l.index(),
		Resource: resource, Earlier: s.allRefs,
	}
}

func (s *scope) parameter(ctx context.Context) func(name string) (expr.Result, error) {
	return func(name string) (expr.Result, error) {
		for scope := s; scope != nil; scope = scope.parent {
			if _, ok := scope.parameters[name]; ok {
				return scope.parameterValue(ctx, name)
			}
		}
		return expr.Result{}, unknown("parameter", name, s.parameters.names(), `declare it in "parameters"`)
	}
}

func (s *scope) variable(ctx context.Context) func(name string) (expr.Result, error) {
	return func(name string) (expr.Result, error) {
		for scope := s; scope != nil; scope = scope.parent {
			if _, ok := scope.variables[name]; ok {
				return scope.variableValue(ctx, name)
			}
		}
		return expr.Result{}, unknown("variable", name, s.variables.names(), `define it in "variables"`)
	}
}

func (s *scope) function(name string) (*expr.Function, error) {
	for scope := s; scope != nil; scope = scope.parent {
		if f, ok := scope.functions[strings.ToLower(name)]; ok {
			return f, nil
		}
	}
	return nil, unknown("function", name, s.names, `define it in "functions"`)
}

// unknown is the error of a name that nothing has.
func unknown(what, name string, known []string, hint string) error {
	if meant := yamlpos.Suggest(name, known); meant != "" {
		hint = fmt.Sprintf("did you mean %q?", meant)
	}
	return &expr.Error{Msg: fmt.Sprintf("unknown %s %q", what, name), Hint: hint}
}

// allRefs are all instances of the document, as the host knows them.
func (s *scope) allRefs() []string {
	var refs []string
	for _, d := range s.instances {
		refs = append(refs, d.Ref())
	}
	return refs
}
