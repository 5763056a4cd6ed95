package load

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/resource"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// gossfile reads the files of rules of goss that at names.
func (f *file) gossfile(ctx context.Context, at *yamlpos.Node) (files []resource.GossRules) {
	for _, name := range f.matches(at) {
		named := *at
		named.Text = name
		for _, rules := range f.mapIn(ctx, &named, "file of goss", "write rules: {service: {nginx: {running: true}}}") {
			files = append(files, resource.GossRules{Folder: path.Dir(name), Rules: rules})
		}
	}
	return files
}

// literally escapes a path for a pattern.
var literally = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// matches returns the names that a pattern of file names matches, sorted. A name without special characters matches itself,
// and so does the name of a file that exists.
func (f *file) matches(at *yamlpos.Node) (names []string) {
	if _, err := os.Lstat(f.at.Resolve(at.Text).Path); err == nil || !strings.ContainsAny(at.Text, "*?[") {
		return []string{at.Text}
	}
	base := f.at.Folder()
	if path.IsAbs(at.Text) {
		base = cmp.Or(f.at.Root, "/")
	}
	if err := f.at.CheckInside(at, source.File{Path: filepath.Join(base, at.Text)}); err != nil {
		f.report.Add(err)
		return nil
	}
	f.noteNamed(path.Dir(at.Text))
	found, err := filepath.Glob(filepath.Join(literally.Replace(base), at.Text))
	if err != nil {
		f.report.Add(at.Errorf("", "%q is not a pattern of file names", at.Text))
	} else if len(found) == 0 {
		f.report.Add(at.Errorf("", "no file matches %q", at.Text))
	}
	for _, file := range found {
		name, _ := filepath.Rel(base, file) // found is below it, or reached with ..
		if path.IsAbs(at.Text) {
			name = "/" + name
		}
		names = append(names, name)
	}
	return names
}
