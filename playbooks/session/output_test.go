package session

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// TestOutputBreaches has what a host could send as output of its commands.
func TestOutputBreaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		run := func(asked bool) *catalogRun {
			compiled := &catalog.Compiled{Catalog: wire.Catalog{Follow: asked, Entries: []wire.Entry{{Type: "exec", Name: "a"}, {Type: "exec", Name: "b", Sensitive: true}}}}
			task := Task{Compiled: compiled, Emit: func(*wire.Result) {}}
			if asked {
				task.Output = func(o *wire.Output) { told = append(told, o.Text) }
			}
			return newCatalogRun(&Session{}, task)
		}
		require.EqualError(t, run(false).output(&wire.Output{Text: "a\n"}), "the host sends the output of commands without a request")
		c := run(true)
		require.NoError(t, c.output(&wire.Output{Text: "a\n"}))
		require.EqualError(t, c.output(&wire.Output{Index: 1, Text: "hunter2\n"}), "the host sends the output of a resource that is sensitive")
		require.NoError(t, c.result(&wire.Result{Index: 0}))
		for _, index := range []int{-1, 0, 2} {
			require.ErrorContains(t, c.output(&wire.Output{Index: index}), "of 2, or after its result")
		}
		require.Equal(t, []string{"a\n"}, told)

		c, told = run(true), nil
		full := &wire.Output{Text: strings.Repeat(strings.Repeat("x", 191)+"\n", wire.MaxOutput/256)}
		for range 600 { // ten minutes of maximum output from a host; the network delays some of it
			require.NoError(t, c.output(full))
			time.Sleep(time.Second)
		}
		require.Len(t, told, 600)
		c = run(true)
		var err error
		for n := 0; err == nil; n++ {
			require.Less(t, n, 10)
			err = c.output(full)
		}
		require.EqualError(t, err, "the host sends more than 128 KiB of output in a second")
	})
}
