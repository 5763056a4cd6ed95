package jinja

import (
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// lookups are the lookup plugins.
var lookups map[string]func(c *call) []any

// globals are the functions that every template can call.
var globals map[string]*filterDef

// fillFunctions fills the tables of functions and lookups.
func fillFunctions() {
	lookups = map[string]func(c *call) []any{
		"dict":        (*call).dicts,
		"env":         (*call).environment,
		"file":        (*call).files,
		"fileglob":    (*call).fileGlob,
		"first_found": (*call).firstFound,
		"flattened":   func(c *call) []any { return c.x.flat(c.args, 1000, true) },
		"items":       (*call).flattenedOnce,
		"list":        func(c *call) []any { return c.args },
		"template":    (*call).templates,
		"varnames":    (*call).variableNames,
		"vars":        (*call).variables,
	}
	globals = map[string]*filterDef{
		"cycler":    {"*", cycler},
		"dict":      {"items **", makeDict},
		"joiner":    {"sep", joiner},
		"lookup":    {"name! * **", func(c *call) any { return lookup(c, false) }},
		"namespace": {"items **", func(c *call) any { return &space{makeDict(c).(*dict)} }},
		"q":         {"name! * **", func(c *call) any { return lookup(c, true) }},
		"query":     {"name! * **", func(c *call) any { return lookup(c, true) }},
		"range":     {"a! b c", makeRange},
		"undef":     {"hint", func(c *call) any { return &undefined{fault: diag.Faultf("the template calls undef()")} }},
	}
}

func makeRange(c *call) any {
	s := span{0, c.int(0, 0), 1}
	if c.has(1) {
		s.start, s.stop = s.stop, c.int(1, 0)
	}
	if s.step = c.int(2, 1); s.step == 0 {
		c.failf("the step is 0")
	}
	for _, n := range []int64{s.start, s.stop, s.step} {
		if n > 1<<60 || n < -1<<60 {
			c.failf("a number is out of range")
		}
	}
	return s
}

func makeDict(c *call) any {
	d := newDict()
	if c.has(0) {
		c.bound, c.args = []any{d, c.bound[0]}, nil
		updateDict(c)
		return d
	}
	for _, k := range c.keywords {
		d.set(c.x, k.name, k.value)
	}
	return d
}

func cycler(c *call) any {
	items, at := slices.Clone(c.args), 0
	if len(items) == 0 {
		c.failf("values are missing")
	}
	d := newDict()
	set := func(name string, f func(c *call) any) {
		d.set(c.x, name, &function{name, f})
	}
	set("next", func(*call) any {
		v := items[at]
		at = (at + 1) % len(items)
		return v
	})
	set("reset", func(*call) any { at = 0; return nil })
	return &cycle{space{d}, func() any { return items[at] }}
}

// A cycle is the object of cycler.
type cycle struct {
	space
	current func() any
}

func joiner(c *call) any {
	separator, used := c.value(0, ", "), false
	return &function{"joiner", func(*call) any {
		if !used {
			used = true
			return ""
		}
		return separator
	}}
}

// lookup is a lookup of Ansible: it reads files, variables or the environment of the controller.
func lookup(c *call, wantList bool) any {
	name := c.str(0, "")
	name = strings.TrimPrefix(name, builtinPrefix)
	if v, ok := c.keyword("wantlist"); ok {
		wantList = c.x.truth(v)
	}
	find := lookups[name]
	if find == nil {
		c.failf("there is no lookup %q here; ccm-push help functions lists them", name)
	}
	items := find(c)
	if wantList {
		return c.x.newList(items)
	}
	if len(items) == 0 {
		return c.x.newList(nil)
	}
	texts := make([]string, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			if len(items) == 1 {
				return items[0]
			}
			return c.x.newList(items)
		}
		texts[i] = s
	}
	return c.x.text(strings.Join(texts, ","))
}

func (c *call) dicts() (items []any) {
	for _, arg := range c.args {
		c.bound = []any{arg, unset, unset}
		items = append(items, dictToItems(c).(*list).items...)
	}
	return items
}

func (c *call) flattenedOnce() (items []any) {
	for _, arg := range c.args {
		items = append(items, c.x.flat([]any{arg}, 1, false)...)
	}
	return items
}

// terms returns the arguments of a lookup, which are texts or lists of texts.
func (c *call) terms() (terms []string) {
	for _, item := range c.x.flat(c.args, 1000, false) {
		s, ok := item.(string)
		if !ok {
			c.failf("a str is needed, not %s", typeName(item))
		}
		terms = append(terms, s)
	}
	return terms
}

func (c *call) environment() (items []any) {
	other, hasOther := c.keyword("default")
	environ := c.x.rootDict(render.EnvironRoot, "")
	for _, name := range c.terms() {
		v, ok := environ.get(c.x, name)
		if !ok {
			if v = ""; hasOther {
				v = other
			}
		}
		items = append(items, v)
	}
	return items
}

// findFile returns the first file that exists: next to the template, or in the folders of a role.
func (c *call) findFile(name, folder string) (string, []byte, error) {
	var first error
	for _, candidate := range candidates(c.x.main.unit.body.At.File, name, folder) {
		content, err := c.x.run.Env.Files.Read(candidate)
		if err == nil {
			return candidate, content, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", nil, first
}

// candidates returns the paths at which a template of Ansible finds a file, relative to the folder of the play.
func candidates(from, name, folder string) (paths []string) {
	dir := path.Dir(from)
	for _, base := range []string{dir, path.Dir(dir), "."} {
		paths = append(paths, path.Join(base, folder, name), path.Join(base, name))
	}
	return slices.Compact(paths)
}

func (c *call) files() (items []any) {
	left, hasLeft := c.keyword("lstrip")
	right, hasRight := c.keyword("rstrip")
	c.mayChoose()
	for _, name := range c.terms() {
		_, content, err := c.findFile(name, "files")
		if err != nil {
			c.x.throw(err)
		}
		s := string(content)
		if hasLeft && c.x.truth(left) {
			s = strings.TrimLeftFunc(s, isSpace)
		}
		if !hasRight || c.x.truth(right) {
			s = strings.TrimRightFunc(s, isSpace)
		}
		items = append(items, c.x.text(s))
	}
	return items
}

// templates renders templates; their names are known from the tree.
func (c *call) templates() (items []any) {
	for _, name := range c.terms() {
		p := c.x.at.unit.templates()[name]
		if p == nil {
			c.failf("the name of the template must be a text in quotes, not a computed value")
		}
		out := &output{x: c.x}
		at := c.x.at
		c.x.render(p, &scope{}, out)
		c.x.at = at
		s := out.b.String() + strings.Repeat("\n", p.unit.ends)
		items = append(items, c.x.text(s))
	}
	return items
}

func (c *call) variables() (items []any) {
	other, hasOther := c.keyword("default")
	for _, name := range c.terms() {
		v := c.x.lookup(name, nil)
		if u, is := v.(*undefined); is {
			if !hasOther {
				c.x.use(u)
			}
			v = other
		}
		items = append(items, v)
	}
	return items
}

func (c *call) variableNames() (items []any) {
	names := c.x.rootDict(render.DataRoot, "")
	for _, term := range c.terms() {
		p := c.regex(term, false, false)
		for _, name := range render.SortedKeys(names.src) {
			if p.search(name) != nil {
				items = append(items, name)
			}
		}
	}
	return items
}

func (c *call) firstFound() []any {
	c.mayChoose()
	errors := "strict"
	if v, ok := c.keyword("errors"); ok {
		errors, _ = v.(string)
	}
	var names, folders []string
	for _, item := range c.x.flat(c.args, 1000, false) {
		switch v := item.(type) {
		case string:
			names = append(names, v)
		case *dict:
			texts := func(key string) (list []string) {
				value, _ := v.get(c.x, key)
				if s, ok := value.(string); ok {
					return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' })
				}
				if value != nil {
					for _, one := range c.x.iterate(value) {
						list = append(list, c.x.str(one))
					}
				}
				return list
			}
			names, folders = append(names, texts("files")...), append(folders, texts("paths")...)
			if skip, ok := v.get(c.x, "skip"); ok && c.x.truth(skip) {
				errors = "ignore"
			}
		default:
			c.failf("a str or a dict is needed, not %s", typeName(item))
		}
	}
	if len(folders) == 0 {
		folders = []string{""}
	}
	for _, folder := range folders {
		for _, name := range names {
			for _, kind := range []string{"templates", "files", "vars"} {
				if found, _, err := c.findFile(path.Join(folder, name), kind); err == nil {
					return []any{found}
				}
			}
		}
	}
	if errors != "strict" {
		return nil
	}
	c.failf("no file was found")
	return nil
}

func (c *call) fileGlob() (items []any) {
	c.mayChoose()
	for _, term := range c.terms() {
		for _, candidate := range candidates(c.x.main.unit.body.At.File, term, "files") {
			entries, err := c.x.run.Env.Files.Entries(path.Dir(candidate), maxItems)
			if err != nil {
				continue
			}
			n := len(items)
			for _, entry := range entries {
				if ok, _ := path.Match(path.Base(candidate), entry.Name()); ok && entry.Type().IsRegular() {
					items = append(items, path.Join(path.Dir(candidate), entry.Name()))
				}
			}
			if len(items) > n {
				break
			}
		}
	}
	return items
}
