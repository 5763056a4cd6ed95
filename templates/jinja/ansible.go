package jinja

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// ansibleFilters returns the filters that Ansible adds to Jinja, or replaces.
func ansibleFilters() map[string]*filterDef {
	return map[string]*filterDef{
		"b64decode":            {"string! encoding", decodeBase64},
		"b64encode":            {"string! encoding", func(c *call) any { return c.x.text(base64.StdEncoding.EncodeToString([]byte(c.text(0, "")))) }},
		"basename":             {"path!", func(c *call) any { return baseName(c.str(0, "")) }},
		"bool":                 {"a!", func(c *call) any { return toBool(c.x, c.bound[0]) }},
		"checksum":             {"data!", hashed("sha1")},
		"combinations":         {"list! r!", combinations},
		"combine":              {"a! * **", combine},
		"comment":              {"text! style **", comment},
		"dict2items":           {"mydict! key_name value_name", dictToItems},
		"difference":           {"a! b!", func(c *call) any { return c.sets(func(inB bool) bool { return !inB }) }},
		"dirname":              {"path!", func(c *call) any { return dirName(c.str(0, "")) }},
		"extract":              {"item! container! morekeys", extract},
		"flatten":              {"mylist! levels skip_nulls", flatten},
		"from_json":            {"s!", func(c *call) any { return c.x.parseJSON(c.str(0, "")) }},
		"from_yaml":            {"data!", fromYAML},
		"hash":                 {"data! hashtype", func(c *call) any { return hashed(c.str(1, "sha1"))(c) }},
		"human_readable":       {"size! isbits unit", humanReadable},
		"human_to_bytes":       {"size! default_unit isbits", humanToBytes},
		"intersect":            {"a! b!", func(c *call) any { return c.sets(func(inB bool) bool { return inB }) }},
		"items2dict":           {"mylist! key_name value_name", itemsToDict},
		"log":                  {"x! base", logarithm},
		"mandatory":            {"a!? msg", mandatory},
		"md5":                  {"data!", hashed("md5")},
		"path_join":            {"paths!", pathJoin},
		"permutations":         {"list! r", permutations},
		"pow":                  {"x! y!", power},
		"product":              {"list! * **", product},
		"quote":                {"a!", quote},
		"random":               {"end! start step seed", random},
		"regex_escape":         {"string! re_type", regexEscape},
		"regex_findall":        {"value! regex! multiline ignorecase", regexFindAll},
		"regex_replace":        {"value! pattern replacement ignorecase multiline", regexReplace},
		"regex_search":         {"value! regex! * **", regexSearch},
		"rekey_on_member":      {"data! key! duplicates", rekey},
		"relpath":              {"path! start!", relPath},
		"root":                 {"x! base", root},
		"sha1":                 {"data!", hashed("sha1")},
		"shuffle":              {"mylist! seed", shuffle},
		"split":                {"v! sep maxsplit", func(c *call) any { c.str(0, ""); return c.split(false) }},
		"splitext":             {"path!", splitExtension},
		"subelements":          {"obj! subelements! skip_missing", subelements},
		"symmetric_difference": {"a! b!", symmetricDifference},
		"ternary":              {"value! true_val!? false_val!? none_val?", ternary},
		"to_json":              {"a! **", toJSON},
		"to_nice_json":         {"a! indent sort_keys **", toNiceJSON},
		"to_nice_yaml":         {"a! indent **", toNiceYAML},
		"to_uuid":              {"string! namespace", toUUID},
		"to_yaml":              {"a! **", toYAML},
		"type_debug":           {"o!?", func(c *call) any { return typeName(c.bound[0]) }},
		"union":                {"a! b!", union},
		"urldecode":            {"string!", urlDecode},
		"urlsplit":             {"value! query", urlSplit},
		"win_basename":         {"path!", func(c *call) any { return baseName(strings.ReplaceAll(c.str(0, ""), `\`, "/")) }},
		"zip":                  {"a! *", zip},
		"zip_longest":          {"a! * **", zipLongest},
	}
}

func toBool(x *exec, v any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		switch strings.ToLower(v) {
		case "yes", "on", "1", "true":
			return true
		}
		return false
	}
	return isNumber(v) && x.equal(v, int64(1))
}

func decodeBase64(c *call) any {
	s := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '+' || r == '/' || r == '=' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return -1
	}, c.text(0, ""))
	decoded, err := base64.StdEncoding.DecodeString(s)
	if err != nil || !utf8.Valid(decoded) {
		c.failf("the text is not base64 of UTF-8")
	}
	return c.x.text(string(decoded))
}

func newHash(name string) hash.Hash {
	switch name {
	case "md5":
		return md5.New()
	case "sha1":
		return sha1.New()
	case "sha224":
		return sha256.New224()
	case "sha256":
		return sha256.New()
	case "sha384":
		return sha512.New384()
	case "sha512":
		return sha512.New()
	}
	return nil
}

func hashed(name string) func(c *call) any {
	return func(c *call) any {
		h := newHash(name)
		if h == nil {
			c.failf("an unknown hash; there are md5, sha1, sha224, sha256, sha384 and sha512")
		}
		h.Write([]byte(c.text(0, "")))
		return hex.EncodeToString(h.Sum(nil))
	}
}

func combine(c *call) any {
	recursive, _ := c.keyword("recursive")
	merge := "replace"
	if m, ok := c.keyword("list_merge"); ok {
		merge, _ = m.(string)
	}
	if len(c.keywords) > 0 || !slices.Contains([]string{"replace", "keep", "append", "prepend", "append_rp", "prepend_rp"}, merge) {
		c.failf("an unknown argument")
	}
	var all []*dict
	for _, term := range append([]any{c.bound[0]}, c.args...) {
		parts, isList := c.x.sequence(term)
		if !isList {
			parts = []any{term}
		}
		for _, part := range parts {
			if part == nil { // flatten omits null
				continue
			}
			d, ok := part.(*dict)
			if u, is := part.(*undefined); is {
				c.x.use(u)
			}
			if !ok {
				if inner, isList := c.x.sequence(part); isList && len(inner) == 0 {
					continue
				}
				c.failf("a dict is needed, not %s", typeName(part))
			}
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return newDict()
	}
	result := all[len(all)-1]
	for _, low := range slices.Backward(all[:len(all)-1]) {
		result = c.x.merged(low, result, recursive != nil && c.x.truth(recursive), merge)
	}
	return result
}

// merged returns low, overridden by high.
func (x *exec) merged(low, high *dict, recursive bool, lists string) *dict {
	defer x.deeper()()
	if low.len() == 0 || x.equal(low, high) {
		return high.copy(x)
	}
	result := low.copy(x)
	high.each(x, func(key, over any) {
		base, there := result.get(x, key)
		baseDict, isDict := base.(*dict)
		overDict, overIsDict := over.(*dict)
		baseList, isList := base.(*list)
		overList, overIsList := over.(*list)
		switch {
		case there && recursive && isDict && overIsDict:
			over = x.merged(baseDict, overDict, recursive, lists)
		case there && isList && overIsList && lists != "replace":
			over = x.mergedLists(baseList, overList, lists)
		}
		result.set(x, key, over)
	})
	return result
}

func (x *exec) mergedLists(base, over *list, how string) any {
	without := func(items, others []any) (kept []any) {
		for _, item := range items {
			if !slices.ContainsFunc(others, func(other any) bool { return x.equal(other, item) }) {
				kept = append(kept, item)
			}
		}
		return kept
	}
	switch how {
	case "keep":
		return base
	case "append":
		return x.newList(slices.Concat(base.items, over.items))
	case "prepend":
		return x.newList(slices.Concat(over.items, base.items))
	case "append_rp":
		return x.newList(slices.Concat(without(base.items, over.items), over.items))
	}
	return x.newList(slices.Concat(over.items, without(base.items, over.items)))
}

// comment writes a text as a comment of a language.
func comment(c *call) any {
	text := c.str(0, "")
	styles := map[string]map[string]string{
		"plain": {"decoration": "# "}, "erlang": {"decoration": "% "}, "c": {"decoration": "// "},
		"cblock": {"beginning": "/*", "decoration": " * ", "end": " */"},
		"xml":    {"beginning": "<!--", "decoration": " - ", "end": "-->"},
	}
	style, ok := styles[c.str(1, "plain")]
	if !ok {
		c.failf("an unknown style")
	}
	option := func(name, usual string) string {
		if v, ok := c.keyword(name); ok {
			s, isText := v.(string)
			if !isText {
				c.failf("%s is %s", name, typeName(v))
			}
			return s
		}
		if s, ok := style[name]; ok {
			return s
		}
		return usual
	}
	count := func(name string) int {
		v, ok := c.keyword(name)
		if !ok {
			return 1
		}
		n, isInt := small(v)
		if !isInt || n > 1000 {
			c.failf("%s is not a number up to 1000", name)
		}
		return int(max(0, n))
	}
	decoration := option("decoration", "")
	trimmed := strings.TrimRightFunc(decoration, isSpace)
	newline := option("newline", "\n")
	if newline == "" {
		c.failf("newline is empty")
	}
	beginning, prefix, postfix, end := option("beginning", ""), option("prefix", trimmed), option("postfix", trimmed), option("end", "")
	prefixes, postfixes := count("prefix_count"), count("postfix_count")
	var b strings.Builder
	if beginning != "" {
		b.WriteString(beginning + newline)
	}
	if prefix != "" {
		line := prefix + newline
		if prefix == newline {
			line = newline
		}
		b.WriteString(strings.Repeat(line, prefixes))
	}
	body := decoration + c.x.replace(text, newline, newline+decoration, -1)
	b.WriteString(strings.ReplaceAll(body, decoration+newline, trimmed+newline))
	for range postfixes {
		b.WriteString(newline + postfix)
	}
	if end != "" {
		b.WriteString(newline + end)
	}
	return c.x.text(b.String())
}

func dictToItems(c *call) any {
	var items []any
	c.x.room(c.dict(0).len())
	c.dict(0).each(c.x, func(key, value any) {
		d := newDict()
		d.set(c.x, c.value(1, "key"), key)
		d.set(c.x, c.value(2, "value"), value)
		items = append(items, d)
	})
	return &list{items: items}
}

func itemsToDict(c *call) any {
	if _, ok := c.x.sequence(c.bound[0]); !ok {
		c.failf("a list is needed, not %s", typeName(c.bound[0]))
	}
	d := newDict()
	for _, item := range c.items(0) {
		one, ok := item.(*dict)
		if !ok {
			c.failf("a list of dicts is needed")
		}
		key, hasKey := one.get(c.x, c.value(1, "key"))
		value, hasValue := one.get(c.x, c.value(2, "value"))
		if !hasKey || !hasValue {
			c.failf("a dict of the list has no key or no value")
		}
		d.set(c.x, key, value)
	}
	return d
}

// sets returns the elements of the first list that are, or are not, in the second.
func (c *call) sets(keep func(inB bool) bool) any {
	if hashable(c.bound[0]) && hashable(c.bound[1]) {
		c.failf("the order of the result would be a matter of chance; lists have an order")
	}
	return c.x.newList(c.x.distinct(c.chosen(c.items(0), c.bound[1], keep), func(v any) any { return v }))
}

// hashable reports whether Python makes a set of v.
func hashable(v any) bool {
	switch v.(type) {
	case *list, *dict:
		return false
	}
	return true
}

func (c *call) chosen(items []any, others any, keep func(in bool) bool) (result []any) {
	in := c.x.membership(others)
	for _, item := range items {
		if keep(in(item)) {
			result = append(result, item)
		}
	}
	return result
}

// membership returns a function that reports whether a value is in v.
func (x *exec) membership(v any) func(item any) bool {
	l, ok := v.(*list)
	if !ok || len(l.items) < 32 {
		return func(item any) bool { return x.contains(v, item) }
	}
	texts := map[string]bool{}
	for _, item := range l.items {
		s, isText := item.(string)
		if !isText {
			return func(item any) bool { return x.contains(v, item) }
		}
		texts[s] = true
	}
	return func(item any) bool {
		s, isText := item.(string)
		return isText && texts[s]
	}
}

func union(c *call) any {
	sum := c.x.binary("+", c.bound[0], c.bound[1])
	l, ok := sum.(*list)
	if !ok {
		c.failf("lists are needed")
	}
	return c.x.newList(c.x.distinct(l.items, func(v any) any { return v }))
}

func symmetricDifference(c *call) any {
	all := union(c).(*list)
	both := c.sets(func(inB bool) bool { return inB })
	return c.x.newList(c.chosen(all.items, both, func(in bool) bool { return !in }))
}

func extract(c *call) any {
	keys := []any{c.bound[0]}
	if c.has(2) && c.bound[2] != nil {
		if l, ok := c.bound[2].(*list); ok {
			keys = append(keys, l.items...)
		} else {
			keys = append(keys, c.bound[2])
		}
	}
	v := c.bound[1]
	for _, key := range keys {
		v = c.x.item(v, key)
	}
	return v
}

func flatten(c *call) any {
	levels := c.int(1, math.MaxInt64)
	return c.x.newList(c.x.flat(c.items(0), levels, c.truth(2, true)))
}

func (x *exec) flat(items []any, levels int64, skip bool) (result []any) {
	defer x.deeper()()
	for _, item := range items {
		if u, is := item.(*undefined); is {
			x.use(u)
		}
		if skip && (item == nil || item == "None" || item == "null") {
			continue
		}
		inner, isList := x.sequence(item)
		if l, ok := item.(*list); ok && l.view != "" {
			isList = false
		}
		if _, ok := item.(span); ok {
			isList = true
		}
		if isList && levels >= 1 {
			result = append(result, x.flat(inner, levels-1, skip)...)
		} else {
			result = append(result, item)
		}
	}
	return result
}

func mandatory(c *call) any {
	if u, is := c.bound[0].(*undefined); is {
		if c.has(1) {
			c.x.throw(diag.Faultf("mandatory: %s", u.fault.Msg))
		}
		c.x.use(u)
	}
	return c.bound[0]
}

func pathJoin(c *call) any {
	if s, ok := c.bound[0].(string); ok {
		return s
	}
	items, ok := c.x.sequence(c.bound[0])
	if !ok || len(items) == 0 {
		c.failf("a list of texts is needed, not %s", typeName(c.bound[0]))
	}
	parts := make([]string, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			c.failf("a list of texts is needed; it has %s", typeName(item))
		}
		parts[i] = s
	}
	return c.x.text(joinPath(parts))
}

func relPath(c *call) any {
	clean := func(s string) []string {
		var parts []string
		for part := range strings.SplitSeq(s, "/") {
			switch {
			case part == "" || part == ".":
			case part == ".." && len(parts) > 0:
				parts = parts[:len(parts)-1]
			case part != "..":
				parts = append(parts, part)
			}
		}
		return parts
	}
	if !strings.HasPrefix(c.str(0, ""), "/") || !strings.HasPrefix(c.str(1, ""), "/") {
		c.failf("absolute paths are needed")
	}
	to, from := clean(c.str(0, "")), clean(c.str(1, ""))
	same := 0
	for same < len(to) && same < len(from) && to[same] == from[same] {
		same++
	}
	parts := append(slices.Repeat([]string{".."}, len(from)-same), to[same:]...)
	if len(parts) == 0 {
		return "."
	}
	return strings.Join(parts, "/")
}

func splitExtension(c *call) any {
	s := c.str(0, "")
	base := strings.LastIndexByte(s, '/') + 1
	dot := strings.LastIndexByte(s, '.')
	if dot <= base || strings.Trim(s[base:dot], ".") == "" {
		return tuple{s, ""}
	}
	return tuple{s[:dot], s[dot:]}
}

// quote quotes a text for a shell.
func quote(c *call) any {
	s := ""
	if c.bound[0] != nil {
		s = c.text(0, "")
	}
	unsafe := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./-_", r))
	}
	if s != "" && !strings.ContainsFunc(s, unsafe) {
		return s
	}
	return c.x.text("'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'")
}

func ternary(c *call) any {
	if c.bound[0] == nil && c.has(3) && c.bound[3] != nil {
		return c.bound[3]
	}
	if c.truth(0, false) {
		return c.bound[1]
	}
	return c.bound[2]
}

func regexEscape(c *call) any {
	switch c.str(1, "python") {
	case "python":
		return c.x.text(escapeRegex(c.text(0, "")))
	case "posix_basic":
		return c.replaced(c.regex(`([].[^$*\\])`, false, false), c.text(0, ""), `\\\1`)
	}
	c.failf("re_type is python or posix_basic")
	return nil
}

func regexReplace(c *call) any {
	return c.replaced(c.regex(c.str(1, ""), c.truth(3, false), c.truth(4, false)), c.text(0, ""), c.str(2, ""))
}

func regexFindAll(c *call) any {
	p, s := c.regex(c.str(1, ""), c.truth(3, false), c.truth(2, false)), c.text(0, "")
	var result []any
	for _, m := range p.matches(s, -1) {
		groups := make(tuple, 0, len(m)/2)
		for i := 2; i < len(m); i += 2 {
			groups = append(groups, part(s, m[i:i+2], ""))
		}
		switch len(groups) {
		case 0:
			result = append(result, s[m[0]:m[1]])
		case 1:
			result = append(result, groups[0])
		default:
			result = append(result, groups)
		}
	}
	return c.x.newList(result)
}

// part returns the text of a group, or other if it did not match.
func part(s string, m []int, other any) any {
	if m[0] < 0 {
		return other
	}
	return s[m[0]:m[1]]
}

func regexSearch(c *call) any {
	ignoreCase, _ := c.keyword("ignorecase")
	multiline, _ := c.keyword("multiline")
	p, s := c.regex(c.str(1, ""), c.x.truth(ignoreCase), c.x.truth(multiline)), c.text(0, "")
	var groups []int
	for _, arg := range c.args {
		name, ok := arg.(string)
		if !ok {
			c.failf(`a group is a text such as '\1'`)
		}
		n := -1
		if inner, ok := strings.CutPrefix(name, `\g<`); ok {
			inner = strings.TrimSuffix(inner, ">")
			if n = p.SubexpIndex(inner); n < 0 {
				n = atoi(inner)
			}
		} else if inner, ok := strings.CutPrefix(name, `\`); ok {
			n = atoi(inner)
		}
		if n < 0 || n > p.NumSubexp() {
			c.failf("the pattern has no such group")
		}
		groups = append(groups, n)
	}
	m := p.search(s)
	if m == nil {
		return nil
	}
	if len(groups) == 0 {
		return s[m[0]:m[1]]
	}
	result := make([]any, len(groups))
	for i, n := range groups {
		result[i] = part(s, m[2*n:2*n+2], nil)
	}
	return c.x.newList(result)
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

func rekey(c *call) any {
	items := c.items(0)
	if d, ok := c.bound[0].(*dict); ok {
		items = c.x.valuesOf(d)
	}
	result := newDict()
	for _, item := range items {
		d, ok := item.(*dict)
		if !ok {
			c.failf("an element is not a dict")
		}
		key, ok := d.get(c.x, c.bound[1])
		if !ok {
			c.failf("an element does not have the key")
		}
		if _, twice := result.get(c.x, key); twice && c.str(2, "error") != "overwrite" {
			c.failf("two elements have the same key")
		}
		result.set(c.x, key, d)
	}
	return result
}

func subelements(c *call) any {
	var items []any
	switch v := c.bound[0].(type) {
	case *dict:
		items = c.x.valuesOf(v)
	case *list:
		items = v.items
	default:
		c.failf("a list or a dict is needed, not %s", typeName(v))
	}
	var keys []any
	switch v := c.bound[1].(type) {
	case string:
		for key := range strings.SplitSeq(v, ".") {
			keys = append(keys, key)
		}
	case *list:
		keys = v.items
	default:
		c.failf("the keys are a text or a list")
	}
	var pairs []any
	for _, item := range items {
		v := item
		for _, key := range keys {
			d, isDict := v.(*dict)
			if !isDict {
				c.failf("a key does not lead to a dict")
			}
			var ok bool
			if v, ok = d.get(c.x, key); !ok {
				if !c.truth(2, false) {
					c.failf("an element does not have the key")
				}
				v = &list{}
				break
			}
		}
		l, isList := v.(*list)
		if !isList {
			c.failf("the key does not lead to a list")
		}
		for _, one := range l.items {
			pairs = append(pairs, tuple{item, one})
		}
	}
	return c.x.newList(pairs)
}

func (c *call) float(i int) float64 {
	f, ok := asFloat(c.bound[i])
	if !ok {
		c.failf("a number is needed, not %s", typeName(c.bound[i]))
	}
	return f
}

func (c *call) finite(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		c.failf("the result is out of range")
	}
	return f
}

func logarithm(c *call) any {
	v := c.float(0)
	switch base := c.value(1, math.E); {
	case base == math.E:
		return c.finite(log(v))
	case c.x.equal(base, int64(10)):
		return c.finite(math.Log10(v))
	}
	return c.finite(log(v) / log(c.float(1)))
}

func power(c *call) any { return c.finite(pow(c.float(0), c.float(1))) }

func root(c *call) any {
	if !c.has(1) || c.x.equal(c.bound[1], int64(2)) {
		return c.finite(math.Sqrt(c.float(0)))
	}
	return c.finite(pow(c.float(0), 1/c.float(1)))
}

// lists returns the elements of all arguments.
func (c *call) lists() [][]any {
	all := [][]any{c.items(0)}
	for _, arg := range c.args {
		all = append(all, c.x.iterate(arg))
	}
	return all
}

func zip(c *call) any {
	all := c.lists()
	n := len(all[0])
	for _, one := range all {
		n = min(n, len(one))
	}
	return c.zipped(all, n, nil)
}

func zipLongest(c *call) any {
	fill, _ := c.keyword("fillvalue")
	all := c.lists()
	n := 0
	for _, one := range all {
		n = max(n, len(one))
	}
	return c.zipped(all, n, fill)
}

func (c *call) zipped(all [][]any, n int, fill any) any {
	c.x.room(n * (1 + len(all)))
	rows := make([]any, n)
	for i := range rows {
		row := make(tuple, len(all))
		for j, one := range all {
			if row[j] = fill; i < len(one) {
				row[j] = one[i]
			}
		}
		rows[i] = row
	}
	return &list{items: rows}
}

func product(c *call) any {
	all := c.lists()
	if repeat, ok := c.keyword("repeat"); ok {
		n, isInt := small(repeat)
		if !isInt || n < 0 || n > 20 {
			c.failf("repeat is not a number up to 20")
		}
		all = slices.Repeat(all, int(n))
	}
	rows := []any{tuple{}}
	for _, one := range all {
		c.x.room(len(rows) * len(one))
		next := make([]any, 0, len(rows)*len(one))
		for _, row := range rows {
			for _, item := range one {
				next = append(next, append(slices.Clone(row.(tuple)), item))
			}
		}
		rows = next
	}
	return &list{items: rows}
}

func combinations(c *call) any {
	return c.arranged(int(c.int(1, 0)), func(chosen []int, i int) bool { return len(chosen) == 0 || i > chosen[len(chosen)-1] })
}

func permutations(c *call) any {
	return c.arranged(int(c.int(1, int64(len(c.items(0))))), func(chosen []int, i int) bool { return !slices.Contains(chosen, i) })
}

func (c *call) arranged(r int, may func(chosen []int, i int) bool) any {
	items := c.items(0)
	if r < 0 {
		c.failf("a negative number")
	}
	var rows []any
	var walk func(chosen []int)
	walk = func(chosen []int) {
		c.x.step(1)
		if len(chosen) == r {
			c.x.grow(16 * r)
			if len(rows) >= maxItems {
				c.x.room(maxItems + 1)
			}
			row := make(tuple, r)
			for i, at := range chosen {
				row[i] = items[at]
			}
			rows = append(rows, row)
			return
		}
		for i := range items {
			if may(chosen, i) {
				walk(append(slices.Clone(chosen), i))
			}
		}
	}
	if r <= len(items) {
		walk(nil)
	}
	return c.x.newList(rows)
}

func toUUID(c *call) any {
	namespace, err := hex.DecodeString(strings.ReplaceAll(c.str(1, "361E6D51-FAEC-444A-9079-341386DA8E2E"), "-", ""))
	if err != nil || len(namespace) != 16 {
		c.failf("the namespace is not a UUID")
	}
	h := sha1.Sum(append(namespace, c.text(0, "")...))
	u := h[:16]
	u[6], u[8] = u[6]&0x0f|0x50, u[8]&0x3f|0x80
	s := hex.EncodeToString(u)
	return strings.Join([]string{s[:8], s[8:12], s[12:16], s[16:20], s[20:]}, "-")
}

func urlDecode(c *call) any {
	var b strings.Builder
	s := c.str(0, "")
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b.WriteByte(' ')
		case s[i] == '%' && i+2 < len(s):
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return c.x.text(strings.ToValidUTF8(b.String(), "\uFFFD"))
}

func urlSplit(c *call) any {
	u, err := url.Parse(c.str(0, ""))
	if err != nil {
		c.failf("the text is not a URL")
	}
	d := newDict()
	set := func(key string, value any) { d.set(c.x, key, value) }
	orNone := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	password, _ := u.User.Password()
	netloc := u.Host
	if u.User != nil {
		netloc = u.User.String() + "@" + netloc
	}
	set("fragment", u.Fragment)
	set("hostname", orNone(strings.ToLower(u.Hostname())))
	set("netloc", netloc)
	set("password", orNone(password))
	set("path", u.EscapedPath()+u.Opaque)
	set("port", nil)
	if n, err := strconv.ParseInt(u.Port(), 10, 64); err == nil {
		set("port", n)
	}
	set("query", u.RawQuery)
	set("scheme", u.Scheme)
	set("username", orNone(u.User.Username()))
	if query := c.str(1, ""); query != "" {
		v, ok := d.get(c.x, query)
		if !ok {
			c.failf("an unknown part of a URL")
		}
		return v
	}
	return d
}

var sizeUnits = []struct {
	letter byte
	size   float64
}{{'Y', 1 << 80}, {'Z', 1 << 70}, {'E', 1 << 60}, {'P', 1 << 50}, {'T', 1 << 40}, {'G', 1 << 30}, {'M', 1 << 20}, {'K', 1 << 10}, {'B', 1}}

func humanReadable(c *call) any {
	size, base := 0.0, "Bytes"
	switch v := c.bound[0].(type) {
	case string:
		c.failf("a number is needed, not str")
	default:
		f, ok := asFloat(v)
		if !ok {
			c.failf("a number is needed, not %s", typeName(v))
		}
		size = f
	}
	if c.truth(1, false) {
		base = "bits"
	}
	unit := ""
	if c.has(2) && c.bound[2] != nil {
		unit = strings.ToUpper(c.str(2, ""))
	}
	suffix, limit := "", 1.0
	for _, u := range sizeUnits {
		suffix, limit = string(u.letter), u.size
		if unit == "" && size >= u.size || unit != "" && unit[0] == u.letter {
			break
		}
	}
	if limit != 1 {
		suffix += base[:1]
	} else {
		suffix = base
	}
	return fmt.Sprintf("%.2f %s", size/limit, suffix)
}

func humanToBytes(c *call) any {
	m := c.regex(`^\s*(\d*\.?\d*)\s*([A-Za-z]+)?`, false, false).FindStringSubmatch(c.text(0, ""))
	number, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		c.failf("the text is not a size")
	}
	unit := m[2]
	if unit == "" {
		if unit, _ = c.value(1, "").(string); unit == "" {
			return int64(math.RoundToEven(number))
		}
	}
	for _, u := range sizeUnits {
		if strings.ToUpper(unit[:1])[0] != u.letter {
			continue
		}
		want := "B"
		if c.truth(2, false) {
			want = "b"
		}
		if len(unit) > 1 && u.letter != 'B' && unit[1:] != want {
			break
		}
		return int64(math.RoundToEven(number * u.size))
	}
	c.failf("an unknown unit of size")
	return nil
}
