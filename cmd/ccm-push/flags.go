package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// flagAlias gives a flag that has two names the one it is registered under.
func flagAlias(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "noop":
		name = "check"
	case "key-file":
		name = "private-key"
	case "start-at-task":
		name = "start-at"
	case "list-tasks", "list-tags":
		name = "list-resources"
	case "connection-password-file", "conn-pass-file":
		name = "password-file"
	case "become-pass-file":
		name = "become-password-file"
	case "vault-pass-file":
		name = "vault-password-file"
	case "ask-vault-password":
		name = "ask-vault-pass"
	}
	return pflag.NormalizedName(name)
}

// seconds is the value of a flag that takes a duration such as 1m30s, or as
// Ansible does a number of seconds.
type seconds struct{ *time.Duration }

// Set implements [pflag.Value].
func (s seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, notNumber := strconv.ParseUint(text, 10, 31); notNumber == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < 0 {
		return errors.New("write a number of seconds, or a duration such as 1m30s")
	}
	*s.Duration = d
	return nil
}

// String implements [pflag.Value]. [seconds.Set] takes it: records keep it for resume. Help omits a default of 0.
func (s seconds) String() string {
	if s.Duration == nil || *s.Duration == 0 {
		return "0"
	}
	return s.Duration.String()
}

// Type implements [pflag.Value].
func (seconds) Type() string { return "duration" }

// foreign says what to use instead of a flag that Ansible has and ccm-push has
// not; "" if it is not known.
func foreign(name string) string {
	switch name {
	case "syntax-check":
		return "there is ccm-push validate MANIFEST..."
	case "module-name", "m", "args", "a":
		return "write the type and its arguments after the pattern: ccm-push PATTERN exec COMMAND"
	case "module-path", "M":
		return "resources/ beside the manifest may have types of its own"
	case "background", "B", "poll", "P":
		return "nothing runs in the background; timeout at a resource says how long it may take"
	case "task-timeout":
		return "write timeout at the resources"
	case "force-handlers":
		return "a refresh that is due is noted by the host, and done in a later run"
	case "sudo", "s", "su", "S":
		return "there is --become, with --become-method"
	case "sudo-user", "U", "su-user", "R":
		return "there is --become-user"
	case "inventory-file":
		return "there is --inventory"
	case "yaml", "y", "toml":
		return "there is ccm-push inventory --list, which prints JSON"
	case "one-line", "tree":
		return "there is --output json"
	case "flush-cache":
		return "there is no cache of facts"
	case "ssh-common-args", "ssh-extra-args", "sftp-extra-args", "scp-extra-args":
		return "OpenSSH is not used; the inventory's connect: says how a host is reached, or --ssh-config FILE"
	case "connection", "c":
		return "it is SSH, or for this machine connection: local below a host's connect: (--allow-implicit-localhost makes it one that no inventory lists)"
	}
	return ""
}

// flagHint adds what to use instead to an error about an unknown flag.
func flagHint(err error) error {
	hint := "see ccm-push --help"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		hint = cmp.Or(foreign(unknown.GetSpecifiedName()), hint)
	}
	return fmt.Errorf("%w; %s", err, hint)
}
