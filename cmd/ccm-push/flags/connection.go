package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/start"
)

// Connection holds the flags about connections and logins.
type Connection struct {
	Given           reach.Options // options that flags set directly
	HostKeyChecking string
	Retries         int
	Secrets         reach.SecretSources
	SSHConfig       string
	MatchExec       bool
}

func (f *Connection) register(set *pflag.FlagSet) {
	o, s := &f.Given, &f.Secrets
	set.StringVarP(&o.User, "user", "u", "", "log in as this `user`")
	set.BoolVarP(&o.Become, "become", "b", false, "run as root, or as --become-user")
	set.StringVar(&o.BecomeUser, "become-user", "", "run as this `user` (default root)")
	set.StringVar(&o.BecomeMethod, "become-method", "", "program for --become: sudo (default), su or doas")
	set.StringArrayVar(&o.PrivateKeys, "private-key", nil, "private key `file` for login; may be repeated (also: --key-file)")
	set.StringArrayVar(&o.KnownHosts, "known-hosts", nil, "known_hosts `file` to use instead of OpenSSH's; may be repeated")
	set.StringVar(&f.HostKeyChecking, "host-key-checking", "", "unknown host keys: strict (refuse, the default) or accept-new")
	set.VarP(Seconds{&o.Timeout}, "timeout", "T", "time limit of a connection attempt (default 10s, or as in ssh_config) and of a login (default 60s)")
	set.IntVar(&f.Retries, "connect-retries", 2, "number of retries after a temporary connection error; if you pass this flag, ccm-push also retries after a timeout")
	// None of these takes a secret itself: arguments can be read by everybody.
	set.BoolVarP(&s.Ask, "ask-pass", "k", false, "prompt for the login password")
	set.StringVar(&s.File, "password-file", "", "`file` with the login password, or a program that prints it (also: --connection-password-file, --conn-pass-file)")
	set.BoolVarP(&s.AskBecome, "ask-become-pass", "K", false, "prompt for the password of --become")
	set.StringVar(&s.BecomeFile, "become-password-file", "", "`file` with the password of --become, or a program that prints it (also: --become-pass-file)")
	set.StringVar(&s.PassphraseFile, "key-passphrase-file", "", "`file` with the passphrase of private keys, or a program that prints it")
	set.StringVarP(&f.SSHConfig, "ssh-config", "F", "", "ssh_config `file` to use instead of ~/.ssh/config and /etc/ssh/ssh_config; the word none disables all ssh_config files")
	set.BoolVar(&f.MatchExec, "allow-match-exec", false, "run the commands of \"Match exec\" in ssh_config")
}

func (f *Connection) validate() error {
	if method := f.Given.BecomeMethod; method != "" && !slices.Contains(start.Methods, method) {
		return fmt.Errorf("--become-method %q: use one of %s", method, strings.Join(start.Methods, ", "))
	}
	if f.Retries < 0 {
		return fmt.Errorf("--connect-retries %d: at least 0", f.Retries)
	}
	if err := f.Secrets.Validate(); err != nil {
		return err
	}
	_, err := f.HostKeys()
	return err
}

// HostKeys returns the policy for unknown host keys.
func (f *Connection) HostKeys() (transport.HostKeyPolicy, error) {
	switch f.HostKeyChecking {
	case "", "strict", "yes":
		return transport.Strict, nil
	case "accept-new":
		return transport.AcceptNew, nil
	case "no", "off":
		return 0, fmt.Errorf("--host-key-checking %s would accept any host; use accept-new, which accepts only unknown hosts", f.HostKeyChecking)
	}
	return 0, fmt.Errorf("--host-key-checking %q: use strict or accept-new", f.HostKeyChecking)
}

// Authority holds the flags about the certificate authority for logins.
type Authority struct{ Command, Key string }

func (f *Authority) register(set *pflag.FlagSet) {
	set.StringVar(&f.Command, "ca-command", "", "`command` that reads a public key on standard input and prints a certificate that hosts trust; relays and workers log in with this certificate; you can also set CCM_PUSH_CA_COMMAND")
	set.StringVar(&f.Key, "ca-key", "", "public key `file` of the certificate authority; the SSH agent holds the private key; you can also set CCM_PUSH_CA_KEY")
}

func (f *Authority) validate() error {
	if f.Command != "" && f.Key != "" {
		return errors.New("use --ca-command or --ca-key, not both")
	}
	return nil
}
