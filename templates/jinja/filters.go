package jinja

import (
	"cmp"
	"math"
	"math/big"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/ccm-push/ccm-push/templates/render"
)

// filterNamed returns a filter; nil if it does not exist.
func filterNamed(name string) *filterDef {
	return filters[strings.TrimPrefix(strings.TrimPrefix(name, builtinPrefix), legacyPrefix)]
}

func filterNames() []string { return render.SortedKeys(filters) }

// omitted has filters, tests and lookups that are omitted on purpose, with the reason.
var omitted = map[string]string{
	"json_query":           "it needs JMESPath; write a loop, or selectattr and map",
	"ansible.utils.ipaddr": "it belongs to the collection ansible.utils; write the address into the data",
	"ansible.utils.ipwrap": "it belongs to the collection ansible.utils; write the address into the data",
	"url":                  "it reads the network; download the file in an earlier resource",
	"password":             "it creates a file on the controller; write the password into an encrypted value",
	"ipaddr":               "it belongs to the collection ansible.utils; write the address into the data",
	"password_hash":        "it makes another hash in each run; make it once and write it into the data",
	"vault":                "decrypt the value with ccm-push secret import-vault",
	"unvault":              "decrypt the value with ccm-push secret import-vault",
	"to_datetime":          "there are no dates; compare texts such as 2026-01-31",
	"strftime":             "it depends on the clock; write the text into the data",
	"fileglob":             "write lookup('fileglob', PATTERN)",
	"realpath":             "it reads the controller's file system",
	"expanduser":           "it reads the controller's accounts",
	"expandvars":           "write lookup('env', NAME)",
}

var filters map[string]*filterDef

// fillFilters fills the table. It is not an initial value, since filters such as map refer to it.
func fillFilters() {
	filters = map[string]*filterDef{
		// of Jinja
		"abs":        {"value!", absolute},
		"attr":       {"value! name!", func(c *call) any { return c.attr() }},
		"batch":      {"value! linecount! fill_with", batch},
		"capitalize": {"value!", func(c *call) any { return c.x.text(capitalized(c.text(0, ""))) }},
		"center":     {"value! width", func(c *call) any { c.bound = []any{c.text(0, ""), c.value(1, int64(80)), unset}; return c.padded(1, 1) }},
		"count":      {"value!", length},
		"d":          {"value!? default_value? boolean", orDefault},
		"default":    {"value!? default_value? boolean", orDefault},
		"dictsort":   {"value! case_sensitive by reverse", dictSort},
		"e":          {"value!", escapeHTML},
		"escape":     {"value!", escapeHTML},
		"first":      {"value!", func(c *call) any { return c.end(0) }},
		"float":      {"value! default", toFloat},
		"format":     {"value! * **", formatFilter},
		"groupby":    {"value! attribute! default case_sensitive", groupBy},
		"indent":     {"s! width first blank", indent},
		"int":        {"value! default base", toWhole},
		"items":      {"value!?", func(c *call) any { return c.itemsFilter() }},
		"join":       {"value! d attribute", join},
		"last":       {"value!", func(c *call) any { return c.end(-1) }},
		"length":     {"value!", length},
		"list":       {"value!", func(c *call) any { return c.x.newList(slices.Clone(c.items(0))) }},
		"lower":      {"value!", func(c *call) any { return c.x.text(cases.Lower(language.Und).String(c.text(0, ""))) }},
		"map":        {"value! * **", mapped},
		"max":        {"value! case_sensitive attribute", func(c *call) any { return c.extreme(1) }},
		"min":        {"value! case_sensitive attribute", func(c *call) any { return c.extreme(-1) }},
		"reject":     {"value! * **", func(c *call) any { return c.selected(false, false) }},
		"rejectattr": {"value! * **", func(c *call) any { return c.selected(true, false) }},
		"replace":    {"s! old! new! count", func(c *call) any { return c.x.replace(c.text(0, ""), c.text(1, ""), c.text(2, ""), c.int(3, -1)) }},
		"reverse":    {"value!", reverse},
		"round":      {"value! precision method", rounded},
		"safe":       {"value!", func(c *call) any { return c.text(0, "") }},
		"select":     {"value! * **", func(c *call) any { return c.selected(false, true) }},
		"selectattr": {"value! * **", func(c *call) any { return c.selected(true, true) }},
		"slice":      {"value! slices! fill_with", slicesOf},
		"sort":       {"value! reverse case_sensitive attribute", sorted},
		"string":     {"value!", func(c *call) any { return c.x.text(c.text(0, "")) }},
		"sum":        {"iterable! attribute start", sum},
		"title":      {"value!", func(c *call) any { return c.x.text(titleFilter(c.text(0, ""))) }},
		"tojson":     {"value! indent", tojson},
		"trim":       {"value! chars", func(c *call) any { c.bound[0] = c.text(0, ""); return c.strip(true, true) }},
		"truncate":   {"s! length killwords end leeway", truncate},
		"unique":     {"value! case_sensitive attribute", unique},
		"upper":      {"value!", func(c *call) any { return c.x.text(cases.Upper(language.Und).String(c.text(0, ""))) }},
		"urlencode":  {"value!", urlEncode},
		"wordcount":  {"s!", func(c *call) any { return int64(len(c.regex(`\w+`, false, false).FindAllString(c.text(0, ""), -1))) }},
	}
	for name, f := range ansibleFilters() {
		filters[name] = f
	}
}

func length(c *call) any {
	switch v := c.bound[0].(type) {
	case string:
		return int64(utf8.RuneCountInString(v))
	case *dict:
		return int64(v.len())
	case span:
		return int64(v.len())
	case *undefined:
		return int64(0)
	case *hostVars:
		return int64(v.hosts.len())
	}
	if items, ok := c.x.sequence(c.bound[0]); ok {
		return int64(len(items))
	}
	c.failf("%s has no length", typeName(c.bound[0]))
	return nil
}

func orDefault(c *call) any {
	v := c.bound[0]
	_, isUndefined := v.(*undefined)
	if isUndefined || c.truth(2, false) && !c.x.truth(v) {
		return c.value(1, "")
	}
	return v
}

// end returns the first or the last element.
func (c *call) end(i int) any {
	if d, ok := c.bound[0].(*dict); ok && i < 0 {
		d.load()
	}
	items := c.items(0)
	if len(items) == 0 {
		return missing(c.bound[0], "…")
	}
	if i < 0 {
		return items[len(items)-1]
	}
	return items[0]
}

func absolute(c *call) any {
	n, f, isFloat, ok := number(c.bound[0])
	switch {
	case !ok:
		c.failf("a number is needed, not %s", typeName(c.bound[0]))
	case isFloat:
		return math.Abs(f)
	}
	return whole(new(big.Int).Abs(n))
}

func (c *call) attr() any {
	if v, ok := c.x.attr(c.bound[0], c.str(1, "")); ok {
		return v
	}
	return missing(c.bound[0], c.str(1, ""))
}

func batch(c *call) any {
	n := int(c.int(1, 1))
	if n < 1 {
		n = 1
	}
	var rows []any
	items := c.items(0)
	for len(items) > 0 {
		row := slices.Clone(items[:min(n, len(items))])
		items = items[len(row):]
		if c.has(2) && c.bound[2] != nil {
			c.x.room(n)
			for len(row) < n {
				row = append(row, c.bound[2])
			}
		}
		rows = append(rows, &list{items: row})
	}
	return c.x.newList(rows)
}

func slicesOf(c *call) any {
	items, n := c.items(0), int(c.int(1, 1))
	if n < 1 {
		c.failf("the number of slices is less than 1")
	}
	c.x.room(n)
	per, with := len(items)/n, len(items)%n
	rows := make([]any, 0, n)
	at := 0
	for i := range n {
		size := per
		if i < with {
			size++
		}
		row := slices.Clone(items[at : at+size])
		at += size
		if c.has(2) && c.bound[2] != nil && i >= with {
			row = append(row, c.bound[2])
		}
		rows = append(rows, &list{items: row})
	}
	return c.x.newList(rows)
}

// folded returns a key for comparisons without case.
func folded(v any, caseSensitive bool) any {
	if s, ok := v.(string); ok && !caseSensitive {
		return strings.ToLower(s)
	}
	return v
}

func dictSort(c *call) any {
	pairs := c.x.pairs(c.dict(0))
	position := map[string]int{"key": 0, "value": 1}
	at, ok := position[c.str(2, "key")]
	if !ok {
		c.failf("by is key or value")
	}
	c.x.sort(pairs, c.truth(3, false), func(v any) any { return folded(v.(tuple)[at], c.truth(1, false)) })
	return c.x.newList(pairs)
}

func escapeHTML(c *call) any {
	return c.x.text(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(c.text(0, "")))
}

func toFloat(c *call) any {
	if f, ok := asFloat(c.bound[0]); ok {
		return f
	}
	if s, ok := c.bound[0].(string); ok {
		if f, ok := parseFloat(s); ok {
			return f
		}
	}
	return c.value(1, 0.0)
}

// parseFloat reads a number like float() of Python.
func parseFloat(s string) (float64, bool) {
	s = strings.TrimFunc(s, isSpace)
	digits := strings.ReplaceAll(s, "_", "0")
	if strings.ContainsAny(s, "xXpP") || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return 0, false
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	if strings.Contains(s, "_") {
		f, err = strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	}
	return f, err == nil || math.IsInf(f, 0)
}

// parseWhole reads a number like int() of Python.
func parseWhole(s string, base int) (any, bool) {
	s = strings.TrimFunc(s, isSpace)
	if len(s) > 4300 {
		return nil, false
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	if strings.HasPrefix(digits, "_") || strings.HasSuffix(digits, "_") || strings.Contains(digits, "__") || strings.HasPrefix(digits, "-") || strings.HasPrefix(digits, "+") {
		return nil, false
	}
	prefixes := map[int]string{2: "0b", 8: "0o", 16: "0x"}
	if p := prefixes[base]; p != "" && strings.HasPrefix(strings.ToLower(digits), p) {
		digits = strings.TrimPrefix(digits[2:], "_")
	}
	n, ok := new(big.Int).SetString(strings.ReplaceAll(digits, "_", ""), base)
	if !ok || digits == "" || base == 0 && len(digits) > 1 && digits[0] == '0' && strings.Trim(digits, "0123456789_") == "" && strings.Trim(digits, "0_") != "" {
		return nil, false
	}
	if strings.HasPrefix(s, "-") {
		n.Neg(n)
	}
	return whole(n), true
}

func toWhole(c *call) any {
	switch v := c.bound[0].(type) {
	case string:
		base := int(c.int(2, 10))
		if base != 0 && (base < 2 || base > 36) {
			return c.value(1, int64(0))
		}
		if n, ok := parseWhole(v, base); ok {
			return n
		}
		if f, ok := parseFloat(v); ok && !math.IsInf(f, 0) && !math.IsNaN(f) {
			n, _ := big.NewFloat(f).Int(nil)
			return whole(n)
		}
		return c.value(1, int64(0))
	case float64:
		if math.IsInf(v, 0) {
			return c.value(1, int64(0))
		}
		if math.IsNaN(v) {
			return c.value(1, int64(0))
		}
		n, _ := big.NewFloat(v).Int(nil)
		return whole(n)
	}
	if n, _, _, ok := number(c.bound[0]); ok {
		return whole(n)
	}
	return c.value(1, int64(0))
}

func formatFilter(c *call) any {
	if len(c.args) > 0 && len(c.keywords) > 0 {
		c.failf("values are given by name or by position, not both")
	}
	if len(c.keywords) > 0 {
		d := newDict()
		for _, k := range c.keywords {
			d.set(c.x, k.name, k.value)
		}
		return c.x.percent(c.text(0, ""), d)
	}
	return c.x.percent(c.text(0, ""), tuple(c.args))
}

// getter returns a function that reads an attribute such as a.b.0 of a value.
func (c *call) getter(attribute any, fallback any) func(v any) any {
	var keys []any
	switch a := attribute.(type) {
	case nil:
		return func(v any) any { return v }
	case string:
		for key := range strings.SplitSeq(a, ".") {
			if n, err := strconv.ParseInt(key, 10, 64); err == nil && n >= 0 {
				keys = append(keys, n)
			} else {
				keys = append(keys, key)
			}
		}
	default:
		keys = []any{attribute}
	}
	return func(v any) any {
		for _, key := range keys {
			v = c.x.item(v, key)
			if _, is := v.(*undefined); is && fallback != nil {
				v = fallback
			}
		}
		return v
	}
}

// getters returns a function that reads attributes with commas between them.
func (c *call) getters(attribute any, caseSensitive bool) func(v any) any {
	s, ok := attribute.(string)
	if !ok || !strings.Contains(s, ",") {
		get := c.getter(attribute, nil)
		return func(v any) any { return folded(get(v), caseSensitive) }
	}
	var all []func(any) any
	for one := range strings.SplitSeq(s, ",") {
		all = append(all, c.getter(one, nil))
	}
	return func(v any) any {
		keys := make([]any, len(all))
		for i, get := range all {
			keys[i] = folded(get(v), caseSensitive)
		}
		return &list{items: keys}
	}
}

func groupBy(c *call) any {
	get := c.getter(c.bound[1], c.value(2, nil))
	sensitive := c.truth(3, false)
	items := slices.Clone(c.items(0))
	key := func(v any) any { return folded(get(v), sensitive) }
	c.x.sort(items, false, key)
	var groups []any
	for i, item := range items {
		if i > 0 && c.x.equal(key(item), key(items[i-1])) {
			group := groups[len(groups)-1].(tuple)[1].(*list)
			group.items = append(group.items, item)
			continue
		}
		groups = append(groups, tuple{get(item), &list{items: []any{item}}})
	}
	return c.x.newList(groups)
}

func indent(c *call) any {
	s := c.str(0, "")
	by, isText := c.value(1, int64(4)).(string)
	if !isText {
		n := c.int(1, 4)
		if n > maxWidth {
			c.x.length(int(min(n, 1<<40)))
		}
		by = strings.Repeat(" ", int(max(0, n)))
	}
	all := lines(s+"\n", false)
	var b strings.Builder
	for i, line := range all {
		if i > 0 {
			b.WriteByte('\n')
			if line != "" || c.truth(3, false) {
				b.WriteString(by)
			}
		}
		b.WriteString(line.(string))
		c.x.length(b.Len())
	}
	if c.truth(2, false) {
		return c.x.text(by + b.String())
	}
	return c.x.text(b.String())
}

func (c *call) itemsFilter() any {
	switch v := c.bound[0].(type) {
	case *undefined:
		return c.x.newList(nil)
	case *dict:
		return c.x.newList(c.x.pairs(v))
	}
	c.failf("a dict is needed, not %s", typeName(c.bound[0]))
	return nil
}

func join(c *call) any {
	get := c.getter(c.value(2, nil), nil)
	separator := c.text(1, "")
	var b strings.Builder
	for i, item := range c.items(0) {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(c.x.str(get(item)))
		c.x.length(b.Len())
	}
	return c.x.text(b.String())
}

// keyword returns an argument by name, and removes it.
func (c *call) keyword(name string) (any, bool) {
	for i, k := range c.keywords {
		if k.name == name {
			c.keywords = slices.Delete(slices.Clone(c.keywords), i, i+1)
			return k.value, true
		}
	}
	return nil, false
}

func mapped(c *call) any {
	var one func(v any) any
	if len(c.args) == 0 {
		attribute, ok := c.keyword("attribute")
		if !ok {
			c.failf("a filter or attribute= is missing")
		}
		fallback, _ := c.keyword("default")
		if len(c.keywords) > 0 {
			c.failf("there is no argument %q", c.keywords[0].name)
		}
		one = c.getter(attribute, fallback)
	} else {
		name, ok := c.args[0].(string)
		if !ok {
			c.failf("the name of a filter is needed, not %s", typeName(c.args[0]))
		}
		f := filterNamed(name)
		if f == nil {
			c.x.throw(noFilter(name))
		}
		one = func(v any) any {
			return f.apply(&call{x: c.x, name: name, args: append([]any{v}, c.args[1:]...), keywords: c.keywords})
		}
	}
	var items []any
	if c.truth(0, false) { // a false value has no elements, whatever its type
		items = c.items(0)
	}
	c.x.room(len(items))
	result := make([]any, len(items))
	for i, item := range items {
		result[i] = one(item)
	}
	return &list{items: result}
}

// selected is select, reject, selectattr and rejectattr.
func (c *call) selected(attribute, keep bool) any {
	get := func(v any) any { return v }
	args := c.args
	if attribute {
		if len(args) == 0 {
			c.failf("an attribute is missing")
		}
		get, args = c.getter(args[0], nil), args[1:]
	}
	test := func(v any) bool { return c.x.truth(v) }
	if len(args) > 0 {
		name, ok := args[0].(string)
		if !ok {
			c.failf("the name of a test is needed, not %s", typeName(args[0]))
		}
		t := testNamed(name)
		if t == nil {
			c.x.throw(noTest(name))
		}
		test = func(v any) bool {
			return t.apply(&call{x: c.x, name: name, args: append([]any{v}, args[1:]...), keywords: c.keywords})
		}
	}
	var result, items []any
	if c.truth(0, false) { // a false value has no elements, whatever its type
		items = c.items(0)
	}
	for _, item := range items {
		if test(get(item)) == keep {
			result = append(result, item)
		}
	}
	return c.x.newList(result)
}

// extreme is min and max.
func (c *call) extreme(sign int) any {
	key := c.getters(c.value(2, nil), c.truth(1, false))
	items := c.items(0)
	if len(items) == 0 {
		return missing(c.bound[0], "…")
	}
	best := items[0]
	for _, item := range items[1:] {
		if c.x.compare(key(item), key(best))*sign > 0 {
			best = item
		}
	}
	return best
}

func reverse(c *call) any {
	if s, ok := c.bound[0].(string); ok {
		all := runes(s)
		slices.Reverse(all)
		return c.x.text(string(all))
	}
	items := slices.Clone(c.items(0))
	slices.Reverse(items)
	return c.x.newList(items)
}

func rounded(c *call) any {
	n, f, isFloat, ok := number(c.bound[0])
	if !ok {
		c.failf("a number is needed, not %s", typeName(c.bound[0]))
	}
	precision := c.int(1, 0)
	if precision > 300 || precision < -300 {
		c.failf("a precision out of range")
	}
	switch method := c.str(2, "common"); {
	case method != "common" && method != "ceil" && method != "floor":
		c.failf("the method is common, ceil or floor")
	case method == "common" && !isFloat && precision >= 0:
		return whole(n)
	case method == "common" && !isFloat:
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(-precision), nil)
		half := new(big.Int).Div(unit, big.NewInt(2))
		quotient, rest := new(big.Int).DivMod(n, unit, new(big.Int))
		if c := rest.Cmp(half); c > 0 || c == 0 && quotient.Bit(0) == 1 {
			quotient.Add(quotient, big.NewInt(1))
		}
		return whole(quotient.Mul(quotient, unit))
	case method == "common":
		r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(max(0, precision)), 64), 64)
		if precision < 0 {
			unit := math.Pow(10, float64(-precision))
			r = math.RoundToEven(f/unit) * unit
		}
		return r
	default:
		if !isFloat {
			f, _ = asFloat(c.bound[0])
		}
		unit := math.Pow(10, float64(precision))
		if method == "ceil" {
			return math.Ceil(f*unit) / unit
		}
		return math.Floor(f*unit) / unit
	}
	return nil
}

func sorted(c *call) any {
	items := slices.Clone(c.items(0))
	c.x.room(len(items))
	c.x.sort(items, c.truth(1, false), c.getters(c.value(3, nil), c.truth(2, false)))
	return &list{items: items}
}

func sum(c *call) any {
	get := c.getter(c.value(1, nil), nil)
	total := c.value(2, int64(0))
	if _, isText := total.(string); isText {
		c.failf("texts are joined by the filter join")
	}
	for _, item := range c.items(0) {
		total = c.x.binary("+", total, get(item))
	}
	return total
}

// titleFilter is the filter title: each word begins with a large letter, others are small.
func titleFilter(s string) string {
	var b strings.Builder
	first := true
	for _, r := range s {
		if strings.ContainsRune("-({[<", r) || isSpace(r) {
			first = true
			b.WriteRune(r)
			continue
		}
		if first {
			b.WriteString(strings.ToUpper(string(r)))
		} else {
			b.WriteString(strings.ToLower(string(r)))
		}
		first = false
	}
	return b.String()
}

func truncate(c *call) any {
	most, end := int(c.int(1, 255)), c.str(3, "...")
	if int(length(c).(int64)) <= most+int(c.int(4, 5)) {
		return c.bound[0]
	}
	all := runes(c.str(0, ""))
	keep := most - utf8.RuneCountInString(end)
	if keep < 0 {
		c.failf("the length is less than the length of the end")
	}
	cut := string(all[:keep])
	if !c.truth(2, false) {
		if i := strings.LastIndexByte(cut, ' '); i >= 0 {
			cut = cut[:i]
		}
	}
	return c.x.text(cut + end)
}

// unique keeps the first of equal elements; without case unless case_sensitive is true.
func unique(c *call) any {
	get := c.getter(c.value(2, nil), nil)
	// Ansible falls back to its own filter if an element cannot be hashed: that one compares with case.
	return c.x.newList(c.x.distinct(c.items(0), func(v any) any { return folded(get(v), c.truth(1, false)) }))
}

// distinct returns the elements whose keys differ.
func (x *exec) distinct(items []any, key func(any) any) []any {
	seen, unhashable := map[any]bool{}, false
	for _, item := range items {
		switch key(item).(type) {
		case *list, *dict:
			unhashable = true
		}
	}
	var result []any
	if unhashable {
		for _, item := range items {
			if !slices.ContainsFunc(result, func(other any) bool { return x.equal(other, item) }) {
				result = append(result, item)
			}
		}
		return result
	}
	for _, item := range items {
		if h := x.hash(key(item)); !seen[h] {
			seen[h] = true
			result = append(result, item)
		}
	}
	return result
}

func urlEncode(c *call) any {
	quote := func(s, safe string) string {
		var b strings.Builder
		for i := range len(s) {
			switch ch := s[i]; {
			case ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9' || strings.IndexByte("_.-~"+safe, ch) >= 0:
				b.WriteByte(ch)
			default:
				b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(ch)>>4, 16)+strconv.FormatUint(uint64(ch)&15, 16)))
			}
		}
		return b.String()
	}
	var pairs []any
	switch v := c.bound[0].(type) {
	case *dict:
		pairs = c.x.pairs(v)
	case *list, tuple, span:
		pairs = c.items(0)
	default:
		return c.x.text(quote(c.text(0, ""), "/"))
	}
	var parts []string
	for _, pair := range pairs {
		kv := c.x.iterate(pair)
		if len(kv) != 2 {
			c.failf("pairs are needed")
		}
		enc := func(v any) string { return strings.ReplaceAll(quote(c.x.str(v), " "), " ", "+") }
		parts = append(parts, enc(kv[0])+"="+enc(kv[1]))
	}
	return c.x.text(strings.Join(parts, "&"))
}

// baseName returns what follows the last slash, like Python.
func baseName(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

func dirName(s string) string {
	head := s[:strings.LastIndexByte(s, '/')+1]
	return cmp.Or(strings.TrimRight(head, "/"), head)
}

// joinPath is os.path.join of Python.
func joinPath(parts []string) string {
	joined := ""
	for i, part := range parts {
		switch {
		case i == 0, path.IsAbs(part):
			joined = part
		case joined == "" || strings.HasSuffix(joined, "/"):
			joined += part
		default:
			joined += "/" + part
		}
	}
	return joined
}
