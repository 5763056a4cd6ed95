package templates_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/expression"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// checkCase is a document with annotations; over is laid over its data.
type checkCase struct {
	name, source string
	over         map[string]any
	want         string
}

func checkCases() []checkCase {
	type m = map[string]any
	return []checkCase{
		{"none", "data: {a: 1} # @require\n", nil, ""},
		{"a value", "data:\n  # @require\n  a: 1\n", nil, ""},
		{"false and 0 are values", "data:\n  a: false # @require\n  b: 0 # @required\n  c: [] # @require\n  d: {} # @require\n", nil, ""},
		{"null", "data:\n  # The name.\n  # @require\n  # More.\n  a:\n  b: ~ # @required\n", nil,
			"data.yaml:5:3: key \"a\" is required but has no value\n  hint: set the value with -e a=VALUE or in the inventory\n" +
				"data.yaml:6:3: key \"b\" is required but has no value\n  hint: set the value with -e b=VALUE or in the inventory"},
		{"an empty text", "data:\n  a: '' # @require\n", nil,
			"data.yaml:2:3: key \"a\" is required but has no value\n  hint: set the value with -e a=VALUE or in the inventory"},
		{"set elsewhere", "data:\n  # @require\n  a:\n  b:\n    # @require\n    c:\n", m{"a": "x", "b": m{"c": false}}, ""},
		{"removed elsewhere", "data:\n  # @require\n  a: 1\n", m{"a": nil},
			"data.yaml:3:3: key \"a\" is required but has no value\n  hint: set the value with -e a=VALUE or in the inventory"},
		{"below", "data:\n  web:\n    tls:\n      # @require\n      # @validate isInt(value)\n      port:\n", nil,
			"data.yaml:6:7: key \"web.tls.port\" is required but has no value\n  hint: set the value here or in an override; -e and the inventory replace all of \"web\""},
		{"below what is no map any more", "data:\n  web:\n    # @require\n    port: 1\n    # @validate isInt(value)\n    x: 1\n", m{"web": "x"},
			"data.yaml:4:5: key \"web.port\" is required but has no value\n  hint: set the value here or in an override; -e and the inventory replace all of \"web\""},
		{"a key with a space", "data:\n  # @require\n  a b:\n", nil,
			"data.yaml:3:3: key \"a b\" is required but has no value\n  hint: set the value in a file with -e @FILE, or in the inventory"},
		{"a key with a dot", "data:\n  # @require\n  a.b:\n", m{"a.b": "x"}, ""},
		{"validated", "data:\n  # @validate isInt(value)\n  a: 80\n  b: 10.0.0.1 # @validate is_ipv4(value) && Value != '0.0.0.0'\n", nil, ""},
		{"not valid", "data:\n  # @require\n  # @validate isInt(value)\n  a: hunter2\n", nil,
			"data.yaml:4:3: the value of the key \"a\" failed the validation \"isInt(value)\"\n  hint: set the value with -e a=VALUE or in the inventory"},
		{"each must hold", "data:\n  # @validate isInt(value)\n  # @validate len(value) < 3\n  a: 8080\n", nil,
			"data.yaml:4:3: the value of the key \"a\" failed the validation \"len(value) < 3\"\n  hint: set the value with -e a=VALUE or in the inventory"},
		{"an empty text is validated", "data:\n  a: '' # @validate isInt(value)\n", nil,
			"data.yaml:2:3: the value of the key \"a\" failed the validation \"isInt(value)\"\n  hint: set the value with -e a=VALUE or in the inventory"},
		{"null, maps and lists are not", "data:\n  a: # @validate isInt(value)\n  b: {} # @validate isInt(value)\n  c: [x] # @validate isInt(value)\n", nil, ""},
		{"other scalars are text", "data:\n  # @validate value == '1.5'\n  a: 1.5\n  # @validate value == 'true'\n  b: true\n", nil, ""},
		{"infinity", "data:\n  # @validate value == '+Inf'\n  a: 1\n", m{"a": math.Inf(1)}, ""},
		{"cannot judge", "data:\n  # @validate int(value) > 5\n  a: hunter2\n", nil,
			"data.yaml:3:3: key \"a\" validation \"int(value) > 5\" failed: the value is not an integer"},
		{"no boolean", "data:\n  # @validate [value][0]\n  a: hunter2\n", nil,
			"data.yaml:3:3: key \"a\" validation \"[value][0]\" failed: expected a boolean, got a string\n  hint: write a comparison, such as value == \"y\""},
		{"a pattern that is none", "data:\n  # @validate isRegex('x', value)\n  a: '[hunter2'\n", nil,
			"data.yaml:3:3: key \"a\" validation \"isRegex('x', value)\" failed: isRegex: the pattern is not a regular expression"},
		{"an alias does not repeat", "data:\n  a: &a\n    # @require\n    x:\n  b: *a\n  c: {<<: *a}\n", m{"a": m{"x": 1}}, ""},
		{"long line ends", "data:\r\n  # @require\r\n  a:\r\n", nil,
			"data.yaml:3:3: key \"a\" is required but has no value\n  hint: set the value with -e a=VALUE or in the inventory"},
		{"that of the next key", "data:\n  a:\n  # @require\n  b: 1\n", nil, ""},
		{"a text that looks like one", "data:\n  a: |\n    x\n    # @require\n  b:\n  c: '# @require'\n", nil, ""},
	}
}

func TestCheck(t *testing.T) {
	for _, c := range checkCases() {
		t.Run(c.name, func(t *testing.T) {
			source, err := templatetest.Source(t, c.source)
			require.NoError(t, err)
			require.Empty(t, source.Warnings())
			layers, err := source.Layers(t.Context(), nil, nil)
			require.NoError(t, err)
			data := templates.Merge(append(layers, templates.Layer{Values: c.over}))
			err = source.Check(data, nil)
			require.Equal(t, c.want, templatetest.ErrorText(err))
			require.Equal(t, templatetest.ErrorText(err), templatetest.ErrorText(source.Check(data, nil)), "a check changes nothing")
		})
	}
}

func TestCheckOfFiles(t *testing.T) {
	data := templatetest.Document(t, "# @require\na:\n")
	docs, err := yamlpos.Parse("vars.yaml", []byte("# @validate isInt(value)\na: x\n"))
	require.NoError(t, err)
	source, err := templates.ParseSource(templates.Parts{Data: data, Files: docs})
	require.NoError(t, err)
	merged, err := source.Resolve(t.Context(), nil)
	require.NoError(t, err)
	require.EqualError(t, source.Check(merged, nil), "vars.yaml:2:1: the value of the key \"a\" failed the validation \"isInt(value)\"\n  hint: set the value with -e a=VALUE or in the inventory")
	require.EqualError(t, source.Check(nil, nil), "data.yaml:2:1: key \"a\" is required but has no value\n  hint: set the value with -e a=VALUE or in the inventory")
	require.NoError(t, templates.Source{}.Check(nil, nil))
}

func badAnnotations() []errorCase {
	return []errorCase{
		{"value >", `failed: unexpected end`},
		{"isint(value)", "failed: unknown name \"isint\"\n  hint: did you mean \"isInt\"?"},
		{"lookup('data.x') == value", "failed: unknown name \"lookup\"\n  hint: there is only \"value\", and functions such as isInt(value)"},
		{"file('/etc/passwd') == value", "failed: unknown name \"file\"\n  hint: there is only \"value\", and functions such as isInt(value)"},
		{"Facts.x == value", "failed: unknown name \"Facts\"\n  hint: there is only \"value\", and functions such as isInt(value)"},
		{"$env == value", "failed: unknown name \"$env\"\n  hint: there is only \"value\", and functions such as isInt(value)"},
		{"upper(value)", "failed: expected bool, but got string"},
		{"isInt(5)", "failed: cannot use int as argument (type string) to call isInt"},
		{"isInt()", "failed: not enough arguments to call isInt"},
		{"isRegex(value, '[a')", "failed: isRegex: missing closing ]: [a"},
		{"value matches '[a'", "failed: error parsing regexp: missing closing ]: `[a`"},
		{"value == '" + strings.Repeat("x", expression.MaxExpr) + "'", "failed: an expression of more than 16 KiB"},
	}
}

func TestBadAnnotations(t *testing.T) {
	for _, c := range badAnnotations() {
		t.Run(c.source[:min(len(c.source), 40)], func(t *testing.T) {
			doc := templatetest.Document(t, "data:\n  a: 1\n  # @validate "+c.source+"\n  b: 1\n")
			_, err := templates.ParseSource(templates.Parts{Data: doc.Get("data")})
			key := doc.Get("data").Pairs[1].Key
			require.EqualError(t, err, key.Errorf("", "key \"b\" validation %q %s", c.source, c.want).Error())
		})
	}
}

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		source, value string
		want          bool
	}{
		{"value == 'a'", "a", true},
		{"let n = len(value); n > 1 && n < 5", "abc", true},
		{"isInt(value) ? int(value) < 1024 : value == 'http'", "80", true},
		{"isInt(value) ? int(value) < 1024 : value == 'http'", "http", true},
		{"isInt(value) ? int(value) < 1024 : value == 'http'", "8080", false},
		{"all(split(value, ','), isIP(#))", "10.0.0.1,::1", true},
		{"all(split(value, ','), isIP(#))", "10.0.0.1,x", false},
		{"isIP(value) || value == 'auto'", "auto", true},
		{"value in ['a', 'b']", "c", false},
		{"value matches '^[a-z]+$'", "abc", true},
		{"isRegex(value, '^[a-z]+$')", "abc", true},
		{"is_regex(value, '^[a-z]+$')", "ab1", false},
		{"value | isInt()", "1", true},
		{"replace(value, 'a', '') == 'b' and string(1) == '1'", "ab", true},
	} {
		t.Run(c.source, func(t *testing.T) {
			check, err := expression.ParseCheck(c.source)
			require.NoError(t, err)
			got, err := check.Holds(c.value)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// TestChecksEnd checks that an endless check ends at its limit.
func TestChecksEnd(t *testing.T) {
	check, err := expression.ParseCheck("let l = split(value, ','); any(l, any(l, any(l, any(l, # == 'x'))))")
	require.NoError(t, err)
	_, err = check.Holds(strings.Repeat(",", 99))
	require.EqualError(t, err, "rendering did not end within 20000000 steps\n  hint: look for a loop that does not end")
	check, err = expression.ParseCheck("isRegex('x', value)")
	require.NoError(t, err)
	_, err = check.Holds(strings.Repeat("x", expression.MaxExpr+1))
	require.EqualError(t, err, "isRegex: a pattern of more than 16 KiB")
}

func TestAnnotationWarnings(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"near misses", "data:\n  # @requires\n  a: 1 # @valdiate isInt(value)\n",
			"data.yaml:3:3: \"@requires\" is not an annotation (did you mean \"@require\"?)|data.yaml:3:3: \"@valdiate\" is not an annotation (did you mean \"@validate\"?)"},
		{"others are silent", "data:\n  # @todo x\n  # @\n  # see @require\n  # mail me@require\n  a: # @author\n", ""},
		{"text behind", "data:\n  # @require it must be set\n  a:\n",
			"data.yaml:3:3: @require has no effect with text after it: write it on its own line"},
		{"nothing behind", "data:\n  # @validate\n  a:\n",
			"data.yaml:3:3: @validate has no effect without an expression: write @validate isInt(value)"},
		{"in a list", "data:\n  a:\n    # @require\n    - b: 1 # @validate isInt(value)\n    - [{c: 1}] # @required\n",
			"data.yaml:4:7: @require has no effect inside a list|data.yaml:4:7: @validate has no effect inside a list|data.yaml:5:7: @require has no effect inside a list"},
		{"in overrides", "data: {a: 1}\noverrides:\n  x:\n    a: 1 # @require\n",
			`data.yaml:4:5: @require has no effect in overrides: write it below "data"`},
		{"a blank line below", "data:\n  # @require\n\n  a:\n",
			"data.yaml:4:3: the annotation @require near \"a\" belongs to no key: write it directly above a key, or on the line of the key"},
		{"below the last key", "data:\n  a: 1\n  # @validate isInt(value)\n",
			"data.yaml:2:3: the annotation @validate near \"a\" belongs to no key: write it directly above a key, or on the line of the key"},
		{"behind an anchor", "data:\n  a: &a # @require\n    x: 1\n",
			"data.yaml:3:5: the annotation @require near \"x\" belongs to no key: write it directly above a key, or on the line of the key"},
		{"a key in a comment", "data:\n  a: 1\n  # @require\n  # b: 1\n\n  c: 1\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			source, err := templatetest.Source(t, c.source)
			require.NoError(t, err)
			require.Equal(t, c.want, strings.Join(source.Warnings(), "|"))
			require.NoError(t, source.Check(nil, nil))
		})
	}
}

func FuzzAnnotation(f *testing.F) {
	for _, c := range checkCases() {
		f.Add(c.source, "hunter2")
	}
	for _, c := range badAnnotations() {
		f.Add("data:\n  # @validate "+c.source[:min(len(c.source), 100)]+"\n  a: 1\n", "hunter2")
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		docs, err := yamlpos.Parse("fuzz.yaml", []byte(source))
		if err != nil || len(docs) == 0 {
			return
		}
		parsed, err := templates.ParseSource(templates.Parts{Data: docs[0].Get("data")})
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for _, path := range parsed.Annotated() {
			err := parsed.Check(map[string]any{path[0]: value}, nil)
			templatetest.CheckFuzzed(t, source, value, nil, err)
			if len(value) > 40 && !strings.Contains(source, value) {
				require.NotContains(t, templatetest.ErrorText(err), value)
			}
		}
	})
}
