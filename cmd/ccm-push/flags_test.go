package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
)

// execute runs the program with nothing around it.
func execute(t *testing.T, environ []string, argv ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	a := app.New(strings.NewReader(""), &out, &errOut, environ)
	err = call(t.Context(), a, argv)
	return out.String(), errOut.String(), err
}

func ansibleModule(name string) string {
	return fmt.Sprintf("%q is not a resource type, and \"web\" is not a manifest; ", name)
}

func TestWrongFlags(t *testing.T) {
	for _, test := range []struct{ argv, want string }{
		{"--output xml x", `--output "xml": use text, json or dsc-json; with validate also github or gitlab`},
		{"--color maybe x", `--color "maybe": use auto, always or never`},
		{"--forks 0 x", `--forks 0: at least 1`},
		{"--keep -1 x", `--keep -1: at least 0`},
		{"--idle-timeout 1s x", `--idle-timeout 1s: 2s to 1h`},
		{"--idle-timeout 2h x", `--idle-timeout 2h0m0s: 2s to 1h`},
		{"--host-key-checking no x", `--host-key-checking no would accept any host; use accept-new, which accepts only unknown hosts`},
		{"--host-key-checking ask x", `--host-key-checking "ask": use strict or accept-new`},
		{"--registration-destination kafka x", `--registration-destination "kafka": use one of jetstream and nats`},
		{"-T soon x", `invalid argument "soon" for "-T, --timeout" flag: write a number of seconds, or a duration such as 1m30s; see ccm-push --help`},
		{"-T -5s x", `invalid argument "-5s" for "-T, --timeout" flag: write a number of seconds, or a duration such as 1m30s; see ccm-push --help`},
		{"--limit= x", `--limit is empty`},
		{"--nonsense x", `unknown flag: --nonsense; see ccm-push --help`},
		{"-z x", `unknown shorthand flag: 'z' in -z; see ccm-push --help`},
		{"x -i", `flag needs an argument: 'i' in -i; see ccm-push --help`},
		{"--syntax-check x", `unknown flag: --syntax-check; use ccm-push validate MANIFEST...`},
		{"--step --check x", `--step prompts before changes, and --check makes none: use one of them`},
		{"--step web exec true", `--step prompts on the terminal, and standard input is not a terminal`},
		{"-a uptime x", `unknown shorthand flag: 'a' in -a; write the type and its arguments after the pattern: ccm-push PATTERN exec COMMAND`},
		{"-M lib x", `unknown shorthand flag: 'M' in -M; put your own types into resources/ next to the manifest`},
		{"--force-handlers x", `unknown flag: --force-handlers; not needed: the host saves a pending refresh, and the next run does it`},
		{"--task-timeout 5 x", `unknown flag: --task-timeout; use the property "timeout" of resources`},
		{"--sudo x", `unknown flag: --sudo; use --become, with --become-method`},
		{"-U root x", `unknown shorthand flag: 'U' in -U; use --become-user`},
		{"--inventory-file hosts x", `unknown flag: --inventory-file; use --inventory`},
		{"--ask-become-pass --become-pass-file f x", `--ask-become-pass and --become-password-file exclude each other: remove one of them`},
		{"-k --conn-pass-file f x", `--ask-pass and --password-file exclude each other: remove one of them`},
		{"--connect-retries -1 x", `--connect-retries -1: at least 0`},
		{"-m shell x", `unknown shorthand flag: 'm' in -m; write the type and its arguments after the pattern: ccm-push PATTERN exec COMMAND`},
		{"-c local x", `unknown shorthand flag: 'c' in -c; not needed for SSH; for this machine set connection: local below connect: of a host, or use --allow-implicit-localhost`},
		{"--connection local x", `unknown flag: --connection; not needed for SSH; for this machine set connection: local below connect: of a host, or use --allow-implicit-localhost`},
		{"web ping", ansibleModule("ping") + `exec true logs in and runs a command: ccm-push PATTERN exec true`},
		{"web shell uptime", ansibleModule("shell") + `use the type exec: ccm-push PATTERN exec COMMAND`},
		{"web command uptime", ansibleModule("command") + `use the type exec: ccm-push PATTERN exec COMMAND`},
		{"web raw uptime", ansibleModule("raw") + `use the type exec: ccm-push PATTERN exec COMMAND`},
		{"web script x", ansibleModule("script") + `use the type exec: ccm-push PATTERN exec /usr/local/bin/setup, once the script is there as a file`},
		{"web setup", ansibleModule("setup") + `use ccm-push facts PATTERN [PATH]`},
		{"web copy src=a", ansibleModule("copy") + `use the type file: ccm-push PATTERN file PATH ensure=present content=TEXT owner=USER group=GROUP mode=MODE`},
		{"web apt name=x", ansibleModule("apt") + `use the type package: ccm-push PATTERN package nginx ensure=present`},
		{"web ansible.builtin.apt name=x", ansibleModule("ansible.builtin.apt") + `use the type package: ccm-push PATTERN package nginx ensure=present`},
		{"web template src=x", ansibleModule("template") + `in a manifest use the type file: write - file: [/etc/motd: {content: "{{ template('motd.j2') }}", owner: root, group: root, mode: "0644"}]`},
		{"web set_fact x=y", ansibleModule("set_fact") + `in a manifest use the type set: write - set: [purpose: {data: {port: 8080}}]`},
		{"doc copy", `"copy" is a module of Ansible; use the type file: write - file: [/etc/motd: {source: motd, owner: root, group: root, mode: "0644"}]` + "\n  hint: ccm-push doc file"},
		{"doc ansible.builtin.file", `"ansible.builtin.file" is a module of Ansible; use the type file: write - file: [/srv/app: {ensure: directory, owner: root, group: root, mode: "0755"}]` + "\n  hint: ccm-push doc file"},
		{"doc setup", `"setup" is a module of Ansible; in a manifest remove it: facts in expressions are collected automatically` + "\n  hint: on the command line: use ccm-push facts PATTERN [PATH]"},
		{"doc uri", `"uri" is a module of Ansible; use the type http: write - http: [the application is healthy: {url: "https://example.net/health", values: {state: up}}]` + "\n  hint: ccm-push doc http"},
		{"doc fiel", `unknown resource type "fiel"; did you mean "file"?`},
		{"web debug", ansibleModule("debug") + `use ccm-push inventory explain HOST [KEY]`},
		{"exec id", "exec is a resource type: write a host pattern before it\n  hint: ccm-push all exec …; --limit (-l) selects fewer hosts"},
		{"-l web1 user deploy", "user is a resource type: write a host pattern before it\n  hint: ccm-push all user …; --limit (-l) selects fewer hosts"},
		{"web fiel x", `"fiel" is not a resource type, and "web" is not a manifest; did you mean "file"?`},
		{"web nonsense x", `"nonsense" is not a resource type, and "web" is not a manifest` + "\n  hint: ccm-push doc lists the resource types"},
		{"facts", `missing argument: ccm-push facts PATTERN [PATH]`},
		{"render site.yaml", `missing argument: ccm-push render MANIFEST... HOST`},
		{"validate", `missing argument: ccm-push validate MANIFEST...`},
		{"--output dsc-json validate site.yaml", `--output dsc-json is for runs; validate cannot print that`},
		{"-o github site.yaml", `--output github works only with validate; for a run, use --report FILE.md or --junit FILE`},
		{"-o gitlab facts web", `--output gitlab works only with validate; for a run, use --report FILE.md or --junit FILE`},
		{"-o json render site.yaml web", `--output json is for runs and facts; render prints text`},
		{"-o json --list-hosts web", `--output json is for runs and facts; --list-hosts prints text`},
		{"-o json version", `--output json is for runs and facts; version prints text`},
		{"-o json doc", `--output json is for runs and facts; doc prints text`},
		{"--diff stat", `"stat" is not a command or a manifest; did you mean --diff=stat?`},
		{"valdate site.yaml", `"valdate" is not a command or a manifest; did you mean ccm-push validate?`},
		{"facts --output xml web", `--output "xml": use text, json or dsc-json; with validate also github or gitlab`},
		{"--list-hosts", `no manifest given: use ccm-push MANIFEST... or ccm-push PATTERN TYPE ARGUMENT...; see ccm-push --help`},
		{"--list-hosts -- a b", `--list-hosts takes one pattern, or manifests`},
		{"-- web", `after -- write a host pattern and a resource: -- PATTERN TYPE ARGUMENT...; ccm-push doc lists the resource types`},
	} {
		t.Run(test.argv, func(t *testing.T) {
			out, _, err := execute(t, nil, list(test.argv)...)
			require.EqualError(t, err, test.want)
			require.Empty(t, out)
			require.Equal(t, exit.Usage, exitCode(err, new(bytes.Buffer)))
		})
	}
}

func TestFlagAliases(t *testing.T) {
	c := newCommandLine(app.New(nil, new(bytes.Buffer), new(bytes.Buffer), nil))
	root := c.root()
	require.NoError(t, root.ParseFlags(list("--noop --key-file id_a --private-key id_b")))
	require.True(t, c.flags.Mode.Check)
	require.Equal(t, list("id_a id_b"), c.flags.Connection.Given.PrivateKeys)
}

type codedError struct{ error }

func (codedError) ExitCode() int { return 42 }

func TestExitCode(t *testing.T) {
	for _, test := range []struct {
		name   string
		err    error
		code   int
		stderr string
	}{
		{"success", nil, 0, ""},
		{"a run that has said what is wrong", exit.Status(6), 6, ""},
		{"the same, wrapped", errors.Join(exit.Status(2)), 2, ""},
		{"an error", errors.New("no inventory"), 1, "ccm-push: no inventory\n"},
		{"an error with a status of its own", errors.Join(codedError{errors.New("odd")}), 42, "ccm-push: odd\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stderr bytes.Buffer
			require.Equal(t, test.code, exitCode(test.err, &stderr))
			require.Equal(t, test.stderr, stderr.String())
		})
	}
}

func TestVersionFlag(t *testing.T) {
	out, _, err := execute(t, nil, "--version")
	require.NoError(t, err)
	require.Equal(t, "ccm-push dev\n", out)
}

func TestHelpNamesEveryWayToCall(t *testing.T) {
	out, _, err := execute(t, nil)
	require.NoError(t, err)
	for _, part := range []string{"MANIFEST...", "PATTERN TYPE ARGUMENT...", "--check", "facts", "version"} {
		require.Contains(t, out, part)
	}
}
