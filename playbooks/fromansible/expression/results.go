package expression

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// A Result is what a task registers.
type Result struct {
	Base   string // how it is written here: Results.x, or Item in a loop over its results
	Module string // of the task, by its short name; "" if several tasks register it
	Looped bool   // it is a list
	Lax    bool   // every exit code is a success, so that failed is another exit code than 0
	Fact   bool   // it is asked for before the run: Base is Facts.x
	Asked  []string
	Folded bool   // its task is only for Windows, AIX, Solaris or HP-UX: it is always skipped
	Dead   string // why it is not there: the task was not carried over
	File   string // of the task
	Apart  string // the same, shown, where others are carried out without it
}

// there is an error for a result that is not.
func (r *Result) there() error {
	switch {
	case r.Dead != "":
		return Unknown("the result of a task that is not carried over (%s)", r.Dead)
	case r.Apart != "":
		return Unknown("the result of a task of %s, without which this file is carried out, too", r.Apart)
	}
	return nil
}

// fieldsOfExec are what is known of a command.
var fieldsOfExec = map[string]struct {
	name string
	kind Kind
}{
	"stdout": {"stdout_trimmed", TextKind}, "stdout_lines": {"stdout_lines", ListKind}, "rc": {"exit_code", NumberKind},
	"stderr": {"stderr", TextKind},
}

// resultTerm writes a result, or the field of it that e names.
func (w *Writer) resultTerm(r *Result, e *j2.Expr) (Term, error) {
	if err := r.there(); err != nil {
		return Term{}, err
	}
	if r.Module == "" && !r.Folded {
		return Term{}, Unknown("a result that several tasks register")
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
	if r.Looped {
		if len(path) == 1 && path[0] == "results" {
			return Term{r.Base, Whole, ListKind}, nil
		}
		if len(path) == 1 && (path[0] == "changed" || path[0] == "failed") {
			return Term{"any(" + r.Base + ", #." + path[0] + ")", Whole, boolKind}, nil
		}
		return Term{}, Unknown("this part of the result of a loop")
	}
	return w.field(r, path)
}

// elementOfResult writes x.results[0].field.
func (w *Writer) elementOfResult(r *Result, index *j2.Expr, path []string) (Term, error) {
	below := index.Args[0]
	if (below.Op == j2.Attr && below.Text == "stdout_lines") && len(path) == 0 {
		list, err := w.resultTerm(r, below)
		if err != nil {
			return list, err
		}
		i, err := w.Write(index.Args[1])
		return Term{list.Text + "[" + i.Text + "]", Whole, TextKind}, err
	}
	if !r.Looped || below.Op != j2.Attr || below.Text != "results" {
		return Term{}, Unknown("this part of a result")
	}
	i, err := w.Write(index.Args[1])
	if err != nil {
		return i, err
	}
	slices.Reverse(path)
	one := *r
	one.Base, one.Looped = r.Base+"["+i.Text+"]", false
	return w.field(&one, path)
}

// elementOf returns what an element of a list is: #, or one of the results of a loop, whose fields have other names here.
func elementOf(s *Scope, list *j2.Expr) Binding {
	if list.Op == j2.Attr && list.Text == "results" && list.Args[0].Op == j2.Name {
		r, ok := s.Files.ResultOf(list.Args[0].Text)
		if b, bound := s.Find(list.Args[0].Text); bound {
			r, ok = b.Result, b.Result != nil
		}
		if ok && r.Looped {
			one := *r
			one.Base, one.Looped = "#", false
			return Binding{Result: &one}
		}
	}
	return Binding{Text: "#"}
}

// field writes a field of one result.
func (w *Writer) field(r *Result, path []string) (Term, error) {
	if len(path) == 0 {
		return Term{}, Unknown("a result as a whole")
	}
	if r.Fact {
		return w.lookedAt(r, path)
	}
	if r.Folded && !slices.Contains([]string{"changed", "skipped", "failed"}, path[0]) {
		return Term{}, Unknown("%s of the result of a task that is only for Windows, AIX, Solaris or HP-UX", path[0])
	}
	switch path[0] {
	case "changed", "skipped", "failed":
		return w.outcome(r, path[0], false)
	case "item":
		text := r.Base + ".item"
		for _, key := range path[1:] {
			text += attributePath(key)
		}
		return Term{text, Whole, AnyKind}, nil
	case "stat":
		if len(path) == 2 && r.Module == "stat" {
			if name := StatTest(r.Asked); name != "" && (path[1] == name || path[1] == "exists") {
				t := Term{r.Base + ".exit_code == 0", comparing, boolKind}
				return t, nil
			}
			return Term{}, Unknown("stat.%s", path[1])
		}
	}
	switch {
	case r.Module == "uri":
		return answered(r, path)
	case r.Module == "find" && len(path) == 1 && path[0] == "matched":
		return Term{"len(" + r.Base + ".stdout_lines)", Whole, NumberKind}, nil
	case r.Module == "find" && len(path) == 1 && path[0] == "files":
		return Term{"map(" + r.Base + ".stdout_lines, ({'path': #}))", Whole, ListKind}, nil
	case r.Module == "slurp" && len(path) == 1 && path[0] == "content":
		return Term{encoded + r.Base + ".stdout)", Whole, TextKind}, nil
	}
	f, ok := fieldsOfExec[path[0]]
	if !ok || len(path) > 1 || !runsCommand(r.Module) {
		return Term{}, Unknown("%s of the result of %s", path[0], r.Module)
	}
	return Term{r.Base + "." + f.name, Whole, f.kind}, nil
}

// answered is what of the answer to a request is known.
func answered(r *Result, path []string) (Term, error) {
	text := r.Base + ".state." + path[0]
	switch {
	case path[0] == "status" && len(path) == 1:
		return Term{text, Whole, NumberKind}, nil
	case path[0] == "json":
		for _, key := range path[1:] {
			text += attributePath(key)
		}
		return Term{text, Whole, AnyKind}, nil
	}
	return Term{}, Unknown("%s of the result of uri", path[0])
}

func runsCommand(module string) bool {
	return slices.Contains([]string{"command", "shell", "raw"}, module)
}

// StatTest is the one thing that is asked of a stat, besides whether something is there:
// of a path that is not there it is not true either. "" if several are asked.
func StatTest(asked []string) string {
	one := "exists"
	for _, a := range asked {
		switch {
		case a == "exists" || a == one:
		case one == "exists" && StatTests[a] != "":
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

// StatTests are what test(1) is asked.
var StatTests = map[string]string{
	"exists": "-e", "isdir": "-d", "isreg": "-f", "islnk": "-L", "executable": "-x", "readable": "-r", "writeable": "-w", "issock": "-S", "isblk": "-b", "isfifo": "-p", "ischr": "-c",
}

// outcome writes whether a task has changed something, failed or was skipped.
func (w *Writer) outcome(r *Result, what string, not bool) (Term, error) {
	if err := r.there(); err != nil {
		return Term{}, err
	}
	if r.Folded {
		return w.Literal((what != "changed" && what != "change" && what != "failed") != not), nil
	}
	var t Term
	on := func(field string) Term { return Term{r.Base + "." + field, Whole, boolKind} }
	failed := on("failed")
	if r.Fact && !r.Lax {
		succeeded := !slices.Contains([]string{"changed", "change", "skipped", "failed"}, what)
		return w.Literal(succeeded != not), nil
	}
	if r.Lax {
		failed = Term{r.Base + ".exit_code != 0", comparing, boolKind}
	}
	switch what {
	case "changed", "change", "skipped":
		t = on(strings.TrimSuffix(what, "d") + "d")
		if r.Fact {
			t = w.Literal(false)
		}
	case "failed":
		t = failed
	default: // succeeded: neither failed nor skipped
		t = w.not(failed)
		if r.Lax {
			t = Term{r.Base + ".exit_code == 0", comparing, boolKind}
		}
	}
	if r.Looped {
		one := *r
		one.Base, one.Looped = "#", false
		inner, err := w.outcome(&one, what, false)
		fn := "any("
		if what == "succeeded" || what == "success" || what == "skipped" {
			fn = "all("
		}
		t = Term{fn + r.Base + ", " + inner.Text + ")", Whole, boolKind}
		if err != nil {
			return t, err
		}
	}
	if not {
		t = w.not(t)
	}
	return t, nil
}
