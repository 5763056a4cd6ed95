package vault

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Password is a password to try, with the label of its vault id.
type Password struct {
	Label string // "default" for one without
	Text  []byte
}

// Scheme decrypts with a list of passwords. As in Ansible, it first tries those with the label that a text names, and
// then the others in their order.
type Scheme struct{ Passwords []Password }

// Tags implements sealed.Scheme.
func (s *Scheme) Tags() []string { return []string{"!vault", "!vault-encrypted"} }

// Locked implements sealed.Locker.
func (s *Scheme) Locked() bool { return len(s.Passwords) == 0 }

// Check implements sealed.Scheme. As with Ansible, a value that is not used may be anything.
func (s *Scheme) Check(*yamlpos.Node) error { return nil }

// Open implements sealed.Scheme.
func (s *Scheme) Open(n *yamlpos.Node) (string, error) {
	text, err := s.open(n, n.Text, "value")
	return string(text), err
}

// IsFile implements sealed.Scheme.
func (s *Scheme) IsFile(data []byte) bool { return bytes.HasPrefix(data, []byte(header)) }

// OpenFile implements sealed.Scheme.
func (s *Scheme) OpenFile(name string, data []byte) ([]byte, error) {
	return s.open(&yamlpos.Node{File: name, Line: 1, Column: 1}, string(data), "file")
}

func (s *Scheme) open(at *yamlpos.Node, text, what string) ([]byte, error) {
	e, err := parse(text)
	if err != nil {
		return nil, at.Errorf("encrypt the "+what+" again with ansible-vault", "the %s is not valid ansible-vault data: %v", what, err)
	}
	of := ""
	if e.label != "" {
		of = fmt.Sprintf(" with the vault id %q", e.label)
	}
	if len(s.Passwords) == 0 {
		return nil, at.Errorf("pass the vault password: --vault-id "+labelOr(e.label)+"@FILE, --vault-password-file FILE or --ask-vault-pass",
			"the %s is encrypted by ansible-vault%s, and no password is given", what, of)
	}
	for _, first := range []bool{true, false} {
		for _, p := range s.Passwords {
			if first != (p.Label == e.label) {
				continue
			}
			if text, ok := e.open(p.Text); ok {
				return text, nil
			}
		}
	}
	hint := "the password is wrong, or the text was changed; check with ansible-vault view"
	if e.label != "" && !s.has(e.label) {
		hint = fmt.Sprintf("pass --vault-id %s@FILE; FILE must contain the password of the vault id %q", e.label, e.label)
	}
	return nil, at.Errorf(hint, "the %s is encrypted by ansible-vault%s, and none of the given passwords can decrypt it (tried: %s)", what, of, strings.Join(s.labels(), ", "))
}

func labelOr(label string) string {
	if label == "" {
		return "default"
	}
	return label
}

func (s *Scheme) has(label string) bool {
	for _, p := range s.Passwords {
		if p.Label == label {
			return true
		}
	}
	return false
}

// labels returns the labels of the passwords in the order of the command line.
func (s *Scheme) labels() (all []string) {
	for _, p := range s.Passwords {
		all = append(all, p.Label)
	}
	return all
}
