package catalog

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// maxWhence bounds the number of values whose source an error names.
const maxWhence = 3

// whence adds to errors of a resource where the data is from that they can be about, and the
// folder of the template that they are in.
func (in *scope) whence(r *manifest.Resource, env *templates.Env, errs yamlpos.Errors) {
	defer in.manifest.place(errs)
	layers := in.values.Layers()
	for i, e := range errs {
		reads, inTemplate, known := r.InputsAt(e.File, e.Line, e.Column, env.Files)
		if !known {
			continue
		}
		more := *e
		paths, _ := reads.Data()
		if inTemplate {
			paths = mentioned(paths, env.Files, e)
		}
		if slices.ContainsFunc(paths, func(path string) bool { return len(templates.Origins(layers, strings.Split(path, "."))) == 0 }) {
			paths = nil // the error is probably about missing data
		}
		more.Msg += templates.WrittenAt(layers, paths[:min(len(paths), maxWhence)]...)
		errs[i] = &more
	}
}

// mentioned returns the paths of the data whose last key is in the line of an error.
func mentioned(paths []string, files *templates.Files, e *yamlpos.Error) []string {
	text, err := files.Read(e.File)
	lines := bytes.Split(text, []byte("\n"))
	if err != nil || e.Line < 1 || e.Line > len(lines) {
		return nil
	}
	var found []string
	for _, path := range paths {
		key := path[strings.LastIndexByte(path, '.')+1:]
		if asWord, err := regexp.Compile(`\b` + regexp.QuoteMeta(key) + `\b`); err == nil && asWord.Match(lines[e.Line-1]) {
			found = append(found, path)
		}
	}
	return found
}
