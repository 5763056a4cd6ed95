package templatetest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ccm-push/ccm-push/templates"
)

// A Generator writes Jet templates and makes hosts for them, of which many have some values in common.
type Generator struct {
	*rand.Rand
	depth  int
	simple bool // the text declares nothing and calls no other template
}

// NewGenerator returns a generator whose output depends only on the seed.
func NewGenerator(seed uint64) *Generator { return &Generator{Rand: rand.New(rand.NewPCG(seed, 21))} }

func (g *Generator) of(choices ...string) string { return choices[g.IntN(len(choices))] }

// Folder returns the files that generated templates include, extend, import and read.
func (g *Generator) Folder() map[string]string {
	return map[string]string{
		"part.jet":    g.statements(3),
		"base.jet":    "base " + g.statements(2) + `[[ block body() ]]none[[ end ]]` + g.statements(2),
		"blocks.jet":  `[[ block named(x="d") ]]<[[ x ]]>[[ yield content ]][[ end ]]`,
		"plain.txt":   "plain [[ Item ]]\n",
		"expr.templ":  `{{ Data.n }} {{ Facts.name }}`,
		"dir/sub.jet": `[[ include "../part.jet" ]]`,
	}
}

// Jet returns the source of a template. Some fail for some hosts.
func (g *Generator) Jet() string {
	if g.IntN(2) == 0 {
		g.simple = true
		defer func() { g.simple = false }()
		return g.statements(8)
	}
	switch g.IntN(12) {
	case 0:
		return `[[ extends "base.jet" ]][[ block body() ]]` + g.statements(3) + `[[ end ]]`
	case 1:
		return `[[ import "blocks.jet" ]]` + g.statements(3) + `[[ yield named(x=` + g.scalar() + `) content ]]` + g.statements(2) + `[[ end ]]`
	}
	return g.statements(8)
}

func (g *Generator) statements(most int) string {
	g.depth++
	defer func() { g.depth-- }()
	var b strings.Builder
	for range 1 + g.IntN(most) {
		b.WriteString(g.statement())
	}
	return b.String()
}

func (g *Generator) statement() string {
	inner := func() string {
		if g.depth > 3 {
			return g.of("leaf", "[[ "+g.scalar()+" ]]")
		}
		return g.statements(3)
	}
	kinds := 22
	if g.simple {
		kinds = 12
	}
	switch g.IntN(kinds) {
	case 0, 1, 2:
		return g.of("text ", "a\n", "  ", "ü")
	case 3, 4, 5, 6, 7:
		return "[[" + g.of("", "-") + " " + g.scalar() + g.of(" ]]", " -]]")
	case 8:
		return "[[ if " + g.condition() + " ]]" + inner() + "[[ else ]]" + inner() + "[[ end ]]"
	case 9, 10:
		return "[[ range i := " + g.list() + " ]][[ i ]]:" + inner() + "[[ end ]]"
	case 11:
		return "[[ range k, v := " + g.of("Data.map", "Facts.map", "Data.users", "Item") + " ]][[ k ]]=[[ json(v) ]]" + inner() + "[[ end ]]"
	case 12:
		return "[[ range " + g.list() + " ]][[ . ]]" + inner() + "[[ else ]]none[[ end ]]"
	case 13:
		return "[[ x := " + g.scalar() + " ]][[ x ]]" + inner() + "[[ x = " + g.scalar() + " ]][[ x ]]"
	case 14:
		return "[[ try ]]" + inner() + "[[ catch err ]]" + g.of("failed", "[[ err ]]") + "[[ end ]]"
	case 15:
		return `[[ include "` + g.of("part.jet", "dir/sub.jet") + `" ]]`
	case 16:
		return fmt.Sprintf(`[[ block b%d(x=%s) ]]%s[[ x ]][[ end ]]`, g.IntN(1_000_000), g.scalar(), inner())
	case 17:
		return "[[ " + g.of(`exec("part.jet")`, `includeIfExists("part.jet")`, `includeIfExists("none.jet")`, `file("plain.txt")`,
			`jet("[[ Item ]]-[[ Facts.name ]]")`, `template("expr.templ")`, "template(`{{ Data.n }}{{ Facts.os }}`)") + " ]]"
	case 18:
		return g.of("[[ data := Facts ]][[ data.name ]]", "[[ range facts := Data.users ]][[ facts.name ]][[ end ]]", "[[ range host := Data.list ]][[ host ]][[ end ]]")
	case 19:
		return "[[ if ok := isset(Data.maybe); ok ]]" + inner() + "[[ end ]]"
	case 20:
		return g.of("[[ v, found := Data.map[Data.key]; found ? v : `none` ]]", "[[ return 1 ]]", "[[ Data.users[0:1] ]]", "[[ Facts ]]")
	}
	return "[[ " + g.scalar() + " | " + g.of("upper", "lower", `replace: "e", "3", -1`) + " ]]"
}

// scalar returns an expression whose result can usually be printed.
func (g *Generator) scalar() string {
	if g.IntN(4) > 0 {
		return g.of("Item", "Data.n", "Facts.name", "facts.os", `Facts["name"]`, `lookup("facts.name")`, `lookup("data.n")`, "8000 + Item",
			`Item > 1 ? "many" : "one"`, "upper(Facts.name)", "json(Data.map)", "Data.users[0].name", `lookup("facts.none", "default")`)
	}
	return g.of("Item", "Data.n", "data.other", "Facts.name", "facts.os", `Facts["name"]`, `lookup("facts.name")`, `lookup("data.n")`,
		`lookup("facts.none", "default")`, `lookup("facts.maybe")`, `lookup("data." + Data.key)`, "Data.maybe", "Facts.map.a", "Facts.nothing", "Facts.dotted.x",
		"Item + 1", "8000 + Item", "Data.n * 2 - 1", "Item / (Data.n - 1)", `Item > 1 ? "many" : "one"`, "isset(Data.maybe) ? Data.maybe : Facts.name",
		"upper(Facts.name)", "json(Data.map)", "len(Data.users)", `Data.users[0].name`, "Environ.HOME", "1", `"text"`, "true", "1.5",
		"Data.list[Item]", "Facts.list[0]", `lookup("data.users.#")`, `lookup("facts.list.#(>1)")`)
}

func (g *Generator) condition() string {
	return g.of("Item > 1", `Facts.os == "debian"`, "isset(Data.maybe)", "isset(Facts.maybe) && Item > 1", "!Data.on", "Data.on || Facts.maybe > 1", "len(Facts.list) > 1")
}

func (g *Generator) list() string {
	return g.of("ints(0, Item)", "ints(0, Data.n)", "Data.list", "Facts.list", `slice("a", Facts.name)`, "slice(1, Item)", `split("a,b", ",")`)
}

// Host returns a host whose values are from a small set, so that other hosts have some of them too.
func (g *Generator) Host(files *templates.Files) *templates.Env {
	number := func() any { return int64(g.IntN(3) + 1) }
	pick := func(of ...any) any { return of[g.IntN(len(of))] }
	facts := map[string]any{
		"name": pick("web", "db", "new", "<&>"), "os": pick("debian", "redhat"), "map": map[string]any{"a": number(), "b": pick("x", 1.0, 1.5)},
		"list": pick([]any{int64(1), int64(2)}, []any{}, []any{int64(3)}), "dotted": map[string]any{"x": pick("y", true, int64(7))}, "nothing": nil,
	}
	data := map[string]any{
		"n": number(), "other": pick("o", int64(5), 2.0), "key": pick("n", "other", "none"), "on": pick(true, false), "list": []any{"p", "q", "r"},
		"map": map[string]any{"n": number(), "m": "z"}, "users": []any{map[string]any{"name": pick("ann", "bob"), "id": number()}},
	}
	if g.IntN(2) == 0 {
		facts["maybe"] = number()
	}
	if g.IntN(2) == 0 {
		data["maybe"] = pick("there", number())
	}
	return &templates.Env{Facts: facts, Data: data, Environ: map[string]any{"HOME": "/root"}, Item: number(), HasItem: g.IntN(10) > 0, Files: files}
}
