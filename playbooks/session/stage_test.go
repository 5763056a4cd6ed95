package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// TestStageBreaches uses a host that reports forbidden results for entries of one stage.
func TestStageBreaches(t *testing.T) {
	entries := []wire.Entry{{Type: "exec", Name: "a"}, {Type: "exec", Name: "b", Sensitive: true, Register: true}, {Type: "exec", Name: "c", Awaits: []int{1}}}
	for _, c := range []struct {
		name string
		say  []*wire.Message
		err  string
	}{
		{"of a stage before", []*wire.Message{{Result: &wire.Result{Index: 0}}}, "the host reports resource 0 twice"},
		{"too little", []*wire.Message{{Done: &wire.Done{}}}, "the host is done but has not reported 1 of its 3 resources"},
		{"what is withheld", []*wire.Message{{Result: &wire.Result{Index: 2, Registered: &wire.Registered{}}}}, "the host sends the withheld values of resource 2 without a request"},
		{"nothing wrong", []*wire.Message{{Result: &wire.Result{Index: 1, Registered: &wire.Registered{}}}, {Done: &wire.Done{}}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			errs := staged(t, func(s *stage) {
				s.acts(s.t.Context(), "web1", &catalog.Compiled{Catalog: wire.Catalog{From: 1, Until: 2, Fixed: 1, Entries: entries}}, func(p *puppet) {
					p.until()
					p.conn.Send(c.say...)
					for p.until() != nil {
					}
				})
			})
			if c.err == "" {
				require.NoError(t, errs["web1"])
			} else {
				require.EqualError(t, errs["web1"], c.err)
			}
		})
	}
}
