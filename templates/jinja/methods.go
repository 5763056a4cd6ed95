package jinja

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// methodOf returns a method of a value; its first parameter is the value.
func methodOf(v any, name string) *filterDef {
	switch v := v.(type) {
	case string:
		return textMethods[name]
	case *dict:
		return dictMethods[name]
	case *list:
		if v.view != "" {
			return nil
		}
		return listMethods[name]
	case tuple:
		if name == "index" || name == "count" {
			return listMethods[name]
		}
	case float64:
		if name == "is_integer" {
			return &filterDef{"v!", func(c *call) any { f := c.bound[0].(float64); return f == math.Trunc(f) }}
		}
	}
	return nil
}

var dictMethods, listMethods, textMethods map[string]*filterDef

// fillMethods fills the tables. They are not initial values, since methods refer to them.
func fillMethods() {
	dictMethods = map[string]*filterDef{
		"items":      {"v!", func(c *call) any { return &list{c.x.pairs(c.dict(0)), "dict_items"} }},
		"keys":       {"v!", func(c *call) any { return &list{slices.Clone(c.items(0)), "dict_keys"} }},
		"values":     {"v!", func(c *call) any { return &list{c.x.valuesOf(c.dict(0)), "dict_values"} }},
		"get":        {"v! key! default?", getKey},
		"copy":       {"v!", func(c *call) any { return c.dict(0).copy(c.x) }},
		"update":     {"v! other **", updateDict},
		"pop":        {"v! key! default?", popKey},
		"setdefault": {"v! key! default?", setDefault},
		"clear":      {"v!", func(c *call) any { d := c.dict(0); *d = *newDict(); return nil }},
	}
	listMethods = map[string]*filterDef{
		"append":  {"v! item!?", func(c *call) any { return c.insertAt(maxItems, []any{c.bound[1]}) }},
		"extend":  {"v! items!", func(c *call) any { return c.insertAt(maxItems, c.items(1)) }},
		"insert":  {"v! at! item!?", func(c *call) any { return c.insertAt(c.int(1, 0), []any{c.bound[2]}) }},
		"pop":     {"v! at", popItem},
		"remove":  {"v! item!", func(c *call) any { return c.removeAt(c.index()) }},
		"index":   {"v! item!", func(c *call) any { return int64(c.index()) }},
		"count":   {"v! item!", countItem},
		"reverse": {"v!", func(c *call) any { slices.Reverse(c.list().items); return nil }},
		"sort":    {"v! * **", sortList},
		"clear":   {"v!", func(c *call) any { c.list().items = nil; return nil }},
		"copy":    {"v!", func(c *call) any { return c.x.newList(slices.Clone(c.items(0))) }},
	}
	textMethods = map[string]*filterDef{
		"upper":        {"v!", func(c *call) any { return c.x.text(cases.Upper(language.Und).String(c.str(0, ""))) }},
		"lower":        {"v!", func(c *call) any { return c.x.text(cases.Lower(language.Und).String(c.str(0, ""))) }},
		"casefold":     {"v!", func(c *call) any { return c.x.text(cases.Fold().String(c.str(0, ""))) }},
		"title":        {"v!", func(c *call) any { return c.x.text(titled(c.str(0, ""))) }},
		"capitalize":   {"v!", func(c *call) any { return c.x.text(capitalized(c.str(0, ""))) }},
		"swapcase":     {"v!", func(c *call) any { return c.x.text(strings.Map(swapped, c.str(0, ""))) }},
		"strip":        {"v! chars", func(c *call) any { return c.strip(true, true) }},
		"lstrip":       {"v! chars", func(c *call) any { return c.strip(true, false) }},
		"rstrip":       {"v! chars", func(c *call) any { return c.strip(false, true) }},
		"split":        {"v! sep maxsplit", func(c *call) any { return c.split(false) }},
		"rsplit":       {"v! sep maxsplit", func(c *call) any { return c.split(true) }},
		"splitlines":   {"v! keepends", func(c *call) any { return c.x.newList(lines(c.str(0, ""), c.truth(1, false))) }},
		"partition":    {"v! sep!", partition},
		"rpartition":   {"v! sep!", partitionRight},
		"startswith":   {"v! prefix! start end", func(c *call) any { return c.affix(strings.HasPrefix) }},
		"endswith":     {"v! suffix! start end", func(c *call) any { return c.affix(strings.HasSuffix) }},
		"removeprefix": {"v! prefix!", func(c *call) any { return strings.TrimPrefix(c.str(0, ""), c.str(1, "")) }},
		"removesuffix": {"v! suffix!", func(c *call) any { return strings.TrimSuffix(c.str(0, ""), c.str(1, "")) }},
		"find":         {"v! sub! start end", func(c *call) any { return c.find(strings.Index, false) }},
		"rfind":        {"v! sub! start end", func(c *call) any { return c.find(strings.LastIndex, false) }},
		"index":        {"v! sub! start end", func(c *call) any { return c.find(strings.Index, true) }},
		"rindex":       {"v! sub! start end", func(c *call) any { return c.find(strings.LastIndex, true) }},
		"count":        {"v! sub! start end", countText},
		"replace":      {"v! old! new! count", func(c *call) any { return c.x.replace(c.str(0, ""), c.str(1, ""), c.str(2, ""), c.int(3, -1)) }},
		"join":         {"v! items!", joinMethod},
		"format":       {"v! * **", func(c *call) any { return c.x.format(c.str(0, ""), c.args, c.keywords) }},
		"format_map":   {"v! map!", formatMap},
		"center":       {"v! width! fill", func(c *call) any { return c.padded(1, 1) }},
		"ljust":        {"v! width! fill", func(c *call) any { return c.padded(0, 1) }},
		"rjust":        {"v! width! fill", func(c *call) any { return c.padded(1, 0) }},
		"zfill":        {"v! width!", zfill},
		"expandtabs":   {"v! tabsize", expandTabs},
		"isdigit":      {"v!", is(func(r rune) bool { return unicode.IsDigit(r) })},
		"isdecimal":    {"v!", is(unicode.IsDigit)},
		"isnumeric":    {"v!", is(unicode.IsNumber)},
		"isalpha":      {"v!", is(unicode.IsLetter)},
		"isalnum":      {"v!", is(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })},
		"isspace":      {"v!", is(isSpace)},
		"islower":      {"v!", func(c *call) any { s := c.str(0, ""); return cased(s) && s == strings.ToLower(s) }},
		"isupper":      {"v!", func(c *call) any { s := c.str(0, ""); return cased(s) && s == strings.ToUpper(s) }},
		"istitle":      {"v!", func(c *call) any { s := c.str(0, ""); return cased(s) && s == titled(s) }},
		"isidentifier": {"v!", func(c *call) any {
			return patterns().name.FindString(c.str(0, "")) == c.str(0, "") && c.str(0, "") != "" && !unicode.IsDigit(runes(c.str(0, ""))[0])
		}},
		"encode": {"v! encoding", func(c *call) any { return c.str(0, "") }},
	}
}

func is(test func(rune) bool) func(c *call) any {
	return func(c *call) any {
		s := c.str(0, "")
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !test(r) })
	}
}

func cased(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) })
}

func swapped(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

func capitalized(s string) string {
	c, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToTitle(c)) + strings.ToLower(s[n:])
}

// titled is title() of Python: a letter after anything else than a letter is large.
func titled(s string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		was := inside
		inside = unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r)
		if was {
			return unicode.ToLower(r)
		}
		return unicode.ToTitle(r)
	}, s)
}

func (x *exec) pairs(d *dict) []any {
	pairs := make([]any, 0, d.len())
	x.room(d.len())
	d.each(x, func(key, value any) { pairs = append(pairs, tuple{key, value}) })
	return pairs
}

func (x *exec) valuesOf(d *dict) []any {
	values := make([]any, 0, d.len())
	x.room(d.len())
	d.each(x, func(_, value any) { values = append(values, value) })
	return values
}

func getKey(c *call) any {
	if v, ok := c.dict(0).get(c.x, c.bound[1]); ok {
		return v
	}
	return c.value(2, nil)
}

func updateDict(c *call) any {
	d := c.dict(0)
	if c.has(1) {
		if other, ok := c.bound[1].(*dict); ok {
			other.copy(c.x).each(c.x, func(key, value any) { d.set(c.x, key, value) })
		} else {
			for _, pair := range c.items(1) {
				kv := c.x.iterate(pair)
				if len(kv) != 2 {
					c.failf("pairs are needed")
				}
				d.set(c.x, kv[0], kv[1])
			}
		}
	}
	for _, k := range c.keywords {
		d.set(c.x, k.name, k.value)
	}
	return nil
}

func popKey(c *call) any {
	d := c.dict(0)
	v, ok := d.get(c.x, c.bound[1])
	if !ok {
		if !c.has(2) {
			c.failf("there is no such key")
		}
		return c.bound[2]
	}
	d.remove(c.x, c.bound[1])
	return v
}

func setDefault(c *call) any {
	d := c.dict(0)
	if v, ok := d.get(c.x, c.bound[1]); ok {
		return v
	}
	d.set(c.x, c.bound[1], c.value(2, nil))
	return c.value(2, nil)
}

func (c *call) list() *list {
	l, ok := c.bound[0].(*list)
	if !ok {
		c.failf("a list is needed")
	}
	return l
}

func (c *call) insertAt(at int64, items []any) any {
	l := c.list()
	n := int64(len(l.items))
	if at < 0 {
		at += n
	}
	if n+int64(len(items)) > maxItems {
		c.x.room(maxItems + 1)
	}
	c.x.grow(16 * len(items))
	l.items = slices.Insert(l.items, int(max(0, min(at, n))), items...)
	return nil
}

func (c *call) removeAt(i int) any {
	l := c.list()
	l.items = slices.Delete(l.items, i, i+1)
	return nil
}

func (c *call) index() int {
	for i, item := range c.items(0) {
		if c.x.equal(item, c.bound[1]) {
			return i
		}
	}
	c.failf("there is no such element")
	return 0
}

func popItem(c *call) any {
	l := c.list()
	i := c.int(1, -1)
	if i < 0 {
		i += int64(len(l.items))
	}
	if i < 0 || i >= int64(len(l.items)) {
		c.failf("there is no such element")
	}
	v := l.items[i]
	c.removeAt(int(i))
	return v
}

func countItem(c *call) any {
	n := int64(0)
	for _, item := range c.items(0) {
		if c.x.equal(item, c.bound[1]) {
			n++
		}
	}
	return n
}

func sortList(c *call) any {
	l, reverse := c.list(), false
	for _, k := range c.keywords {
		if k.name != "reverse" {
			c.failf("there is no argument %q", k.name)
		}
		reverse = c.x.truth(k.value)
	}
	c.x.sort(l.items, reverse, func(v any) any { return v })
	return nil
}

// sort sorts like Python: stable, also if it is reversed.
func (x *exec) sort(items []any, reverse bool, key func(any) any) {
	keys := make([]any, len(items))
	order := make([]int, len(items))
	for i, item := range items {
		keys[i], order[i] = key(item), i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if reverse {
			a, b = b, a
		}
		return x.compare(keys[a], keys[b])
	})
	sorted := make([]any, len(items))
	for i, at := range order {
		sorted[i] = items[at]
	}
	copy(items, sorted)
}

func (c *call) strip(left, right bool) any {
	s := c.str(0, "")
	inside := isSpace
	if c.has(1) && c.bound[1] != nil {
		chars := c.str(1, "")
		inside = func(r rune) bool { return strings.ContainsRune(chars, r) }
	}
	if left {
		s = strings.TrimLeftFunc(s, inside)
	}
	if right {
		s = strings.TrimRightFunc(s, inside)
	}
	return s
}

func (c *call) split(fromRight bool) any {
	s, most := c.str(0, ""), c.int(2, -1)
	var parts []string
	if !c.has(1) || c.bound[1] == nil {
		parts = splitSpace(s, most, fromRight)
	} else {
		sep := c.str(1, "")
		if sep == "" {
			c.failf("the separator is empty")
		}
		parts = strings.Split(s, sep)
		if most >= 0 && int64(len(parts)) > most+1 {
			if n := len(parts) - int(most) - 1; fromRight {
				parts = append([]string{strings.Join(parts[:n+1], sep)}, parts[n+1:]...)
			} else {
				parts = append(parts[:most:most], strings.Join(parts[most:], sep))
			}
		}
	}
	return c.x.texts(parts)
}

func splitSpace(s string, most int64, fromRight bool) (parts []string) {
	if most < 0 {
		return strings.FieldsFunc(s, isSpace)
	}
	if fromRight {
		s = strings.TrimRightFunc(s, isSpace)
		for s != "" {
			i := strings.LastIndexFunc(s, isSpace)
			if i < 0 || int64(len(parts)) == most {
				parts = append(parts, s)
				break
			}
			_, n := utf8.DecodeRuneInString(s[i:])
			parts = append(parts, s[i+n:])
			s = strings.TrimRightFunc(s[:i], isSpace)
		}
		slices.Reverse(parts)
		return parts
	}
	s = strings.TrimLeftFunc(s, isSpace)
	for s != "" {
		i := strings.IndexFunc(s, isSpace)
		if i < 0 || int64(len(parts)) == most {
			return append(parts, s)
		}
		parts = append(parts, s[:i])
		s = strings.TrimLeftFunc(s[i:], isSpace)
	}
	return parts
}

// texts returns a list of texts.
func (x *exec) texts(parts []string) *list {
	items := make([]any, len(parts))
	for i, part := range parts {
		items[i] = part
	}
	return x.newList(items)
}

// lines splits a text like splitlines of Python.
func lines(s string, keep bool) (list []any) {
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool {
			return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
		})
		if i < 0 {
			return append(list, s)
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			n = 2
		}
		if keep {
			list = append(list, s[:i+n])
		} else {
			list = append(list, s[:i])
		}
		s = s[i+n:]
	}
	return list
}

func partition(c *call) any {
	s, sep := c.str(0, ""), c.str(1, "")
	if i := strings.Index(s, sep); i >= 0 && sep != "" {
		return tuple{s[:i], sep, s[i+len(sep):]}
	}
	return tuple{s, "", ""}
}

func partitionRight(c *call) any {
	s, sep := c.str(0, ""), c.str(1, "")
	if i := strings.LastIndex(s, sep); i >= 0 && sep != "" {
		return tuple{s[:i], sep, s[i+len(sep):]}
	}
	return tuple{"", "", s}
}

// window returns the part of the text between the parameters start and end, and its offset in characters.
func (c *call) window(first int) (s string, offset int, ok bool) {
	s = c.str(0, "")
	if !c.has(first) && !c.has(first+1) {
		return s, 0, true
	}
	all := runes(s)
	from, to, _, ok := sliceBounds([3]any{c.value(first, nil), c.value(first+1, nil), nil}, int64(len(all)))
	if !ok {
		c.failf("an int is needed")
	}
	if n, isInt := small(c.value(first, nil)); isInt && n > int64(len(all)) || from > to {
		return "", 0, false
	}
	return string(all[from:to]), int(from), true
}

func (c *call) affix(has func(s, affix string) bool) any {
	s, _, ok := c.window(2)
	all, isTuple := c.bound[1].(tuple)
	if !isTuple {
		all = tuple{c.bound[1]}
	}
	for _, one := range all {
		affix, isText := one.(string)
		if !isText {
			c.failf("a str is needed, not %s", typeName(one))
		}
		if ok && has(s, affix) {
			return true
		}
	}
	return false
}

func (c *call) find(index func(s, sub string) int, must bool) any {
	s, offset, ok := c.window(2)
	sub := c.str(1, "")
	if i := index(s, sub); ok && i >= 0 {
		return int64(offset + utf8.RuneCountInString(s[:i]))
	}
	if must {
		c.failf("the text is not found")
	}
	return int64(-1)
}

func countText(c *call) any {
	s, _, ok := c.window(2)
	if !ok {
		return int64(0)
	}
	return int64(strings.Count(s, c.str(1, "")))
}

// replace replaces a text, at most count times if that is not negative.
func (x *exec) replace(s, old, with string, count int64) string {
	found := int64(strings.Count(s, old))
	if count >= 0 {
		found = min(found, count)
	}
	x.length(len(s) + int(found)*max(0, len(with)-len(old)))
	return x.text(strings.Replace(s, old, with, int(found)))
}

func joinMethod(c *call) any {
	parts := make([]string, 0, 8)
	n := 0
	for _, item := range c.items(1) {
		s, ok := item.(string)
		if !ok {
			if u, is := item.(*undefined); is {
				c.x.use(u)
			}
			c.failf("a str is needed, not %s", typeName(item))
		}
		n += len(s) + len(c.str(0, ""))
		c.x.length(n)
		parts = append(parts, s)
	}
	return c.x.text(strings.Join(parts, c.str(0, "")))
}

func formatMap(c *call) any {
	var keywords []named
	c.dict(1).each(c.x, func(key, value any) { keywords = append(keywords, named{c.x.str(key), value}) })
	return c.x.format(c.str(0, ""), nil, keywords)
}

// padded fills a text to a width; left and right are the shares of each side.
func (c *call) padded(left, right int) any {
	s, fill := c.str(0, ""), c.str(2, " ")
	if utf8.RuneCountInString(fill) != 1 {
		c.failf("one character fills a text")
	}
	count := utf8.RuneCountInString(s)
	width := c.int(1, 0)
	if width <= int64(count) {
		return s
	}
	if width > maxWidth {
		c.x.length(int(min(width, 1<<40)))
	}
	missing := int(width) - count
	before := missing * left / (left + right)
	if left+right == 2 && missing%2 == 1 && width%2 == 1 {
		before++
	}
	return c.x.text(strings.Repeat(fill, before) + s + strings.Repeat(fill, missing-before))
}

// maxWidth is a width that texts may be filled to without a look at their length.
const maxWidth = 1 << 16

func zfill(c *call) any {
	s, width := c.str(0, ""), c.int(1, 0)
	if width > maxWidth {
		c.x.length(int(min(width, 1<<40)))
	}
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	n := int(width) - len(sign) - utf8.RuneCountInString(s)
	return c.x.text(sign + strings.Repeat("0", max(0, n)) + s)
}

func expandTabs(c *call) any {
	var b strings.Builder
	column, size := 0, int(c.int(1, 8))
	for _, r := range c.str(0, "") {
		switch r {
		case '\t':
			if size > 0 {
				n := size - column%size
				c.x.length(b.Len() + n)
				b.WriteString(strings.Repeat(" ", n))
				column += n
			}
			continue
		case '\n', '\r':
			column = -1
		}
		b.WriteRune(r)
		column++
	}
	return c.x.text(b.String())
}
