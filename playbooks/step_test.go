package playbooks

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// answering returns a Stepper that receives the answers one after the other, and then none.
func answering(t *testing.T, answers ...string) (s *Stepper, asked *[]string) {
	t.Helper()
	asked = new([]string)
	return NewStepper(func(_ context.Context, question string) (string, error) {
		*asked = append(*asked, question)
		if len(answers) == 0 {
			return "", errors.New("the terminal is gone")
		}
		answer := answers[0]
		answers = answers[1:]
		return answer, nil
	}), asked
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestStepper(t *testing.T) {
	first, second := &selection{play: &manifest.Play{Name: "a"}}, &selection{play: &manifest.Play{Name: "b"}}
	s, asked := answering(t, " YES \n", "no\n", "continue\n", "y\n")
	require.True(t, s.resource(t.Context(), first, "one?"))
	require.True(t, s.resource(t.Context(), first, "two?"))
	require.True(t, s.resource(t.Context(), first, "three?"), "no more is asked")
	require.True(t, s.resource(t.Context(), second, "four?"))
	require.Equal(t, []string{"one?", "two?", "  a step cannot be skipped here: use --skip-tags; q stops the run\n  write one of y, c, q: ", "four?"}, *asked)
	require.False(t, isClosed(s.quit))
	require.False(t, s.others(t.Context(), "others?"), "no answer ends the run")
	require.True(t, isClosed(s.quit))
	require.False(t, s.resource(t.Context(), second, "five?"))
	require.Len(t, *asked, 5, "and nothing is asked then")
}

// TestStepperWithdrawn ends a prompt together with its entry, which is not an answer.
func TestStepperWithdrawn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := NewStepper(func(ctx context.Context, _ string) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	require.False(t, s.resource(ctx, &selection{}, "one?"))
	require.False(t, isClosed(s.quit))
}

// TestStepperStopped has a run end while a question is open.
func TestStepperStopped(t *testing.T) {
	stop := make(chan struct{})
	s := NewStepper(func(ctx context.Context, _ string) (string, error) {
		close(stop)
		<-ctx.Done()
		return "", ctx.Err()
	})
	either, done := s.stopping(stop)
	defer done()
	require.False(t, s.others(t.Context(), "others?"))
	<-either
}

// TestStepperOneAtATime prompts for resources of a graph at once.
func TestStepperOneAtATime(t *testing.T) {
	var mu sync.Mutex
	questions, open := 0, 0
	s := NewStepper(func(context.Context, string) (string, error) {
		mu.Lock()
		questions, open = questions+1, open+1
		require.Equal(t, 1, open)
		mu.Unlock()
		defer func() {
			mu.Lock()
			open--
			mu.Unlock()
		}()
		return "c", nil
	})
	of := &selection{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { require.True(t, s.resource(t.Context(), of, "?")) })
	}
	all.Wait()
	require.Equal(t, 1, questions)
}

func TestStepperCatalog(t *testing.T) {
	s, asked := answering(t)
	remember := &wire.Remember{As: "a", Whole: true}
	c := &wire.Catalog{Remember: remember, Entries: []wire.Entry{
		{Type: "exec", Name: "a"}, {Type: "exec", Name: "b", Sema: []string{"own"}}, {Type: "apply", Scope: &wire.Scope{Entries: 2}},
	}}
	require.Nil(t, s.asks(&selection{first: "web1"}, "web2", "", c, nil))
	require.Empty(t, c.Entries[0].Sema)
	ask := s.asks(&selection{first: "web1"}, "web1", "", c, nil)
	require.False(t, ask(t.Context(), &c.Entries[0], "Would have x\n  do it? \x1b[2J"))
	require.Equal(t, []string{`web1  exec#a  Would have x\n  do it? \x1b[2J` + "\n  do it? [y]es, [c]ontinue on this host without prompts, [q]uit: "}, *asked)
	again, asked := answering(t)
	again.asks(&selection{first: "web1"}, "web1", "", c, nil)(t.Context(), &wire.Entry{Type: "exec", Name: "a", Alias: "first"}, "Would have x")
	require.Contains(t, (*asked)[0], "web1  exec#a (first)  Would have x\n", "as its result is named")
	require.Equal(t, []string{stepSemaphore}, c.Entries[0].Sema)
	require.Equal(t, []string{"own"}, c.Entries[1].Sema)
	require.Empty(t, c.Entries[2].Sema)
	require.False(t, c.Remember.Whole, "what has left the manifest is not undone unasked")
	require.True(t, remember.Whole)

	hosts := []*inventory.Host{{Name: "web1"}, {Name: "web2"}, {Name: "web3"}}
	require.Equal(t, [][]*inventory.Host{hosts[:1], hosts[1:2], hosts[2:]}, s.batches([][]*inventory.Host{hosts[:2], hosts[2:]}))
	var none *Stepper
	require.Equal(t, [][]*inventory.Host{hosts}, none.batches([][]*inventory.Host{hosts}))
}
