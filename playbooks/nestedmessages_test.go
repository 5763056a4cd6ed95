package playbooks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

func TestNestedMessages(t *testing.T) {
	one := []catalog.Note{{First: 1, Last: 3, Pre: "pre", Post: "post"}}
	within := []catalog.Note{{First: 0, Last: 4, Pre: "outer", Post: "outer done"}, {First: 0, Last: 1, Pre: "inner", Post: "inner done"}, {First: 2, Last: 3, Pre: "next"}}
	for _, c := range []struct {
		name     string
		notes    []catalog.Note
		statuses string // statuses of the results: a letter each
		want     string
	}{
		{"around its resources", one, "scscs", "s pre c s c post s"},
		{"after what is skipped", one, "skcss", "s k pre c s post s"},
		{"nothing runs", one, "skkss", "s k k pre s post s"},
		{"skipped whole", one, "skkks", "s k k k s"},
		{"a failure", one, "sfsfs", "s pre f s f s"},
		{"in each other", within, "sssss", "outer inner s s inner done next s s s outer done"},
		{"the inner one is skipped", within, "kksss", "k k outer next s s s outer done"},
		{"nothing to say", []catalog.Note{{First: 0, Last: 0}}, "s", "s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told []string
			n := newNestedMessages(c.notes, func(_ events.MessageKind, text string) { told = append(told, text) })
			for i, letter := range c.statuses {
				r := &wire.Result{Index: i, Status: map[rune]wire.Status{
					's': wire.Stable, 'c': wire.Changed, 'k': wire.Skipped, 'f': wire.Failed,
				}[letter]}
				n.Before(r)
				told = append(told, string(letter))
				n.After(r)
			}
			require.Equal(t, c.want, strings.Join(told, " "))
		})
	}
}
