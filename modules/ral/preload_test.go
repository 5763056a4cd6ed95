package ral

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// TestAnswerForSeveralAtOnce checks that resources that are checked at once share one answer, and that one of them
// reports the provider's other messages.
func TestAnswerForSeveralAtOnce(t *testing.T) {
	p := &provider{metadata: &metadata{}}
	of := &preloaded{entries: map[string]*entry{"n": {}}}
	of.said.Message("warning", "w")
	h := modules.Host{Preload: func(modules.EffectKind) any { return answers{p.group(): of} }}
	reports, errs := make([]recorder, 8), make([]error, 8)
	var group sync.WaitGroup
	for i := range reports {
		h := h
		h.Report = &reports[i]
		group.Go(func() {
			_, errs[i] = p.recall(h, "n")
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	var notes []modules.Note
	for _, r := range reports {
		notes = append(notes, r.notes...)
	}
	require.Equal(t, []modules.Note{{Level: "warning", Text: "w"}}, notes)
}
