package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

// authorityFlags say who certifies keys that hosts shall let in for a while.
type authorityFlags struct {
	app          *app
	command, key string
}

// The variables that stand for flags which are not given.
const (
	authorityCommand = "CCM_PUSH_CA_COMMAND"
	authorityKey     = "CCM_PUSH_CA_KEY"
)

func (f *authorityFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.command, "ca-command", "", "`command` that reads a public key on standard input and prints a certificate that hosts trust; relays and workers log in with it (or CCM_PUSH_CA_COMMAND)")
	set.StringVar(&f.key, "ca-key", "", "public key `file` of the certificate authority; the SSH agent holds the private key (or CCM_PUSH_CA_KEY)")
}

func (f *authorityFlags) validate() error {
	if f.command != "" && f.key != "" {
		return errors.New("use --ca-command or --ca-key, not both")
	}
	return nil
}

// authority is who certifies keys; nil is nobody.
func (f *authorityFlags) authority() (*usercert.Authority, error) {
	command, key := f.command, f.key
	if command == "" && key == "" {
		command, key = f.app.getenv(authorityCommand), f.app.getenv(authorityKey)
	}
	switch {
	case command != "" && key != "":
		return nil, fmt.Errorf("set %s or %s, not both", authorityCommand, authorityKey)
	case command != "":
		return usercert.ByCommand(command, "/bin/sh", f.app.environment()), nil
	case key != "":
		return f.inAgent(transport.ExpandHome(key, f.app.home()))
	}
	return nil, nil
}

// inAgent is the authority whose public key is in a file.
func (f *authorityFlags) inAgent(path string) (*usercert.Authority, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the key of the authority: %w", err)
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil, fmt.Errorf("the key of the authority: %s has no public key: name the file with .pub; the private key belongs into the agent", path)
	}
	socket := f.app.getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, errors.New("the key of the authority needs an SSH agent: SSH_AUTH_SOCK is not set")
	}
	return usercert.ByAgent(socket, key), nil
}
