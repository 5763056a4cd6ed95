package role

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/jinja"
)

// Template copies a template of the role, and returns the path of the copy from the role's manifests. header is a first line
// with settings; empty means none. vars are the variables that its resource needs.
func (f File) Template(name, header string, s *expression.Scope) (to string, vars []expression.Var, err error) {
	c := templateCopy{role: f.Role, header: header}
	if c.source = c.find(name, filepath.Dir(f.Path)); c.source == "" {
		return "", nil, expression.Unknown("the template %s, which is not there", name)
	}
	if to, err = c.write(); err != nil {
		return "", nil, err
	}
	names, err := c.names()
	if err != nil {
		return to, nil, err
	}
	if vars, err = expression.Needs(s, names); err != nil {
		return to, nil, expression.Unknown("%s: %v", f.To.Shown(c.source), err)
	}
	return to, vars, nil
}

// A templateCopy is a template that is copied.
type templateCopy struct {
	role   *Role
	source string
	header string
}

// find finds a template for a file in a folder; empty means none.
func (c templateCopy) find(name, folder string) string {
	for _, base := range []string{filepath.Join(c.role.Dir, "templates"), c.role.Dir, folder} {
		if path := filepath.Join(base, name); c.role.To.From.IsFile(path) {
			return path
		}
	}
	return ""
}

// write writes the template below the role.
func (c templateCopy) write() (to string, err error) {
	rel, err := filepath.Rel(c.role.Dir, c.source)
	if err != nil || strings.HasPrefix(rel, "..") {
		return "", expression.Unknown("the template %s, which is outside of the role", c.role.To.Shown(c.source))
	}
	stem := strings.TrimSuffix(filepath.ToSlash(rel), ".j2")
	if to = stem + ".j2"; c.header == "" {
		if err := c.role.To.CopyOne(c.source, c.role.Below(to)); err != nil {
			return "", expression.Unknown("%v", err)
		}
		return to, nil
	}
	text, err := c.role.To.From.ReadFile(c.source)
	if err != nil {
		return "", expression.Unknown("the template %s: %v", c.role.To.Shown(c.source), err)
	}
	if strings.HasPrefix(string(text), "#jinja2:") {
		return "", expression.Unknown("the template %s, which has settings of its own", c.role.To.Shown(c.source))
	}
	for i := 2; ; i++ {
		to = stem + "-" + strconv.Itoa(i) + ".j2"
		content := c.header + string(text)
		old, there := c.role.To.Files[c.role.Below(to)]
		if (!there || string(old.Content) == content) && !c.role.To.From.IsFile(filepath.Join(c.role.Dir, to)) {
			c.role.To.Save(c.role.Below(to), content)
			return to, nil
		}
	}
}

// names returns the names in the template and in those that it includes, which it copies too.
func (c templateCopy) names() (names [][]string, err error) {
	list := []string{c.source}
	for i := 0; i < len(list); i++ {
		text, err := c.role.To.From.ReadFile(list[i])
		if err != nil {
			return nil, expression.Unknown("the template %s: %v", c.role.To.Shown(list[i]), err)
		}
		if strings.HasPrefix(string(text), "$ANSIBLE_VAULT;") {
			return nil, expression.Unknown("the template %s, which is encrypted", c.role.To.Shown(list[i]))
		}
		before := ""
		if i == 0 {
			before = c.header
		}
		pos := diag.WholeFile(c.role.To.Shown(list[i]))
		pos.Line -= strings.Count(before, "\n")
		uses, err := jinja.UsesOf(before+string(text), pos)
		if err != nil {
			return nil, expression.Unknown("%v", strings.Split(err.Error(), "\n")[0])
		}
		names = append(names, uses.Variables...)
		for _, name := range uses.Templates {
			path := c.find(name, filepath.Dir(c.source))
			if path == "" || slices.Contains(list, path) {
				continue
			}
			if rel, err := filepath.Rel(c.role.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
				if err := c.role.To.CopyOne(path, c.role.Below(filepath.ToSlash(rel))); err != nil {
					return nil, expression.Unknown("%v", err)
				}
			}
			list = append(list, path)
		}
	}
	return names, nil
}
