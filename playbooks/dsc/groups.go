package dsc

import (
	"context"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
)

// group reads the contents of a group, an assertion or an include.
func (s *scope) group(ctx context.Context, d *draft, kind string) {
	properties := d.body.Get("properties")
	if s.depth >= maxNesting {
		s.add(d.Node.Errorf("", "groups and included documents are nested more than %d levels deep", maxNesting))
		return
	}
	s.depth++
	defer func() { s.depth-- }()
	if properties == nil || properties.Kind != yamlpos.Map {
		s.add(d.Node.Errorf("write properties: {resources: [...]}", "%s has no properties", d.Type))
		return
	}
	var inner *scope
	if kind == includeType {
		document, given, file, ok := s.included(ctx, d, properties)
		if !ok {
			return
		}
		s.files = append(s.files, file)
		defer func() { s.files = s.files[:len(s.files)-1] }()
		inner = s.scope(document, given, nil, file)
		inner.security, inner.prefix, inner.assert = s.security, s.prefix, s.assert
	} else {
		inner = s.scope(properties, nil, s, s.file)
		inner.loop = d.loop
	}
	inner.prefix += d.Name + "/"
	inner.groups = append(slices.Clip(d.around), d)
	inner.assert = inner.assert || kind == assertionType
	inner.security = s.securityOf(member(d.body, "directives", "securityContext"), s.security)
	inner.read(ctx)
}

// included opens the document of an include, and its parameters.
func (s *scope) included(ctx context.Context, d *draft, properties *yamlpos.Node) (document, given *yamlpos.Node, file string, ok bool) {
	names := s.exprNames(ctx, d.loop, nil)
	for _, pair := range properties.Pairs {
		if !slices.Contains([]string{"configurationFile", "configurationContent", "parametersFile", "parametersContent"}, pair.Key.Text) {
			s.add(pair.Key.Errorf(`write "configurationFile" and, if needed, "parametersFile"`, "unknown key %q in an include", pair.Key.Text))
			return nil, nil, "", false
		}
	}
	document, file, ok = s.part(ctx, properties, "configuration", names)
	if !ok {
		return nil, nil, "", false
	}
	if document == nil {
		s.add(properties.Errorf("write configurationFile: other.dsc.yaml", "the include names no document"))
		return nil, nil, "", false
	}
	if slices.Contains(append(slices.Clone(s.files), s.opts.File), file) {
		s.add(properties.Errorf("", "the documents include each other: %s", strings.Join(append(append([]string{s.opts.File}, s.files...), file), " → ")))
		return nil, nil, "", false
	}
	given, _, ok = s.part(ctx, properties, "parameters", names)
	return document, given, file, ok
}

// part reads the file or the text of one half of an include; nil if there is
// neither.
func (s *scope) part(ctx context.Context, properties *yamlpos.Node, what string, names *expr.Names) (n *yamlpos.Node, file string, ok bool) {
	path, content := properties.Get(what+"File"), properties.Get(what+"Content")
	switch {
	case path != nil && content != nil:
		s.add(content.Errorf("keep one of them", `"%sFile" and "%sContent" cannot be used together`, what, what))
		return nil, "", false
	case path != nil:
		name, ok := s.text(ctx, path, what+"File", names)
		if !ok {
			return nil, "", false
		}
		if s.opts.Open == nil {
			s.add(path.Errorf("", "no other file can be read here"))
			return nil, "", false
		}
		n, file, err := s.opts.Open(path, s.file, name)
		s.add(err)
		return n, file, err == nil
	case content != nil:
		text, ok := s.text(ctx, content, what+"Content", names)
		if !ok {
			return nil, "", false
		}
		file = content.Pos() + " (" + what + "Content)"
		documents, err := yamlpos.Parse(file, []byte(text))
		if err == nil && len(documents) != 1 {
			err = content.Errorf("", `"%sContent" must be one document`, what)
		}
		s.add(err)
		if err != nil {
			return nil, "", false
		}
		return documents[0], file, true
	}
	return nil, "", true
}
