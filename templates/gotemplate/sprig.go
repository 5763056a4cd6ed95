package gotemplate

import (
	"reflect"
	"strings"
	"sync"

	"github.com/Masterminds/sprig/v3"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// sprigFunctions returns the functions of Sprig (github.com/Masterminds/sprig, the library that CCM has in Go
// templates) that are called unchanged. The others are implemented here under the same names, or omitted
// ([diag.RefusedFunction]). The differences:
//
//   - The result of a function is limited: texts by [render.MaxOutput], lists by
//     maxElements, and all of it by the steps and the deadline of the run.
//   - Nothing of the controller's machine: env and expandenv see [render.Env].Environ,
//     the zone "Local" is UTC.
//   - A failure is an error, with or without "must" in the name, and never a
//     text about an error; wrong times and lists are errors too. Only functions that
//     convert texts to numbers (int, add …) return 0, as in Sprig. No error contains
//     a value: fail shows its text only if it is a literal of the template.
//   - The data of a host is never changed: a template that calls set, unset or
//     merge receives copies, and merge copies its arguments. No map can be put
//     into itself.
//   - keys and values are in the order of the keys.
//   - A scalar is a text wherever a text is needed, and any whole number an
//     integer. Lists and maps have no text: toJson writes them.
//   - A missing key is allowed in .a.b | default "x"; see the rewriter.
//
// Functions that are random, or make a key, are omitted: a resource with such a text never becomes stable. now and ago,
// which depend on the time, are included.
func sprigFunctions() map[string]function {
	table := map[string]function{}
	all := sprigs()
	for params, names := range sprigNames() {
		for name := range strings.FieldsSeq(names) {
			table[name] = sprigFunction(all[name], params)
		}
	}
	for _, name := range strings.Fields("compact first last rest initial reverse append push prepend slice chunk") {
		table[must(name)] = table[name]
	}
	for _, name := range []string{"semver", "semverCompare"} {
		table[name] = short(name, table[name])
	}
	return table
}

// sprigs are all functions of Sprig. The map is not changed.
var sprigs = sync.OnceValue(sprig.TxtFuncMap)

// sprigNames returns the functions taken from Sprig, by their parameters.
func sprigNames() map[string]string {
	return map[string]string{
		"": "hello",
		"s": "trim upper lower title untitle nospace initials swapcase snakecase camelcase kebabcase b64enc b32enc " +
			"regexQuoteMeta sha1sum sha256sum sha512sum adler32sum base dir clean ext isAbs osBase osDir osClean osExt osIsAbs urlParse semver",
		"ss":   "trimall trimAll trimSuffix trimPrefix contains hasPrefix hasSuffix decryptAES semverCompare",
		"is":   "abbrev trunc",
		"iis":  "abbrevboth substr",
		"ssi":  "plural",
		"n":    "atoi int64 int float64 toDecimal add1 add1f ceil floor",
		"nn":   "sub div mod",
		"n*":   "add addf",
		"nn*":  "mul subf divf mulf biggest max min maxf minf",
		"nif?": "round",
		"aa?":  "default",
		"a":    "empty kindOf typeOf",
		"a*":   "coalesce all any list tuple",
		"aab":  "ternary",
		"sa":   "typeIs typeIsLike kindIs",
		"l":    "compact first last rest initial reverse",
		"la":   "append push prepend",
		"ln*":  "slice",
		"il":   "chunk",
		"l*":   "concat",
		"m":    "urlJoin",
		"ms":   "get hasKey",
		"ms*":  "pick omit",
		"sm*":  "pluck",
	}
}

// must returns the name of a function's twin.
func must(name string) string { return "must" + strings.ToUpper(name[:1]) + name[1:] }

// sprigFunction calls a function of Sprig with arguments of the kinds in params.
func sprigFunction(fn any, params string) function {
	rv := reflect.ValueOf(fn)
	return function{params, func(_ *goRun, args []any) (any, error) {
		in := make([]reflect.Value, len(args))
		for i, arg := range args {
			in[i] = sprigArgument(rv.Type(), i, arg)
		}
		out := rv.Call(in)
		if len(out) == 2 && !out[1].IsNil() {
			return nil, out[1].Interface().(error)
		}
		return out[0].Interface(), nil
	}}
}

func sprigArgument(fn reflect.Type, i int, arg any) reflect.Value {
	t := fn.In(min(i, fn.NumIn()-1))
	if fn.IsVariadic() && i >= fn.NumIn()-1 {
		t = t.Elem()
	}
	if arg == nil {
		return reflect.Zero(t)
	}
	if t.Kind() == reflect.String { // atoi, of a number
		if s, err := render.TextOf(arg); err == nil {
			return reflect.ValueOf(s)
		}
	}
	return reflect.ValueOf(arg)
}

// maxShort bounds the arguments of a function that takes its time, in bytes.
const maxShort = 1 << 10

func short(name string, fn function) function {
	return function{fn.Params, func(g *goRun, args []any) (any, error) {
		for i, arg := range args {
			if len(arg.(string)) > maxShort {
				return nil, diag.Faultf("%s: argument %d is longer than %d bytes", name, i+1, maxShort)
			}
		}
		return fn.call(g, args)
	}}
}
