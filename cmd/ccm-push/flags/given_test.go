package flags

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
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
	new(All).Register(set)
	var names []string
	set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	require.ElementsMatch(t, append(recorded, withheldFlags...), names)
}
