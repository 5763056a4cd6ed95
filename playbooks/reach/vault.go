package reach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/sealed/vault"
)

// VaultSources are the sources of ansible-vault passwords, in the form of ansible-playbook's flags of the same names.
type VaultSources struct {
	IDs   []string // [LABEL@]SOURCE: a file, a program that prints it, or prompt
	Files []string // sources without a label
	Ask   bool
}

// Named are the sources that are named, of which most are files.
func (v VaultSources) Named() []string {
	list := slices.Clone(v.Files)
	for _, id := range v.IDs {
		label, source, labelled := strings.Cut(id, "@")
		if !labelled {
			source = label
		}
		list = append(list, source)
	}
	return list
}

// prompts are the sources that are a person.
var prompts = []string{"prompt", "prompt_ask_vault_pass"}

// defaultLabel is the label of passwords without one.
const defaultLabel = "default"

// Vault gets the passwords of ansible-vault, each from its source, in the order in which they
// are tried.
func (s SecretSources) Vault(ctx context.Context, from VaultSources) (list []vault.Password, err error) {
	ids := from.IDs
	for _, file := range from.Files {
		ids = append(ids, defaultLabel+"@"+file)
	}
	if from.Ask {
		ids = append(ids, defaultLabel+"@"+prompts[0])
	}
	for _, id := range ids {
		p, err := s.vaultPassword(ctx, id)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func (s SecretSources) vaultPassword(ctx context.Context, id string) (p vault.Password, err error) {
	label, source, labelled := strings.Cut(id, "@")
	if !labelled {
		label, source = "", id
	}
	if label == "" {
		label = defaultLabel
	}
	p.Label = label
	switch {
	case source == "":
		return p, fmt.Errorf("--vault-id %q: write LABEL@FILE, or LABEL@prompt", id)
	case source == prompts[0], source == prompts[1]:
		answer, err := askPassword(ctx, fmt.Sprintf("Vault password (%s): ", label), "--vault-id "+label+"@FILE")
		if err != nil {
			return p, err
		}
		p.Text = bytes.Clone(answer.Reveal())
		return p, nil
	}
	var arguments []string
	if stem := strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)); strings.HasSuffix(stem, "-client") {
		arguments = []string{"--vault-id", label} // arguments that Ansible passes to its keyring clients
	}
	text, err := s.text(ctx, source, arguments...)
	if p.Text = bytes.TrimSpace(text); err == nil {
		switch {
		case len(p.Text) == 0:
			err = errors.New("the file contains no password")
		case len(p.Text) >= maxPassword:
			err = fmt.Errorf("more than %d KiB are not a password", maxPassword>>10)
		}
	}
	if err != nil {
		return p, fmt.Errorf("vault password %s: %w", source, err)
	}
	return p, nil
}
