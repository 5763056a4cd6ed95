package dsc

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// patient are accounts that have to be asked with the context of the run.
type patient struct {
	modules.Accounts
	asked *int
	t     *testing.T
}

type ofRun struct{}

func (p patient) UserName(ctx context.Context, uid int) string {
	*p.asked++
	require.NotNil(p.t, ctx.Value(ofRun{}))
	return p.Accounts.UserName(ctx, uid)
}

// TestContext: a directory of users that does not answer can be given up.
func TestContext(t *testing.T) {
	needs(t, "python3")
	b := newBench(t)
	b.resource(thing("get", "", "") + "," + anySchema)
	h, asked := b.checking(), 0
	h.Accounts = patient{h.Accounts, &asked, t}
	_, err := b.instance("Test/Thing", `{"file": "$ROOT/x"}`).Query(context.WithValue(t.Context(), ofRun{}, true), h, "get")
	require.NoError(t, err)
	require.Positive(t, asked)
}

func TestRightUser(t *testing.T) {
	root := os.Geteuid() == 0
	for security, want := range map[string]map[bool]string{
		"":           {},
		"elevated":   {false: "the document says that A/B needs root; use become"},
		"restricted": {true: "the document says that A/B must not run as root"},
	} {
		d := &DSC{TypeName: "A/B", Security: security}
		if want[root] == "" {
			require.NoError(t, d.rightUser(), security)
		} else {
			require.EqualError(t, d.rightUser(), want[root])
		}
	}
}
