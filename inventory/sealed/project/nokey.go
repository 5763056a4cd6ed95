package project

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/ccm-push/ccm-push/inventory/sealed/identity"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// NoKey returns err with its position. If no key can decrypt the file, it adds the names of people with such a key.
func NoKey(name string, line int, names []string, keys *identity.Keys, err error) error {
	if err == nil {
		return nil
	}
	if _, positioned := errors.AsType[*yamlpos.Error](err); positioned {
		return err
	}
	if failed := keys.Failed(); failed != nil {
		return failed
	}
	at := &yamlpos.Error{File: name, Line: line, Column: 1}
	if _, none := errors.AsType[*age.NoIdentityMatchError](err); !none {
		at.Msg = "decrypting with age: " + strings.TrimPrefix(err.Error(), "age: ")
		return at
	}
	at.Msg = fmt.Sprintf("none of your keys can decrypt the file (%s)", keys.Tried())
	at.Hint = "pass another private key with --age-identity FILE; or " + ask(names)
	return at
}

// ask returns the hint with the names of people who can decrypt the file.
func ask(names []string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	who := "a person who can read it"
	switch n := len(names); {
	case n == 1:
		who = names[0]
	case n > 1:
		who = strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
	return "add your public key to .ccm-secrets.yaml; then " + who + " must run: ccm-push secret rekey"
}
