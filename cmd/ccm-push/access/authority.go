package access

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

// Authorities finds the authority that certifies keys for logins.
type Authorities struct {
	App   *app.App
	Flags *flags.All
}

// The variables that stand for flags which are not given.
const (
	authorityCommand = "CCM_PUSH_CA_COMMAND"
	authorityKey     = "CCM_PUSH_CA_KEY"
)

// Authority returns the certificate authority, or nil if the flags name no authority.
func (f *Authorities) Authority() (*usercert.Authority, error) {
	command, key := f.Flags.Authority.Command, f.Flags.Authority.Key
	if command == "" && key == "" {
		command, key = f.App.Getenv(authorityCommand), f.App.Getenv(authorityKey)
	}
	switch {
	case command != "" && key != "":
		return nil, fmt.Errorf("set %s or %s, not both", authorityCommand, authorityKey)
	case command != "":
		return usercert.ByCommand(command, "/bin/sh", f.App.Environment()), nil
	case key != "":
		return f.inAgent(transport.ExpandHome(key, f.App.Home()))
	}
	return nil, nil
}

// inAgent is the authority whose public key is in a file.
func (f *Authorities) inAgent(path string) (*usercert.Authority, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the key of the authority: %w", err)
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil, fmt.Errorf("the key of the authority: the file %s has no public key: pass the file that ends with .pub, and add the private key to the SSH agent", path)
	}
	socket := f.App.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, errors.New("the key of the authority needs an SSH agent: SSH_AUTH_SOCK is not set")
	}
	return usercert.ByAgent(socket, key), nil
}
