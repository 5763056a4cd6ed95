package jinja

import (
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A partial describes a dict of Ansible of which only some keys are known. To use another one is an error, even with a
// default, and so is to use the whole dict.
type partial struct {
	name   string
	absent map[string]bool // keys that the dict certainly does not have
}

// missing is the error of a key that may exist in Ansible.
func (p *partial) missing(x *exec, key string) {
	if p != nil && !p.absent[key] {
		x.throw(diag.Faultf("ccm-push has no equal of %s.%s", p.name, key))
	}
}

// A resultMap is the result of a resource, with Ansible's names of the fields.
type resultMap struct {
	name   string
	fields map[string]any
}

// resultKeys are keys that a result of Ansible has only in some cases.
var resultKeys = words("skipped skip_reason msg exception warnings deprecations results item rc stdout stdout_lines stderr stderr_lines")

// registered returns the result that a resource registered under a name. As in Ansible, it hides a variable of that name.
func (x *exec) registered(name string) (any, bool) {
	if x.run.Env.Inventory == nil || x.run.Env.Inventory.Results == nil {
		return nil, false
	}
	switch v := x.run.Env.Inventory.Results.Value()[name].(type) {
	case map[string]any:
		x.hostile = true
		return x.wrap(asAnsible(name, v), name, nil), true
	case []any:
		x.hostile = true
		var items []any
		changed, failed, skipped := false, false, len(v) > 0
		for _, item := range v {
			if one, ok := item.(map[string]any); ok {
				items = append(items, asAnsible(name+".results", one))
				changed, failed, skipped = changed || one["changed"] == true, failed || one["failed"] == true, skipped && one["skipped"] == true
			}
		}
		all := map[string]any{"results": items, "changed": changed, "failed": failed}
		if skipped {
			all["skipped"] = true
		}
		return x.wrap(resultMap{name, all}, name, nil), true
	}
	return nil, false
}

// asAnsible returns a result with the names of Ansible. Fields that cannot be used stay errors.
func asAnsible(name string, of map[string]any) resultMap {
	r := map[string]any{}
	for _, key := range []string{"changed", "failed", "item"} {
		if v, ok := of[key]; ok {
			r[key] = v
		}
	}
	if of["skipped"] == true {
		r["skipped"] = true
		return resultMap{name, r}
	}
	if text, ok := of["error"].(string); ok && text != "" {
		r["msg"] = text
	}
	for to, from := range map[string]string{"rc": "exit_code", "stdout": "stdout_trimmed", "stdout_lines": "stdout_trimmed", "stderr": "stderr", "stderr_lines": "stderr"} {
		v, ok := of[from]
		if !ok {
			continue
		}
		if s, isText := v.(string); isText {
			if s = strings.TrimRight(s, "\r\n"); strings.HasSuffix(to, "_lines") {
				v = lines(s, false)
			} else {
				v = s
			}
		}
		r[to] = v
	}
	return resultMap{name, r}
}

// resultDict returns a result as a dict.
func (x *exec) resultDict(r resultMap, path string) *dict {
	return &dict{src: r.fields, x: x, path: path, partial: &partial{r.name, resultKeys}}
}

// mayChoose ends the rendering if the result of a resource may choose the file that a lookup reads.
func (c *call) mayChoose() {
	if !c.x.hostile {
		return
	}
	if at := c.x.at; at != nil && at.kind == callNode && len(at.call.keywords) == 0 && at.call.star == nil && at.call.dict == nil &&
		!slices.ContainsFunc(at.call.args, func(arg *node) bool { return arg.kind != constNode }) {
		return
	}
	c.x.throw(render.HostilePath("lookup"))
}

// resultTests are the tests that read only the outcome of a result.
var resultTests = map[string]string{
	"changed": "changed", "change": "changed", "failed": "failed", "failure": "failed", "succeeded": "failed", "success": "failed", "successful": "failed",
	"skipped": "skipped", "skip": "skipped",
}

// known returns a dict of Ansible of which only these keys are known.
func (x *exec) known(name string, entries map[string]any) *dict {
	d := newDict()
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		d.set(x, key, entries[key])
	}
	d.x, d.partial = x, &partial{name: name}
	return d
}
