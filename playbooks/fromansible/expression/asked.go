package expression

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// statFields are those of stat that a fact has too, and what is written for each behind its name.
var statFields = map[string]struct {
	text string
	kind Kind
}{
	"exists": {"exists", boolKind}, "mode": {"mode", TextKind}, "size": {"size", NumberKind}, "uid": {"uid", NumberKind}, "gid": {"gid", NumberKind},
	"pw_name": {"owner", TextKind}, "gr_name": {"group", TextKind}, "lnk_target": {"target", TextKind},
	"isdir": {"type == 'directory'", boolKind}, "isreg": {"type == 'file'", boolKind}, "islnk": {"type == 'link'", boolKind},
}

// CanAsk reports whether a fact tells all that is asked of a stat.
func CanAsk(fields []string) bool {
	for _, field := range fields {
		if _, ok := statFields[field]; !ok {
			return false
		}
	}
	return len(fields) > 0
}

// lookedAt writes a field of what is asked for before the run.
func (w *Writer) lookedAt(r *Result, path []string) (Term, error) {
	switch key := path[0]; {
	case key == "changed" || key == "skipped" || key == "failed":
		return w.outcome(r, key, false)
	case r.Module == "stat" && key == "stat" && len(path) == 1:
		return Term{r.Base, Whole, MapKind}, nil
	case r.Module == "stat" && key == "stat" && len(path) == 2:
		if f, ok := statFields[path[1]]; ok {
			prec := Whole
			if strings.Contains(f.text, " ") {
				prec = comparing
			}
			return Term{r.Base + "." + f.text, prec, f.kind}, nil
		}
		return Term{}, Unknown("stat.%s", path[1])
	case runsCommand(r.Module) && len(path) == 1 && key == "stdout_lines":
		return Term{"(" + r.Base + `.stdout == '' ? [] : split(` + r.Base + `.stdout, "\n"))`, Whole, ListKind}, nil
	case runsCommand(r.Module) && len(path) == 1 && (key == "stdout" || key == "stderr"):
		return Term{r.Base + "." + key, Whole, TextKind}, nil
	case runsCommand(r.Module) && len(path) == 1 && key == "rc":
		return Term{r.Base + ".exit_code", Whole, NumberKind}, nil
	}
	return Term{}, Unknown("%s of the result of %s", path[0], r.Module)
}

// gathered are the facts of modules that gather them, and of one element of each: package_facts, service_facts and
// getent. What is asked for of an element that is not literal is not known before the run.
var gathered = map[string]func(key string) facts.Query{
	"packages":      func(key string) facts.Query { return facts.Query{Package: key} },
	"services":      func(key string) facts.Query { return facts.Query{Service: key} },
	"getent_passwd": func(key string) facts.Query { return facts.Query{Getent: "passwd " + key} },
	"getent_group":  func(key string) facts.Query { return facts.Query{Getent: "group " + key} },
}

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_]+`) })

// element asks for one element of what is gathered, and gives the fact that it becomes.
func (w *Writer) element(of, key string) (fact string, err error) {
	if strings.ContainsAny(key, " \t\n") || key == "" || strings.HasPrefix(key, "-") || of == "services" && !strings.Contains(key, ".") {
		return "", Unknown("%q in the fact %s", key, of)
	}
	name := map[string]string{"packages": "package", "services": "service", "getent_passwd": "user", "getent_group": "group"}[of] + "_" + nameForm().ReplaceAllString(key, "_")
	return "Facts." + name, w.Scope.Files.Ask(name, gathered[of](key))
}

// gatheredBelow finds what is gathered at the beginning of a path: its name, the literal key behind that, and the
// keys behind these.
func gatheredBelow(e *j2.Expr) (of string, key *j2.Expr, rest []*j2.Expr) {
	var path []*j2.Expr
	for ; e.Op == j2.Attr || e.Op == j2.Index; e = e.Args[0] {
		if of, ok := factPath(e); ok && gathered[of] != nil {
			break
		}
		one := &j2.Expr{Op: j2.Literal, Lit: e.Text}
		if e.Op == j2.Index {
			one = e.Args[1]
		}
		path = append(path, one)
	}
	of, ok := factPath(e)
	if !ok && e.Op == j2.Name { // getent_passwd has no ansible_ before it
		of = e.Text
	}
	if gathered[of] == nil {
		return "", nil, nil
	}
	slices.Reverse(path)
	if len(path) == 0 {
		return of, nil, nil
	}
	return of, path[0], path[1:]
}

// ofGathered writes what asks for an element of what is gathered; done is false of all else.
func (w *Writer) ofGathered(e *j2.Expr) (t Term, done bool, err error) {
	there := map[string]string{"packages": "installed", "services": "exists", "getent_passwd": "exists", "getent_group": "exists"}
	answer := func(of string, key *j2.Expr, field string, not bool) (Term, bool, error) {
		text, ok := key.Lit.(string)
		if key.Op != j2.Literal || !ok {
			return Term{}, true, Unknown("an element of the fact %s whose name is an expression", of)
		}
		fact, err := w.element(of, text)
		t := Term{fact + "." + field, Whole, boolKind}
		if not {
			t = w.not(t)
		}
		return t, true, err
	}
	switch {
	case e.Op == j2.Binary && (e.Text == "in" || e.Text == "not in"):
		if of, key, _ := gatheredBelow(e.Args[1]); of != "" && key == nil {
			return answer(of, e.Args[0], there[of], e.Text == "not in")
		}
	case e.Op == j2.Test && (e.Text == "defined" || e.Text == "undefined"):
		if of, key, rest := gatheredBelow(e.Args[0]); of != "" && key != nil && len(rest) == 0 {
			return answer(of, key, there[of], e.Not != (e.Text == "undefined"))
		}
	case e.Op == j2.Binary && (e.Text == "==" || e.Text == "!="):
		of, key, rest := gatheredBelow(e.Args[0])
		if of != "services" || len(rest) != 1 {
			break
		}
		switch not := e.Text == "!="; {
		case rest[0].Lit == "state" && e.Args[1].Lit == "running":
			return answer(of, key, "running", not)
		case rest[0].Lit == "status" && e.Args[1].Lit == "enabled":
			return answer(of, key, "enabled", not)
		case rest[0].Lit == "status" && e.Args[1].Lit == "not-found":
			return answer(of, key, "exists", !not)
		}
	case e.Op == j2.Attr || e.Op == j2.Index:
		of, key, rest := gatheredBelow(e)
		if !strings.HasPrefix(of, "getent_") || len(rest) != 1 {
			break
		}
		n, ok := rest[0].Lit.(int64)
		if !ok || n < 0 {
			break
		}
		t, _, err := answer(of, key, "fields", false)
		return Term{t.Text + "[" + w.Literal(n+1).Text + "]", Whole, TextKind}, true, err // fields begins with the key
	}
	return t, false, nil
}
