package load

import (
	"context"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/dsc"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// A file is one manifest file while it is read.
type file struct {
	run      *run
	at       source.File
	includes []string // the files that include this one, outermost first
	applies  []string // the manifests that lead to this one by apply, outermost first, and itself
	report   *manifest.Report
	values   *manifest.ValueReader
}

// file is the reader of a file. applies are the manifests that lead to it by apply.
func (rn *run) file(at source.File, applies []string) *file {
	report := &manifest.Report{}
	return &file{
		run: rn, at: at, applies: append(slices.Clone(applies), at.Name()),
		report: report, values: manifest.NewValueReader(report, nil),
	}
}

// isNested reports whether another manifest applies the file.
func (f *file) isNested() bool { return len(f.applies) > 1 }

// documents reads the plays of a file. A file without plays is an error.
func (f *file) documents(ctx context.Context, documents []*yamlpos.Node, over ordering) []*manifest.Play {
	var plays []*manifest.Play
	for _, doc := range documents {
		plays = append(plays, f.document(ctx, doc, over)...)
	}
	if len(plays) == 0 && len(f.report.Errors) == 0 {
		f.report.Add(fmt.Errorf("%s: the file is empty", f.at.Name()))
	}
	return plays
}

// document reads a manifest or a list of plays. An empty document has none.
func (f *file) document(ctx context.Context, doc *yamlpos.Node, over ordering) []*manifest.Play {
	switch {
	case dsc.Is(doc):
		var errs yamlpos.Errors
		if doc.RefuseSecrets(&errs); len(errs) > 0 {
			f.report.Add(errs.Err())
			return nil
		}
		return f.configuration(ctx, doc, over)
	case doc.Kind == yamlpos.Map:
		return f.plays(ctx, doc, over)
	case doc.Kind == yamlpos.List:
		return f.list(ctx, doc.Items, over)
	case doc.Value != nil:
		f.report.Add(doc.Errorf(`a manifest is a map with a section "ccm", or a list of plays`, "this is not a manifest"))
	}
	return nil
}

func (f *file) list(ctx context.Context, items []*yamlpos.Node, over ordering) []*manifest.Play {
	var plays []*manifest.Play
	for _, item := range items {
		if item.Kind != yamlpos.Map {
			f.report.Add(item.Errorf("a play is a map: - hosts: ...", "this is not a play"))
			continue
		}
		plays = append(plays, f.plays(ctx, item, over)...)
	}
	return plays
}
