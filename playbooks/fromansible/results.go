package fromansible

import (
	"slices"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// A result is what a task registers.
type result struct {
	base   string // how it is written here: Results.x, or Item in a loop over its results
	module string // of the task, by its short name; "" if several tasks register it
	looped bool   // it is a list
	lax    bool   // every exit code is a success, so that failed is another exit code than 0
	asked  []string
	dead   string // why it is not there: the task was not carried over
}

// fieldsOfExec are what is known of a command.
var fieldsOfExec = map[string]struct {
	name string
	kind kind
}{
	"stdout": {"stdout_trimmed", textKind}, "stdout_lines": {"stdout_lines", listKind}, "rc": {"exit_code", numberKind},
	"stderr": {"stderr", textKind},
}

// resultTerm writes a result, or the field of it that e names.
func (w *writer) resultTerm(r *result, e *j2.Expr) (term, error) {
	if r.dead != "" {
		return term{}, unknownf("the result of a task that is not carried over (%s)", r.dead)
	}
	if r.module == "" {
		return term{}, unknownf("a result that several tasks register")
	}
	var path []string
	for ; e != nil && (e.Op == j2.Attr || e.Op == j2.Index); e = e.Args[0] {
		key := e.Text
		if e.Op == j2.Index {
			s, isText := e.Args[1].Lit.(string)
			if !isText {
				return w.elementOfResult(r, e, path)
			}
			key = s
		}
		path = append(path, key)
	}
	slices.Reverse(path)
	if r.looped {
		if len(path) == 1 && path[0] == "results" {
			return term{r.base, whole, listKind}, nil
		}
		if len(path) == 1 && (path[0] == "changed" || path[0] == "failed") {
			if w.jet {
				return term{}, unknownf("the result of a loop in a template")
			}
			return term{"any(" + r.base + ", #." + path[0] + ")", whole, boolKind}, nil
		}
		return term{}, unknownf("this part of the result of a loop")
	}
	return w.field(r, path)
}

// elementOfResult writes x.results[0].field.
func (w *writer) elementOfResult(r *result, index *j2.Expr, path []string) (term, error) {
	below := index.Args[0]
	if (below.Op == j2.Attr && below.Text == "stdout_lines") && len(path) == 0 {
		list, err := w.resultTerm(r, below)
		if err != nil {
			return list, err
		}
		i, err := w.write(index.Args[1])
		return term{list.text + "[" + i.text + "]", whole, textKind}, err
	}
	if !r.looped || below.Op != j2.Attr || below.Text != "results" {
		return term{}, unknownf("this part of a result")
	}
	i, err := w.write(index.Args[1])
	if err != nil {
		return i, err
	}
	slices.Reverse(path)
	one := *r
	one.base, one.looped = r.base+"["+i.text+"]", false
	return w.field(&one, path)
}

// field writes a field of one result.
func (w *writer) field(r *result, path []string) (term, error) {
	if len(path) == 0 {
		return term{}, unknownf("a result as a whole")
	}
	switch path[0] {
	case "changed", "skipped", "failed":
		return w.outcome(r, path[0], false)
	case "item":
		text := r.base + ".item"
		for _, key := range path[1:] {
			text += attributePath(key)
		}
		return term{text, whole, anyKind}, nil
	case "stat":
		if len(path) == 2 && r.module == "stat" {
			if name := statTest(r.asked); name != "" && (path[1] == name || path[1] == "exists") {
				t := term{r.base + ".exit_code == 0", comparing, boolKind}
				return t, nil
			}
			return term{}, unknownf("stat.%s", path[1])
		}
	}
	f, ok := fieldsOfExec[path[0]]
	if !ok || len(path) > 1 || !runsCommand(r.module) {
		return term{}, unknownf("%s of the result of %s", path[0], r.module)
	}
	return term{r.base + "." + f.name, whole, f.kind}, nil
}

func runsCommand(module string) bool {
	return slices.Contains([]string{"command", "shell", "raw"}, module)
}

// statTest is the one thing that is asked of a stat, besides whether something is there:
// of a path that is not there it is not true either. "" if several are asked.
func statTest(asked []string) string {
	one := "exists"
	for _, a := range asked {
		switch {
		case a == "exists" || a == one:
		case one == "exists" && statTests[a] != "":
			one = a
		default:
			return ""
		}
	}
	// Where both whether it is there and what it is are asked, one command cannot tell them apart.
	if one != "exists" && slices.Contains(asked, "exists") {
		return ""
	}
	return one
}

// statTests are what test(1) is asked.
var statTests = map[string]string{
	"exists": "-e", "isdir": "-d", "isreg": "-f", "islnk": "-L", "executable": "-x", "readable": "-r", "writeable": "-w", "issock": "-S", "isblk": "-b", "isfifo": "-p", "ischr": "-c",
}

// outcome writes whether a task has changed something, failed or was skipped.
func (w *writer) outcome(r *result, what string, not bool) (term, error) {
	if r.dead != "" {
		return term{}, unknownf("the result of a task that is not carried over (%s)", r.dead)
	}
	var t term
	on := func(field string) term { return term{r.base + "." + field, whole, boolKind} }
	failed := on("failed")
	if r.lax {
		failed = term{r.base + ".exit_code != 0", comparing, boolKind}
	}
	switch what {
	case "changed", "change":
		t = on("changed")
	case "skipped":
		t = on("skipped")
	case "failed":
		t = failed
	default: // succeeded: neither failed nor skipped
		t = w.not(failed)
		if r.lax {
			t = term{r.base + ".exit_code == 0", comparing, boolKind}
		}
	}
	if r.looped {
		if w.jet || len(t.text) <= len(r.base)+1 {
			return term{}, unknownf("the result of a loop in a template")
		}
		one := *r
		one.base, one.looped = "#", false
		inner, err := w.outcome(&one, what, false)
		fn := "any("
		if what == "succeeded" || what == "success" || what == "skipped" {
			fn = "all("
		}
		t = term{fn + r.base + ", " + inner.text + ")", whole, boolKind}
		if err != nil {
			return t, err
		}
	}
	if not {
		t = w.not(t)
	}
	return t, nil
}
