package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

func TestGivenFlags(t *testing.T) {
	c := newCommandLine(app.New(nil, new(bytes.Buffer), new(bytes.Buffer), nil))
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
	again := newCommandLine(app.New(nil, new(bytes.Buffer), new(bytes.Buffer), nil))
	root = again.root()
	require.NoError(t, root.ParseFlags(list("-i c")))
	require.NoError(t, flags.Apply(root.PersistentFlags(), c.flags.Given(), "inventory", "extra-vars", "forks", "verbose"))
	require.Equal(t, []string{"c"}, again.flags.Inventory.Paths)
	require.Equal(t, []string{"@vars.yaml"}, again.flags.Variables.Extra)
	require.Equal(t, 8, again.flags.Pace.Forks)
	require.Equal(t, 2, again.flags.Output.Verbose)
}
