package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// TestLocked uses a host that reports that it waits for its lock, and one that reports it when it must not.
func TestLocked(t *testing.T) {
	waits, has := &wire.Message{Locked: &wire.Locked{Waits: true}}, &wire.Message{Locked: &wire.Locked{}}
	result, done := &wire.Message{Result: &wire.Result{}}, &wire.Message{Done: &wire.Done{}}
	locking := func() *catalog.Compiled {
		c := one()
		c.Catalog.Lock = &wire.Lock{}
		return c
	}
	const outOfTurn = "the host speaks of its lock out of turn"
	for _, test := range []struct {
		name     string
		compiled *catalog.Compiled
		says     []*wire.Message
		want     []bool
		err      string
	}{
		{"it waits", locking(), []*wire.Message{waits, has, result, done}, []bool{true, false}, ""},
		{"twice", locking(), []*wire.Message{waits, waits}, []bool{true}, outOfTurn},
		{"again", locking(), []*wire.Message{waits, has, waits}, []bool{true, false}, outOfTurn},
		{"it has it without a wait", locking(), []*wire.Message{has}, nil, outOfTurn},
		{"behind a result", locking(), []*wire.Message{result, waits}, nil, outOfTurn},
		{"it takes none", one(), []*wire.Message{waits}, nil, outOfTurn},
	} {
		t.Run(test.name, func(t *testing.T) {
			task := task(test.compiled)
			var heard []bool
			task.Locked = func(waits bool) { heard = append(heard, waits) }
			_, err := converseOn(t, task, func(p *puppet) {
				_, err := p.conn.Receive()
				require.NoError(t, err)
				_ = p.conn.Send(test.says...)
				p.conn.Receive() // until the end
			})
			if test.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.err)
			}
			require.Equal(t, test.want, heard)
		})
	}
}
