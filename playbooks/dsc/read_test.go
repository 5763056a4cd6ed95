package dsc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
)

// files are documents to include.
var files = map[string]string{
	"inner.yaml":  "parameters: {word: {type: string, defaultValue: w}}\nresources:\n- {name: in, type: A/B, properties: {p: \"[parameters('word')]\"}}\n",
	"given.yaml":  "parameters: {word: {value: given}}\n",
	"circle.yaml": "resources:\n- {name: c, type: Microsoft.DSC/Include, properties: {configurationFile: circle.yaml}}\n",
}

// read reads a document that is called doc.yaml.
func read(t testing.TB, text, parameters string) (*Document, error) {
	parse := func(name, text string) (*yamlpos.Node, error) {
		nodes, err := yamlpos.Parse(name, []byte(text))
		if err != nil {
			return nil, err
		}
		if len(nodes) != 1 {
			return nil, fmt.Errorf("%s: not one document", name)
		}
		return nodes[0], nil
	}
	n, err := parse("doc.yaml", text)
	if err != nil {
		return nil, err
	}
	opts := Options{
		File: "doc.yaml", Now: func() time.Time { return time.Unix(0, 0) },
		Type: func(name string) (string, bool, string, bool) {
			if name == "Ccm/File" {
				return "file", true, "", true
			}
			return name, false, "known types have a slash", strings.Count(name, "/") == 1
		},
		Tells: func(entry string) bool { return entry != "file" },
		Open: func(at *yamlpos.Node, _, path string) (*yamlpos.Node, string, error) {
			text, ok := files[path]
			if !ok {
				return nil, "", at.Errorf("", "unknown document %s", path)
			}
			n, err := parse(path, text)
			return n, path, err
		},
	}
	if parameters != "" {
		if opts.Parameters, err = parse("given.yaml", parameters); err != nil {
			return nil, err
		}
	}
	return Read(t.Context(), n, opts)
}

// shown returns the instances, one per line.
func shown(d *Document) string {
	var b strings.Builder
	for _, i := range d.Instances {
		properties := "-"
		if i.Properties != nil {
			j, _ := json.Marshal(i.Properties.Any())
			properties = string(j)
		}
		fmt.Fprintf(&b, "%s %s", i.Ref(), properties)
		for _, other := range i.Requires {
			b.WriteString(" <" + other.Name)
		}
		if s := i.Scope; s != nil {
			v, _ := json.Marshal(s.Values)
			fmt.Fprintf(&b, " host(%s %s)", s.Condition, v)
		}
		if i.Receives != nil {
			j, _ := json.Marshal(i.Receives.Any())
			fmt.Fprintf(&b, " receives%s", j)
		}
		for name, set := range map[string]bool{"excluded": i.Excluded, "assert": i.Assert, "secure": i.Secure} {
			if set {
				b.WriteString(" " + name)
			}
		}
		for _, text := range []string{i.Version, i.Adapter, i.Security} {
			if text != "" {
				b.WriteString(" " + text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

const one = "resources: [{name: a, type: A/B}]\n"

var good = []struct{ name, text, parameters, want string }{
	{"nothing", "resources: []\n", "", ""},
	{"no properties", one, "", "A/B#a {}\n"},
	{"escapes", "resources: [{name: '[[a]', type: A/B, properties: {p: '[[x', q: ['[[[']}}]\n", "", "A/B#[a] {\"p\":\"[x\",\"q\":[\"[[\"]}\n"},
	{"kinds", "parameters: {n: {type: int, defaultValue: 3}, o: {type: object, defaultValue: {a: ['x']}}}\nresources: [{name: a, type: A/B, properties: {n: \"[parameters('n')]\", f: 1.5, o: \"[parameters('o')]\", z: null, t: true, s: '3'}}]\n", "",
		"A/B#a {\"f\":1.5,\"n\":3,\"o\":{\"a\":[\"x\"]},\"s\":\"3\",\"t\":true,\"z\":null}\n"},
	{"given parameters are values", "parameters: {w: {type: string}}\nresources: [{name: a, type: A/B, properties: {w: \"[parameters('w')]\"}}]\n", "{w: \"[concat('a', 'b')]\"}", "A/B#a {\"w\":\"[concat('a', 'b')]\"}\n"},
	{"expressions in defaults", "parameters: {a: {type: string, defaultValue: \"[concat(utcNow('yyyy'), '!')]\"}, b: {type: array, defaultValue: [\"[add(1, 2)]\"]}}\nresources: [{name: \"[parameters('a')]\", type: A/B, properties: {p: \"[parameters('b')]\"}}]\n", "", "A/B#1970! {\"p\":[3]}\n"},
	{"variables by need", "variables: {a: \"[concat(variables('b').x[0], '!')]\", b: {x: [\"[string(1)]\"]}}\nresources: [{name: \"[variables('a')]\", type: A/B}]\n", "", "A/B#1! {}\n"},
	{"functions", "functions: [{namespace: my, members: {twice: {parameters: [{name: s, type: string}], output: {type: string, value: \"[concat(parameters('s'), parameters('s'))]\"}}}}]\nresources: [{name: \"[my.twice('ab')]\", type: A/B}]\n", "", "A/B#abab {}\n"},
	{"functions and secure values", "functions: [{namespace: my, members: {keep: {parameters: [{name: s, type: string}], output: {type: string, value: \"[parameters('s')]\"}}, hide: {output: {type: SecureString, value: '[[x'}}}}]\n" +
		"parameters: {s: {type: secureString, defaultValue: hush}}\nresources: [{name: a, type: A/B, properties: {p: \"[my.keep(parameters('s'))]\", q: \"[my.hide()]\", r: \"[my.keep(envvar('X'))]\"}}]\n", "",
		"A/B#a {\"p\":\"[parameters('0')]\",\"q\":\"[parameters('1')]\",\"r\":\"[envvar('X')]\"} host( [{\"secureString\":\"hush\"},{\"secureString\":\"[x\"}]) secure\n"},
	{"no copies", "resources: [{name: \"[format('n{0}', copyIndex())]\", type: A/B, copy: {name: l, count: 0}, properties: {p: \"[copyIndex('l', 10)]\"}}]\n", "", ""},
	{"copy", "resources: [{name: \"[format('n{0}', copyIndex())]\", type: A/B, copy: {name: l, count: \"[add(1, 1)]\"}, properties: {p: \"[copyIndex('l', 10)]\"}}]\n", "", "A/B#n0 {\"p\":10}\nA/B#n1 {\"p\":11}\n"},
	{"a chain written backwards", "resources:\n- {name: c, type: A/B, dependsOn: [\"[resourceId('a/b', 'b')]\"]}\n- {name: b, type: A/B, dependsOn: [\"[resourceId('A/B', 'a')]\"]}\n- {name: a, type: A/B}\n", "", "A/B#a {}\nA/B#b {} <a\nA/B#c {} <b\n"},
	{"references are dependencies", "resources:\n- {name: b, type: A/B, properties: {p: \"[reference(resourceId('A/B', 'a')).x]\"}}\n- {name: a, type: A/B}\n", "", "A/B#a {}\nA/B#b {\"p\":\"[reference('A/B#a').x]\"} <a host( null)\n"},
	{"conditions", "resources:\n- {name: a, type: A/B, condition: \"[equals(1, 2)]\", properties: {p: \"[first('')]\"}}\n- {name: b, type: A/B, condition: \"[equals(envvar('X'), '1')]\", dependsOn: [\"[resourceId('A/B', 'a')]\"], properties: {p: '[[x'}}\n- {name: c, type: A/B, condition: \"[stateChanged(resourceId('A/B', 'd'))]\"}\n- {name: d, type: A/B}\n", "",
		"A/B#a - excluded\nA/B#b {\"p\":\"[[x\"} <a host([equals(envvar('X'), '1')] null)\nA/B#d {}\nA/B#c {} <d host([stateChanged('A/B#d')] null)\n"},
	{"groups", "resources:\n- {name: last, type: Microsoft.DSC/Group, dependsOn: [\"[resourceId('Microsoft.DSC/Group', 'first')]\"], properties: {resources: [{name: x, type: A/B}]}}\n" +
		"- name: first\n  type: Microsoft.DSC/Group\n  condition: \"[not(false)]\"\n  properties:\n    resources:\n    - {name: x, type: A/B}\n    - {name: nested, type: Microsoft.DSC/Group, properties: {resources: [{name: z, type: A/B, dependsOn: [\"[resourceId('A/B', 'y')]\"]}, {name: y, type: A/B}]}}\n", "",
		"A/B#first/x {}\nA/B#y {}\nA/B#z {} <y\nA/B#x {} <first/x <z <y\n"},
	{"a loop of a group is that of its dependencies", "resources:\n- name: \"[format('g{0}', copyIndex())]\"\n  type: Microsoft.DSC/Group\n  copy: {name: outer, count: 2}\n  dependsOn: [\"[resourceId('A/B', format('x{0}', copyIndex()))]\"]\n" +
		"  properties: {resources: [{name: \"[format('{0}{1}', copyIndex('outer'), copyIndex())]\", type: A/B, copy: {name: inner, count: 2}}]}\n- {name: \"[format('x{0}', copyIndex())]\", type: A/B, copy: {name: l, count: 2}}\n", "",
		"A/B#x0 {}\nA/B#00 {} <x0\nA/B#01 {} <x0\nA/B#x1 {}\nA/B#10 {} <x1\nA/B#11 {} <x1\n"},
	{"conditions of groups", "resources:\n- name: g\n  type: Microsoft.DSC/Group\n  condition: \"[equals(envvar('X'), '1')]\"\n  properties: {resources: [{name: a, type: A/B, condition: \"[equals(envvar('Y'), '1')]\"}, {name: b, type: A/B, condition: false}]}\n", "",
		"A/B#a {} host([and(equals(envvar('X'), '1'), equals(envvar('Y'), '1'))] null)\nA/B#b - excluded\n"},
	{"parameters of groups", "parameters: {w: {type: string, defaultValue: out}}\nresources: [{name: g, type: Microsoft.DSC/Group, properties: {variables: {v: in}, resources: [{name: a, type: A/B, properties: {w: \"[parameters('w')]\", v: \"[variables('v')]\"}}]}}]\n", "", "A/B#a {\"v\":\"in\",\"w\":\"out\"}\n"},
	{"an assertion", "resources: [{name: g, type: Microsoft.DSC/Assertion, properties: {resources: [{name: a, type: A/B}]}}, {name: b, type: A/B, dependsOn: [\"[resourceId('Microsoft.DSC/Assertion', 'g')]\"]}]\n", "", "A/B#a {} assert\nA/B#b {} <a\n"},
	{"an include", "resources: [{name: i, type: Microsoft.DSC/Include, properties: {configurationFile: inner.yaml, parametersFile: given.yaml}}, {name: j, type: Microsoft.DSC/Include, properties: {configurationFile: inner.yaml}}]\n", "", "A/B#in {\"p\":\"given\"}\nA/B#j/in {\"p\":\"w\"}\n"},
	{"secure values", "parameters: {s: {type: secureString, defaultValue: hush}}\nresources: [{name: a, type: A/B, properties: {p: \"[parameters('s')]\", q: {secureString: \"[parameters('s')]\"}, r: {secureString: lit}}}, {name: b, type: A/B, properties: {p: \"[parameters('s')]\", q: \"[envvar('X')]\", r: {secureString: '[[x'}}}]\n", "",
		"A/B#a {\"p\":{\"secureString\":\"hush\"},\"q\":{\"secureString\":\"hush\"},\"r\":{\"secureString\":\"lit\"}} secure\nA/B#b {\"p\":\"[parameters('0')]\",\"q\":\"[envvar('X')]\",\"r\":\"[parameters('1')]\"} host( [{\"secureString\":\"hush\"},{\"secureString\":\"[x\"}]) secure\n"},
	{"built-in types", "parameters: {s: {type: secureString, defaultValue: hush}}\nresources: [{name: a, type: A/B}, {name: f, type: Ccm/File, properties: {name: /x, content: \"[parameters('s')]\", owner: \"[reference(resourceId('A/B', 'a')).user.name]\"}}, {name: b, type: A/B, dependsOn: [\"[resourceId('Ccm/File', 'f')]\"]}]\n", "",
		"A/B#a {}\nfile#f {\"content\":\"hush\",\"name\":\"/x\"} <a receives{\"owner\":\"A/B#a.state.user.name\"} secure\nA/B#b {} <f\n"},
	{"directives", "directives: {securityContext: elevated, version: '>=3.1'}\nresources: [{name: a, type: A/B, requireVersion: ^1, directives: {requireAdapter: C/D}, metadata: {Microsoft.DSC: {x: 1}, mine: 2}}, {name: b, type: A/B, apiVersion: '2', directives: {securityContext: restricted}}]\n", "", "A/B#a {} ^1 C/D elevated\nA/B#b {} 2 restricted\n"},
	{"older directives", "metadata: {Microsoft.DSC: {securityContext: elevated}}\nresources: [{name: a, type: A/B}]\n", "", "A/B#a {} elevated\n"},
	{"outputs", "resources: [{name: a, type: A/B}]\noutputs: {k: {type: int, value: \"[add(1, 2)]\"}, h: {type: string, value: \"[reference(resourceId('A/B', 'a')).x]\"}, no: {type: string, condition: \"[false()]\", value: x}, s: {type: secureString, value: x}}\n", "",
		"A/B#a {}\nMicrosoft.DSC.Debug/Echo#outputs {\"output\":{\"h\":\"[reference('A/B#a').x]\"}} <a host( null)\n"},
	{"restarts", "resources: [{name: a, type: A/B}, {name: b, type: A/B, condition: \"[restartRequired('system')]\"}]\n", "", "A/B#a {}\nA/B#b {} host([restartRequired('system', '', 'A/B#a', 'A/B#b')] null)\n"},
}

func TestGood(t *testing.T) {
	for _, c := range good {
		t.Run(c.name, func(t *testing.T) {
			d, err := read(t, c.text, c.parameters)
			require.NoError(t, err)
			require.Equal(t, c.want, shown(d))
		})
	}
}

func TestOutputs(t *testing.T) {
	d, err := read(t, good[len(good)-2].text, "")
	require.NoError(t, err)
	require.Equal(t, []string{"k", "h"}, d.Outputs)
	require.Equal(t, map[string]any{"k": int64(3)}, d.Known)
}

var wrong = []struct{ name, text, parameters, want string }{
	{"no resources", "$schema: x\n", "", "doc.yaml:1:1: the document has no \"resources\"\n  hint: write resources: [{name: ..., type: Owner/Thing, properties: {...}}]"},
	{"unknown keys", "resource: []\n" + one, "", "doc.yaml:1:1: unknown key \"resource\" (did you mean \"resources\"?)"},
	{"resources is a map", "resources: {a: b}\n", "", "doc.yaml:1:12: \"resources\" must be a list, not a map\n  hint: write a list: - name: ..."},
	{"a resource is text", "resources: [a]\n", "", "doc.yaml:1:13: a resource must be a map, not the text \"a\"\n  hint: write name: ..., type: Owner/Thing, properties: {...}"},
	{"no name, no type", "resources: [{properties: {}}]\n", "", "doc.yaml:1:13: the resource has no \"name\"\ndoc.yaml:1:13: the resource has no \"type\""},
	{"twice", "resources: [{name: a, type: A/B}, {name: a, type: a/b}]\n", "", "doc.yaml:1:42: there are two resources \"a\" of type a/b"},
	{"twice by copy", "resources: [{name: a, type: A/B, copy: {name: l, count: 2}}]\n", "", "doc.yaml:1:20: there are two resources \"a\" of type A/B\n  hint: use copyIndex() in the name: \"[format('a-{0}', copyIndex())]\""},
	{"copy", "resources: [{name: a, type: A/B, copy: {name: l, count: -1, mode: serial}}]\n", "", "doc.yaml:1:57: \"count\" of \"copy\" must be an integer from 0 to 10000\ndoc.yaml:1:67: \"copy\" has no \"mode\" outside of Azure\n  hint: remove it"},
	{"an unknown type", "resources: [{name: a, type: AB}]\n", "", "doc.yaml:1:29: unknown resource type \"AB\"\n  hint: known types have a slash"},
	{"an expression's place", "resources:\n- name: a\n  type: A/B\n  properties:\n    quoted: \"[concat('a', nope())]\"\n    plain: x\n    folded: >\n      [concat('a',\n      nope())]\n", "",
		"doc.yaml:5:27: unknown function \"nope\"\n  hint: did you mean \"not\"?\ndoc.yaml:7:13: column 14 of the expression: unknown function \"nope\"\n  hint: did you mean \"not\"?"},
	{"a circle of dependencies", "resources:\n- {name: a, type: A/B, dependsOn: [\"[resourceId('A/B', 'c')]\"]}\n- {name: b, type: A/B, properties: {p: \"[reference(resourceId('A/B', 'a'))]\"}}\n- {name: c, type: A/B, dependsOn: [\"[resourceId('A/B', 'b')]\"]}\n", "",
		"doc.yaml:2:36: circular dependency: A/B#a → A/B#c → A/B#b → A/B#a\n  hint: remove one of these dependencies"},
	{"on itself", "resources: [{name: a, type: A/B, dependsOn: [\"[resourceId('A/B', 'a')]\"], properties: {p: \"[reference(resourceId('A/B', 'a'))]\"}}]\n", "",
		"doc.yaml:1:46: A/B#a depends on itself\ndoc.yaml:1:93: A/B#a refers to itself"},
	{"on nothing", "resources: [{name: abc, type: A/B, dependsOn: [\"[resourceId('A/B', 'abd')]\", plain, 3]}]\n", "",
		"doc.yaml:1:48: unknown resource \"A/B:abd\"\n  hint: did you mean \"A/B:abc\"?\ndoc.yaml:1:78: a resource is named by [resourceId('Owner/Thing', 'name')], not by \"plain\"\ndoc.yaml:1:85: a resource is named by [resourceId('Owner/Thing', 'name')], not by \"3\""},
	{"the state of a group", "resources: [{name: g, type: Microsoft.DSC/Group, properties: {resources: [{name: a, type: A/B}]}}, {name: b, type: A/B, properties: {p: \"[reference(resourceId('Microsoft.DSC/Group', 'g'))]\"}}]\n", "",
		"doc.yaml:1:139: a group has no state of its own\n  hint: refer to a resource in it"},
	{"the state of what tells none", "resources: [{name: f, type: Ccm/File, properties: {name: /x}}, {name: b, type: A/B, condition: \"[stateChanged(resourceId('Ccm/File', 'f'))]\"}]\n", "",
		"doc.yaml:1:98: a resource of type Ccm/File does not return its state\n  hint: order it with \"dependsOn\""},
	{"into a group", "resources: [{name: g, type: Microsoft.DSC/Group, properties: {resources: [{name: a, type: A/B}]}}, {name: b, type: A/B, dependsOn: [\"[resourceId('A/B', 'a')]\"]}]\n", "",
		"doc.yaml:1:133: unknown resource \"A/B:a\"\n  hint: did you mean \"A/B:b\"?"},
	{"parameters", "parameters: {a: {type: text}, b: {}, c: {type: int, minLength: 3}, d: {type: string}, e: 3, f: {type: bool, defaultValue: \"[envvar('X')]\"}}\n" + one, "",
		"doc.yaml:1:24: the type \"text\" of parameter \"a\" is not known\n  hint: the types are string, secureString, int, bool, object, secureObject and array\n" +
			"doc.yaml:1:31: parameter \"b\" has no type\n  hint: the types are string, secureString, int, bool, object, secureObject and array\n" +
			"doc.yaml:1:64: a parameter of type int has no \"minLength\"\n  hint: it is for parameters of type string, secureString and array\n" +
			"doc.yaml:1:68: parameter \"d\" has no value\n  hint: give it with --parameters FILE, or write \"defaultValue\"\n" +
			"doc.yaml:1:90: parameter \"e\" must be a map with a type, not the number 3\n  hint: the types are string, secureString, int, bool, object, secureObject and array\n" +
			"doc.yaml:1:123: the default of parameter \"f\" depends on the host\n  hint: use the expression in a variable or a property"},
	{"values of parameters", "parameters: {a: {type: string, allowedValues: [x, y]}, b: {type: int, minValue: 2}, c: {type: array, maxLength: 1}, d: {type: secureString, allowedValues: [q]}, e: {type: string}}\n" + one,
		"{a: z, b: 1, c: [1, 2], d: hush, e: 3, ff: 1}", "given.yaml:1:5: the value of parameter \"a\" is not one of its \"allowedValues\"\n  hint: write x or y\ngiven.yaml:1:11: the value of parameter \"b\" is below its least value, 2\n" +
			"given.yaml:1:17: the value of parameter \"c\" is above its greatest length, 1\ngiven.yaml:1:28: the value of parameter \"d\" is not one of its \"allowedValues\"\n" +
			"given.yaml:1:37: the value of parameter \"e\" must be of type string, not an integer\ngiven.yaml:1:40: the document has no parameter \"ff\"\n  hint: declare it in \"parameters\" of the document"},
	{"circles of values", "variables: {x: \"[variables('y')]\", y: \"[variables('x')]\"}\n" + one, "",
		"doc.yaml:1:13: circular variables: x depends on itself through y\n  hint: one of them needs a value that does not depend on the others"},
	{"where secure values cannot be", "parameters: {s: {type: secureString, defaultValue: hush}}\nresources: [{name: \"[parameters('s')]\", type: A/B}, {name: b, type: A/B, condition: \"[equals(parameters('s'), 'x')]\", metadata: {m: \"[parameters('s')]\"}}]\n", "",
		"doc.yaml:2:20: the name of a resource is secure, but would be printed\ndoc.yaml:2:85: condition: the condition is secure, and its result would reveal it\ndoc.yaml:2:129: \"metadata\" must be known without a host, and not be secure"},
	{"what must be known", "resources: [{name: \"[envvar('X')]\", type: A/B}, {name: c, type: A/B, copy: {name: l, count: \"[int(envvar('N'))]\"}}]\n", "",
		"doc.yaml:1:20: the name of a resource depends on the host\n  hint: use host-dependent expressions only in properties\ndoc.yaml:1:93: \"count\" of \"copy\" must be known without a host, and not be secure"},
	{"conditions", "resources: [{name: a, type: A/B, condition: yes please}, {name: b, type: A/B, condition: \"[string(1)]\"}]\n", "",
		"doc.yaml:1:45: \"condition\" must be an expression, not the text \"yes please\"\n  hint: write an expression: \"[equals(parameters('x'), 'y')]\"\ndoc.yaml:1:90: condition: the expression gives a string, not a boolean"},
	{"built-in types evaluate nothing", "resources: [{name: f, type: Ccm/File, condition: \"[equals(envvar('X'), '1')]\", properties: {name: /x, content: \"[concat(envvar('X'), 'y')]\"}}]\n", "",
		"doc.yaml:1:20: \"condition\" depends on the host, but Ccm/File cannot evaluate expressions there\n  hint: decide by a parameter, or use a DSC resource\ndoc.yaml:1:112: content depends on the host, but Ccm/File cannot evaluate expressions there\n  hint: take a whole property from reference(): \"[reference(resourceId('Owner/Thing', 'name')).member]\""},
	{"includes", "resources: [{name: a, type: Microsoft.DSC/Include, properties: {configurationFile: circle.yaml}}, {name: b, type: Microsoft.DSC/Include, properties: {configurationFile: nope.yaml}}, {name: c, type: Microsoft.DSC/Include, properties: {}}, {name: d, type: Microsoft.DSC/Include, properties: {configurationContent: '{', file: x}}]\n", "",
		"circle.yaml:2:54: the documents include each other: doc.yaml → circle.yaml → circle.yaml\ndoc.yaml:1:170: unknown document nope.yaml\ndoc.yaml:1:234: the include names no document\n  hint: write configurationFile: other.dsc.yaml\ndoc.yaml:1:318: unknown key \"file\" in an include\n  hint: write \"configurationFile\" and, if needed, \"parametersFile\""},
	{"parameters in defaults", "parameters: {a: {type: string, defaultValue: x}, b: {type: string, defaultValue: \"[concat(parameters('a'), '!')]\"}, c: {type: object, defaultValue: {d: \"[parameters('a')]\"}}}\n" + one, "",
		"doc.yaml:1:91: parameters() cannot be used in the default value of a parameter\n  hint: define a variable with this expression, and use the variable in place of the parameter\ndoc.yaml:1:155: parameters() cannot be used in the default value of a parameter\n  hint: define a variable with this expression, and use the variable in place of the parameter"},
	{"types of functions", "functions: [{namespace: my, members: {f: {output: {value: x}}, g: {output: {type: text, value: x}}, h: {parameters: [{name: a}], output: {type: int, value: 1}}, i: {parameters: [{name: a, type: num}], output: {type: int, value: 1}}}}]\n" + one, "",
		"doc.yaml:1:59: the output of my.f() has no type\n  hint: the types are string, secureString, int, bool, object, secureObject and array\n" +
			"doc.yaml:1:83: the type \"text\" of the output of my.g() is not known\n  hint: the types are string, secureString, int, bool, object, secureObject and array\n" +
			"doc.yaml:1:118: parameter \"a\" of my.h() has no type\n  hint: the types are string, secureString, int, bool, object, secureObject and array\n" +
			"doc.yaml:1:195: the type \"num\" of parameter \"a\" of my.i() is not known\n  hint: the types are string, secureString, int, bool, object, secureObject and array"},
	{"what functions take and give", "functions: [{namespace: my, members: {f: {output: {type: int, value: \"'text'\"}}, g: {parameters: [{name: a, type: int}], output: {type: bool, value: \"[parameters('a')]\"}}, h: {parameters: [{name: a, type: secureString}], output: {type: array, value: \"[parameters('a')]\"}}}}]\n" +
		"resources: [{name: a, type: A/B, properties: {p: \"[my.f()]\", q: \"[my.g(1)]\", r: \"[my.g('1')]\", s: \"[my.h('hush')]\"}}]\n", "",
		"doc.yaml:1:70: the output of my.f() must be of type int, not a string\ndoc.yaml:1:150: the output of my.g() must be of type bool, not an integer\ndoc.yaml:1:251: the output of my.h() must be of type array, not a string\n" +
			"doc.yaml:2:83: parameter \"a\" of my.g() must be of type int, not a string"},
	{"a function's own parameters", "functions: [{namespace: my, members: {f: {parameters: [{name: s, type: string}], output: {type: string, value: \"[parameters('t')]\"}}}}]\nresources: [{name: \"[my.f('x')]\", type: A/B}]\n", "",
		"doc.yaml:1:114: my.f() has no parameter \"t\"\n  hint: did you mean \"s\"?"},
	{"directives", "directives: {securityContext: root, resourceDiscovery: x}\n" + one, "", "doc.yaml:1:31: \"securityContext\" cannot be \"root\"\n  hint: write current, elevated or restricted\ndoc.yaml:1:56: \"resourceDiscovery\" cannot be \"x\"\n  hint: write preDeployment or duringDeployment"},
	{"outputs", "outputs: {a: {type: text, value: 1}, b: {type: string}, c: {type: int, value: x}}\n" + one, "",
		"doc.yaml:1:14: the type \"text\" of output \"a\" is not known\n  hint: the types are string, secureString, int, bool, object, secureObject and array\ndoc.yaml:1:41: output \"b\" has no value\n  hint: write name: {type: string, value: ...}\ndoc.yaml:1:60: output \"c\" must be of type int, and its value is a string"},
}

func TestWrong(t *testing.T) {
	for _, c := range wrong {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(t, c.text, c.parameters)
			require.EqualError(t, err, c.want)
			require.NotContains(t, err.Error(), "hush")
		})
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"$schema: https://aka.ms/dsc/schemas/v3/bundled/config/document.json\n":                                                true,
		"$schema: https://raw.githubusercontent.com/PowerShell/DSC/main/schemas/2023/08/config/document.json\nresources: []\n": true,
		one:                                  true,
		"$schema: https://example.org/x\n":   false,
		"ccm: {resources: []}\n" + one:       false,
		"resources: [{file: []}]\n":          false,
		"resources: {a: b}\n":                false,
		"[1]\n":                              false,
		"hosts: web\nccm: {resources: []}\n": false,
	} {
		n, err := yamlpos.Parse("x", []byte(text))
		require.NoError(t, err)
		require.Equal(t, want, Is(n[0]), text)
	}
}

// TestOrder has random dependencies: each resource follows its dependencies, all occur once, and a resource without
// dependencies keeps its place.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + rng.IntN(30)
		rank := rng.Perm(n)
		var b strings.Builder
		b.WriteString("resources:\n")
		for i := range n {
			fmt.Fprintf(&b, "- {name: r%d, type: A/B, dependsOn: [", i)
			for j := range n {
				if rank[j] < rank[i] && rng.IntN(4) == 0 {
					fmt.Fprintf(&b, "\"[resourceId('A/B', 'r%d')]\", ", j)
				}
			}
			b.WriteString("]}\n")
		}
		d, err := read(t, b.String(), "")
		require.NoError(t, err)
		require.Len(t, d.Instances, n)
		seen := map[*Instance]bool{}
		for _, i := range d.Instances {
			for _, other := range i.Requires {
				require.True(t, seen[other], b.String())
			}
			require.False(t, seen[i])
			seen[i] = true
		}
	}
	var flat strings.Builder
	flat.WriteString("resources:\n")
	for i := range 50 {
		fmt.Fprintf(&flat, "- {name: r%d, type: A/B}\n", i)
	}
	d, err := read(t, flat.String(), "")
	require.NoError(t, err)
	for i, instance := range d.Instances {
		require.Equal(t, fmt.Sprintf("r%d", i), instance.Name)
	}
}

// FuzzRead: any file results in a document or an error; a host can read the parts that are sent to it.
func FuzzRead(f *testing.F) {
	for _, c := range good {
		f.Add(c.text)
	}
	for _, c := range wrong {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := read(t, text, "")
		if err != nil {
			return
		}
		for _, i := range d.Instances {
			require.NotEmpty(t, i.Name)
			if i.Scope == nil || i.Properties == nil {
				continue
			}
			j, err := json.Marshal(i.Properties.Any())
			require.NoError(t, err)
			v, err := expr.Decode(j)
			require.NoError(t, err)
			_, _, err = i.Scope.Evaluate(t.Context(), muteHost{}, v.(map[string]any))
			_ = err // a host may say no to anything; it must not end the program
		}
	})
}

// muteHost is a host that answers nothing.
type muteHost struct{}

func (muteHost) Ask(context.Context, string, []any) (any, error) { return nil, errors.New("no answer") }
