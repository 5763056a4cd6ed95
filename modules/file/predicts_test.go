package file_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// TestPredictsNothingOfWhatIsUnknown uses a file that a command would create, with any owner, mode and content.
func TestPredictsNothingOfWhatIsUnknown(t *testing.T) {
	for _, test := range []struct {
		properties, message, changes string
	}{
		{`"content":"x","owner":""`, "Would have updated the file", "content: unknown -> sha256:" + modules.TextContent("x").SHA256() + "; group: unknown -> US"},
		{`"mode":"g-w"`, "Would have updated attributes", "owner: unknown -> ME; group: unknown -> US; mode: unknown -> g-w"},
		{`"mode":"0755"`, "Would have updated attributes", "owner: unknown -> ME; group: unknown -> US; mode: unknown -> 0755"},
		{`"mode":"0755","content":"x"`, "Would have updated the file", "content: unknown -> sha256:" + modules.TextContent("x").SHA256() + "; owner: unknown -> ME; group: unknown -> US; mode: unknown -> 0755"},
	} {
		root := modtest.Root(t)
		types := modules.Registry{exec.Type(), file.Type()}
		e := &engine.Engine{Host: modtest.Host(), Now: time.Now}
		e.Decode = func(entry *wire.Entry) (modules.Resource, error) {
			return types.Decode(entry.Type, entry.Properties)
		}
		own := `"owner":"` + strconv.Itoa(os.Geteuid()) + `","group":"` + strconv.Itoa(os.Getegid()) + `",`
		var last *wire.Result
		_, err := e.Run(t.Context(), &wire.Catalog{Check: true, Entries: []wire.Entry{
			{Type: "exec", Name: "make", Properties: []byte(`{"name":"make","creates":"` + root + `/f"}`)},
			{Type: "file", Name: "f", Properties: []byte(`{"name":"` + root + `/f",` + own + test.properties + `}`)},
		}}, func(r *wire.Result) error {
			last = r
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, []any{wire.Changed, true, "exec#make", test.message}, []any{last.Status, last.Grade != modules.Certain, last.Because, last.Message}, last.Error)
		var changes []string
		for _, c := range last.Changes {
			changes = append(changes, c.Property+": "+c.Have+" -> "+c.Want)
		}
		accounts := modtest.Host().Accounts
		names := strings.NewReplacer("ME", accounts.UserName(t.Context(), os.Geteuid()), "US", accounts.GroupName(t.Context(), os.Getegid()))
		require.Equal(t, names.Replace(test.changes), strings.Join(changes, "; "))
	}
}
