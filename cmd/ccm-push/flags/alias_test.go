package flags

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// TestAnsibleFlags checks flags that people know from Ansible: each works, or its error names the alternative.
func TestAnsibleFlags(t *testing.T) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SetNormalizeFunc(Alias)
	new(All).Register(set)
	for _, name := range strings.Fields("list-hosts list-tasks list-tags syntax-check ask-become-pass K ask-pass k become b become-user become-method " +
		"start-at-task step module-name m args a connection c check C diff D forks f limit l tags t skip-tags user u extra-vars e inventory i " +
		"private-key key-file timeout T verbose v one-line tree flush-cache force-handlers task-timeout vault-id vault-password-file") {
		known := set.Lookup(name)
		if len(name) == 1 {
			known = set.ShorthandLookup(name)
		}
		require.True(t, known != nil || foreign(name) != "", name)
	}
}

// TestForeignFlags keeps the hints apart from the flags that there are.
func TestForeignFlags(t *testing.T) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(All).Register(set)
	set.VisitAll(func(f *pflag.Flag) {
		require.Empty(t, foreign(f.Name), f.Name)
		require.Empty(t, foreign(f.Shorthand), f.Shorthand)
	})
}
