package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// TestWhatHostsMayUndo has what a host could say has left the manifest.
func TestWhatHostsMayUndo(t *testing.T) {
	left := func(names ...string) *wire.Reversals {
		l := &wire.Reversals{}
		for _, name := range names {
			l.Entries = append(l.Entries, wire.Reversal{Type: "file", Name: name})
		}
		return l
	}
	whole := func() *wire.Remember { return &wire.Remember{As: "a", Whole: true, Kept: []string{"file#/kept"}} }
	for _, test := range []struct {
		name     string
		remember *wire.Remember
		told     bool // all entries of the play are reported
		say      []*wire.Reversals
		want     string
	}{
		{"one thing", whole(), true, []*wire.Reversals{left("/b", "/c")}, ""},
		{"a play that is not remembered", nil, true, []*wire.Reversals{left("/b")}, "the host undoes resources without a request"},
		{"not a whole run", &wire.Remember{As: "a"}, true, []*wire.Reversals{left("/b")}, "the host undoes resources without a request"},
		{"twice", whole(), true, []*wire.Reversals{left("/b"), left("/c")}, "the host reports twice which resources it undoes"},
		{"one thing twice", whole(), true, []*wire.Reversals{left("/b", "/b")}, `the host undoes "file#/b", which the play has, or twice`},
		{"too early", whole(), false, []*wire.Reversals{left("/b")}, "the host undoes something before it has reported 1 of its 1 resources"},
		{"what the play has", whole(), true, []*wire.Reversals{left("/a")}, `the host undoes "file#/a", which the play has, or twice`},
		{"what the play keeps", whole(), true, []*wire.Reversals{left("/b", "/kept")}, `the host undoes "file#/kept", which the play has, or twice`},
	} {
		t.Run(test.name, func(t *testing.T) {
			compiled := &catalog.Compiled{Catalog: wire.Catalog{Remember: test.remember, Entries: []wire.Entry{{Type: "file", Name: "/a"}}}}
			c := newCatalogRun(&Session{}, Task{Compiled: compiled})
			c.reported[0] = test.told
			var err error
			for _, say := range test.say {
				if err = c.remove(say); err != nil {
					break
				}
			}
			if test.want != "" {
				require.EqualError(t, err, test.want)
				require.ErrorAs(t, err, new(Breach))
				return
			}
			require.NoError(t, err)
			require.Equal(t, 2, c.missing())
			require.Equal(t, []wire.Entry{{Type: "file", Name: "/b", Reversal: true}, {Type: "file", Name: "/c", Reversal: true}}, compiled.Catalog.Entries[1:])
		})
	}
}
