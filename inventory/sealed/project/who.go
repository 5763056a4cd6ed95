package project

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/sealed/agefile"
	"github.com/ccm-push/ccm-push/inventory/sealed/recipients"
)

// Encrypted lists the files of the project that contain encrypted text. Links are not followed, and files that cannot
// be data are skipped.
func (p *Project) Encrypted() (names []string, err error) {
	err = filepath.WalkDir(p.Root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != p.Root && isOther(path, entry.Name()):
			return filepath.SkipDir
		case !entry.Type().IsRegular(), entry.Name() == recipients.FileName, entry.Name() == journalName, strings.HasSuffix(entry.Name(), tempSuffix):
			return nil
		}
		found, err := isEncrypted(path)
		if found {
			names = append(names, shown(path))
		}
		return err
	})
	return names, err
}

// isOther reports whether a folder does not belong to the project.
func isOther(path, name string) bool {
	if slices.Contains([]string{".git", ".hg", ".svn"}, name) {
		return true
	}
	_, err := os.Stat(filepath.Join(path, recipients.FileName))
	return err == nil
}

// isEncrypted reports whether a file has what [agefile.FindHeader] finds, or is encrypted whole.
func isEncrypted(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxFile {
		return false, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	return agefile.IsWhole(text) || bytes.Contains(text, []byte(agefile.HeaderStart)), nil
}

// Access has the readers of a file, as written in the file, and the readers set by the rules.
type Access struct {
	Name   string
	Path   string
	Can    []agefile.Who // unknown of keys of age in a file that is encrypted as a whole
	Others int           // keys that the file does not name
	To     []agefile.Who // readers set by the rules
	RuleOf error         // why there is no To
	Moved  error
	Right  bool // can and to are the same, and the file is where it was encrypted
}

// Access returns the readers of a file, from files alone.
func (d *Document) Access() (*Access, error) {
	a := &Access{Name: d.Name, Path: d.Path}
	readers, err := d.Readers()
	a.RuleOf = err
	for _, r := range readers {
		a.To = append(a.To, agefile.Who{Name: r.Name, Key: r.Key.Text})
	}
	switch {
	case d.Whole:
		ssh, others, err := agefile.Stanzas(d.Text)
		if err != nil {
			return nil, err
		}
		wantSSH, wantOthers, err := agefile.StanzasFor(readers)
		if err != nil {
			return nil, err
		}
		a.Right = slices.Equal(ssh, wantSSH) && others == wantOthers
		a.Can, a.Others = d.project.named(ssh), others
		if a.Right {
			a.Can, a.Others = a.To, 0
		}
	case d.File.Header != nil:
		a.Can, a.Moved = d.File.Header.Readers, d.File.Moved()
		a.Right = slices.Equal(a.Can, a.To) && a.Moved == nil
	}
	a.Right = a.Right && a.RuleOf == nil
	return a, nil
}

// named finds the owners of keys by the short names that age gives the keys.
func (p *Project) named(short []string) (list []agefile.Who) {
	for _, one := range short {
		who := agefile.Who{Name: "somebody", Key: one}
		for _, r := range p.Recipients.Everybody() {
			if ssh, _, err := agefile.StanzasFor([]recipients.Reader{r}); err == nil && slices.Equal(ssh, []string{one}) {
				who = agefile.Who{Name: r.Name, Key: r.Key.Text}
			}
		}
		list = append(list, who)
	}
	return list
}
