package project

import (
	"github.com/ccm-push/ccm-push/inventory/sealed/agefile"
	"github.com/ccm-push/ccm-push/inventory/sealed/identity"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/spans"
)

// vaultTags are the tags of ansible-vault's values.
var vaultTags = map[string]bool{"!vault": true, "!vault-encrypted": true}

// Import encrypts with age the parts of a file that ansible-vault has encrypted: single values, or the whole file. by
// opens the vault values; keys open the values with !age that the file has already. n is the number of imported values,
// 0 for a whole file.
func Import(name string, keys *identity.Keys, by yamlpos.Opener) (d *Document, n int, err error) {
	p, err := Of(name)
	if err != nil {
		return nil, 0, err
	}
	if d, err = p.ReadAny(name); err != nil {
		return nil, 0, err
	}
	if !d.Exists {
		return nil, 0, &yamlpos.Error{File: name, Msg: "no such file"}
	}
	if !d.Whole {
		clear, sealed, err := by.File(name, d.Text)
		if err != nil {
			return nil, 0, err
		}
		if sealed {
			return d, 0, d.EncryptWhole(clear)
		}
	}
	if d, err = p.Read(name); err != nil {
		return nil, 0, err
	}
	n, err = d.importValues(keys, by)
	return d, n, err
}

// EncryptWhole replaces the content of a file by a text, encrypted as a whole.
func (d *Document) EncryptWhole(clear []byte) error {
	readers, err := d.Readers()
	if err != nil {
		return err
	}
	text, err := agefile.EncryptWhole(clear, readers, true)
	if err != nil {
		return err
	}
	return d.Write(text)
}

func (d *Document) importValues(keys *identity.Keys, by yamlpos.Opener) (n int, err error) {
	none := &yamlpos.Error{File: d.Name, Msg: "nothing in it is encrypted by ansible-vault"}
	if d.Whole {
		return 0, none
	}
	found, err := spans.Find(d.Name, d.Text) // positions in the file as written
	if err != nil {
		return 0, err
	}
	var errs yamlpos.Errors
	values := map[string]string{}
	for _, s := range found.Scalars {
		if !vaultTags[s.Tag] {
			continue
		}
		at := &yamlpos.Node{File: d.Name, Line: s.Line, Column: s.Column, Text: s.Value}
		value, err := at.SealedAs(s.Tag, by).Open()
		errs.Add(err)
		values[s.Path.String()] = value
	}
	if err := errs.Err(); err != nil {
		return 0, err
	}
	if n = len(values); n == 0 {
		return 0, none
	}
	clear, err := d.Clear(keys)
	if err != nil {
		return 0, err
	}
	if found, err = spans.Find(d.Name, clear); err != nil {
		return 0, err
	}
	var changes []spans.Change
	for _, s := range found.Scalars {
		if value, ok := values[s.Path.String()]; ok && vaultTags[s.Tag] {
			changes = append(changes, spans.Change{Start: s.Start, End: s.End, New: s.Written(agefile.Marked, value)})
		}
	}
	_, err = d.Save(spans.Apply(clear, changes))
	return n, err
}
