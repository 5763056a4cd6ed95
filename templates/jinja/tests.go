package jinja

import (
	"math"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/ccm-push/ccm-push/templates/render"
)

// testNamed returns a test; nil if it does not exist.
func testNamed(name string) *testDef {
	return tests[strings.TrimPrefix(strings.TrimPrefix(name, builtinPrefix), legacyPrefix)]
}

func testNames() []string { return render.SortedKeys(tests) }

var tests map[string]*testDef

// fillTests fills the table. It is not an initial value, since filters such as select refer to it.
func fillTests() {
	compares := func(op string) *testDef {
		return &testDef{"a! b!", func(c *call) bool { return c.x.compares(op, c.bound[0], c.bound[1]) }}
	}
	isWhole := func(v any) bool {
		switch v.(type) {
		case int64, *big.Int:
			return true
		}
		return false
	}
	tests = map[string]*testDef{
		"boolean":     {"v!", func(c *call) bool { _, ok := c.bound[0].(bool); return ok }},
		"callable":    {"v!", func(c *call) bool { return slices.Contains([]string{"function", "Macro"}, typeName(c.bound[0])) }},
		"defined":     {"v!?", func(c *call) bool { _, is := c.bound[0].(*undefined); return !is }},
		"divisibleby": {"v! num!", func(c *call) bool { return c.x.equal(c.x.binary("%", c.bound[0], c.bound[1]), int64(0)) }},
		"even":        {"v!", func(c *call) bool { return c.x.equal(c.x.binary("%", c.bound[0], int64(2)), int64(0)) }},
		"odd":         {"v!", func(c *call) bool { return c.x.equal(c.x.binary("%", c.bound[0], int64(2)), int64(1)) }},
		"false":       {"v!?", func(c *call) bool { return c.bound[0] == false }},
		"true":        {"v!?", func(c *call) bool { return c.bound[0] == true }},
		"filter":      {"v!", func(c *call) bool { return filterNamed(c.text(0, "")) != nil }},
		"test":        {"v!", func(c *call) bool { return testNamed(c.text(0, "")) != nil }},
		"float":       {"v!?", func(c *call) bool { _, ok := c.bound[0].(float64); return ok }},
		"in":          {"v! seq!", func(c *call) bool { return c.x.contains(c.bound[1], c.bound[0]) }},
		"integer":     {"v!?", func(c *call) bool { return isWhole(c.bound[0]) }},
		"iterable":    {"v!", iterable},
		"lower":       {"v!", func(c *call) bool { s := c.text(0, ""); return cased(s) && s == strings.ToLower(s) }},
		"upper":       {"v!", func(c *call) bool { s := c.text(0, ""); return cased(s) && s == strings.ToUpper(s) }},
		"mapping":     {"v!?", func(c *call) bool { _, ok := c.bound[0].(*dict); return ok }},
		"none":        {"v!?", func(c *call) bool { return c.bound[0] == nil }},
		"number":      {"v!?", func(c *call) bool { return isNumber(c.bound[0]) }},
		"sameas":      {"v!? other!?", sameAs},
		"sequence":    {"v!", func(c *call) bool { return isSequence(c.bound[0]) }},
		"string":      {"v!?", func(c *call) bool { _, ok := c.bound[0].(string); return ok }},
		"undefined":   {"v!?", func(c *call) bool { _, is := c.bound[0].(*undefined); return is }},
		"eq":          compares("=="), "equalto": compares("=="), "==": compares("=="),
		"ne": compares("!="), "!=": compares("!="),
		"lt": compares("<"), "lessthan": compares("<"), "<": compares("<"),
		"le": compares("<="), "<=": compares("<="),
		"gt": compares(">"), "greaterthan": compares(">"), ">": compares(">"),
		"ge": compares(">="), ">=": compares(">="),
	}
	for name, t := range ansibleTests() {
		tests[name] = t
	}
}

// ansibleTests returns the tests that Ansible adds to Jinja.
func ansibleTests() map[string]*testDef {
	version := &testDef{"value! version! operator strict version_type", versionTest}
	subset := &testDef{"a! b!", func(c *call) bool { return c.allIn(0, 1) }}
	superset := &testDef{"a! b!", func(c *call) bool { return c.allIn(1, 0) }}
	failed := &testDef{"result!", func(c *call) bool { return c.result("failed") }}
	changed := &testDef{"result!", func(c *call) bool { return c.result("changed") }}
	skipped := &testDef{"result!", func(c *call) bool { return c.result("skipped") }}
	success := &testDef{"result!", func(c *call) bool { return !c.result("failed") }}
	return map[string]*testDef{
		"abs":             {"path!", func(c *call) bool { return strings.HasPrefix(c.text(0, ""), "/") }},
		"is_abs":          {"path!", func(c *call) bool { return strings.HasPrefix(c.text(0, ""), "/") }},
		"all":             {"v!", func(c *call) bool { return !slices.ContainsFunc(c.items(0), func(v any) bool { return !c.x.truth(v) }) }},
		"any":             {"v!", func(c *call) bool { return slices.ContainsFunc(c.items(0), c.x.truth) }},
		"contains":        {"seq! value!", func(c *call) bool { return c.x.contains(c.bound[0], c.bound[1]) }},
		"falsy":           {"v! convert_bool", func(c *call) bool { return !c.truthy() }},
		"truthy":          {"v! convert_bool", func(c *call) bool { return c.truthy() }},
		"match":           {"value! pattern! ignorecase multiline", func(c *call) bool { return c.matches("match") }},
		"search":          {"value! pattern! ignorecase multiline", func(c *call) bool { return c.matches("search") }},
		"regex":           {"value! pattern! ignorecase multiline match_type", func(c *call) bool { return c.matches(c.str(4, "search")) }},
		"nan":             {"x!", notNumber},
		"isnan":           {"x!", notNumber},
		"issubset":        subset,
		"subset":          subset,
		"issuperset":      superset,
		"superset":        superset,
		"version":         version,
		"version_compare": version,
		"failed":          failed,
		"failure":         failed,
		"changed":         changed,
		"change":          changed,
		"skipped":         skipped,
		"skip":            skipped,
		"succeeded":       success,
		"success":         success,
		"successful":      success,
		"url": {"value! schemes", func(c *call) bool {
			u, err := url.Parse(c.text(0, ""))
			return err == nil && u.Scheme != "" && u.Host != ""
		}},
		"uri":             {"value! schemes", func(c *call) bool { u, err := url.Parse(c.text(0, "")); return err == nil && u.Scheme != "" }},
		"vault_encrypted": {"v!", func(c *call) bool { return strings.HasPrefix(c.text(0, ""), "$ANSIBLE_VAULT") }},
	}
}

func iterable(c *call) bool {
	switch c.bound[0].(type) {
	case string, *dict, *hostVars:
		return true
	}
	_, ok := c.x.sequence(c.bound[0])
	return ok
}

// isSequence reports whether v has a length and elements by number, or is a dict: Jinja takes that for one, too.
func isSequence(v any) bool {
	switch v := v.(type) {
	case string, tuple, span, *dict:
		return true
	case *list:
		return v.view == ""
	}
	return false
}

func sameAs(c *call) bool {
	a, b := c.bound[0], c.bound[1]
	if typeName(a) != typeName(b) {
		return false
	}
	return identical(a, b)
}

func notNumber(c *call) bool {
	f, ok := asFloat(c.bound[0])
	if !ok {
		c.failf("a number is needed, not %s", typeName(c.bound[0]))
	}
	return math.IsNaN(f)
}

func (c *call) truthy() bool {
	v := c.bound[0]
	if c.truth(1, false) {
		if s, ok := v.(string); ok {
			switch strings.ToLower(strings.TrimSpace(s)) {
			case "y", "yes", "on", "1", "true", "t":
				return true
			case "n", "no", "off", "0", "false", "f":
				return false
			}
		}
	}
	return c.x.truth(v)
}

func (c *call) allIn(inner, outer int) bool {
	in := c.x.membership(c.bound[outer])
	return !slices.ContainsFunc(c.items(inner), func(v any) bool { return !in(v) })
}

func (c *call) matches(how string) bool {
	p, s := c.regex(c.str(1, ""), c.truth(2, false), c.truth(3, false)), c.text(0, "")
	switch how {
	case "search":
		return p.search(s) != nil
	case "match", "fullmatch":
		for _, one := range []string{s, strings.TrimSuffix(s, "\n")} {
			begin := c.regex(`\A(?:`+c.str(1, "")+`)`+map[bool]string{true: `\z`}[how == "fullmatch"], c.truth(2, false), c.truth(3, false))
			if begin.MatchString(one) && (one == s || p.end) {
				return true
			}
		}
		return false
	}
	c.failf("match_type is search, match or fullmatch")
	return false
}

// result reads a field of the result of a resource.
func (c *call) result(field string) bool {
	d, ok := c.bound[0].(*dict)
	if !ok {
		c.failf("a result is needed, not %s", typeName(c.bound[0]))
	}
	v, ok := d.get(c.x, field)
	if results, looped := d.get(c.x, "results"); !ok && looped && field == "changed" {
		for _, one := range c.x.iterate(results) {
			if inner, isDict := one.(*dict); isDict {
				if v, there := inner.get(c.x, field); there && c.x.truth(v) {
					return true
				}
			}
		}
	}
	return ok && c.x.truth(v)
}

// versionTest compares two versions.
func versionTest(c *call) bool {
	a, b := c.text(0, ""), c.text(1, "")
	if a == "" || b == "" {
		c.failf("a version is empty")
	}
	op := c.str(2, "eq")
	if kind := c.value(4, nil); kind != nil && kind != "loose" || c.truth(3, false) {
		c.failf("only loose versions are known")
	}
	left, right := versionParts(a), versionParts(b)
	order := 0
	for i := 0; i < len(left) && i < len(right) && order == 0; i++ {
		m, mok := left[i].(*big.Int)
		n, nok := right[i].(*big.Int)
		switch {
		case mok && nok:
			order = m.Cmp(n)
		case !mok && !nok:
			order = strings.Compare(left[i].(string), right[i].(string))
		default:
			c.failf("the versions cannot be compared: one has a number where the other has letters")
		}
	}
	if order == 0 {
		order = len(left) - len(right)
	}
	switch op {
	case "==", "=", "eq":
		return order == 0
	case "!=", "<>", "ne":
		return order != 0
	case "<", "lt":
		return order < 0
	case "<=", "le":
		return order <= 0
	case ">", "gt":
		return order > 0
	case ">=", "ge":
		return order >= 0
	}
	c.failf("an unknown operator")
	return false
}

var versionPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+|[a-z]+|\.`) })

// versionParts splits a version into numbers and letters, like LooseVersion of Python.
func versionParts(s string) (parts []any) {
	at := 0
	add := func(part string) {
		if part == "" || part == "." {
			return
		}
		if unicode.IsDigit(rune(part[0])) {
			n, _ := new(big.Int).SetString(part, 10)
			parts = append(parts, n)
			return
		}
		parts = append(parts, part)
	}
	for _, m := range versionPattern().FindAllStringIndex(s, -1) {
		add(s[at:m[0]])
		add(s[m[0]:m[1]])
		at = m[1]
	}
	add(s[at:])
	return parts
}
