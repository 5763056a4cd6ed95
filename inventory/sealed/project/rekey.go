package project

import (
	"github.com/ccm-push/ccm-push/inventory/sealed/agefile"
	"github.com/ccm-push/ccm-push/inventory/sealed/identity"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// RekeyOptions say which files get new keys.
type RekeyOptions struct {
	All   bool     // also files that already have the right readers
	Moved []string // files that may have been encrypted under another path
}

// Rekey encrypts each file whose readers differ from the rules with a new key for the right readers: all of the files
// or none. It returns their names.
func (p *Project) Rekey(keys *identity.Keys, o RekeyOptions) (names []string, err error) {
	unlock, err := p.locked()
	if err != nil {
		return nil, err
	}
	defer unlock()
	due, err := p.due(o)
	if err != nil {
		return nil, err
	}
	var errs yamlpos.Errors
	var files []replacement
	for _, d := range due {
		text, err := d.rekeyed(keys)
		errs.Add(err)
		files = append(files, replacement{Path: d.Path, Before: hashOf(d.Text), Text: text})
		names = append(names, d.Name)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, nil
	}
	return names, p.replaceAll(files)
}

// due returns the files that need a new key.
func (p *Project) due(o RekeyOptions) (list []*Document, err error) {
	moved := map[string]bool{}
	for _, name := range o.Moved {
		path, err := p.path(name)
		if err != nil {
			return nil, err
		}
		moved[path] = true
	}
	all, err := p.Documents()
	if err != nil {
		return nil, err
	}
	var errs yamlpos.Errors
	for _, d := range all {
		a, err := d.Access()
		if err != nil {
			errs.Add(err)
			continue
		}
		if !moved[d.Path] {
			errs.Add(a.Moved)
		}
		errs.Add(a.RuleOf)
		if o.All || !a.Right {
			list = append(list, d)
		}
		delete(moved, d.Path)
	}
	for path := range moved {
		errs.Add(&yamlpos.Error{File: path, Msg: "it has no encrypted values"})
	}
	return list, errs.Err()
}

// Documents returns the encrypted files of the project.
func (p *Project) Documents() (list []*Document, err error) {
	names, err := p.Encrypted()
	if err != nil {
		return nil, err
	}
	var errs yamlpos.Errors
	for _, name := range names {
		d, err := p.Read(name)
		errs.Add(err)
		if d != nil && err == nil && d.Encrypted() {
			list = append(list, d)
		}
	}
	return list, errs.Err()
}

// rekeyed returns the text of a file with a new key.
func (d *Document) rekeyed(keys *identity.Keys) ([]byte, error) {
	readers, err := d.Readers()
	if err != nil {
		return nil, err
	}
	if d.Whole {
		clear, err := d.clearWhole(keys)
		if err != nil {
			return nil, err
		}
		return agefile.EncryptWhole(clear, readers, agefile.IsArmored(d.Text))
	}
	if err := d.Unlock(keys); err != nil {
		return nil, err
	}
	return d.File.Rekey(readers)
}
