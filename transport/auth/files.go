package auth

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/transport"
)

// CheckFiles reads the keys and certificates that t names, as [Keyring.Credentials] will, and returns the unusable
// files. Jump hosts are targets of their own.
func (k *Keyring) CheckFiles(o Operator, t transport.Target) []*transport.FileError {
	var list []*transport.FileError
	add := func(err error) {
		if e, ok := errors.AsType[*transport.FileError](err); ok {
			list = append(list, e)
		}
	}
	usable := o.AgentFor(t) != "" || t.Password != nil
	var unusable *keyFile
	var files []keyFile
	for _, path := range t.PrivateKeys {
		key, err := k.files.load(transport.ExpandHome(path, o.Home))
		if t.PrivateKeysOptional {
			usable = true
		} else {
			add(err)
		}
		switch {
		case key.signer != nil:
			usable = true
		case err == nil:
			unusable = &key
		}
		if err == nil {
			files = append(files, key)
		}
	}
	if unusable != nil && !usable {
		add(unusable.noAgentError())
	}
	_, err := k.files.certificates(t, files, o.Home)
	add(err)
	return list
}

// noAgentError reports a file that cannot sign without an agent.
func (f *keyFile) noAgentError() error {
	private := strings.TrimSuffix(f.path, ".pub")
	hint := "start an agent and add the key: eval $(ssh-agent) && ssh-add " + transport.ShellWord(private)
	if private != f.path {
		hint = "name the private key " + private + "; or " + hint
	}
	return &transport.FileError{
		Setting: transport.SettingPrivateKey, Path: f.path, Hint: hint,
		Err: errors.New(f.why + ", and no SSH agent is running (SSH_AUTH_SOCK is not set)"),
	}
}

// LockedKeys returns the encrypted key files that could log in to t with a known passphrase. These are the files that t
// names, except keys that the agent holds. Default files count only if there is nothing else to log in with. k reads
// the agent once.
func (k *Keyring) LockedKeys(ctx context.Context, o Operator, t transport.Target) []string {
	socket := o.AgentFor(t)
	agent := k.agents.list(socket)
	agent.load(ctx, socket)
	files, err := k.files.forTarget(t, o.Home)
	if err != nil || !uses(t, methodPublicKey) {
		return nil
	}
	if len(t.PrivateKeys) == 0 {
		open := slices.ContainsFunc(files, func(f keyFile) bool { return f.signer != nil })
		if open || !agent.empty() || t.Password != nil {
			return nil
		}
	}
	var list []string
	for _, f := range files {
		if f.locked && !agent.has(f.public) {
			list = append(list, f.path)
		}
	}
	return list
}

// Unlock decrypts a key file for the life of k. The error wraps [transport.ErrPassphrase] if the passphrase is wrong.
func (k *Keyring) Unlock(path string, passphrase *transport.Secret) error {
	return k.files.unlock(path, passphrase)
}
