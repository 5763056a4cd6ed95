package facts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/facts"
)

// FuzzParseQueries holds that queries that are read can be written, and are read as the same ones then.
func FuzzParseQueries(f *testing.F) {
	f.Add(facts.Queries{"root": {Getent: "passwd root"}, "dpkg": {Package: "dpkg"}}.Collector())
	for _, entry := range []string{"", "host", facts.Queries{"a": {}}.Collector() + "=", facts.Queries{"a": {}}.Collector()[:9]} {
		f.Add(entry)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		q, ok, err := facts.ParseQueries(entry)
		if !ok || err != nil || len(q) == 0 {
			require.True(t, ok || err == nil && q == nil)
			return
		}
		again, ok, err := facts.ParseQueries(q.Collector())
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, q, again)
	})
}
