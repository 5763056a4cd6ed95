package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/credentials"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/start"
)

// flags are the options of the command line. Their letters are Ansible's.
type flags struct {
	inventory []string
	limit     string
	listHosts bool

	playbookDir                          string
	allowScripts, allowLocalhost         bool
	allowEmpty, allowClash, strict, deep bool
	warningsAreErrors                    bool

	tags, skipTags []string
	startAt        string
	listResources  bool

	check, diff  bool
	extra, fact  []string
	noReadEnv    bool
	facts, hiera string
	parameters   string
	forks, keep  int
	lockTimeout  time.Duration

	user, becomeUser string
	becomeMethod     string
	become           bool
	privateKeys      []string
	knownHosts       []string
	hostKeyChecking  string
	timeout          time.Duration
	deadlines        deadlines
	compileFirst     bool
	newKnownHosts    bool // set by trust: a file of --known-hosts may be missing
	connectRetries   int
	passwords        credentials.Sources
	sshConfig        string
	matchExec        bool
	moduleDir        string
	resources        string

	output           string
	color            string
	verbose          int
	timing           bool
	detailedExitCode bool

	set *pflag.FlagSet // to ask which were given
}

func (f *flags) register(set *pflag.FlagSet) {
	f.set = set
	set.SortFlags = false
	set.StringArrayVarP(&f.inventory, "inventory", "i", nil, "inventory file, or a list of hosts with a comma; may be repeated")
	set.StringVarP(&f.limit, "limit", "l", "", "only hosts that this pattern selects too")
	set.StringVar(&f.playbookDir, "playbook-dir", "", "the folder whose group_vars and host_vars count over those beside the inventory (default: the manifests')")
	set.BoolVar(&f.allowScripts, "allow-inventory-scripts", false, "run the executables in an inventory folder")
	set.BoolVar(&f.allowLocalhost, "allow-implicit-localhost", false, "let the pattern localhost mean this machine though no inventory lists it")
	set.BoolVar(&f.allowClash, "allow-name-clash", false, "let a host and a group have the same name, which then means the host")
	set.BoolVar(&f.allowEmpty, "allow-empty", false, "let a pattern select no host at all")
	set.BoolVar(&f.strict, "strict-patterns", false, "let no part of a pattern match nothing")
	set.BoolVar(&f.deep, "merge-maps", false, "merge maps of inventory variables key by key instead of replacing them")
	set.BoolVar(&f.listHosts, "list-hosts", false, "print the hosts that a pattern or the plays select, and end")
	set.StringSliceVarP(&f.tags, "tags", "t", nil, "only plays and resources with one of these tags, comma-separated")
	set.StringSliceVar(&f.skipTags, "skip-tags", nil, "no plays and resources with one of these tags")
	set.StringVar(&f.startAt, "start-at", "", "leave out what stands before this resource, type#name (also: --start-at-task)")
	set.BoolVar(&f.listResources, "list-resources", false, "print the plays' resources with their tags, and end (also: --list-tasks, --list-tags)")
	set.BoolVarP(&f.check, "check", "C", false, "say what would change, and change nothing (also: --noop)")
	set.BoolVarP(&f.diff, "diff", "D", false, "show changes of text as unified diffs")
	set.BoolVar(&f.warningsAreErrors, "strict", false, "take warnings about manifests and templates for errors")
	set.StringArrayVarP(&f.extra, "extra-vars", "e", nil, "data over all other: key=value (with blanks: 'key=\"a b\"'), @file.yaml or a YAML map; may be repeated")
	set.StringVar(&f.facts, "facts", "", "YAML or JSON file of facts, laid over those of every host")
	set.StringArrayVar(&f.fact, "fact", nil, "one fact of every host, KEY=VALUE, over those of --facts; may be repeated")
	set.BoolVar(&f.noReadEnv, "no-read-env", false, "leave out the file .env beside a manifest, which has more variables for Environ")
	set.StringVar(&f.hiera, "hiera", "", "file or http(s) URL of data with a hierarchy of its own, merged over that of the manifests (default $CCM_HIERA_DATA)")
	set.StringVar(&f.parameters, "parameters", "", "YAML or JSON file of parameters for a DSC configuration document")
	set.IntVarP(&f.forks, "forks", "f", 64, "how many hosts are worked on at once")
	set.IntVar(&f.keep, "keep", 256, "how many connections are kept open between plays")
	set.Var(seconds{&f.lockTimeout}, "lock-timeout", "how long to wait on a host for another run to end")
	set.StringVarP(&f.user, "user", "u", "", "log in as this user")
	set.BoolVarP(&f.become, "become", "b", false, "run as another user")
	set.StringVar(&f.becomeUser, "become-user", "", "the user to run as (default root)")
	set.StringVar(&f.becomeMethod, "become-method", "", "how to become it: sudo (default), su or doas")
	set.StringArrayVar(&f.privateKeys, "private-key", nil, "private key file; may be repeated (also: --key-file)")
	set.StringArrayVar(&f.knownHosts, "known-hosts", nil, "known_hosts file instead of OpenSSH's; may be repeated")
	set.StringVar(&f.hostKeyChecking, "host-key-checking", "", "what to do with an unknown host key: strict (default) or accept-new")
	set.VarP(seconds{&f.timeout}, "timeout", "T", "how long connecting may take, and then logging in (default: for connecting as the inventory or ssh_config says, or 10s; for logging in 60s)")
	set.IntVar(&f.connectRetries, "connect-retries", 2, "how often a connection is tried again that failed in a way that may pass; if given, after a timeout too")
	registerPasswords(&f.passwords, set)
	set.StringVarP(&f.sshConfig, "ssh-config", "F", "", "read this file, or none, instead of ~/.ssh/config and /etc/ssh/ssh_config")
	set.BoolVar(&f.matchExec, "allow-match-exec", false, "run the commands of \"Match exec\" in ssh_config")
	set.BoolVar(&f.compileFirst, "compile-first", false, "apply nothing until the resources of all hosts of a play, or of a batch, have been made ready without an error")
	set.Var(&f.deadlines, "deadline", "how long a phase may take on a host, PHASE=DURATION, or PHASE=off (or 0) for none: dial (10s), handshake (10s), auth (60s), start (30s), facts (2s each), resource (1h), host (4h a play); may be repeated")
	set.StringVar(&f.moduleDir, "module-dir", "", "host programs to send instead of the built-in ones")
	set.StringVar(&f.resources, "resources", "", "for ad-hoc calls, the folder of programs that is sent in place of ./resources")
	set.StringVarP(&f.output, "output", "o", "text", "text, json: one event per line, or dsc-json: what dsc prints of a configuration, one line per host")
	set.StringVar(&f.color, "color", "auto", "auto, always or never")
	set.CountVarP(&f.verbose, "verbose", "v", "also show what is stable or skipped")
	set.BoolVar(&f.timing, "timing", false, "say of each host how long connecting, starting, compiling and applying took")
	set.BoolVar(&f.detailedExitCode, "detailed-exitcode", false, "add 8 to the exit status if anything changed or would change")
}

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

// String implements [pflag.Value]. Nothing is the default.
func (s seconds) String() string {
	if s.Duration == nil || *s.Duration == 0 {
		return ""
	}
	return s.Duration.String()
}

// Type implements [pflag.Value].
func (seconds) Type() string { return "duration" }

// validate checks what the types of the flags cannot say.
func (f *flags) validate() error {
	switch {
	case f.output != "text" && f.output != "json" && f.output != "dsc-json":
		return fmt.Errorf("--output %q: there are text, json and dsc-json", f.output)
	case f.color != "auto" && f.color != "always" && f.color != "never":
		return fmt.Errorf("--color %q: there are auto, always and never", f.color)
	case f.becomeMethod != "" && !slices.Contains(start.Methods, f.becomeMethod):
		return fmt.Errorf("--become-method %q: there are %s", f.becomeMethod, strings.Join(start.Methods, ", "))
	case f.forks < 1:
		return fmt.Errorf("--forks %d: at least 1", f.forks)
	case f.keep < 0:
		return fmt.Errorf("--keep %d: at least 0", f.keep)
	case f.connectRetries < 0:
		return fmt.Errorf("--connect-retries %d: at least 0", f.connectRetries)
	}
	if err := f.passwords.Validate(); err != nil {
		return err
	}
	for _, name := range append([]string{"limit"}, selecting...) {
		// A variable of a shell that is not set must not select everything.
		if value := f.set.Lookup(name).Value.String(); f.set.Changed(name) && (value == "" || value == "[]") {
			return fmt.Errorf("--%s is empty", name)
		}
	}
	_, err := f.hostKeys()
	return err
}

// selecting are the flags that choose among the resources of manifests.
var selecting = []string{"tags", "skip-tags", "start-at"}

// wholly reports a flag that chooses among resources, for a command that cannot.
func (f *flags) wholly(command string) error {
	for _, name := range selecting {
		if f.set.Changed(name) {
			return fmt.Errorf("--%s chooses among the resources of a run; %s has no use for it", name, command)
		}
	}
	return nil
}

// forRuns reports flags that only the runs of manifests can use, for any other
// command.
func (f *flags) forRuns(cmd *cobra.Command) error {
	if f.output == "dsc-json" && cmd.HasParent() {
		return fmt.Errorf("--output dsc-json is for runs; %s cannot print that", cmd.Name())
	}
	return nil
}

// textOnly reports --output json for a command that has only text to print.
func (f *flags) textOnly(command string) error {
	if f.output != "text" {
		return fmt.Errorf("--output %s is for runs and facts; %s prints text", f.output, command)
	}
	return nil
}

// hostKeys is the policy for unknown host keys.
func (f *flags) hostKeys() (transport.HostKeyPolicy, error) {
	switch f.hostKeyChecking {
	case "", "strict", "yes":
		return transport.Strict, nil
	case "accept-new":
		return transport.AcceptNew, nil
	case "no", "off":
		return 0, fmt.Errorf("--host-key-checking %s would accept any host; accept-new accepts hosts that are not known yet", f.hostKeyChecking)
	}
	return 0, fmt.Errorf("--host-key-checking %q: there are strict and accept-new", f.hostKeyChecking)
}

// inventoryOptions is what the command line says about reading inventories.
func (f *flags) inventoryOptions() inventory.Options {
	return inventory.Options{
		AllowScripts: f.allowScripts, AllowImplicitLocalhost: f.allowLocalhost, AllowNameClash: f.allowClash,
		AllowEmpty: f.allowEmpty, StrictPatterns: f.strict, MergeMaps: f.deep,
	}
}

// retries is --connect-retries as a Dialer has it, where 0 is the default.
func (f *flags) retries() int {
	switch {
	case !f.set.Changed("connect-retries"):
		return 0
	case f.connectRetries == 0:
		return -1
	}
	return f.connectRetries
}

// selection is the part of the plays that the run is about.
func (f *flags) selection() manifest.Selection {
	return manifest.Selection{Tags: f.tags, Skip: f.skipTags, StartAt: f.startAt}
}

// foreign says what to use instead of a flag that Ansible has and ccm-push has
// not; "" if it is not known.
func foreign(name string) string {
	switch name {
	case "syntax-check":
		return "there is ccm-push validate MANIFEST..."
	case "step":
		return "there is --start-at TYPE#NAME"
	case "module-name", "m", "args", "a":
		return "write the type and its arguments after the pattern: ccm-push PATTERN exec COMMAND"
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
	case "vault-id", "vault-password-file", "vault-pass-file", "ask-vault-password", "ask-vault-pass", "J":
		return "there is no vault; -e @FILE can read a file that you have decrypted"
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
