package flags

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Alias returns the name under which a flag with two names is registered.
func Alias(_ *pflag.FlagSet, name string) pflag.NormalizedName {
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

// foreign returns the equivalent of a flag that only Ansible has, or "" if it is unknown.
func foreign(name string) string {
	switch name {
	case "syntax-check":
		return "use ccm-push validate MANIFEST..."
	case "module-name", "m", "args", "a":
		return "write the type and its arguments after the pattern: ccm-push PATTERN exec COMMAND"
	case "module-path", "M":
		return "put your own types into resources/ next to the manifest"
	case "background", "B", "poll", "P":
		return `resources do not run in the background; limit their time with the property "timeout"`
	case "task-timeout":
		return `use the property "timeout" of resources`
	case "force-handlers":
		return "not needed: the host saves a pending refresh, and the next run does it"
	case "sudo", "s", "su", "S":
		return "use --become, with --become-method"
	case "sudo-user", "U", "su-user", "R":
		return "use --become-user"
	case "inventory-file":
		return "use --inventory"
	case "yaml", "y", "toml":
		return "use ccm-push inventory --list, which prints JSON"
	case "one-line", "tree":
		return "use --output json"
	case "flush-cache":
		return "not needed: ccm-push does not cache facts"
	case "ssh-common-args", "ssh-extra-args", "sftp-extra-args", "scp-extra-args":
		return "ccm-push does not run OpenSSH; set options with connect: in the inventory, or with --ssh-config FILE"
	case "connection", "c":
		return "not needed for SSH; for this machine set connection: local below connect: of a host, or use --allow-implicit-localhost"
	}
	return ""
}

// Hint adds a similar flag, or the equivalent of a flag of Ansible, to an error about an unknown flag.
func Hint(cmd *cobra.Command, err error) error {
	hint := "see ccm-push --help"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := unknown.GetSpecifiedName()
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := yamlpos.Suggest(name, names); near != "" && unknown.GetSpecifiedShortnames() == "" {
			hint = fmt.Sprintf("did you mean --%s?", near)
		}
		hint = cmp.Or(foreign(name), hint)
	}
	return fmt.Errorf("%w; %s", err, hint)
}
