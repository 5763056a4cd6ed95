package schema

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// here is the URI of a schema without a name.
const here = "dsc:///"

// name registers a schema: it starts a resource if it has a name, and can be found by its anchors.
func (c *compiler) name(n *node, object map[string]any) {
	isRoot := n.res.root == nil
	d, warning := n.res.draft, ""
	if uri, says := object["$schema"].(string); says {
		d, warning = draftOf(uri)
	}
	id := idOf(object, d)
	if id == "" && !isRoot { // then its $schema has no effect
		d, warning = n.res.draft, ""
		id = idOf(object, d)
	}
	if warning != "" {
		c.warn("%s", warning)
		c.drafts = append(c.drafts, warning)
	}
	if isRoot {
		n.res.root, n.res.draft = n, d
	}
	if id != "" {
		c.start(n, id, d, isRoot)
	}
	c.anchors(n, object)
}

// idOf returns the name of a schema, without the fragment that is an anchor in draft 7.
func idOf(object map[string]any, d draft) string {
	if _, ok := object["$ref"]; ok && d == draft7 {
		return ""
	}
	id, _ := object["$id"].(string)
	id, _, _ = strings.Cut(id, "#")
	return id
}

// start begins a resource.
func (c *compiler) start(n *node, id string, d draft, isRoot bool) {
	at := n.at.member("$id")
	uri, _, err := join(n.res.id, id)
	if err != nil {
		c.refuse(at, "is not a URI")
		return
	}
	if other := c.resources[uri]; other != nil && other.root != n {
		c.refuse(at, "is %q, which another schema also has", id)
		return
	}
	if isRoot {
		n.res.id = uri
	} else {
		n.res = &resource{id: uri, root: n, draft: d, anchors: map[string]*node{}, dynamic: map[string]*node{}}
	}
	c.resources[uri] = n.res
}

func (c *compiler) anchors(n *node, object map[string]any) {
	add := func(key, name string) {
		if other := n.res.anchors[name]; other != nil && other != n {
			c.refuse(n.at.member(key), "is %q, which another schema also has", name)
		}
		n.res.anchors[name] = n
	}
	if n.res.draft == draft7 {
		id, _ := object["$id"].(string)
		_, name, err := join("", "#"+after(id, "#"))
		if _, isRef := object["$ref"]; !isRef && err == nil && name != "" && name[0] != '/' {
			add("$id", name)
		}
		return
	}
	if name, ok := object["$anchor"].(string); ok {
		add("$anchor", name)
	}
	if name, ok := object["$dynamicAnchor"].(string); ok {
		add("$dynamicAnchor", name)
		n.res.dynamic[name] = n
	}
}

func after(s, sep string) string {
	_, rest, _ := strings.Cut(s, sep)
	return rest
}

// join resolves a reference against a base, and returns the decoded fragment separately.
func join(base, ref string) (uri, fragment string, err error) {
	ref, fragment, _ = strings.Cut(ref, "#")
	if fragment, err = url.PathUnescape(fragment); err != nil || ref == "" {
		return base, fragment, err
	}
	to, err := url.Parse(ref)
	if err != nil {
		return "", "", err
	}
	from, err := url.Parse(base)
	if err != nil {
		return "", "", err
	}
	if from.Opaque != "" && !to.IsAbs() { // nothing is relative to a URN
		return ref, fragment, nil
	}
	return from.ResolveReference(to).String(), fragment, nil
}

// target returns the target of a reference. Nothing is fetched: a target that is neither in the document nor known
// accepts everything.
func (c *compiler) target(n *node, r *reference) *node {
	everything := true
	nothing := &node{at: r.at, res: n.res, boolean: &everything}
	uri, fragment, err := join(n.res.id, r.text)
	if err != nil {
		c.refuse(r.at, "is not a reference")
		return nothing
	}
	res := c.resources[uri]
	if res == nil {
		v := wellKnown(uri)
		if v == nil {
			c.warn("the schema refers to %s, which is not fetched: anything is accepted there", shown(uri, fragment))
			return nothing
		}
		c.document(uri, v)
		res = c.resources[uri]
	}
	if fragment == "" {
		return res.root
	}
	if fragment[0] == '/' {
		if to := c.follow(res, fragment, r); to != nil {
			return to
		}
		return nothing
	}
	if to := res.anchors[fragment]; to != nil {
		r.anchor = fragment
		return to
	}
	c.refuse(r.at, "leads to %q, which is not there", r.text)
	return nothing
}

func shown(uri, fragment string) string {
	if fragment != "" {
		uri += "#" + fragment
	}
	return strings.TrimPrefix(uri, here)
}

// follow finds the value at a pointer in a resource, and reads it as a schema even in a place where schemas are not
// expected.
func (c *compiler) follow(res *resource, pointer string, r *reference) *node {
	v, at := res.root.raw, res.root.at
	for step := range strings.SplitSeq(pointer[1:], "/") {
		step, ok := unescape(step)
		if ok {
			v, ok = child(v, step)
		}
		if !ok {
			c.refuse(r.at, "leads to %q, which is not there", r.text)
			return nil
		}
		at = at.member(step)
		if object, ok := v.(map[string]any); ok {
			if known := c.nodes[identity(object)]; known != nil {
				res = known.res
			}
		}
	}
	switch v.(type) {
	case map[string]any, bool:
		return c.schema(v, at, res)
	}
	c.refuse(r.at, "leads to %q, which is not a schema", r.text)
	return nil
}

// unescape reads one step of a JSON pointer (RFC 6901).
func unescape(step string) (string, bool) {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(step), isPointer("/" + step)
}

// child returns a member of an object or an element of a list.
func child(v any, step string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		item, ok := v[step]
		return item, ok
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// property finds the schemas of common properties that DSC publishes.
var property = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^https://(aka\.ms/dsc/schemas|raw\.githubusercontent\.com/PowerShell/DSC/[^/]+/schemas)/(.+/)?resource/properties/(exist|ensure|purge|inDesiredState)\.json$`)
})

// wellKnown returns the schema of a common property; nil if the URL is another.
func wellKnown(url string) any {
	m := property().FindStringSubmatch(url)
	if m == nil {
		return nil
	}
	switch m[3] {
	case "ensure":
		return map[string]any{"type": "string", "enum": []any{"Absent", "Present", "absent", "present"}}
	case "purge":
		return map[string]any{"type": []any{"boolean", "null"}, "writeOnly": true}
	case "inDesiredState":
		return map[string]any{"type": []any{"boolean", "null"}, "readOnly": true}
	}
	return map[string]any{"type": "boolean", "default": true}
}
