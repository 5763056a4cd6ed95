package playbooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/secret"
)

// A Stepper prompts before each step of the first host of a play, and once before the other hosts do the same. The host
// waits as for a semaphore. A nil Stepper prompts for nothing.
type Stepper struct {
	ask  func(ctx context.Context, question string) (answer string, err error)
	quit chan struct{} // closed when the run is to end
	end  func()        // closes it
	// there prompts at the coordinator; nil if this is not a worker.
	there func(ctx context.Context, host, question string) bool

	mu   sync.Mutex // one question at a time
	free *selection // play whose first host needs no further prompts
}

// NewStepper returns a Stepper that prompts with ask, which returns a line. An error counts as no answer.
func NewStepper(ask func(ctx context.Context, question string) (answer string, err error)) *Stepper {
	quit := make(chan struct{})
	return &Stepper{ask: ask, quit: quit, end: sync.OnceFunc(func() { close(quit) })}
}

// stopping returns a channel that closes at the end of stop, or when a person ends the run. done frees its resources.
func (s *Stepper) stopping(stop <-chan struct{}) (either <-chan struct{}, done func()) {
	if s == nil {
		return stop, func() {}
	}
	ended := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-stop:
			s.end()
		case <-ended:
		}
	})
	return s.quit, func() {
		close(ended)
		waiting.Wait()
	}
}

// batches puts the first host of a play into a batch of its own.
func (s *Stepper) batches(all [][]*inventory.Host) [][]*inventory.Host {
	if s == nil || len(all) == 0 || len(all[0]) < 2 {
		return all
	}
	return slices.Concat([][]*inventory.Host{all[0][:1], all[0][1:]}, all[1:])
}

// step prompts on the first host of a play, and once before the other hosts. It returns false if the run must end.
func (f *fleet) step(ctx context.Context, s *selection, batch int, batches [][]*inventory.Host) bool {
	switch {
	case f.runner.Step == nil:
		return true
	case batch == 0:
		s.first = batches[0][0].Name
		return true
	case batch > 1:
		return true
	}
	others := 0
	for _, hosts := range batches[1:] {
		others += len(hosts)
	}
	ended := "is done"
	if f.failed(batches[0][0]) {
		ended = "has failed"
	}
	question := fmt.Sprintf("play %s: %s %s; continue with the other hosts (%d)? [y]es, [q]uit: ", s.play.Name, s.first, ended, others)
	return f.runner.Step.others(ctx, question)
}

// stepSemaphore is the semaphore through which a host waits for the prompt of each entry.
const stepSemaphore = "--step"

// asks prepares the catalog of the first host, and returns the function that prompts; nil on other hosts. Every entry
// that changes something gets a semaphore. Resources that were removed from the manifest have no entry and cannot wait,
// so a later run undoes them.
func (s *Stepper) asks(of *selection, host, on string, c *wire.Catalog, mask *secret.Mask) func(context.Context, *wire.Entry, string) bool {
	if s == nil || of.first != host {
		return nil
	}
	for i := range c.Entries {
		if e := &c.Entries[i]; e.Scope == nil && len(e.Sema) == 0 && e.On == "" {
			e.Sema = []string{stepSemaphore}
		}
	}
	if c.Remember != nil {
		partly := *c.Remember
		partly.Whole = false
		c.Remember = &partly
	}
	return func(ctx context.Context, e *wire.Entry, would string) bool {
		if would == "" {
			would = "would do something that is sensitive"
		}
		// The words of a host stay on one line: they could look like a question else.
		would = printable.Line(mask.Text(would))
		question := fmt.Sprintf("%s  %s  %s\n  do it? [y]es, [c]ontinue on this host without prompts, [q]uit: ", printable.Line(events.Where(host, on)), printable.Line(named(e)), would)
		if s.there != nil {
			return s.there(ctx, host, question)
		}
		return s.resource(ctx, of, question)
	}
}

// stepper returns a Stepper that prompts at the coordinator.
func (a *asking) stepper() *Stepper {
	return &Stepper{there: func(ctx context.Context, host, question string) bool {
		_, err := send(ctx, a.wait(), host, StepPrompt{question})
		return err == nil
	}}
}

// A StepPrompt is the text of a prompt. The answer comes after a yes.
type StepPrompt struct {
	Text string `json:"text"`
}

// answer prompts for a worker.
func (q StepPrompt) answer(a *answerer) error {
	f := a.fleet
	if f.runner.Step == nil || a.of.first != a.host {
		return errors.New("this host is not run step by step")
	}
	ctx, end := f.untilStopped(a.ctx)
	defer end()
	if !f.runner.Step.resource(ctx, a.of, q.Text) {
		return errOver
	}
	return nil
}

// named is an entry as results name it.
func named(e *wire.Entry) string {
	if e.Alias != "" {
		return e.Type + "#" + e.Name + " (" + e.Alias + ")"
	}
	return e.Ref()
}

// resource prompts before a step of the first host of a play.
func (s *Stepper) resource(ctx context.Context, of *selection, question string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == of {
		return true
	}
	answer := s.choose(ctx, question, "ycq")
	if answer == 'c' {
		s.free = of
	}
	return answer != 0
}

// others prompts before the other hosts of a play repeat the steps of the first host.
func (s *Stepper) others(ctx context.Context, question string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.choose(ctx, question, "yq") != 0
}

// choose prompts until the answer is one of letters, or a word that begins with one. It returns 0 for q, for no answer,
// and at the end of ctx; q and no answer also end the run.
func (s *Stepper) choose(ctx context.Context, question, letters string) byte {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() {
		select {
		case <-s.quit:
			cancel()
		case <-ctx.Done():
		}
	})
	for ctx.Err() == nil && !s.ended() {
		answer, err := s.ask(ctx, printable.Block(question))
		if ctx.Err() != nil { // the question is withdrawn
			break
		}
		letter := letterOf(answer)
		switch {
		case err != nil, letter == 'q':
			s.end()
			return 0
		case strings.IndexByte(letters, letter) >= 0:
			return letter
		}
		question = "  write one of " + strings.Join(strings.Split(letters, ""), ", ") + ": "
		if letter == 'n' {
			question = "  a step cannot be skipped here: use --skip-tags; q stops the run\n" + question
		}
	}
	return 0
}

// ended reports whether the run is to end.
func (s *Stepper) ended() bool {
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
}

// letterOf returns the letter of an answer, which may be a word; 0 for an unknown answer.
func letterOf(answer string) byte {
	if word := wordOf(answer, "yes", "no", "continue", "quit"); word != "" {
		return word[0]
	}
	return 0
}

// wordOf returns the word that equals the answer or begins with its letter; "" if there is none.
func wordOf(answer string, words ...string) string {
	answer = strings.ToLower(strings.TrimSpace(answer))
	for _, word := range words {
		if answer == word || answer == word[:1] {
			return word
		}
	}
	return ""
}
