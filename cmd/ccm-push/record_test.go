package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

// TestRecordedFlags checks that each new flag is listed, so that its author decides whether its values may be recorded:
// they are kept in a file for months.
func TestRecordedFlags(t *testing.T) {
	recorded := strings.Fields(`inventory limit playbook-dir allow-inventory-scripts allow-implicit-localhost allow-name-clash
		allow-empty strict-patterns merge-maps list-hosts tags skip-tags start-at list-resources nats nats-context nats-creds nats-nkey nats-ca nats-cert nats-key check diff step strict facts
		no-read-env hiera parameters forks keep reconnect idle-timeout lock-timeout user become become-user become-method private-key
		known-hosts host-key-checking timeout connect-retries ca-command ca-key registration registration-destination workers workers-key workers-list workers-operators cert-validity wait-workers shard ask-pass password-file ask-become-pass become-password-file
		key-passphrase-file ssh-config allow-match-exec compile-first deadline module-dir resources rollout canary include-broken yes hold no-record session require subscribe alias detach output color
		verbose quiet fold timing follow stream progress age-identity vault-id vault-password-file ask-vault-pass detailed-exitcode log junit report metrics trace`)
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(flags.All).Register(set)
	var names []string
	set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	require.ElementsMatch(t, append(recorded, "extra-vars", "fact"), names)
}

func TestGivenFlags(t *testing.T) {
	c := newCommandLine(newApp(nil, new(bytes.Buffer), new(bytes.Buffer), nil))
	root := c.root()
	require.NoError(t, root.ParseFlags(list("-e password=hunter2 -e @vars.yaml --fact os=hunter2 -f 8 -vv -i a -i b --nats tls://a,nats://b --hiera https://ann:hunter2@ctl/data.yaml?token=hunter2")))
	require.Equal(t, []record.Flag{
		{Name: "inventory", Words: []string{"a", "b"}},
		{Name: "extra-vars", Words: []string{"@vars.yaml"}, Withheld: true},
		{Name: "fact", Words: []string{}, Withheld: true},
		{Name: "hiera", Words: []string{}, Withheld: true},
		{Name: "forks", Words: []string{"8"}},
		{Name: "verbose", Words: []string{"2"}},
		{Name: "nats", Words: []string{"tls://a,nats://b"}},
	}, c.flags.Given())

	for _, withheld := range []record.Flag{flags.Recorded("nats", list("tls://a,nats://ann:hunter2@b")), flags.Recorded("hiera", list("kv://ann:hunter2@B/k"))} {
		require.True(t, withheld.Withheld)
		require.Empty(t, withheld.Words)
	}
	require.Equal(t, record.Flag{Name: "hiera", Words: list("kv://B/k")}, flags.Recorded("hiera", list("kv://B/k")))

	// Pass them to another command line, except flags that it has already.
	again := newCommandLine(newApp(nil, new(bytes.Buffer), new(bytes.Buffer), nil))
	root = again.root()
	require.NoError(t, root.ParseFlags(list("-i c")))
	require.NoError(t, flags.Apply(root.PersistentFlags(), c.flags.Given(), "inventory", "extra-vars", "forks", "verbose"))
	require.Equal(t, []string{"c"}, again.fleet.flags.Inventory.Paths)
	require.Equal(t, []string{"@vars.yaml"}, again.fleet.flags.Variables.Extra)
	require.Equal(t, 8, again.fleet.flags.Pace.Forks)
	require.Equal(t, 2, again.flags.Output.Verbose)
}
