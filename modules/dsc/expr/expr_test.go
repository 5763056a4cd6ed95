package expr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// doc returns a document around an expression.
func doc() *Names {
	return &Names{
		Parameter: func(name string) (Result, error) {
			switch name {
			case "word":
				return Known("hello"), nil
			case "list":
				return Known([]any{"a", "b", int64(3)}), nil
			case "object":
				return Known(map[string]any{"b": int64(2), "a": map[string]any{"x": "y"}}), nil
			case "password":
				return Known(NewSecure("s3cret")), nil
			case "account":
				return Known(NewSecure(map[string]any{"user": "u", "keys": []any{"k"}})), nil
			case "float":
				return Known(1.5), nil
			}
			return Result{}, errors.New("unknown parameter " + name)
		},
		Variable:  func(string) (Result, error) { return Known("var"), nil },
		CopyIndex: func(string) (int64, error) { return 3, nil },
		Function: func(name string) (*Function, error) {
			return &Function{Name: name, Parameters: []string{"who"}, Value: func(ctx context.Context, e *Evaluator) (Result, error) {
				return e.Eval(ctx, "[concat('hi ', parameters('who'))]")
			}}, nil
		},
		Resource: func(id string) (string, error) { return "ref " + id, nil },
		Earlier:  func() []string { return []string{"one", "two"} },
		Now:      func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC) },
	}
}

var errNoAnswer = errors.New("no answer")

// answers is a host.
type answers map[string]any

func (a answers) Ask(_ context.Context, function string, args []any) (any, error) {
	key := function
	for _, arg := range args {
		key += " " + arg.(string)
	}
	v, ok := a[key]
	if !ok {
		return nil, fmt.Errorf("%w to %s", errNoAnswer, key)
	}
	return v, nil
}

func evaluate(t testing.TB, names *Names, host Environment, text string) (Result, error) {
	t.Helper()
	return NewEvaluator(names, host).Eval(t.Context(), text)
}

// results are expressions and their results, as JSON.
var results = []struct{ text, want string }{
	{"[true]", `true`}, {"[concat('a','b')]", `"ab"`}, {"[ concat ( 'a' ,\n'b', 'it''s' ) ]", `"abit's"`},
	{"[CONCAT('a','b')]", `"ab"`}, {"[concat(createArray('a'), createArray('b', 1))]", `["a","b",1]`},
	{"[parameters('object').a.x]", `"y"`}, {"[parameters('object')['a']['x']]", `"y"`}, {"[parameters('list')[2]]", `3`},
	{"[parameters('list')[sub(2, 1)]]", `"b"`}, {"[variables('v')]", `"var"`}, {"[copyIndex()]", `3`}, {"[copyIndex(1)]", `4`},
	{"[copyIndex('loop')]", `3`}, {"[copyIndex('loop', 2)]", `5`}, {"[my.greet('you')]", `"hi you"`},
	{"[resourceId('A.B/C', 'a b/ü')]", `"A.B/C:a%20b%2F%C3%BC"`}, {"[systemRoot()]", `"/"`}, {"[path('a','b','c')]", `"a/b/c"`},
	{"[path('/', 'a')]", `"/a"`}, {"[path('a', '/b', 'c')]", `"/b/c"`}, {"[path('a/', '')]", `"a/"`},
	{"[and(true, true, false)]", `false`}, {"[or(false, true)]", `true`}, {"[not(false)]", `true`}, {"[true()]", `true`}, {"[false()]", `false`}, {"[null()]", `null`},
	{"[bool('TRUE')]", `true`}, {"[bool(0)]", `false`}, {"[if(true, 'a', first(createArray()))]", `"a"`}, {"[if(false, 1, 2)]", `2`},
	{"[equals('a', 'A')]", `false`}, {"[equals(createArray(1), createArray(1))]", `true`}, {"[equals(1, '1')]", `false`}, {"[equals(parameters('object'), parameters('object'))]", `true`},
	{"[coalesce(null(), 'x', 'y')]", `"x"`}, {"[coalesce(null())]", `null`}, {"[greater(2, 1)]", `true`}, {"[greaterOrEquals('a', 'a')]", `true`}, {"[less('a', 'B')]", `false`}, {"[lessOrEquals(2, 1)]", `false`},
	{"[less(parameters('float'), 2)]", `true`},
	{"[add(1, -2)]", `-1`}, {"[sub(1, 2)]", `-1`}, {"[mul(3, 4)]", `12`}, {"[div(-7, 2)]", `-3`}, {"[mod(-7, 2)]", `-1`}, {"[min(3, 1, 2)]", `1`}, {"[max(createArray(3, 7))]", `7`},
	{"[int('4.7')]", `4`}, {"[int('-9223372036854775808')]", `-9223372036854775808`}, {"[int(parameters('float'))]", `1`},
	{"[string(1)]", `"1"`}, {"[string(true)]", `"true"`}, {"[string(null())]", `"null"`}, {"[string(parameters('object'))]", `"{\"a\":{\"x\":\"y\"},\"b\":2}"`}, {"[string('<a>')]", `"<a>"`},
	{`[json('{"a": [1, 2.5, "x"], "b": null}')]`, `{"a":[1,2.5,"x"],"b":null}`}, {"[join(createArray('a', 1, true), '-')]", `"a-1-true"`}, {"[join(createArray(), '-')]", `""`},
	{"[format('{0} - {1}{0}', 'a', 2)]", `"a - 2a"`}, {"[format('{0:x}{0:X}{0:o}{0:b} {1:e} {{}}', 12, 1200)]", `"cC141100 1.2e3 {}"`}, {"[format('{0:}', 1)]", `"1"`},
	{"[substring('héllo', 1, 2)]", `"él"`}, {"[substring('abc', 3)]", `""`}, {"[toLower('ÄB')]", `"äb"`}, {"[toUpper('äb')]", `"ÄB"`}, {"[trim(' a ')]", `"a"`},
	{"[startsWith('abc', 'ab')]", `true`}, {"[endsWith('abc', 'BC')]", `false`}, {"[indexOf('aéb', 'b')]", `2`}, {"[indexOf(parameters('list'), 3)]", `2`}, {"[indexOf(createArray(), 3)]", `-1`},
	{"[lastIndexOf(createArray(1, 2, 1), 1)]", `2`}, {"[lastIndexOf('abab', 'ab')]", `2`}, {"[length('é')]", `1`}, {"[length(parameters('object'))]", `2`}, {"[empty(createObject())]", `true`}, {"[empty(null())]", `true`}, {"[empty('a')]", `false`},
	{"[contains('abc1', 1)]", `true`}, {"[contains(parameters('list'), 'b')]", `true`}, {"[contains(parameters('object'), 'c')]", `false`},
	{"[contains(createObject('7', 1), 7)]", `true`}, {"[contains(parameters('list'), 3)]", `true`}, {"[contains(parameters('list'), '3')]", `false`},
	{"[first('éa')]", `"é"`}, {"[last(parameters('list'))]", `3`}, {"[last('aé')]", `"é"`}, {"[last('')]", `""`}, {"[last(createArray())]", `null`}, {"[take(parameters('list'), 2)]", `["a","b"]`}, {"[take('é1', 1)]", `"é"`}, {"[take('é1', -1)]", `""`}, {"[skip('é1', 1)]", `"1"`}, {"[skip(parameters('list'), 9)]", `[]`},
	{"[range(-1, 3)]", `[-1,0,1]`}, {"[array('a')]", `["a"]`}, {"[createArray()]", `[]`}, {"[createObject('a', 1, 'b', createArray(true))]", `{"a":1,"b":[true]}`},
	{"[objectKeys(parameters('object'))]", `["a","b"]`}, {"[items(createObject('b', 1, 'a', 2))]", `[{"key":"a","value":2},{"key":"b","value":1}]`},
	{"[intersection(createArray(1, 2, 2, 3), createArray(2, 3), createArray(3, 2))]", `[2,3]`}, {"[intersection(createObject('a', 1, 'b', 2), createObject('a', 1, 'b', 3))]", `{"a":1}`},
	{"[union(createArray(1, 2), createArray(2, 3))]", `[1,2,3]`}, {"[union(createObject('a', 1), createObject('a', 2, 'b', 1))]", `{"a":2,"b":1}`},
	{"[shallowMerge(createArray(createObject('a', 1), createObject('b', 2)))]", `{"a":1,"b":2}`}, {"[tryGet(parameters('object'), 'nope')]", `null`}, {"[tryGet(parameters('list'), 0)]", `"a"`}, {"[tryGet(parameters('list'), 9)]", `null`},
	{"[tryIndexFromEnd(parameters('list'), 1)]", `3`}, {"[tryIndexFromEnd(parameters('list'), 0)]", `null`},
	{"[uniqueString('a')]", `"cfvwxu6sc4lqo"`}, {"[uniqueString('a', 'b', 'c')]", `"bhw7m6t6ntwd6"`}, {"[uniqueString('a', 'b', 'c', 'd')]", `"yxzg7ur4qetcy"`},
	{"[utcNow()]", `"2026-03-04T05:06:07.089000Z"`}, {"[utcNow('yyyy-MM-dd HH:mm:ss.fff y yy MMMM MMM dddd ddd d H m s')]", `"2026-03-04 05:06:07.089 2026 26 March Mar Wednesday Wed 4 5 6 7"`},
	{"[base64('é')]", `"w6k="`}, {"[base64ToString('w6k=')]", `"é"`}, {"[dataUri('Hello')]", `"data:application/json;base64,SGVsbG8="`}, {"[dataUri('')]", `"data:application/json;base64,"`}, {"[dataUriToString(dataUri('é'))]", `"é"`}, {"[dataUriToString('data:;base64,SGVsbG8=')]", `"Hello"`},
	{"[uriComponent('a b/é~')]", `"a%20b%2F%C3%A9~"`}, {"[uriComponentToString('a%20b%2f')]", `"a b/"`},
	{"[parseCidr('192.168.1.100/24')]", `{"broadcast":"192.168.1.255","cidr":24,"firstUsable":"192.168.1.1","lastUsable":"192.168.1.254","netmask":"255.255.255.0","network":"192.168.1.0"}`},
	{"[parseCidr('2001:db8::/127').lastUsable]", `"2001:db8::1"`}, {"[cidrSubnet('10.144.0.0/20', 24, 15)]", `"10.144.15.0/24"`}, {"[cidrSubnet('2001:db8::/32', 48, 1)]", `"2001:db8:1::/48"`}, {"[cidrSubnet('::/0', 128, 5)]", `"::5/128"`},
	{"[cidrHost('192.168.1.0/24', 253)]", `"192.168.1.254"`}, {"[cidrHost('192.168.1.0/31', 1)]", `"192.168.1.1"`}, {"[cidrHost('2001:db8::/64', 0)]", `"2001:db8::1"`},
	{"[map(parameters('list'), lambda('x', concat('-', string(lambdaVariables('x')))))]", `["-a","-b","-3"]`},
	{"[map(createArray('a', 'b'), lambda('x', 'i', format('{0}{1}', lambdaVariables('x'), lambdaVariables('i'))))]", `["a0","b1"]`},
	{"[filter(range(0, 5), lambda('x', greater(lambdaVariables('x'), 2)))]", `[3,4]`},
	{"[map(range(0, 2), lambda('x', map(range(0, 2), lambda('y', add(lambdaVariables('x'), lambdaVariables('y'))))))]", `[[0,1],[1,2]]`},
	// Results from secure values are secure, and have the form that resources receive.
	{"[parameters('password')]", `{"secureString":"s3cret"}`}, {"[concat('a-', parameters('password'))]", `{"secureString":"a-s3cret"}`},
	{"[parameters('account').user]", `{"secureString":"u"}`}, {"[parameters('account').keys[0]]", `{"secureString":"k"}`}, {"[parameters('password').secureString]", `{"secureString":"s3cret"}`},
	{"[length(parameters('password'))]", `{"secureObject":6}`}, {"[createObject('p', parameters('password'))]", `{"p":{"secureString":"s3cret"}}`},
	{"[string(createObject('p', parameters('password')))]", `{"secureString":"{\"p\":\"s3cret\"}"}`}, {"[equals(parameters('password'), 's3cret')]", `{"secureObject":true}`},
	{"[first(createArray(parameters('password')))]", `{"secureString":"s3cret"}`}, {"[if(true, parameters('password'), '')]", `{"secureString":"s3cret"}`}, {"[coalesce(null(), parameters('password'))]", `{"secureString":"s3cret"}`},
	{"[map(parameters('account').keys, lambda('k', concat(lambdaVariables('k'), '!')))]", `[{"secureString":"k!"}]`},
}

func TestResults(t *testing.T) {
	for _, c := range results {
		p, err := evaluate(t, doc(), nil, c.text)
		require.NoError(t, err, c.text)
		v, known := p.Value()
		require.True(t, known, c.text)
		got, err := jsonText(Wrapped(v))
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.text)
	}
}

// TestEveryFunctionHasAResult keeps the table above whole.
func TestEveryFunctionHasAResult(t *testing.T) {
	var all strings.Builder
	for _, c := range results {
		all.WriteString(strings.ToLower(c.text))
	}
	for _, c := range left {
		all.WriteString(strings.ToLower(c.text))
	}
	for _, c := range wrong {
		all.WriteString(strings.ToLower(c.text))
	}
	for _, name := range functionNames() {
		require.Contains(t, all.String(), strings.ToLower(name)+"(", name)
	}
	require.Len(t, functionNames(), 83)
}

// wrong are expressions and their errors.
var wrong = []struct{ text, want string }{
	{"[]", "column 2: the expression is empty (write [[ for text that begins with a bracket)"},
	{"[", "column 2: the expression ends where there should be a function or a literal"},
	{"['a']", "column 2: an expression begins with a function (write a literal without brackets, and [[ for text that begins with one)"},
	{"[concat('a', 'b')", "column 18: the expression ends where there should be ] at the end"},
	{"[concat('a', 'b')] x", "column 19: text after the ] that ends the expression (write [[ for text that begins with a bracket)"},
	{"[concat('a' 'b')]", "column 13: '\\'' where there should be , or )"},
	{"[concat('a', 'b]", "column 14: this text is not closed (write two single quotes for one within the text)"},
	{"[concat('a', b)]", "column 14: \"b\" stands alone (call a function with (), write text in 'single quotes')"},
	{"[concat('a', \"b\")]", "column 14: '\"' where there should be a function or a literal"},
	{"[concat('ä', 'b', 1.5)]", "column 19: this is not an integer (there are only integers; put another number into a variable or a parameter)"},
	{"[add(9223372036854775808, 1)]", "column 6: 9223372036854775808 is not a 64-bit integer"},
	{"[concat('a'", "column 8: this ( is not closed"},
	{"[parameters('object').]", "column 23: ']' where there should be the name of a member"},
	{"[parameters('list')[1]", "column 23: the expression ends where there should be ] at the end"},
	{"[parameters('list')[1 2]]", "column 23: '2' where there should be ] after the index"},
	{"[cancat('a', 'b')]", "column 2: unknown function \"cancat\" (did you mean \"concat\"?)"},
	{"[concat('a')]", "column 2: concat() takes at least 2 arguments, not 1"},
	{"[not()]", "column 2: not() takes 1 argument, not 0"},
	{"[substring('a')]", "column 2: substring() takes 2 to 3 arguments, not 1"},
	{"[concat('a', 1)]", "column 2: argument 2 of concat() must be a string or an array, not an integer"},
	{"[concat('a', createArray())]", "column 2: concat(): the arguments must be all strings or all arrays"},
	{"[parameters('nope')]", "column 2: unknown parameter nope"},
	{"[parameters('object').bb]", "column 22: the object has no member \"bb\" (did you mean \"b\"?)"},
	{"[parameters('word').b]", "column 20: a string has no member \"b\""},
	{"[parameters('list')[3]]", "column 20: the index 3 is outside an array of 3"},
	{"[parameters('list')[true]]", "column 20: an index is an integer or a string, not a boolean"},
	{"[if('true', 1, 2)]", "column 2: argument 1 of if() must be a boolean, not a string"},
	{"[add(9223372036854775807, 1)]", "column 2: add(): the result is not a 64-bit integer"},
	{"[div(1, 0)]", "column 2: div(): division by zero"}, {"[mod(1, 0)]", "column 2: mod(): division by zero"},
	{"[div(-9223372036854775808, -1)]", "column 2: div(): the result is not a 64-bit integer"},
	{"[min(createArray())]", "column 2: min(): the array is empty"}, {"[max('a')]", "column 2: argument 1 of max() must be an integer or an array, not a string"},
	{"[int('x')]", "column 2: int(): \"x\" is not a number"}, {"[int('1e40')]", "column 2: int(): the result is not a 64-bit integer"}, {"[int('NaN')]", "column 2: int(): the result is not a 64-bit integer"},
	{"[bool('yes')]", "column 2: bool(): \"yes\" is neither true nor false"}, {"[less('a', 1)]", "column 2: less(): a string cannot be compared with an integer"},
	{"[json('{')]", "column 2: json(): the text is not JSON: unexpected EOF"}, {"[join(createArray(null()), '')]", "column 2: join(): element 0 is null"},
	{"[format('{2}', 1)]", "column 2: format(): {2} stands for argument 3 of 1"}, {"[format('{x', 1)]", "column 2: format(): a { or } stands alone; write {{ and }} for braces"},
	{"[format('{0:x}', 'a')]", "column 2: format(): {0:x} is for integers, not for a string"}, {"[format('{0:z}', 1)]", "column 2: format(): {0:z}: the forms are x, X, o, b, e and E"},
	{"[substring('abc', 4)]", "column 2: substring(): the start 4 is outside a string of 3 characters"}, {"[substring('abc', 1, 3)]", "column 2: substring(): the length 3 is outside 0-2"},
	{"[first('')]", "column 2: first(): the string is empty"}, {"[first(createArray())]", "column 2: first(): the array is empty"},
	{"[contains(parameters('list'), parameters('list'))]", "column 2: argument 2 of contains() must be an integer or a string, not an array"}, {"[contains(parameters('object'), parameters('object'))]", "column 2: argument 2 of contains() must be an integer or a string, not an object"},
	{"[contains('true', true)]", "column 2: argument 2 of contains() must be an integer or a string, not a boolean"},
	{"[range(0, 10001)]", "column 2: range(): the count 10001 is outside 0-10000"}, {"[range(2147483647, 1)]", "column 2: range(): it counts beyond 2147483647"},
	{"[createObject('a')]", "column 2: createObject(): write names and values in turn: the last name has no value"}, {"[createObject(1, 2)]", "column 2: createObject(): argument 1 is a name: it must be a string, not an integer"},
	{"[base64ToString('%')]", "column 2: base64ToString(): the text is not Base64"}, {"[base64ToString('/w==')]", "column 2: base64ToString(): the decoded value is not UTF-8 text"},
	{"[dataUriToString('x')]", "column 2: dataUriToString(): the text is not a data URI, such as data:text/plain;base64,SGk="}, {"[dataUriToString('data:a;charset=utf-16;base64,')]", "column 2: dataUriToString(): the charset \"utf-16\" is not UTF-8"},
	{"[uriComponentToString('%2')]", "column 2: uriComponentToString(): a % is not followed by two hexadecimal digits"},
	{"[parseCidr('1.2.3.4')]", "column 2: parseCidr(): \"1.2.3.4\" is not a network, such as 10.0.0.0/24"}, {"[cidrSubnet('10.0.0.0/20', 16, 0)]", "column 2: cidrSubnet(): the prefix length 16 is outside 20-32"},
	{"[cidrSubnet('10.0.0.0/20', 24, 16)]", "column 2: cidrSubnet(): only 16 subnets exist, none with the index 16"}, {"[cidrHost('10.0.0.0/24', 254)]", "column 2: cidrHost(): only 254 host addresses exist, none with the index 254"},
	{"[cidrHost('10.0.0.1/32', 0)]", "column 2: cidrHost(): a network of one address has none for hosts"},
	{"[map('a', lambda('x', 1))]", "column 2: map() takes an array, not a string"}, {"[map(createArray(), 1)]", "column 2: map() takes a lambda, not an integer (write lambda('item', ...))"},
	{"[filter(createArray(1), lambda('x', 1))]", "column 2: filter(): the lambda gives an integer, not a boolean"}, {"[lambdaVariables('x')]", "column 2: no lambda around this has a variable \"x\""},
	{"[lambda(string(1), 1)]", "column 2: the variables of a lambda are named by literal strings (write lambda('item', ...))"}, {"[resourceId('a', 'b')]", "column 2: resourceId(): \"a\" is not a resource type: a type has one slash"},
	{"[secret('x')]", "column 2: secret() has no vault here (give it as a parameter of type secureString)"}, {"[stdout()]", "column 2: stdout() has no meaning in a document"},
	{"[map(createArray(1), lambda('x', lambda('y', 1)))]", "column 2: map(): the lambda returns a lambda, which is not a value"},
	{"[my.greet()]", "column 2: my.greet() takes 1 argument, not 0"}, {"[copyIndex(-1)]", "column 2: copyIndex(): the offset -1 is negative"},
	// No error reveals a secure value.
	{"[if(equals(parameters('password'), 'x'), 1, 2)]", "column 2: if(): the condition is secure, and the choice would reveal it"},
	{"[int(parameters('password'))]", "column 2: int() fails; the details are withheld because a value is secure"},
	{"[parameters(parameters('password'))]", "column 2: the argument of parameters() is a secure value"}, {"[envvar(parameters('password'))]", "column 2: envvar() cannot be used with a secure value"},
	{"[filter(createArray(1), lambda('x', equals(parameters('password'), 'a')))]", "column 2: filter(): the condition is secure, and the choice would reveal it"},
	{"[parameters('account').nope]", "column 23: the secure value has no such member"},
	// Values that must be known here.
	{"[parameters(envvar('X'))]", "column 2: the argument of parameters() depends on the host"}, {"[reference(envvar('X'))]", "column 2: which resource reference() is about depends on the host"},
}

func TestWrong(t *testing.T) {
	for _, c := range wrong {
		_, err := evaluate(t, doc(), nil, c.text)
		require.EqualError(t, err, c.want, c.text)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

// left are expressions that the controller evaluates in part: with the part for the host, and its result there.
var left = []struct{ text, sealed, values, want string }{
	{"[reference(resourceId('A/B', 'c d')).port]", "[reference('ref A/B:c%20d').port]", "", `80`},
	{"[reference('x').actualState.port]", "[reference('ref x').actualState.port]", "", `80`},
	{"[concat(parameters('word'), ' ', envvar('HOME'))]", "[concat('hello', ' ', envvar('HOME'))]", "", `"hello /root"`},
	{"[createArray(parameters('object'), parameters('object'), envvar('HOME'), parameters('float'))]", "[createArray(parameters('0'), parameters('0'), envvar('HOME'), parameters('1'))]",
		`[{"a":{"x":"y"},"b":2},1.5]`, `[{"a":{"x":"y"},"b":2},{"a":{"x":"y"},"b":2},"/root",1.5]`},
	{"[concat(parameters('password'), envvar('HOME'))]", "[concat(parameters('0'), envvar('HOME'))]", `[{"secureString":"s3cret"}]`, `{"secureString":"s3cret/root"}`},
	{"[if(equals(envvar('HOME'), '/root'), 'yes', variables('v'))]", "[if(equals(envvar('HOME'), '/root'), 'yes', 'var')]", "", `"yes"`},
	{"[if(true, envvar('HOME'), 1)]", "[envvar('HOME')]", "", `"/root"`},
	{"[not(equals(tryWhich('sshd'), null()))]", "[not(equals(tryWhich('sshd'), null()))]", "", `false`},
	{"[context().os.family]", "[context().os.family]", "", `"Linux"`},
	{"[stateChanged('x')]", "[stateChanged('ref x')]", "", `true`},
	{"[restartRequired('system')]", "[restartRequired('system', '', 'one', 'two')]", "", `true`},
	{"[restartRequired('service', 'sshd')]", "[restartRequired('service', 'sshd', 'one', 'two')]", "", `false`},
	{"[my.greet(envvar('HOME'))]", "[concat('hi ', envvar('HOME'))]", "", `"hi /root"`},
	{"[map(reference('x').list, lambda('i', concat(parameters('word'), lambdaVariables('i'))))]", "[map(reference('ref x').list, lambda('i', concat('hello', lambdaVariables('i'))))]", "", `["hello[a","hellob"]`},
	{"[map(createArray('a'), lambda('i', concat(lambdaVariables('i'), envvar('HOME'))))]", "[map(parameters('0'), lambda('i', concat(lambdaVariables('i'), envvar('HOME'))))]", `[["a"]]`, `["a/root"]`},
	{"[reference('x').list[0]]", "[reference('ref x').list[0]]", "", `"[a"`},
	{"[concat('it''s ', envvar('HOME'))]", "[concat('it''s ', envvar('HOME'))]", "", `"it's /root"`},
	{"[coalesce(reference('x').none, null(), true)]", "[coalesce(reference('ref x').none, null(), true())]", "", `true`},
}

var theHost = answers{
	"reference ref A/B:c%20d": map[string]any{"port": json.Number("80")},
	"reference ref x":         map[string]any{"port": json.Number("80"), "list": []any{"[a", "b"}, "none": nil},
	"envvar HOME":             "/root", "tryWhich sshd": nil, "context": map[string]any{"os": map[string]any{"family": "Linux"}},
	"stateChanged ref x": true, "restartRequired system  one two": true, "restartRequired service sshd one two": false,
}

func TestLeftForTheHost(t *testing.T) {
	for _, c := range left {
		p, err := evaluate(t, doc(), nil, c.text)
		require.NoError(t, err, c.text)
		_, known := p.Value()
		require.False(t, known, c.text)
		sealed, scope, err := seal(map[string]any{"p": p, "plain": "[[x"}, Result{value: true})
		require.NoError(t, err)
		require.Equal(t, c.sealed, sealed["p"])
		b, err := json.Marshal(scope.Values)
		require.NoError(t, err)
		if c.values == "" {
			c.values = "null"
		}
		require.Equal(t, c.values, string(b))

		wire, err := json.Marshal(sealed)
		require.NoError(t, err)
		var received map[string]any
		require.NoError(t, json.Unmarshal(wire, &received))
		got, holds, err := scope.Evaluate(t.Context(), theHost, received)
		require.NoError(t, err, c.text)
		require.True(t, holds)
		b, err = json.Marshal(got["p"])
		require.NoError(t, err)
		require.Equal(t, c.want, string(b), c.text)
		require.Equal(t, "[[x", got["plain"])
	}
}

func TestConditionOnTheHost(t *testing.T) {
	for text, want := range map[string]string{
		"[equals(envvar('HOME'), '/root')]": "true", "[equals(envvar('HOME'), '/')]": "false",
		"[envvar('HOME')]": "condition: the expression gives a string, not a boolean",
		"[envvar('NOPE')]": "condition: column 2: envvar(): no answer to envvar NOPE",
	} {
		p, err := evaluate(t, doc(), nil, text)
		require.NoError(t, err)
		_, scope, err := seal(nil, p)
		require.NoError(t, err)
		_, holds, err := scope.Evaluate(t.Context(), theHost, nil)
		if strings.Contains(want, " ") {
			require.EqualError(t, err, want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want == "true", holds)
	}
	_, err := Condition(t.Context(), "[parameters('x')]", theHost)
	require.EqualError(t, err, "condition: column 2: parameters() cannot be used here")
	holds, err := Condition(t.Context(), "[not(equals(tryWhich('sshd'), null()))]", theHost)
	require.NoError(t, err)
	require.False(t, holds)
}

// TestBounds checks that no expression and no value costs more than the limits allow.
func TestBounds(t *testing.T) {
	deep := "[" + strings.Repeat("not(", 200) + "true" + strings.Repeat(")", 200) + "]"
	_, err := evaluate(t, doc(), nil, deep)
	require.EqualError(t, err, "column 402: the expression is more than 100 levels deep")
	doubling := "'" + strings.Repeat("x", 1000) + "'"
	for range 20 {
		doubling = "map(range(0, 100), lambda('x', " + doubling + "))"
	}
	_, err = evaluate(t, doc(), nil, "["+doubling+"]")
	require.ErrorContains(t, err, "the ")
	_, err = evaluate(t, doc(), nil, "[map(range(0, 10000), lambda('x', map(range(0, 10000), lambda('y', 1))))]")
	require.EqualError(t, err, "column 68: the expressions take more than 200000 steps")
	_, err = evaluate(t, doc(), nil, "[map(range(0, 10000), lambda('x', format('"+strings.Repeat("x", 10_000)+"', 1)))]")
	require.ErrorContains(t, err, "the values of the expressions grow beyond 32 MiB")
	// Work that a single call does counts, too.
	numbers := &Names{Variable: func(string) (Result, error) {
		list, err := numbersFrom([]any{int64(0), int64(2000)})
		return Known(list), err
	}}
	for _, call := range []string{"intersection(variables('n'), variables('n'))", "union(variables('n'), variables('n'))"} {
		_, err = evaluate(t, numbers, nil, "[map(range(0, 10000), lambda('x', length("+call+")))]")
		require.ErrorContains(t, err, "the expressions take more than 200000 steps")
	}
	nested := "equals(envvar('X'), 'x')"
	for range 30 {
		nested = "if(" + nested + ", true, false)"
	}
	_, err = evaluate(t, doc(), nil, "["+nested+"]")
	require.NoError(t, err)
	// Shared values are small until they are written out.
	large := &Names{Variable: func(string) (Result, error) { return Known(strings.Repeat("x", 1<<20)), nil }}
	_, err = evaluate(t, large, nil, "[map(range(0, 10000), lambda('x', variables('large')))]")
	require.EqualError(t, err, "column 2: the values of the expressions grow beyond 32 MiB")
	_, err = evaluate(t, large, nil, "[filter(createArray(true, false), lambda('x', lambdaVariables('x')))]")
	require.NoError(t, err)
	_, err = parse("[concat('" + strings.Repeat("x", maxText) + "')]")
	require.EqualError(t, err, "an expression is longer than 256 KiB")
}

// TestRestIsBounded checks a variable that doubles another one: it is small here, and would be large as text.
func TestRestIsBounded(t *testing.T) {
	p, err := evaluate(t, doc(), nil, "[envvar('X')]")
	require.NoError(t, err)
	for range 60 {
		names := &Names{Variable: func(string) (Result, error) { return p, nil }}
		if p, err = evaluate(t, names, nil, "[concat(variables('v'), variables('v'))]"); err != nil {
			break
		}
	}
	require.EqualError(t, err, "column 2: the part that depends on the host has more than 10000 calls")
}

// TestRestIsNotTooDeep checks that a deep expression built from variables is refused where it is written, and not by
// the host, which parses it again.
func TestRestIsNotTooDeep(t *testing.T) {
	p, err := evaluate(t, doc(), nil, "[envvar('HOME')]")
	require.NoError(t, err)
	last := p
	for err == nil {
		last = p
		names := &Names{Variable: func(string) (Result, error) { return last, nil }}
		p, err = evaluate(t, names, nil, "[concat(variables('v'), 'x')]")
	}
	require.EqualError(t, err, "column 2: the part that depends on the host has more than 80 nested calls")
	condition, err := evaluate(t, &Names{Variable: func(string) (Result, error) { return last, nil }}, nil, "[variables('v')]")
	require.NoError(t, err)
	for range 16 { // groups
		condition = And(condition, last)
	}
	sealed, scope, err := seal(map[string]any{"p": last}, Result{value: true})
	require.NoError(t, err)
	got, _, err := scope.Evaluate(t.Context(), theHost, sealed)
	require.NoError(t, err)
	require.Equal(t, "/root"+strings.Repeat("x", 78), got["p"])
	_, scope, err = seal(nil, condition)
	require.NoError(t, err)
	_, err = parse(scope.Condition)
	require.NoError(t, err)
}

// TestCauseIsKept checks that an error of the host can be distinguished from an error in the expression.
func TestCauseIsKept(t *testing.T) {
	_, _, err := (&Scope{}).Evaluate(t.Context(), theHost, map[string]any{"p": "[concat('a', string(envvar('NOPE')))]"})
	require.EqualError(t, err, "p: column 21: envvar(): no answer to envvar NOPE")
	require.ErrorIs(t, err, errNoAnswer)
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := NewEvaluator(doc(), nil).Eval(ctx, "[concat('a', 'b')]")
	require.ErrorIs(t, err, context.Canceled)
}

func TestSecureIsNotPrinted(t *testing.T) {
	s := NewSecure("s3cret")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		require.NotContains(t, sprintf(verb, s), "s3cret")
		require.NotContains(t, sprintf(verb, []any{s}), "s3cret")
	}
}

func TestDecodeRefusesWhatIsTooLarge(t *testing.T) {
	_, err := Decode([]byte(`{"a":[1,-1E1000]}`))
	require.EqualError(t, err, "number -1E1000 is too large")
}

// seal returns all properties of a resource as they are sent, and its condition if that remains for the host. The scope
// is nil if nothing remains.
func seal(properties map[string]any, condition Result) (map[string]any, *Scope, error) {
	if condition.residual == nil && !HasResiduals(properties) {
		return Wrapped(properties).(map[string]any), nil, nil
	}
	s := NewSealer()
	out := s.Value(properties).(map[string]any)
	s.Condition(condition)
	return out, s.scope, s.err
}
