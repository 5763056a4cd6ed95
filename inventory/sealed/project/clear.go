package project

import (
	"bytes"
	"errors"

	"github.com/ccm-push/ccm-push/inventory/sealed/agefile"
	"github.com/ccm-push/ccm-push/inventory/sealed/identity"
	"github.com/ccm-push/ccm-push/inventory/sealed/recipients"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func (d *Document) clearWhole(keys *identity.Keys) ([]byte, error) {
	identities, err := keys.All()
	if err != nil {
		return nil, err
	}
	clear, err := agefile.DecryptWhole(d.Text, identities)
	return clear, NoKey(d.Name, 1, d.whoCan(), keys, err)
}

func (d *Document) whoCan() (names []string) {
	a, err := d.Access()
	if err != nil {
		return nil
	}
	for _, who := range a.Can {
		names = append(names, who.Name)
	}
	return names
}

// Unlock opens the key of a file of values.
func (d *Document) Unlock(keys *identity.Keys) error {
	if d.File.Header == nil {
		return nil
	}
	identities, err := keys.All()
	if err != nil {
		return err
	}
	return NoKey(d.Name, d.File.Header.Line, d.whoCan(), keys, d.File.Unlock(identities))
}

// Clear returns the text of a file with nothing encrypted: its values are marked as !secret.
func (d *Document) Clear(keys *identity.Keys) ([]byte, error) {
	if d.Whole {
		return d.clearWhole(keys)
	}
	if err := errors.Join(d.File.Moved(), d.Unlock(keys)); err != nil {
		return nil, err
	}
	return d.File.Clear()
}

// Seal encrypts clear, an edited version of the text from [Document.Clear], in the same way as the file.
func (d *Document) Seal(clear []byte) ([]byte, error) {
	var readers []recipients.Reader
	if d.Whole || d.File.Header == nil {
		var err error
		if readers, err = d.Readers(); err != nil {
			return nil, err
		}
	}
	if d.Whole {
		return agefile.EncryptWhole(clear, readers, agefile.IsArmored(d.Text))
	}
	return d.File.Seal(clear, readers)
}

// Value returns one value of a file in clear, encrypted or not.
func (d *Document) Value(path yamlpos.Path, keys *identity.Keys) (string, error) {
	if d.Whole {
		return "", &yamlpos.Error{File: d.Name, Msg: "the file is encrypted as a whole, and has no single values", Hint: "pass only the name of the file, without KEY"}
	}
	s, ok := d.File.Find(path)
	switch {
	case !ok:
		return "", d.File.NoValue(path)
	case s.Tag != agefile.Tag:
		return s.Value, nil
	}
	if err := errors.Join(d.File.Moved(), d.Unlock(keys)); err != nil {
		return "", err
	}
	return d.File.Value(s)
}

// Save encrypts clear, an edited version of the text from [Document.Clear], and writes it. It reports whether anything
// has changed.
func (d *Document) Save(clear []byte) (changed bool, err error) {
	text, err := d.Seal(clear)
	if err != nil || d.Exists && bytes.Equal(text, d.Text) {
		return false, err
	}
	return true, d.Write(text)
}
