package workers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// answersAll is a coordinator that answers each question at once.
type answersAll struct {
	queue.Member
	t      *testing.T
	sealer sealing.Sealer
	answer func(asked) answered
	count  int
}

func (m *answersAll) Ask(ctx context.Context, question []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.count++
	text, err := m.sealer.Open(sealing.ToCoordinator, question[1+sealing.HandoutSize:])
	require.NoError(m.t, err)
	var q asked
	require.NoError(m.t, sealing.Receive(text, &q))
	out, err := m.sealer.Seal(sealing.ToWorker, m.answer(q))
	require.NoError(m.t, err)
	return out, nil
}

// shiftOf returns a shift of a coordinator that answers at once, and the texts that its worker prints.
func shiftOf(t *testing.T, answer func(asked) answered) (s *shift, m *answersAll, said *[]string) {
	sealer, err := sealing.NewSealer(sealing.NewFrameKey(), sealing.HandoutID{})
	require.NoError(t, err)
	m, said = &answersAll{t: t, sealer: sealer, answer: answer}, &[]string{}
	s = &shift{worker: &Worker{Say: func(text string) { *said = append(*said, text) }}, job: &job{member: m}, sealer: sealer}
	s.silent = func(err error) { require.NoError(t, err) }
	return s, m, said
}

// TestErrandsOfABadCoordinator sends errands that no coordinator sends: the shift ends, and the worker prints the reason.
func TestErrandsOfABadCoordinator(t *testing.T) {
	for name, c := range map[string]struct {
		list []errand
		want string
	}{
		"another host":       {[]errand{{Number: 1, Host: "db1"}}, `an errand for "db1", which this worker does not have`},
		"the same again":     {[]errand{{Number: 1, Host: "web1"}, {Number: 1, Host: "web1"}}, "errand 1 after errand 1"},
		"backwards":          {[]errand{{Number: 3, Host: "web1"}, {Number: 2, Host: "web1"}}, "errand 2 after errand 3"},
		"a play below first": {[]errand{{Number: 1, Host: "web1", Order: playbooks.WatchOrder{Plays: []playbooks.WatchRepair{{Play: 0}}}}}, "an errand for play 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, said := shiftOf(t, func(asked) answered { return answered{Errands: c.list} })
			stopped := false
			s.stop = func() { stopped = true }
			s.runErrands(t.Context(), map[string]bool{"web1": true})
			require.True(t, stopped)
			require.ErrorContains(t, s.wrong.Load(), c.want)
			require.Len(t, *said, 1)
			require.Contains(t, (*said)[0], "the coordinator broke the protocol of this run: ")
		})
	}
}

// TestBusyCoordinator: the requests of a worker to a slow coordinator are limited to ten a second, and to one
// certificate a second.
func TestBusyCoordinator(t *testing.T) {
	const seconds = 60
	for name, c := range map[string]struct {
		answer answered
		ask    func(ctx context.Context, s *shift)
		most   int
	}{
		"no errands":         {answered{}, func(ctx context.Context, s *shift) { s.runErrands(ctx, nil) }, 10 * seconds},
		"no errands at once": {answered{}, func(ctx context.Context, s *shift) { s.stayHeard(ctx) }, 10 * seconds},
		"a certificate":      {answered{Renew: -time.Hour}, func(ctx context.Context, s *shift) { s.keepCertified(ctx, "x", "", -time.Hour) }, seconds},
		"later":              {answered{Later: true}, func(ctx context.Context, s *shift) { s.keepCertified(ctx, "x", "", 0) }, 100 * seconds},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, m, _ := shiftOf(t, func(asked) answered { return c.answer })
				ctx, cancel := context.WithTimeoutCause(t.Context(), seconds*time.Second, errors.New("the minute is over"))
				defer cancel()
				c.ask(ctx, s)
				require.LessOrEqual(t, m.count, c.most+1)
				require.GreaterOrEqual(t, m.count, c.most/2)
			})
		})
	}
}
