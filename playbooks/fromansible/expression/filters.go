package expression

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// A form is how a filter, a test or a method is written here: {0} is the value, {1} and on
// are its arguments.
type form struct {
	expr  string // in expressions
	kind  Kind
	least int                                               // arguments
	most  int                                               //
	by    func(w *Writer, e *j2.Expr, f form) (Term, error) // instead of the texts
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
		"split":      {expr: "split({0}, {1})", kind: ListKind, least: 1, most: 1},
		"startswith": {expr: "hasPrefix({0}, {1})", kind: boolKind, least: 1, most: 1},
		"endswith":   {expr: "hasSuffix({0}, {1})", kind: boolKind, least: 1, most: 1},
		"lower":      {expr: "lower({0})", kind: TextKind},
		"upper":      {expr: "upper({0})", kind: TextKind},
		"strip":      {expr: "trim({0})", kind: TextKind},
		"replace":    {expr: "replace({0}, {1}, {2})", kind: TextKind, least: 2, most: 2},
		"keys":       {expr: "keys({0})", kind: ListKind},
		"values":     {expr: "values({0})", kind: ListKind},
		"get":        {by: getMethod, least: 1, most: 2, doc: "`x.y ?? z`"},
		"join":       {expr: "join({1}, {0})", kind: TextKind, least: 1, most: 1},
		"items":      {expr: "toPairs({0})", kind: ListKind},
	}

	filters = map[string]form{
		"default":      {by: defaultFilter, most: 2, doc: "`x ?? y`; with true behind it `(x ?? nil) in [nil, false, 0, '', [], {}] ? y : x`"},
		"d":            {by: defaultFilter, most: 2, doc: "as `default`"},
		"bool":         {by: boolFilter, doc: "the value itself, if it is not a text"},
		"lower":        {by: caseFilter, kind: TextKind, doc: "`lower(x)`"},
		"upper":        {by: caseFilter, kind: TextKind, doc: "`upper(x)`"},
		"replace":      methods["replace"],
		"trim":         {expr: "trim({0})", kind: TextKind},
		"length":       {expr: "len({0})", kind: NumberKind},
		"count":        {expr: "len({0})", kind: NumberKind},
		"int":          {by: intFilter, kind: NumberKind, most: 1, doc: "`int(x)`"},
		"float":        {expr: "float({0})", kind: floatKind},
		"string":       {by: stringFilter, doc: "`string(x)`"},
		"abs":          {expr: "abs({0})", kind: NumberKind},
		"round":        {expr: "round({0})", kind: floatKind},
		"list":         {by: listFilter, doc: "the value itself"},
		"first":        {expr: "{0}[0]"},
		"last":         {expr: "{0}[-1]"},
		"min":          {expr: "min({0})", kind: NumberKind},
		"max":          {expr: "max({0})", kind: NumberKind},
		"sum":          {expr: "sum({0})", kind: NumberKind},
		"sort":         {expr: "sort({0})", kind: ListKind},
		"unique":       {expr: "uniq({0})", kind: ListKind},
		"reverse":      {expr: "reverse({0})", kind: ListKind},
		"flatten":      {expr: "flatten({0})", kind: ListKind},
		"join":         {expr: "join({0}, {1})", kind: TextKind, most: 1, by: joinFilter, doc: "`join(x, y)`"},
		"split":        methods["split"],
		"union":        {expr: "uniq(concat({0}, {1}))", kind: ListKind, least: 1, most: 1},
		"intersect":    {expr: "uniq(filter({0}, # in {1}))", kind: ListKind, least: 1, most: 1},
		"difference":   {expr: "uniq(filter({0}, # not in {1}))", kind: ListKind, least: 1, most: 1},
		"combine":      {by: combineFilter, kind: MapKind, least: 1, most: 5, doc: "`fromPairs(concat(toPairs(x), toPairs(y)))`"},
		"dict2items":   {expr: `map(toPairs({0}), ({'key': #[0], 'value': #[1]}))`, kind: ListKind},
		"items2dict":   {expr: "fromPairs(map({0}, [#.key, #.value]))", kind: MapKind},
		"dictsort":     {expr: "toPairs({0})", kind: ListKind},
		"map":          {by: mapFilter, kind: ListKind, least: 1, most: 4, doc: "`map(x, #.name)`"},
		"select":       {by: selectFilter, kind: ListKind, most: 3, doc: "`filter(x, # matches y)`"},
		"reject":       {by: selectFilter, kind: ListKind, most: 3, doc: "`filter(x, not …)`"},
		"selectattr":   {by: selectFilter, kind: ListKind, least: 1, most: 4, doc: "`filter(x, #.name == y)`"},
		"rejectattr":   {by: selectFilter, kind: ListKind, least: 1, most: 4, doc: "`filter(x, not …)`"},
		"basename":     {expr: `split({0}, '/')[-1]`, kind: TextKind},
		"dirname":      {expr: `join(split({0}, '/')[:-1], '/')`, kind: TextKind},
		"b64encode":    {expr: "toBase64({0})", kind: TextKind},
		"b64decode":    {expr: "fromBase64({0})", kind: TextKind, by: decodeFilter},
		"from_json":    {expr: "fromJSON({0})"},
		"to_json":      {expr: "toJSON({0})", kind: TextKind},
		"to_nice_json": {expr: "toJSON({0})", kind: TextKind, most: 2, by: niceJSON, doc: "`toJSON(x)`, which indents by two"},
		"tojson":       {expr: "toJSON({0})", kind: TextKind},
		"quote":        {expr: `"'" + replace({0}, "'", "'\"'\"'") + "'"`, kind: TextKind},
		"ternary": {by: func(w *Writer, e *j2.Expr, _ form) (Term, error) {
			return w.cond(&j2.Expr{Op: j2.Cond, Args: []*j2.Expr{e.Args[0], e.Args[1], e.Args[2]}})
		}, least: 2, most: 2, doc: "`x ? y : z`"},
		"mandatory":     {expr: "{0}", most: 1},
		"regex_replace": {by: regexReplace, kind: TextKind, least: 1, most: 2, doc: "`replace`, `trimPrefix` or `trimSuffix`, for a pattern that is a text with `^` or `$`"},
		"regex_search":  {by: searchFilter, least: 1, most: 1, doc: "`x matches y`, where only that is asked"},
		"indent":        {by: indentFilter, kind: TextKind, most: 2, doc: "`trimPrefix(join(map(split(x, \"\\n\"), # == '' ? '' : '    ' + #), \"\\n\"), '    ')`"},
		"comment":       {by: commentFilter, kind: TextKind, most: 1, doc: "`\"#\\n# \" + replace(x, \"\\n\", \"\\n# \") + \"\\n#\"`; styles plain, c, cblock, erlang, xml"},
		"capitalize":    {expr: "upper({0}[:1]) + lower({0}[1:])", kind: TextKind},
		"items":         {expr: "toPairs({0})", kind: ListKind},
	}
	tests = map[string]form{
		"defined":         {by: definedTest, doc: "`\"x\" in Data`, `(x.y ?? nil) != nil`"},
		"undefined":       {by: definedTest, doc: "`\"x\" not in Data`"},
		"none":            {expr: "{0} == nil", kind: boolKind},
		"string":          {expr: "type({0}) == 'string'", kind: boolKind},
		"mapping":         {expr: "type({0}) == 'map'", kind: boolKind},
		"sequence":        {expr: "type({0}) in ['array', 'map', 'string']", kind: boolKind},
		"iterable":        {expr: "type({0}) in ['array', 'map', 'string']", kind: boolKind},
		"boolean":         {expr: "type({0}) == 'bool'", kind: boolKind},
		"integer":         {expr: "type({0}) == 'int'", kind: boolKind},
		"number":          {expr: "type({0}) in ['int', 'float', 'bool']", kind: boolKind},
		"even":            {expr: "{0} % 2 == 0", kind: boolKind},
		"odd":             {expr: "{0} % 2 == 1", kind: boolKind},
		"divisibleby":     {expr: "{0} % {1} == 0", kind: boolKind, least: 1, most: 1},
		"equalto":         {expr: "{0} == {1}", kind: boolKind, least: 1, most: 1},
		"eq":              {expr: "{0} == {1}", kind: boolKind, least: 1, most: 1},
		"ne":              {expr: "{0} != {1}", kind: boolKind, least: 1, most: 1},
		"gt":              {expr: "{0} > {1}", kind: boolKind, least: 1, most: 1},
		"ge":              {expr: "{0} >= {1}", kind: boolKind, least: 1, most: 1},
		"lt":              {expr: "{0} < {1}", kind: boolKind, least: 1, most: 1},
		"le":              {expr: "{0} <= {1}", kind: boolKind, least: 1, most: 1},
		"sameas":          {expr: "{0} == {1}", kind: boolKind, least: 1, most: 1},
		"true":            {expr: "{0} == true", kind: boolKind},
		"false":           {expr: "{0} == false", kind: boolKind},
		"in":              {by: inTest, kind: boolKind, least: 1, most: 1, doc: "`x in y`"},
		"contains":        {by: inTest, kind: boolKind, least: 1, most: 1, doc: "`y in x`"},
		"subset":          {expr: "all({0}, # in {1})", kind: boolKind, least: 1, most: 1},
		"superset":        {by: supersetTest, doc: "`all(y, # in x)`", kind: boolKind, least: 1, most: 1},
		"match":           {by: matchTest, kind: boolKind, least: 1, most: 2, doc: "`x matches \"^…\"`"},
		"search":          {by: matchTest, kind: boolKind, least: 1, most: 2, doc: "`x matches \"…\"`"},
		"regex":           {by: matchTest, kind: boolKind, least: 1, most: 2, doc: "`x matches \"…\"`"},
		"version":         {by: versionTest, kind: boolKind, least: 1, most: 3, doc: "`compareVersions(x, y) >= 0`"},
		"version_compare": {by: versionTest, kind: boolKind, least: 1, most: 3, doc: "as `version`"},
		"changed":         {by: resultTest, doc: "`Results.x.changed`"},
		"change":          {by: resultTest, doc: "`Results.x.changed`"},
		"failed":          {by: resultTest, doc: "`Results.x.failed`"},
		"succeeded":       {by: resultTest, doc: "`not (Results.x.failed or Results.x.skipped)`"},
		"success":         {by: resultTest, doc: "as `succeeded`"},
		"skipped":         {by: resultTest, doc: "`Results.x.skipped`"},
		"truthy":          {by: truthTest, doc: "the value itself"},
		"falsy":           {by: truthTest, doc: "`not x`"},
	}
}

func (w *Writer) filter(e *j2.Expr) (Term, error) {
	f, ok := filters[e.Text]
	if !ok {
		return Term{}, Unknown("the filter %s", e.Text)
	}
	return w.formed(e, f, "the filter "+e.Text)
}

func (w *Writer) test(e *j2.Expr) (Term, error) {
	f, ok := tests[e.Text]
	if !ok {
		return Term{}, Unknown("the test %s", e.Text)
	}
	t, err := w.formed(e, f, "the test "+e.Text)
	if err == nil && e.Not && f.by == nil {
		t = w.not(t)
	}
	return t, err
}

// formed writes a filter or test as its form says.
func (w *Writer) formed(e *j2.Expr, f form, what string) (Term, error) {
	if n := len(e.Args) - 1; n < f.least || n > f.most {
		return Term{}, Unknown("%s with %d arguments", what, n)
	}
	if f.by != nil {
		return f.by(w, e, f)
	}
	for _, kw := range e.Kw {
		if kw != "" {
			return Term{}, Unknown("%s with the argument %s", what, kw)
		}
	}
	return w.filled(f, e.Args, what)
}

// filled puts the arguments into the text of a form.
func (w *Writer) filled(f form, args []*j2.Expr, what string) (Term, error) {
	text := f.expr
	if text == "" {
		return Term{}, Unknown("%s", what)
	}
	prec := formPrec(text)
	for i, arg := range args {
		t, err := w.Write(arg)
		if err != nil {
			return t, err
		}
		operand := t.Text
		if bare := "{" + strconv.Itoa(i) + "}"; prec < Whole || strings.Contains(text, bare+"[") || text == bare {
			operand = t.In(prec + 1)
			if strings.Contains(text, bare+"[") {
				operand = t.In(Whole)
			}
			if text == bare {
				operand, prec = t.Text, t.prec
				f.kind = t.Kind
			}
		}
		text = strings.ReplaceAll(text, "{"+strconv.Itoa(i)+"}", operand)
	}
	return Term{text, prec, f.kind}, nil
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
	return Whole
}

// call writes calls of functions and methods.
func (w *Writer) call(e *j2.Expr) (Term, error) {
	of := e.Args[0]
	if of.Op == j2.Attr {
		if of.Text == "format" {
			return Term{}, Unknown("the method format")
		}
		f, ok := methods[of.Text]
		if !ok {
			return Term{}, Unknown("the method %s", of.Text)
		}
		args := append([]*j2.Expr{of.Args[0]}, e.Args[1:]...)
		if of.Text == "split" && len(args) == 1 {
			return Term{}, Unknown("split() at any white space")
		}
		return w.formed(&j2.Expr{Op: j2.Filter, Text: of.Text, Args: args, Kw: e.Kw}, f, "the method "+of.Text)
	}
	if of.Op != j2.Name {
		return Term{}, Unknown("a function that is computed")
	}
	switch of.Text {
	case "lookup", "query", "q":
		return w.lookup(e)
	case "range":
		return w.numbers(e)
	case "now":
		return Term{}, Unknown("the function now")
	}
	return Term{}, Unknown("the function %s", of.Text)
}

// lookup writes the lookups that are done on the controller and have a counterpart.
func (w *Writer) lookup(e *j2.Expr) (Term, error) {
	if len(e.Args) < 2 {
		return Term{}, Unknown("lookup without a plugin")
	}
	plugin, _ := e.Args[1].Lit.(string)
	plugin = plugin[strings.LastIndexByte(plugin, '.')+1:]
	list := e.Args[0].Text != "lookup" // query gives a list, whatever it finds
	var args []*j2.Expr
	var otherwise *j2.Expr
	for i, arg := range e.Args[2:] {
		switch name := e.Kw[i+2]; {
		case name == "":
			args = append(args, arg)
		case name == "wantlist" && arg.Lit == true:
			list = true
		case name == "default" && plugin == "vars":
			otherwise = arg
		default:
			return Term{}, Unknown("the lookup %s with the argument %s", plugin, name)
		}
	}
	if plugin == "flattened" && list {
		texts, err := w.all(args)
		return Term{"flatten([" + strings.Join(texts, ", ") + "])", Whole, ListKind}, err
	}
	if len(args) != 1 {
		return Term{}, Unknown("the lookup %s with %d arguments", plugin, len(args))
	}
	if plugin == "varnames" && list {
		pattern, err := w.Write(args[0])
		return Term{"filter(keys(Data), # matches " + pattern.In(comparing+1) + ")", Whole, ListKind}, err
	}
	t, err := w.lookupOne(plugin, args[0], otherwise)
	if list && err == nil {
		t = Term{"[" + t.Text + "]", Whole, ListKind}
	}
	return t, err
}

// lookupOne writes a lookup that finds one value.
func (w *Writer) lookupOne(plugin string, arg, otherwise *j2.Expr) (Term, error) {
	text, isText := arg.Lit.(string)
	switch {
	case plugin == "env" && isText && IsWord(text):
		return Term{"Environ." + text + " ?? ''", CondPrec, TextKind}, nil
	case plugin == "file" && isText:
		path, err := w.Scope.Files.LocalFile("files", text)
		if err != nil {
			return Term{}, err
		}
		return Term{"trim(file(" + QuoteText(path) + "))", Whole, TextKind}, nil
	case plugin == "template" && isText:
		path, vars, err := w.Scope.Files.Template(text, "", w.Scope)
		if err == nil && len(vars) > 0 {
			err = Unknown("the lookup template of a template that reads %s", vars[0].Name)
		}
		return Term{"template(" + QuoteText(path) + ")", Whole, TextKind}, err
	case plugin == "vars":
		t, err := w.Write(arg)
		if err != nil || otherwise == nil {
			return Term{"Data[" + t.Text + "]", Whole, AnyKind}, err
		}
		d, err := w.Write(otherwise)
		return Term{"Data[" + t.Text + "] ?? " + d.In(CondPrec+1), CondPrec, AnyKind}, err
	case plugin == "dict":
		return w.filled(filters["dict2items"], []*j2.Expr{arg}, "the lookup dict")
	}
	return Term{}, Unknown("the lookup %s", plugin)
}

func (w *Writer) numbers(e *j2.Expr) (Term, error) {
	args, err := w.all(e.Args[1:])
	if err != nil {
		return Term{}, err
	}
	from, to := "0", ""
	switch len(args) {
	case 1:
		to = args[0]
	case 2:
		from, to = args[0], args[1]
	default:
		return Term{}, Unknown("range with %d arguments", len(args))
	}
	return Term{from + "..(" + to + ") - 1", comparing + 1, ListKind}, nil
}

// getMethod writes x.get(key, default).
func getMethod(w *Writer, e *j2.Expr, _ form) (Term, error) {
	member := &j2.Expr{Op: j2.Index, Args: e.Args[:2]}
	fallback := &j2.Expr{Op: j2.Literal}
	if len(e.Args) > 2 {
		fallback = e.Args[2]
	}
	return defaultFilter(w, &j2.Expr{Op: j2.Filter, Text: "default", Args: []*j2.Expr{member, fallback}, Kw: []string{"", ""}}, form{})
}

// defaultFilter writes default(y) and default(y, true).
func defaultFilter(w *Writer, e *j2.Expr, _ form) (Term, error) {
	var y *j2.Expr = &j2.Expr{Op: j2.Literal, Lit: ""}
	falsely := false
	for i, arg := range e.Args[1:] {
		switch {
		case e.Kw[i+1] == "boolean" || e.Kw[i+1] == "" && i == 1:
			b, isBool := arg.Lit.(bool)
			if !isBool {
				return Term{}, Unknown("default with a second argument that is computed")
			}
			falsely = b
		default:
			y = arg
		}
	}
	if y.Op == j2.Name && y.Text == "omit" {
		return Term{}, errOmit
	}
	x, err := w.Write(e.Args[0])
	if err != nil {
		return x, err
	}
	d, err := w.Write(y)
	if err != nil {
		return d, err
	}
	k := x.Kind
	if k == AnyKind || k != d.Kind && falsely {
		k = d.Kind
	}
	empty := (y.Op == j2.List || y.Op == j2.Dict) && len(y.Args) == 0 || y.Lit == "" && x.Kind == TextKind
	switch {
	case !falsely, empty:
		return Term{x.In(Whole) + " ?? " + d.In(Whole), CondPrec, k}, nil
	case x.Kind == TextKind:
		return Term{"(" + x.In(Whole) + " ?? '') == '' ? " + d.In(CondPrec+1) + " : " + x.In(CondPrec+1), CondPrec, k}, nil
	}
	return Term{"(" + x.In(Whole) + " ?? nil)" + falsy + " ? " + d.In(CondPrec+1) + " : " + x.In(CondPrec+1), CondPrec, k}, nil
}

// errOmit is for default(omit): the property is left out if the value is not there.
var errOmit = unknownError("default(omit) within a longer expression")

// boolFilter writes bool: what is no text is one already, and other texts than these words
// are errors where they are used.
func boolFilter(w *Writer, e *j2.Expr, _ form) (Term, error) {
	x, err := w.Write(e.Args[0])
	if err != nil {
		return x, err
	}
	switch {
	case x.Kind == NumberKind:
		return Term{x.In(comparing+1) + " == 1", comparing, boolKind}, nil
	case x.Kind == TextKind:
		return Term{"lower(" + x.Text + ") in ['yes', 'on', '1', 'true']", comparing, boolKind}, nil
	}
	return Term{x.Text, x.prec, boolKind}, nil
}

// caseFilter writes lower and upper, of booleans too: true | lower is how texts get one.
func caseFilter(w *Writer, e *j2.Expr, _ form) (Term, error) {
	x, err := w.Write(e.Args[0])
	if err != nil {
		return x, err
	}
	if x.Kind == boolKind && e.Text == "lower" {
		return Term{x.In(CondPrec+1) + " ? " + QuoteText("true") + " : " + QuoteText("false"), CondPrec, TextKind}, nil
	}
	x, err = w.Printed(x)
	return Term{e.Text + "(" + x.Text + ")", Whole, TextKind}, err
}

func intFilter(w *Writer, e *j2.Expr, _ form) (Term, error) {
	x, err := w.Write(e.Args[0])
	if err != nil {
		return x, err
	}
	for i, arg := range e.Args[1:] {
		if e.Kw[i+1] == "base" && arg.Lit != int64(10) {
			return Term{}, Unknown("the filter int with a base")
		}
	}
	if x.Kind == NumberKind {
		return x, nil
	}
	return Term{"int(" + x.Text + ")", Whole, NumberKind}, nil
}

func stringFilter(w *Writer, e *j2.Expr, _ form) (Term, error) {
	x, err := w.Write(e.Args[0])
	if err == nil {
		x, err = w.Printed(x)
	}
	if err != nil || x.Kind == TextKind {
		return x, err
	}
	return Term{"string(" + x.Text + ")", Whole, TextKind}, nil
}

func listFilter(w *Writer, e *j2.Expr, _ form) (Term, error) {
	x, err := w.Write(e.Args[0])
	if x.Kind == MapKind {
		return Term{"keys(" + x.Text + ")", Whole, ListKind}, err
	}
	x.Kind = ListKind
	return x, err
}

func joinFilter(w *Writer, e *j2.Expr, _ form) (Term, error) {
	args, err := w.all(e.Args)
	if len(args) == 1 {
		args = append(args, "''")
	}
	return Term{"join(" + strings.Join(args, ", ") + ")", Whole, TextKind}, err
}

func niceJSON(w *Writer, e *j2.Expr, _ form) (Term, error) {
	x, err := w.Write(e.Args[0])
	return Term{"toJSON(" + x.Text + ")", Whole, TextKind}, err
}

func combineFilter(w *Writer, e *j2.Expr, _ form) (Term, error) {
	for i, kw := range e.Kw {
		if b, isBool := e.Args[i].Lit.(bool); kw != "" && (!isBool || b) {
			return Term{}, Unknown("combine with %s", kw)
		}
	}
	args, err := w.all(e.Args)
	var pairs []string
	for i, arg := range args {
		if e.Kw[i] == "" {
			pairs = append(pairs, "toPairs("+arg+")")
		}
	}
	return Term{"fromPairs(concat(" + strings.Join(pairs, ", ") + "))", Whole, MapKind}, err
}

// mapFilter writes map('filter', …), map(attribute='x') and map('extract', m).
func mapFilter(w *Writer, e *j2.Expr, _ form) (Term, error) {
	list, err := w.Write(e.Args[0])
	if err != nil {
		return list, err
	}
	element, err := w.mapped(e)
	return Term{"map(" + list.Text + ", " + element + ")", Whole, ListKind}, err
}

func (w *Writer) mapped(e *j2.Expr) (string, error) {
	name, _ := e.Args[1].Lit.(string)
	if e.Kw[1] == "attribute" {
		if len(e.Args) > 3 || name == "" {
			return "", Unknown("map with this attribute")
		}
		text := "#" + attributePath(name)
		if r := elementOf(w.Scope, e.Args[0]).Result; r != nil {
			t, err := w.field(r, strings.Split(name, "."))
			if err != nil {
				return "", err
			}
			text = t.Text
		}
		if len(e.Args) == 3 && e.Kw[2] == "default" {
			d, err := w.Write(e.Args[2])
			return text + " ?? " + d.In(Whole), err
		}
		return text, nil
	}
	inner := w.Scope.Child()
	inner.Names[elementName] = Binding{Text: "#"}
	element := &j2.Expr{Op: j2.Name, Text: elementName}
	w2 := &Writer{Scope: inner}
	if name == "extract" {
		if len(e.Args) < 3 {
			return "", Unknown("map extract without a map")
		}
		t, err := w2.Write(&j2.Expr{Op: j2.Index, Args: []*j2.Expr{e.Args[2], element}})
		if err != nil || len(e.Args) == 3 {
			return t.Text, err
		}
		keys := e.Args[3:4]
		if keys[0].Op == j2.List {
			keys = keys[0].Args
		}
		for _, key := range keys {
			s, isText := key.Lit.(string)
			if !isText {
				return "", Unknown("map extract with a key that is computed")
			}
			if strings.HasPrefix(s, "ansible_") && !notFact(s) && s != "ansible_host" {
				return "", Unknown("facts of other hosts")
			}
			t.Text += attributePath(s)
		}
		return t.Text, nil
	}
	f, ok := filters[name]
	if !ok {
		return "", Unknown("the filter map(%q)", name)
	}
	args := append([]*j2.Expr{element}, e.Args[2:]...)
	t, err := w2.formed(&j2.Expr{Op: j2.Filter, Text: name, Args: args, Kw: append([]string{""}, e.Kw[2:]...)}, f, "the filter "+name)
	return t.Text, err
}

// attributePath writes a.b.c behind an element.
func attributePath(path string) string {
	var b strings.Builder
	for _, part := range strings.Split(path, ".") {
		switch _, err := strconv.Atoi(part); {
		case err == nil:
			b.WriteString("[" + part + "]")
		case IsWord(part):
			b.WriteString("." + part)
		default:
			b.WriteString("[" + QuoteText(part) + "]")
		}
	}
	return b.String()
}

// selectFilter writes select, reject, selectattr and rejectattr.
// commentStyles maps a style to the text before, at and after the lines of a comment.
var commentStyles = map[string]struct{ begin, line, end string }{
	"plain": {line: "# "}, "erlang": {line: "% "}, "c": {line: "// "}, "cblock": {"/*\n", " * ", "\n */"}, "xml": {"<!--\n", " - ", "\n-->"},
}

func commentFilter(w *Writer, e *j2.Expr, _ form) (Term, error) {
	name := "plain"
	if len(e.Args) > 1 {
		name, _ = e.Args[1].Lit.(string)
	}
	style, ok := commentStyles[name]
	if !ok || len(e.Kw) > 1 && e.Kw[1] != "" && e.Kw[1] != "style" {
		return Term{}, Unknown("the filter comment with these arguments")
	}
	bare := strings.TrimRight(style.line, " ")
	begin, end := style.begin+bare+"\n"+style.line, "\n"+bare+style.end
	if e.Args[0].Op == j2.Name && e.Args[0].Text == "ansible_managed" {
		return w.Literal(begin + "Ansible managed" + end), nil
	}
	x, err := w.Write(e.Args[0])
	return Term{QuoteText(begin) + " + replace(" + x.Text + ", " + QuoteText("\n") + ", " + QuoteText("\n"+style.line) + ") + " + QuoteText(end), adding, TextKind}, err
}

func selectFilter(w *Writer, e *j2.Expr, _ form) (Term, error) {
	list, err := w.Write(e.Args[0])
	if err != nil {
		return list, err
	}
	inner := w.Scope.Child()
	inner.Names[elementName] = elementOf(w.Scope, e.Args[0])
	w2 := &Writer{Scope: inner}
	element := &j2.Expr{Op: j2.Name, Text: elementName}
	args := e.Args[1:]
	if strings.HasSuffix(e.Text, "attr") {
		path, isText := args[0].Lit.(string)
		if !isText {
			return Term{}, Unknown("the filter %s with an attribute that is computed", e.Text)
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
			return Term{}, Unknown("the filter %s with a test that is computed", e.Text)
		}
		if operator := map[string]string{"==": "eq", "!=": "ne", ">": "gt", ">=": "ge", "<": "lt", "<=": "le"}[name]; operator != "" {
			name = operator
		}
		name = name[strings.LastIndexByte(name, '.')+1:]
		condition = &j2.Expr{Op: j2.Test, Text: name, Args: append([]*j2.Expr{element}, args[1:]...), Kw: make([]string, len(args))}
	}
	var t Term
	if strings.HasPrefix(e.Text, "reject") {
		t, err = w2.negated(condition)
	} else {
		t, err = w2.Condition(condition)
	}
	return Term{"filter(" + list.Text + ", " + t.Text + ")", Whole, ListKind}, err
}

var literalPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\^?)((?:[A-Za-z0-9_ /:@,=-]|\\[./+*?()\[\]$^|\\{}-])*)(\$?)$`)
})

// regexReplace writes what replaces a literal text.
func regexReplace(w *Writer, e *j2.Expr, _ form) (Term, error) {
	pattern, isText := e.Args[1].Lit.(string)
	with := &j2.Expr{Op: j2.Literal, Lit: ""}
	if len(e.Args) > 2 {
		with = e.Args[2]
	}
	to, alsoText := with.Lit.(string)
	m := literalPattern().FindStringSubmatch(pattern)
	if !isText || !alsoText || m == nil || m[2] == "" || strings.Contains(to, `\`) || m[1] != "" && m[3] != "" {
		return Term{}, Unknown("the filter regex_replace")
	}
	text := regexp.MustCompile(`\\(.)`).ReplaceAllString(m[2], "$1")
	x, err := w.Write(e.Args[0])
	if err != nil {
		return x, err
	}
	anchored := m[1] + m[3]
	switch {
	case anchored == "":
		return Term{"replace(" + x.Text + ", " + QuoteText(text) + ", " + QuoteText(to) + ")", Whole, TextKind}, nil
	case to != "":
		return Term{}, Unknown("the filter regex_replace")
	}
	return Term{map[string]string{"^": "trimPrefix(", "$": "trimSuffix("}[anchored] + x.Text + ", " + QuoteText(text) + ")", Whole, TextKind}, nil
}

// searchFilter is regex_search where the text that is found is needed; [Writer.Condition] asks whether there is one.
func searchFilter(*Writer, *j2.Expr, form) (Term, error) {
	return Term{}, Unknown("the filter regex_search, where what it finds is needed")
}

func indentFilter(w *Writer, e *j2.Expr, _ form) (Term, error) {
	width := int64(4)
	for i, arg := range e.Args[1:] {
		n, isInt := arg.Lit.(int64)
		if i > 0 || !isInt || e.Kw[i+1] != "" && e.Kw[i+1] != "width" {
			return Term{}, Unknown("the filter indent with these arguments")
		}
		width = n
	}
	x, err := w.Write(e.Args[0])
	by := QuoteText(strings.Repeat(" ", int(width)))
	return Term{"trimPrefix(join(map(split(" + x.Text + `, "\n"), # == '' ? '' : ` + by + ` + #), "\n"), ` + by + ")", Whole, TextKind}, err
}

// definedTest writes is defined and is undefined.
func definedTest(w *Writer, e *j2.Expr, _ form) (Term, error) {
	not := e.Not != (e.Text == "undefined")
	x := e.Args[0]
	if x.Op == j2.Name {
		if b, ok := w.Binding(x.Text); ok {
			if b.Result != nil || b.Expr == nil {
				return w.Literal(!not), nil
			}
			return definedTest(w, &j2.Expr{Op: j2.Test, Text: "defined", Not: not, Args: []*j2.Expr{b.Expr}, Kw: []string{""}}, form{})
		}
		if f, ok := magicNames[x.Text]; ok && f.expr != "" {
			return w.Literal(!not), nil
		}
	}
	switch x.Op {
	case j2.Filter, j2.Call, j2.Literal, j2.Binary, j2.Cond, j2.List, j2.Dict:
		return Term{}, Unknown("the test defined of what is computed")
	}
	t, err := w.Write(x)
	if err != nil {
		return t, err
	}
	name, isData := strings.CutPrefix(t.Text, "Data.")
	switch {
	case isData && IsWord(name) && !w.Scope.Files.Optional(name):
		op := " in Data"
		if not {
			op = " not in Data"
		}
		return Term{"'" + name + "'" + op, comparing, boolKind}, nil
	}
	op := " != nil"
	if not {
		op = " == nil"
	}
	return Term{"(" + t.Text + " ?? nil)" + op, comparing, boolKind}, nil
}

func inTest(w *Writer, e *j2.Expr, _ form) (Term, error) {
	x, y := e.Args[0], e.Args[1]
	if e.Text == "contains" {
		x, y = y, x
	}
	op := "in"
	if e.Not {
		op = "not in"
	}
	return w.Write(&j2.Expr{Op: j2.Binary, Text: op, Args: []*j2.Expr{x, y}})
}

// matchTest writes match, which begins at the beginning of a text, search and regex.
func matchTest(w *Writer, e *j2.Expr, _ form) (Term, error) {
	pattern, isText := e.Args[1].Lit.(string)
	if !isText || len(e.Args) > 2 {
		return Term{}, Unknown("the test %s with these arguments", e.Text)
	}
	if e.Text == "match" {
		pattern = anchored(pattern)
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return Term{}, Unknown("the regular expression %q", pattern)
	}
	x, err := w.Write(e.Args[0])
	if err != nil {
		return x, err
	}
	t := Term{x.In(comparing+1) + " matches " + QuoteText(pattern), comparing, boolKind}
	if e.Not {
		t = w.not(t)
	}
	return t, nil
}

// supersetTest writes that all of a list is in another one.
func supersetTest(w *Writer, e *j2.Expr, f form) (Term, error) {
	if e.Args[0].Mentions(func(name string) bool { return name == elementName }) {
		return Term{}, Unknown("the test superset of an element") // # would be that of the inner list
	}
	f.expr, f.by = "all({1}, # in {0})", nil
	t, err := w.formed(e, f, "the test superset")
	if err == nil && e.Not {
		t = w.not(t)
	}
	return t, err
}

// elementName is the name, which nothing else has, of the element that filters over lists look at.
const elementName = "·"

func anchored(pattern string) string {
	switch {
	case strings.HasPrefix(pattern, "^"):
		return pattern
	case strings.Contains(pattern, "|"):
		return "^(?:" + pattern + ")"
	}
	return "^" + pattern
}

// versionTest writes comparisons of versions.
func versionTest(w *Writer, e *j2.Expr, _ form) (Term, error) {
	op := "=="
	if len(e.Args) > 2 {
		op, _ = e.Args[2].Lit.(string)
	}
	op = map[string]string{"eq": "==", "==": "==", "=": "==", "ne": "!=", "!=": "!=", "<>": "!=", "lt": "<", "<": "<", "le": "<=", "<=": "<=", "gt": ">", ">": ">", "ge": ">=", ">=": ">="}[op]
	if op == "" || len(e.Args) > 3 {
		return Term{}, Unknown("the test version with these arguments")
	}
	x, err := w.Write(e.Args[0])
	if err != nil {
		return x, err
	}
	version, err := w.Write(e.Args[1])
	t := Term{"compareVersions(" + x.Text + ", " + version.Text + ") " + op + " 0", comparing, boolKind}
	if number := strings.Trim(version.Text, `"'`); isMajor(e.Args[0]) && digits(number) {
		t.Text = "int(" + x.Text + ") " + op + " " + number
	}
	if e.Not {
		t = w.not(t)
	}
	return t, err
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isMajor reports whether an expression is a version of one number.
func isMajor(e *j2.Expr) bool {
	path, ok := factPath(e)
	return ok && path == "distribution_major_version"
}

// resultTest writes is changed and the like.
func resultTest(w *Writer, e *j2.Expr, _ form) (Term, error) {
	x := e.Args[0]
	if x.Op != j2.Name {
		return Term{}, Unknown("the test %s of what is no variable", e.Text)
	}
	b, ok := w.Binding(x.Text)
	if !ok || b.Result == nil {
		return Term{}, Unknown("the test %s of %s, which no task before registers", e.Text, x.Text)
	}
	return w.outcome(b.Result, e.Text, e.Not)
}

func truthTest(w *Writer, e *j2.Expr, _ form) (Term, error) {
	if e.Not != (e.Text == "falsy") {
		return w.negated(e.Args[0])
	}
	return w.Condition(e.Args[0])
}

// encoded is how what a slurp has read is written: in base64, as Ansible gives it.
const encoded = "toBase64("

// decodeFilter writes b64decode. What a slurp has read is a text already.
func decodeFilter(w *Writer, e *j2.Expr, f form) (Term, error) {
	of, err := w.Write(e.Args[0])
	if text, ok := strings.CutPrefix(of.Text, encoded+"Results."); ok && err == nil {
		if text, ok = strings.CutSuffix(text, ".stdout)"); ok && !strings.ContainsAny(text, "() ") {
			return Term{"Results." + text + ".stdout", Whole, TextKind}, nil
		}
	}
	return w.filled(f, e.Args, "the filter b64decode")
}
