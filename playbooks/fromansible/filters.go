package fromansible

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// A form is how a filter, a test or a method is written here: {0} is the value, {1} and on
// are its arguments.
type form struct {
	expr  string // in expressions
	jet   string // in Jet; "" if there it is an expression around it, or nothing
	kind  kind
	least int                                               // arguments
	most  int                                               //
	by    func(w *writer, e *j2.Expr, f form) (term, error) // instead of the texts
	doc   string                                            // what tables of the documentation show, for those with by
}

// filters are those of Jinja and Ansible that are carried over.
var filters map[string]form

// tests are those behind is.
var tests map[string]form

// methods are those of texts and maps of Python.
var methods map[string]form

func init() {
	methods = map[string]form{
		"split":      {expr: "split({0}, {1})", jet: "split({0}, {1})", kind: listKind, least: 1, most: 1},
		"startswith": {expr: "hasPrefix({0}, {1})", jet: "hasPrefix({0}, {1})", kind: boolKind, least: 1, most: 1},
		"endswith":   {expr: "hasSuffix({0}, {1})", jet: "hasSuffix({0}, {1})", kind: boolKind, least: 1, most: 1},
		"lower":      {expr: "lower({0})", jet: "lower({0})", kind: textKind},
		"upper":      {expr: "upper({0})", jet: "upper({0})", kind: textKind},
		"strip":      {expr: "trim({0})", jet: "trimSpace({0})", kind: textKind},
		"replace":    {expr: "replace({0}, {1}, {2})", jet: "replace({0}, {1}, {2}, -1)", kind: textKind, least: 2, most: 2},
		"keys":       {expr: "keys({0})", kind: listKind},
		"values":     {expr: "values({0})", kind: listKind},
		"get":        {by: getMethod, least: 1, most: 2, doc: "`x.y ?? z`"},
		"join":       {expr: "join({1}, {0})", kind: textKind, least: 1, most: 1},
		"items":      {expr: "toPairs({0})", kind: listKind},
	}

	filters = map[string]form{
		"default":       {by: defaultFilter, most: 2, doc: "`x ?? y`; with true behind it `(x ?? \"\") in [\"\", false, 0] ? y : x`"},
		"d":             {by: defaultFilter, most: 2, doc: "as `default`"},
		"bool":          {by: boolFilter, doc: "the value itself, if it is not a text"},
		"lower":         {by: caseFilter, kind: textKind, doc: "`lower(x)`"},
		"upper":         {by: caseFilter, kind: textKind, doc: "`upper(x)`"},
		"replace":       methods["replace"],
		"trim":          {expr: "trim({0})", jet: "trimSpace({0})", kind: textKind},
		"length":        {expr: "len({0})", jet: "len({0})", kind: numberKind},
		"count":         {expr: "len({0})", jet: "len({0})", kind: numberKind},
		"int":           {by: intFilter, kind: numberKind, most: 1, doc: "`int(x)`"},
		"float":         {expr: "float({0})", kind: numberKind},
		"string":        {expr: "string({0})", jet: "\"\" + {0}", kind: textKind},
		"abs":           {expr: "abs({0})", kind: numberKind},
		"round":         {expr: "round({0})", kind: numberKind},
		"list":          {by: listFilter, doc: "the value itself"},
		"first":         {expr: "{0}[0]", jet: "{0}[0]"},
		"last":          {expr: "{0}[-1]"},
		"min":           {expr: "min({0})", kind: numberKind},
		"max":           {expr: "max({0})", kind: numberKind},
		"sum":           {expr: "sum({0})", kind: numberKind},
		"sort":          {expr: "sort({0})", kind: listKind},
		"unique":        {expr: "uniq({0})", kind: listKind},
		"reverse":       {expr: "reverse({0})", kind: listKind},
		"flatten":       {expr: "flatten({0})", kind: listKind},
		"join":          {expr: "join({0}, {1})", kind: textKind, most: 1, by: joinFilter, doc: "`join(x, y)`"},
		"split":         methods["split"],
		"union":         {expr: "uniq(concat({0}, {1}))", kind: listKind, least: 1, most: 1},
		"intersect":     {expr: "filter({0}, # in {1})", kind: listKind, least: 1, most: 1},
		"difference":    {expr: "filter({0}, # not in {1})", kind: listKind, least: 1, most: 1},
		"combine":       {by: combineFilter, kind: mapKind, least: 1, most: 5, doc: "`fromPairs(concat(toPairs(x), toPairs(y)))`"},
		"dict2items":    {expr: `map(toPairs({0}), ({'key': #[0], 'value': #[1]}))`, kind: listKind},
		"items2dict":    {expr: "fromPairs(map({0}, [#.key, #.value]))", kind: mapKind},
		"dictsort":      {expr: "toPairs({0})", kind: listKind},
		"map":           {by: mapFilter, kind: listKind, least: 1, most: 4, doc: "`map(x, #.name)`"},
		"select":        {by: selectFilter, kind: listKind, most: 3, doc: "`filter(x, # matches y)`"},
		"reject":        {by: selectFilter, kind: listKind, most: 3, doc: "`filter(x, not …)`"},
		"selectattr":    {by: selectFilter, kind: listKind, least: 1, most: 4, doc: "`filter(x, #.name == y)`"},
		"rejectattr":    {by: selectFilter, kind: listKind, least: 1, most: 4, doc: "`filter(x, not …)`"},
		"basename":      {expr: `split({0}, '/')[-1]`, kind: textKind},
		"dirname":       {expr: `join(split({0}, '/')[:-1], '/')`, kind: textKind},
		"b64encode":     {expr: "toBase64({0})", kind: textKind},
		"b64decode":     {expr: "fromBase64({0})", kind: textKind},
		"from_json":     {expr: "fromJSON({0})"},
		"to_json":       {expr: "toJSON({0})", jet: "json({0})", kind: textKind},
		"to_nice_json":  {expr: "toJSON({0})", kind: textKind, most: 2, by: niceJSON, doc: "`toJSON(x)`, which indents by two"},
		"tojson":        {expr: "toJSON({0})", jet: "json({0})", kind: textKind},
		"quote":         {expr: `"'" + replace({0}, "'", "'\"'\"'") + "'"`, jet: `"'" + replace({0}, "'", "'\"'\"'", -1) + "'"`, kind: textKind},
		"ternary":       {by: ternaryFilter, least: 2, most: 2, doc: "`x ? y : z`"},
		"mandatory":     {expr: "{0}", jet: "{0}", most: 1},
		"regex_replace": {by: regexReplace, kind: textKind, least: 1, most: 2, doc: "`replace`, `trimPrefix` or `trimSuffix`, for a pattern that is a text with `^` or `$`"},
		"regex_search":  {by: matchesFilter, kind: boolKind, least: 1, most: 1, doc: "`x matches y`, where only that is asked"},
		"indent":        {by: indentFilter, kind: textKind, most: 2, doc: "`replace(x, \"\\n\", \"\\n    \")`"},
		"comment":       {expr: `"#\n# " + replace({0}, "\n", "\n# ") + "\n#"`, jet: `"#\n# " + replace({0}, "\n", "\n# ", -1) + "\n#"`, kind: textKind},
		"escape":        {jet: "html({0})", kind: textKind},
		"urlencode":     {jet: "url({0})", kind: textKind},
		"capitalize":    {expr: "upper({0}[:1]) + lower({0}[1:])", kind: textKind},
		"items":         {expr: "toPairs({0})", kind: listKind},
	}
	tests = map[string]form{
		"defined":     {by: definedTest, doc: "`\"x\" in Data`, `(x.y ?? nil) != nil`"},
		"undefined":   {by: definedTest, doc: "`\"x\" not in Data`"},
		"none":        {expr: "{0} == nil", kind: boolKind},
		"string":      {expr: "type({0}) == 'string'", kind: boolKind},
		"mapping":     {expr: "type({0}) == 'map'", kind: boolKind},
		"sequence":    {expr: "type({0}) == 'array'", kind: boolKind},
		"iterable":    {expr: "type({0}) == 'array'", kind: boolKind},
		"boolean":     {expr: "type({0}) == 'bool'", kind: boolKind},
		"integer":     {expr: "type({0}) == 'int'", kind: boolKind},
		"number":      {expr: "type({0}) in ['int', 'float']", kind: boolKind},
		"even":        {expr: "{0} % 2 == 0", jet: "{0} % 2 == 0", kind: boolKind},
		"odd":         {expr: "{0} % 2 == 1", jet: "{0} % 2 == 1", kind: boolKind},
		"divisibleby": {expr: "{0} % {1} == 0", jet: "{0} % {1} == 0", kind: boolKind, least: 1, most: 1},
		"equalto":     {expr: "{0} == {1}", jet: "{0} == {1}", kind: boolKind, least: 1, most: 1},
		"eq":          {expr: "{0} == {1}", jet: "{0} == {1}", kind: boolKind, least: 1, most: 1},
		"ne":          {expr: "{0} != {1}", jet: "{0} != {1}", kind: boolKind, least: 1, most: 1},
		"gt":          {expr: "{0} > {1}", jet: "{0} > {1}", kind: boolKind, least: 1, most: 1},
		"ge":          {expr: "{0} >= {1}", jet: "{0} >= {1}", kind: boolKind, least: 1, most: 1},
		"lt":          {expr: "{0} < {1}", jet: "{0} < {1}", kind: boolKind, least: 1, most: 1},
		"le":          {expr: "{0} <= {1}", jet: "{0} <= {1}", kind: boolKind, least: 1, most: 1},
		"sameas":      {expr: "{0} == {1}", jet: "{0} == {1}", kind: boolKind, least: 1, most: 1},
		"true":        {expr: "{0} == true", jet: "{0} == true", kind: boolKind},
		"false":       {expr: "{0} == false", jet: "{0} == false", kind: boolKind},
		"in":          {by: inTest, kind: boolKind, least: 1, most: 1, doc: "`x in y`"},
		"contains":    {by: inTest, kind: boolKind, least: 1, most: 1, doc: "`y in x`"},
		"subset":      {expr: "all({0}, # in {1})", kind: boolKind, least: 1, most: 1},
		"superset":    {expr: "all({1}, # in {0})", kind: boolKind, least: 1, most: 1},
		"match":       {by: matchTest, kind: boolKind, least: 1, most: 2, doc: "`x matches \"^…\"`"},
		"search":      {by: matchTest, kind: boolKind, least: 1, most: 2, doc: "`x matches \"…\"`"},
		"regex":       {by: matchTest, kind: boolKind, least: 1, most: 2, doc: "`x matches \"…\"`"},
		"version":     {by: versionTest, kind: boolKind, least: 1, most: 3, doc: "`int(x) >= 8`, for a version without dots"},
		"changed":     {by: resultTest, doc: "`Results.x.changed`"},
		"change":      {by: resultTest, doc: "`Results.x.changed`"},
		"failed":      {by: resultTest, doc: "`Results.x.failed`"},
		"succeeded":   {by: resultTest, doc: "`not (Results.x.failed or Results.x.skipped)`"},
		"success":     {by: resultTest, doc: "as `succeeded`"},
		"skipped":     {by: resultTest, doc: "`Results.x.skipped`"},
		"truthy":      {by: truthTest, doc: "the value itself"},
		"falsy":       {by: truthTest, doc: "`not x`"},
	}
}

func (w *writer) filter(e *j2.Expr) (term, error) {
	f, ok := filters[e.Text]
	if !ok {
		return term{}, unknownf("the filter %s", e.Text)
	}
	return w.formed(e, f, "the filter "+e.Text)
}

func (w *writer) test(e *j2.Expr) (term, error) {
	f, ok := tests[e.Text]
	if !ok {
		return term{}, unknownf("the test %s", e.Text)
	}
	t, err := w.formed(e, f, "the test "+e.Text)
	if err == nil && e.Not && f.by == nil {
		t = w.not(t)
	}
	return t, err
}

// formed writes a filter or test as its form says.
func (w *writer) formed(e *j2.Expr, f form, what string) (term, error) {
	if n := len(e.Args) - 1; n < f.least || n > f.most {
		return term{}, unknownf("%s with %d arguments", what, n)
	}
	if f.by != nil {
		return f.by(w, e, f)
	}
	for _, kw := range e.Kw {
		if kw != "" {
			return term{}, unknownf("%s with the argument %s", what, kw)
		}
	}
	return w.filled(f, e.Args, what)
}

// filled puts the arguments into the text of a form.
func (w *writer) filled(f form, args []*j2.Expr, what string) (term, error) {
	text := f.expr
	if w.jet {
		text = f.jet
	}
	if text == "" {
		return term{}, unknownf("%s%s", what, map[bool]string{true: " in a template"}[w.jet])
	}
	prec := formPrec(text)
	for i, arg := range args {
		t, err := w.write(arg)
		if err != nil {
			return t, err
		}
		operand := t.text
		if bare := "{" + strconv.Itoa(i) + "}"; prec < whole || strings.Contains(text, bare+"[") || text == bare {
			operand = t.in(prec + 1)
			if strings.Contains(text, bare+"[") {
				operand = t.in(whole)
			}
			if text == bare {
				operand, prec = t.text, t.prec
				f.kind = t.kind
			}
		}
		text = strings.ReplaceAll(text, "{"+strconv.Itoa(i)+"}", operand)
	}
	return term{text, prec, f.kind}, nil
}

// formPrec is how strongly the text of a form binds.
func formPrec(text string) int {
	depth := 0
	for i := range len(text) {
		switch c := text[i]; {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case depth > 0:
		case strings.HasPrefix(text[i:], " == "), strings.HasPrefix(text[i:], " != "), strings.HasPrefix(text[i:], " > "), strings.HasPrefix(text[i:], " >= "),
			strings.HasPrefix(text[i:], " < "), strings.HasPrefix(text[i:], " <= "), strings.HasPrefix(text[i:], " in "), strings.HasPrefix(text[i:], " matches "):
			return comparing
		case strings.HasPrefix(text[i:], " + "):
			return adding
		}
	}
	return whole
}

// call writes calls of functions and methods.
func (w *writer) call(e *j2.Expr) (term, error) {
	of := e.Args[0]
	if of.Op == j2.Attr {
		if of.Text == "format" {
			return term{}, unknownf("the method format")
		}
		f, ok := methods[of.Text]
		if !ok {
			return term{}, unknownf("the method %s", of.Text)
		}
		args := append([]*j2.Expr{of.Args[0]}, e.Args[1:]...)
		if of.Text == "split" && len(args) == 1 {
			return term{}, unknownf("split() at any white space")
		}
		return w.formed(&j2.Expr{Op: j2.Filter, Text: of.Text, Args: args, Kw: e.Kw}, f, "the method "+of.Text)
	}
	if of.Op != j2.Name {
		return term{}, unknownf("a function that is computed")
	}
	switch of.Text {
	case "lookup", "query", "q":
		return w.lookup(e)
	case "range":
		return w.numbers(e)
	case "now":
		return term{}, unknownf("the function now")
	}
	return term{}, unknownf("the function %s", of.Text)
}

// lookup writes the lookups that are done on the controller and have a counterpart.
func (w *writer) lookup(e *j2.Expr) (term, error) {
	if len(e.Args) < 2 {
		return term{}, unknownf("lookup without a plugin")
	}
	plugin, _ := e.Args[1].Lit.(string)
	plugin = plugin[strings.LastIndexByte(plugin, '.')+1:]
	for _, kw := range e.Kw {
		if kw != "" {
			return term{}, unknownf("the lookup %s with the argument %s", plugin, kw)
		}
	}
	if len(e.Args) != 3 {
		return term{}, unknownf("the lookup %s with %d arguments", plugin, len(e.Args)-2)
	}
	arg := e.Args[2]
	text, isText := arg.Lit.(string)
	switch {
	case plugin == "env" && isText && isWord(text):
		return term{"Environ." + text, whole, textKind}, nil
	case plugin == "file" && isText:
		path, err := w.scope.files.localFile("files", text)
		if err != nil {
			return term{}, err
		}
		t := term{"file(" + quoteText(path) + ")", whole, textKind}
		if !w.jet {
			t.text = "trim(" + t.text + ")"
		}
		return t, nil
	case plugin == "template" && isText:
		path, err := w.scope.files.template(text, w.scope)
		return term{"jet(" + quoteText(path) + ")", whole, textKind}, err
	case plugin == "vars" && !w.jet:
		t, err := w.write(arg)
		return term{"Data[" + t.text + "]", whole, anyKind}, err
	case plugin == "dict" && !w.jet:
		return w.filled(filters["dict2items"], []*j2.Expr{arg}, "the lookup dict")
	}
	return term{}, unknownf("the lookup %s", plugin)
}

func (w *writer) numbers(e *j2.Expr) (term, error) {
	args, err := w.all(e.Args[1:])
	if err != nil {
		return term{}, err
	}
	from, to := "0", ""
	switch len(args) {
	case 1:
		to = args[0]
	case 2:
		from, to = args[0], args[1]
	default:
		return term{}, unknownf("range with %d arguments", len(args))
	}
	if w.jet {
		return term{"ints(" + from + ", " + to + ")", whole, listKind}, nil
	}
	return term{from + "..(" + to + ") - 1", comparing + 1, listKind}, nil
}

// getMethod writes x.get(key, default).
func getMethod(w *writer, e *j2.Expr, _ form) (term, error) {
	member := &j2.Expr{Op: j2.Index, Args: e.Args[:2]}
	fallback := &j2.Expr{Op: j2.Literal}
	if len(e.Args) > 2 {
		fallback = e.Args[2]
	}
	return defaultFilter(w, &j2.Expr{Op: j2.Filter, Text: "default", Args: []*j2.Expr{member, fallback}, Kw: []string{"", ""}}, form{})
}

// plainPath gives the path of a lookup for what a reference names.
func plainPath(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, "Data.")
	for _, part := range strings.Split(rest, ".") {
		ok = ok && isWord(part)
	}
	return "data." + rest, ok
}

// defaultFilter writes default(y) and default(y, true).
func defaultFilter(w *writer, e *j2.Expr, _ form) (term, error) {
	var y *j2.Expr = &j2.Expr{Op: j2.Literal, Lit: ""}
	falsy := false
	for i, arg := range e.Args[1:] {
		switch {
		case e.Kw[i+1] == "boolean" || e.Kw[i+1] == "" && i == 1:
			b, isBool := arg.Lit.(bool)
			if !isBool {
				return term{}, unknownf("default with a second argument that is computed")
			}
			falsy = b
		default:
			y = arg
		}
	}
	if y.Op == j2.Name && y.Text == "omit" {
		return term{}, errOmit
	}
	x, err := w.write(e.Args[0])
	if err != nil {
		return x, err
	}
	d, err := w.write(y)
	if err != nil {
		return d, err
	}
	k := d.kind
	if x.kind != anyKind {
		k = x.kind
	}
	if w.jet {
		if falsy && y.Op != j2.List && y.Op != j2.Dict {
			return term{}, unknownf("default(…, true) in a template")
		}
		if path, ok := plainPath(x.text); ok {
			return term{"lookup(" + strconv.Quote(path) + ", " + d.text + ")", whole, k}, nil
		}
		if x.prec < whole || strings.ContainsAny(x.text, "(\"") {
			return term{}, unknownf("default of what is computed, in a template")
		}
		return term{"isset(" + x.text + ") ? " + x.text + " : " + d.in(condPrec), condPrec, k}, nil
	}
	if !falsy || y.Op == j2.List || y.Op == j2.Dict {
		return term{x.in(whole) + " ?? " + d.in(whole), condPrec, k}, nil
	}
	none := "nil"
	if s, isText := y.Lit.(string); isText && s == "" {
		return term{x.in(whole) + " ?? ''", condPrec, k}, nil
	}
	return term{"(" + x.in(whole) + " ?? " + none + ") in [nil, '', false, 0] ? " + d.in(condPrec+1) + " : " + x.in(condPrec+1), condPrec, k}, nil
}

// errOmit is for default(omit): the property is left out if the value is not there.
var errOmit = unknownError("default(omit) within a longer expression")

// boolFilter writes bool: what is no text is one already, and other texts than these words
// are errors where they are used.
func boolFilter(w *writer, e *j2.Expr, _ form) (term, error) {
	x, err := w.write(e.Args[0])
	if err != nil {
		return x, err
	}
	if x.kind == textKind && !w.jet {
		return term{"lower(" + x.text + ") in ['yes', 'on', '1', 'true']", comparing, boolKind}, nil
	}
	return term{x.text, x.prec, boolKind}, nil
}

// caseFilter writes lower and upper, of booleans too: true | lower is how texts get one.
func caseFilter(w *writer, e *j2.Expr, _ form) (term, error) {
	x, err := w.write(e.Args[0])
	if err != nil {
		return x, err
	}
	if x.kind == boolKind && e.Text == "lower" {
		return term{x.in(condPrec+1) + " ? " + w.quote("true") + " : " + w.quote("false"), condPrec, textKind}, nil
	}
	return term{e.Text + "(" + w.printed(x).text + ")", whole, textKind}, nil
}

func intFilter(w *writer, e *j2.Expr, _ form) (term, error) {
	x, err := w.write(e.Args[0])
	if err != nil {
		return x, err
	}
	if x.kind == numberKind {
		return x, nil
	}
	if w.jet {
		return term{}, unknownf("the filter int in a template")
	}
	return term{"int(" + x.text + ")", whole, numberKind}, nil
}

func listFilter(w *writer, e *j2.Expr, _ form) (term, error) {
	x, err := w.write(e.Args[0])
	if x.kind == mapKind {
		return term{"keys(" + x.text + ")", whole, listKind}, err
	}
	x.kind = listKind
	return x, err
}

func joinFilter(w *writer, e *j2.Expr, _ form) (term, error) {
	if w.jet {
		return term{}, unknownf("the filter join in a template")
	}
	args, err := w.all(e.Args)
	if len(args) == 1 {
		args = append(args, "''")
	}
	return term{"join(" + strings.Join(args, ", ") + ")", whole, textKind}, err
}

func niceJSON(w *writer, e *j2.Expr, _ form) (term, error) {
	x, err := w.write(e.Args[0])
	if w.jet {
		return term{}, unknownf("the filter to_nice_json in a template")
	}
	return term{"toJSON(" + x.text + ")", whole, textKind}, err
}

func combineFilter(w *writer, e *j2.Expr, _ form) (term, error) {
	if w.jet {
		return term{}, unknownf("the filter combine in a template")
	}
	for i, kw := range e.Kw {
		if b, isBool := e.Args[i].Lit.(bool); kw != "" && (!isBool || b) {
			return term{}, unknownf("combine with %s", kw)
		}
	}
	args, err := w.all(e.Args)
	var pairs []string
	for i, arg := range args {
		if e.Kw[i] == "" {
			pairs = append(pairs, "toPairs("+arg+")")
		}
	}
	return term{"fromPairs(concat(" + strings.Join(pairs, ", ") + "))", whole, mapKind}, err
}

// mapFilter writes map('filter', …), map(attribute='x') and map('extract', m).
func mapFilter(w *writer, e *j2.Expr, _ form) (term, error) {
	if w.jet {
		return term{}, unknownf("the filter map in a template")
	}
	list, err := w.write(e.Args[0])
	if err != nil {
		return list, err
	}
	element, err := w.mapped(e)
	return term{"map(" + list.text + ", " + element + ")", whole, listKind}, err
}

func (w *writer) mapped(e *j2.Expr) (string, error) {
	name, _ := e.Args[1].Lit.(string)
	if e.Kw[1] == "attribute" {
		if len(e.Args) > 3 || name == "" {
			return "", unknownf("map with this attribute")
		}
		text := "#" + attributePath(name)
		if len(e.Args) == 3 && e.Kw[2] == "default" {
			d, err := w.write(e.Args[2])
			return text + " ?? " + d.in(whole), err
		}
		return text, nil
	}
	inner := w.scope.child()
	inner.names["·"] = binding{text: "#"}
	element := &j2.Expr{Op: j2.Name, Text: "·"}
	w2 := &writer{scope: inner}
	if name == "extract" {
		if len(e.Args) < 3 {
			return "", unknownf("map extract without a map")
		}
		t, err := w2.write(&j2.Expr{Op: j2.Index, Args: []*j2.Expr{e.Args[2], element}})
		if err != nil || len(e.Args) == 3 {
			return t.text, err
		}
		keys := e.Args[3:4]
		if keys[0].Op == j2.List {
			keys = keys[0].Args
		}
		for _, key := range keys {
			s, isText := key.Lit.(string)
			if !isText {
				return "", unknownf("map extract with a key that is computed")
			}
			if strings.HasPrefix(s, "ansible_") && !notFact(s) && s != "ansible_host" {
				return "", unknownf("facts of other hosts")
			}
			t.text += attributePath(s)
		}
		return t.text, nil
	}
	f, ok := filters[name]
	if !ok {
		return "", unknownf("the filter map(%q)", name)
	}
	args := append([]*j2.Expr{element}, e.Args[2:]...)
	t, err := w2.formed(&j2.Expr{Op: j2.Filter, Text: name, Args: args, Kw: append([]string{""}, e.Kw[2:]...)}, f, "the filter "+name)
	return t.text, err
}

// attributePath writes a.b.c behind an element.
func attributePath(path string) string {
	var b strings.Builder
	for _, part := range strings.Split(path, ".") {
		switch _, err := strconv.Atoi(part); {
		case err == nil:
			b.WriteString("[" + part + "]")
		case isWord(part):
			b.WriteString("." + part)
		default:
			b.WriteString("[" + quoteText(part) + "]")
		}
	}
	return b.String()
}

// selectFilter writes select, reject, selectattr and rejectattr.
func selectFilter(w *writer, e *j2.Expr, _ form) (term, error) {
	if w.jet {
		return term{}, unknownf("the filter %s in a template", e.Text)
	}
	list, err := w.write(e.Args[0])
	if err != nil {
		return list, err
	}
	inner := w.scope.child()
	inner.names["·"] = binding{text: "#"}
	w2 := &writer{scope: inner}
	element := &j2.Expr{Op: j2.Name, Text: "·"}
	args := e.Args[1:]
	if strings.HasSuffix(e.Text, "attr") {
		path, isText := args[0].Lit.(string)
		if !isText {
			return term{}, unknownf("the filter %s with an attribute that is computed", e.Text)
		}
		for _, key := range strings.Split(path, ".") {
			element = &j2.Expr{Op: j2.Attr, Text: key, Args: []*j2.Expr{element}}
		}
		args = args[1:]
	}
	condition := element
	if len(args) > 0 {
		name, isText := args[0].Lit.(string)
		if !isText {
			return term{}, unknownf("the filter %s with a test that is computed", e.Text)
		}
		if operator := map[string]string{"==": "eq", "!=": "ne", ">": "gt", ">=": "ge", "<": "lt", "<=": "le"}[name]; operator != "" {
			name = operator
		}
		name = name[strings.LastIndexByte(name, '.')+1:]
		condition = &j2.Expr{Op: j2.Test, Text: name, Args: append([]*j2.Expr{element}, args[1:]...), Kw: make([]string, len(args))}
	}
	var t term
	if strings.HasPrefix(e.Text, "reject") {
		t, err = w2.negated(condition)
	} else {
		t, err = w2.condition(condition)
	}
	return term{"filter(" + list.text + ", " + t.text + ")", whole, listKind}, err
}

func ternaryFilter(w *writer, e *j2.Expr, _ form) (term, error) {
	return w.cond(&j2.Expr{Op: j2.Cond, Args: []*j2.Expr{e.Args[0], e.Args[1], e.Args[2]}})
}

var literalPattern = regexp.MustCompile(`^(\^?)((?:[A-Za-z0-9_ /:@,=-]|\\[./+*?()\[\]$^|\\{}-])*)(\$?)$`)

// regexReplace writes what replaces a literal text.
func regexReplace(w *writer, e *j2.Expr, _ form) (term, error) {
	pattern, isText := e.Args[1].Lit.(string)
	with := &j2.Expr{Op: j2.Literal, Lit: ""}
	if len(e.Args) > 2 {
		with = e.Args[2]
	}
	to, alsoText := with.Lit.(string)
	m := literalPattern.FindStringSubmatch(pattern)
	if !isText || !alsoText || m == nil || m[2] == "" || strings.Contains(to, `\`) || m[1] != "" && m[3] != "" {
		return term{}, unknownf("the filter regex_replace")
	}
	text := regexp.MustCompile(`\\(.)`).ReplaceAllString(m[2], "$1")
	x, err := w.write(e.Args[0])
	if err != nil {
		return x, err
	}
	anchored := m[1] + m[3]
	switch {
	case anchored == "" && w.jet:
		return term{"replace(" + x.text + ", " + quoteText(text) + ", " + quoteText(to) + ", -1)", whole, textKind}, nil
	case anchored == "":
		return term{"replace(" + x.text + ", " + quoteText(text) + ", " + quoteText(to) + ")", whole, textKind}, nil
	case to != "" || w.jet:
		return term{}, unknownf("the filter regex_replace")
	}
	return term{map[string]string{"^": "trimPrefix(", "$": "trimSuffix("}[anchored] + x.text + ", " + quoteText(text) + ")", whole, textKind}, nil
}

func matchesFilter(w *writer, e *j2.Expr, f form) (term, error) {
	return matchTest(w, &j2.Expr{Op: j2.Test, Text: "search", Args: e.Args, Kw: e.Kw}, f)
}

func indentFilter(w *writer, e *j2.Expr, _ form) (term, error) {
	width := int64(4)
	for i, arg := range e.Args[1:] {
		n, isInt := arg.Lit.(int64)
		if i > 0 || !isInt || e.Kw[i+1] != "" && e.Kw[i+1] != "width" {
			return term{}, unknownf("the filter indent with these arguments")
		}
		width = n
	}
	x, err := w.write(e.Args[0])
	more := map[bool]string{true: ", -1)", false: ")"}[w.jet]
	return term{"replace(" + x.text + `, "\n", ` + strconv.Quote("\n"+strings.Repeat(" ", int(width))) + more, whole, textKind}, err
}

// definedTest writes is defined and is undefined.
func definedTest(w *writer, e *j2.Expr, _ form) (term, error) {
	not := e.Not != (e.Text == "undefined")
	x := e.Args[0]
	if x.Op == j2.Name {
		if b, ok := w.binding(x.Text); ok && b.result == nil && !b.jetVar || ok && b.result != nil {
			if b.result != nil || b.expr == nil {
				return w.literal(!not), nil
			}
			return definedTest(w, &j2.Expr{Op: j2.Test, Text: "defined", Not: not, Args: []*j2.Expr{b.expr}, Kw: []string{""}}, form{})
		}
		if f, ok := magicNames[x.Text]; ok && f.expr != "" {
			return w.literal(!not), nil
		}
		if v, ok := w.scope.files.values[x.Text]; ok {
			op := "!="
			if not {
				op = "=="
			}
			t, err := w.inlined(v, x.Text)
			return term{t.in(comparing+1) + " " + op + " nil", comparing, boolKind}, err
		}
	}
	switch x.Op {
	case j2.Filter, j2.Call, j2.Literal, j2.Binary, j2.Cond, j2.List, j2.Dict:
		return term{}, unknownf("the test defined of what is computed")
	}
	t, err := w.write(x)
	if err != nil {
		return t, err
	}
	name, isData := strings.CutPrefix(t.text, "Data.")
	switch {
	case w.jet:
		if not {
			return term{"!isset(" + t.text + ")", notPrec, boolKind}, nil
		}
		return term{"isset(" + t.text + ")", whole, boolKind}, nil
	case isData && isWord(name):
		op := " in Data"
		if not {
			op = " not in Data"
		}
		return term{"'" + name + "'" + op, comparing, boolKind}, nil
	}
	op := " != nil"
	if not {
		op = " == nil"
	}
	return term{"(" + t.text + " ?? nil)" + op, comparing, boolKind}, nil
}

func inTest(w *writer, e *j2.Expr, _ form) (term, error) {
	x, y := e.Args[0], e.Args[1]
	if e.Text == "contains" {
		x, y = y, x
	}
	op := "in"
	if e.Not {
		op = "not in"
	}
	return w.write(&j2.Expr{Op: j2.Binary, Text: op, Args: []*j2.Expr{x, y}})
}

// matchTest writes match, which begins at the beginning of a text, search and regex.
func matchTest(w *writer, e *j2.Expr, _ form) (term, error) {
	if w.jet {
		return term{}, unknownf("the test %s in a template", e.Text)
	}
	pattern, isText := e.Args[1].Lit.(string)
	if !isText || len(e.Args) > 2 {
		return term{}, unknownf("the test %s with these arguments", e.Text)
	}
	if e.Text == "match" {
		pattern = anchored(pattern)
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return term{}, unknownf("the regular expression %q", pattern)
	}
	x, err := w.write(e.Args[0])
	if err != nil {
		return x, err
	}
	t := term{x.in(comparing+1) + " matches " + quoteText(pattern), comparing, boolKind}
	if e.Not {
		t = w.not(t)
	}
	return t, nil
}

func anchored(pattern string) string {
	switch {
	case strings.HasPrefix(pattern, "^"):
		return pattern
	case strings.Contains(pattern, "|"):
		return "^(?:" + pattern + ")"
	}
	return "^" + pattern
}

// versionTest writes comparisons with a version of one number.
func versionTest(w *writer, e *j2.Expr, _ form) (term, error) {
	version := ""
	switch v := e.Args[1].Lit.(type) {
	case string:
		version = v
	case int64:
		version = strconv.FormatInt(v, 10)
	}
	op := "=="
	if len(e.Args) > 2 {
		op, _ = e.Args[2].Lit.(string)
	}
	op = map[string]string{"eq": "==", "==": "==", "=": "==", "ne": "!=", "!=": "!=", "<>": "!=", "lt": "<", "<": "<", "le": "<=", "<=": "<=", "gt": ">", ">": ">", "ge": ">=", ">=": ">="}[op]
	if _, err := strconv.Atoi(version); err != nil || op == "" || w.jet || len(e.Args) > 3 || !isMajor(e.Args[0]) {
		return term{}, unknownf("the test version")
	}
	x, err := w.write(e.Args[0])
	t := term{"int(" + x.text + ") " + op + " " + version, comparing, boolKind}
	if e.Not {
		t = w.not(t)
	}
	return t, err
}

// isMajor reports whether an expression is a version of one number.
func isMajor(e *j2.Expr) bool {
	path, ok := factPath(e)
	return ok && path == "distribution_major_version"
}

// resultTest writes is changed and the like.
func resultTest(w *writer, e *j2.Expr, _ form) (term, error) {
	x := e.Args[0]
	if x.Op != j2.Name {
		return term{}, unknownf("the test %s of what is no variable", e.Text)
	}
	b, ok := w.binding(x.Text)
	if !ok || b.result == nil {
		return term{}, unknownf("the test %s of %s, which no task before registers", e.Text, x.Text)
	}
	return w.outcome(b.result, e.Text, e.Not)
}

func truthTest(w *writer, e *j2.Expr, _ form) (term, error) {
	if e.Not != (e.Text == "falsy") {
		return w.negated(e.Args[0])
	}
	return w.condition(e.Args[0])
}
