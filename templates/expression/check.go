package expression

import (
	"errors"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A Check is the expression of @validate. It is parsed once and safe for
// concurrent use.
type Check struct {
	Source string
	expr   *Expr
}

// checkEnvironment is the environment of a check's expression.
type checkEnvironment struct {
	Value string      `expr:"value"`
	Upper string      `expr:"Value"` // the same: CCM has both spellings
	Run   *render.Run `expr:"·run"`
}

// ParseCheck parses the expression of @validate.
func ParseCheck(source string) (*Check, error) {
	c := &Check{Source: source, expr: &Expr{source: source, origin: origin{whole: source}}}
	if err := c.compile(); err != nil {
		return nil, c.expr.explain(err)
	}
	return c, nil
}

func (c *Check) compile() error {
	if len(c.Source) > MaxExpr {
		return diag.Faultf("an expression of more than %d KiB", MaxExpr>>10)
	}
	config := checkConfig()
	tree, err := parser.ParseWithConfig(c.Source, config)
	if err != nil {
		return err
	}
	if err := checkNames(tree.Node, map[string]bool{"value": true, "Value": true}); err != nil {
		return err
	}
	rw := &rewriter{expr: c.expr}
	tree.Node = rw.rewrite(tree.Node)
	if err := rw.finish(); err != nil {
		return err
	}
	if _, err := checker.Check(tree, config); err != nil {
		return err
	}
	config.Expect = reflect.Invalid // Holds checks the type that is only known in a run
	c.expr.program, err = compiler.Compile(tree, config)
	return err
}

func checkConfig() *conf.Config {
	config := newConfig()
	expr.Env(checkEnvironment{})(config)
	expr.AsBool()(config)
	for name, is := range tests() {
		expr.Function(name, textTest(is), new(func(string) bool))(config)
	}
	for _, name := range regexTests() {
		expr.Function(name, isRegex, new(func(string, string) bool))(config)
	}
	return config
}

// checkNames refuses names that a check does not have, even if other expressions have them, and patterns that are not
// regular expressions. known are the names of variables.
func checkNames(n ast.Node, known map[string]bool) error {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		if !known[n.Value] && !slices.Contains(checkFunctions(), n.Value) {
			return failed(n, unknownInCheck(n.Value))
		}
	case *ast.VariableDeclaratorNode:
		known[n.Name] = true
	case *ast.CallNode:
		if err := checkPattern(n); err != nil {
			return failed(n, err)
		}
	}
	for _, child := range tree(n) {
		if err := checkNames(*child, known); err != nil {
			return err
		}
	}
	return nil
}

// checkFunctions returns the functions of a check, without the functions of the expression language.
func checkFunctions() []string {
	return slices.Concat(render.SortedKeys(tests()), regexTests(), []string{"join", "replace", "string", "toJSON"})
}

func unknownInCheck(name string) *diag.Fault {
	f := diag.Faultf("unknown name %q", name)
	if f.Hint = diag.DidYouMean(append(checkFunctions(), "value"), name); f.Hint == "" {
		f.Hint = `there is only "value", and functions such as isInt(value)`
	}
	return f
}

// checkPattern checks a literal pattern of isRegex.
func checkPattern(n *ast.CallNode) *diag.Fault {
	callee, named := n.Callee.(*ast.IdentifierNode)
	if !named || !slices.Contains(regexTests(), callee.Value) || len(n.Arguments) != 2 {
		return nil
	}
	pattern, literal := n.Arguments[1].(*ast.StringNode)
	if !literal {
		return nil
	}
	_, err := regexp.Compile(pattern.Value)
	if wrong, ok := errors.AsType[*syntax.Error](err); ok {
		return diag.Faultf("%s: %s: %s", callee.Value, wrong.Code, wrong.Expr)
	}
	return nil
}

// Holds runs the check on the text of a value.
func (c *Check) Holds(value string) (bool, error) {
	r := render.WithoutDeadline(&render.Env{})
	v, err := vm.Run(c.expr.program, checkEnvironment{Value: value, Upper: value, Run: r})
	if err = r.FinalErr(err); err != nil {
		return false, c.expr.explain(err)
	}
	b, ok := v.(bool)
	if !ok {
		return false, diag.Faultf("expected a boolean, got %s", render.KindName(v)).WithHint(`write a comparison, such as value == "y"`)
	}
	return b, nil
}

// textTest returns a text test in the form of an expression's function.
func textTest(is func(string) bool) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		s, ok := args[0].(string)
		if !ok {
			return nil, diag.Faultf("the test needs a string, not %s", render.KindName(args[0]))
		}
		return is(s), nil
	}
}

func regexTests() []string { return []string{"isRegex", "is_regex"} }

// isRegex is isRegex(value, pattern).
func isRegex(args ...any) (any, error) {
	s, err := render.StringArgs("isRegex", args)
	if err != nil {
		return nil, err
	}
	if len(s[1]) > MaxExpr {
		return nil, diag.Faultf("isRegex: a pattern of more than %d KiB", MaxExpr>>10)
	}
	pattern, err := regexp.Compile(s[1])
	if err != nil { // it may hold the value
		return nil, diag.Faultf("isRegex: the pattern is not a regular expression")
	}
	return pattern.MatchString(s[0]), nil
}

// tests returns the tests of a value, by all their names.
func tests() map[string]func(string) bool {
	tests := map[string]func(string) bool{
		"isIP": isIP, "isIPv4": isIPv4, "isIPv6": isIPv6,
		"isInt": isInt, "isFloat": isFloat, "isDuration": isDuration,
		"isShellSafe": isShellSafe, "isHostname": isHostname, "isFQDN": isFQDN,
	}
	for camel, snake := range map[string]string{
		"isIP": "is_ip", "isIPv4": "is_ipv4", "isIPv6": "is_ipv6",
		"isInt": "is_int", "isFloat": "is_float", "isDuration": "is_duration",
		"isShellSafe": "is_shellsafe", "isHostname": "is_hostname", "isFQDN": "is_fqdn",
	} {
		tests[snake] = tests[camel]
	}
	tests["is_shell_safe"] = isShellSafe
	return tests
}
