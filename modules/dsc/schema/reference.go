package schema

import (
	"net/url"
	"strconv"
	"strings"
)

// here is what a schema without a name is called.
const here = "dsc:///"

// name gives a schema its place among the resources: it starts one if it has a name,
// and can be found by its anchors.
func (c *compiler) name(n *node, object map[string]any) {
	isRoot := n.res.root == nil
	d := n.res.draft
	uri, says := object["$schema"].(string)
	known := true
	if says {
		d, known = draftOf(uri)
	}
	id := idOf(object, d)
	if id == "" && !isRoot { // then its $schema says nothing
		d, known = n.res.draft, true
		id = idOf(object, d)
	}
	if !known {
		c.warn("the schema's $schema is %q, which is not known; it is read as draft 2020-12", uri)
	}
	if isRoot {
		n.res.root, n.res.draft = n, d
	}
	if id != "" {
		c.start(n, id, d, isRoot)
	}
	n.draft = n.res.draft
	c.anchors(n, object)
}

// idOf is the name of a schema, without the fragment that is an anchor in older drafts.
func idOf(object map[string]any, d draft) string {
	if _, ok := object["$ref"]; ok && d < draft2019 {
		return ""
	}
	id, _ := object[d.id()].(string)
	id, _, _ = strings.Cut(id, "#")
	return id
}

// start begins a resource.
func (c *compiler) start(n *node, id string, d draft, isRoot bool) {
	at := n.at.member(d.id())
	uri, _, err := join(n.res.id, id)
	if err != nil {
		c.refuse(at, "is no URI")
		return
	}
	if other := c.resources[uri]; other != nil && other.root != n {
		c.refuse(at, "is %q, as is that of another schema", id)
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
			c.refuse(n.at.member(key), "is %q, as is that of another schema", name)
		}
		n.res.anchors[name] = n
	}
	if n.draft < draft2019 {
		id, _ := object[n.draft.id()].(string)
		_, name, err := join("", "#"+after(id, "#"))
		if _, isRef := object["$ref"]; !isRef && err == nil && name != "" && name[0] != '/' {
			add(n.draft.id(), name)
		}
		return
	}
	if name, ok := object["$anchor"].(string); ok {
		add("$anchor", name)
	}
	if name, ok := object["$dynamicAnchor"].(string); ok && n.draft >= draft2020 {
		add("$dynamicAnchor", name)
		n.res.dynamic[name] = n
	}
	if is, _ := object["$recursiveAnchor"].(bool); is && n.res.root == n {
		n.res.recursive = true
	}
}

func after(s, sep string) string {
	_, rest, _ := strings.Cut(s, sep)
	return rest
}

// join resolves a reference against a base, and gives the fragment apart and decoded.
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

// target finds what a reference leads to. Nothing is fetched: what is neither in the
// document nor known accepts everything.
func (c *compiler) target(n *node, r *reference) *node {
	everything := true
	nothing := &node{at: r.at, res: n.res, boolean: &everything}
	uri, fragment, err := join(n.res.id, r.text)
	if err != nil {
		c.refuse(r.at, "is no reference")
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

// follow finds what is at a pointer in a resource, and reads it as a schema even if it
// stands where none would be looked for.
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
	c.refuse(r.at, "leads to %q, which is no schema", r.text)
	return nil
}

// unescape reads one step of a JSON pointer (RFC 6901).
func unescape(step string) (string, bool) {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(step), isPointer("/" + step)
}

// child gives a member of an object or an element of a list.
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
