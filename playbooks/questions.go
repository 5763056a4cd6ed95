package playbooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/playbooks/watch/watching"
)

// A TurnHandler answers the questions of a worker during a turn, and checks its reports. It returns a [BreachError] for
// requests that the play does not allow: the worker then gets no more hosts in the run.
type TurnHandler interface {
	// Answer may wait for other hosts, until [Workers.Take] has returned.
	Answer(q Question) (Answer, error)
	// Check returns the event to report.
	Check(e events.Event) (events.Event, error)
	// CheckEnd checks how the turn has ended.
	CheckEnd(end TurnEnd) error
}

// A BreachError is the error for a worker's message that its play does not allow.
type BreachError struct{ What string }

func (e *BreachError) Error() string { return e.What }

func breach(format string, args ...any) error { return &BreachError{fmt.Sprintf(format, args...)} }

// notInTurn returns the error for a kind of question that the turn of the host does not allow.
func notInTurn(kind string) error {
	return breach("sent a request about %s, which this turn does not allow", kind)
}

// A Question is a request or a report of a worker about one of its hosts. questionKinds lists the types.
type Question interface {
	// check returns a [BreachError] if the turn, or the play, does not allow the question.
	check(a *answerer) error
}

// EncodeQuestion returns a question as JSON.
func EncodeQuestion(q Question) ([]byte, error) { return encodeKind(questionKinds, q) }

// DecodeQuestion reads a question from JSON. An error is a [BreachError].
func DecodeQuestion(text []byte) (Question, error) { return decodeKind[Question](questionKinds, text) }

// A questionKind is a type of questions. The coordinator checks a question before it answers, and the worker refuses an
// answer with a value that does not fit the question.
type questionKind struct {
	kind
	answer func(a *answerer, q Question) (value json.RawMessage, err error)
	fits   func(q Question, value json.RawMessage) error
}

var questionKinds = map[string]questionKind{
	"known":       reportKind[Known](),
	"here":        requestKindOf[Here](),
	"joins":       reportKind[Joins](),
	"exports":     reportKind[Exports](),
	"imports":     requestKindOf[Imports](),
	"claims":      requestKindOf[Claims](),
	"release":     reportKind[Release](),
	"once":        reportKind[OnceNews](),
	"awaits":      requestKindOf[Awaits](),
	"borrow":      requestKindOf[Borrow](),
	"return":      reportKind[Return](),
	"lookup":      requestKindOf[Lookup](),
	"file":        reportKind[FilePart](),
	"ready":       reportKind[Ready](),
	"step":        reportKind[StepPrompt](),
	"other_facts": requestKindOf[FactsOfOthers](),
	"watched":     reportKind[Watched](),
}

// reportKind returns the kind of a question whose answer has no value.
func reportKind[Q interface {
	Question
	answer(a *answerer) error
}]() questionKind {
	return questionKind{
		kind:   kind{reflect.TypeFor[Q]()},
		answer: func(a *answerer, q Question) (json.RawMessage, error) { return nil, q.(Q).answer(a) },
		fits: func(_ Question, value json.RawMessage) error {
			if len(value) > 0 {
				return breach("answered with a value, which the worker did not request")
			}
			return nil
		},
	}
}

// A valued question has an answer with a value of the type A.
type valued[A any] interface {
	Question
	answer(a *answerer) (A, error)
	// fits returns a [BreachError] if the value does not fit the question.
	fits(value A) error
}

// requestKindOf returns the kind of a question whose answer has a value.
func requestKindOf[Q valued[A], A any]() questionKind {
	return questionKind{
		kind: kind{reflect.TypeFor[Q]()},
		answer: func(a *answerer, q Question) (json.RawMessage, error) {
			value, err := q.(Q).answer(a)
			if err != nil {
				return nil, err
			}
			return json.Marshal(value)
		},
		fits: func(q Question, text json.RawMessage) error {
			var value A
			if err := decodeStrictly(text, &value); err != nil {
				return err
			}
			return q.(Q).fits(value)
		},
	}
}

// An Answer answers a question.
type Answer struct {
	Error string          `json:"error,omitempty"` // reason for a failed request
	Over  bool            `json:"over,omitempty"`  // the run ends, so the question has no other answer
	Value json.RawMessage `json:"value,omitempty"` // empty for a report
}

// Answer implements [TurnHandler].
func (a *answerer) Answer(q Question) (Answer, error) {
	name, of, err := kindOf(questionKinds, q)
	switch {
	case err != nil:
		return Answer{}, breach("sent an unknown request")
	case !a.turn.OfAPlay():
		return Answer{}, notInTurn(name)
	}
	if err := q.check(a); err != nil {
		return Answer{}, err
	}
	value, err := of.answer(a, q)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errStopped):
		return Answer{Over: true}, nil
	case err != nil:
		return Answer{Error: err.Error()}, nil
	}
	return Answer{Value: value}, nil
}

const (
	maxMessageText    = 64 << 10 // bytes of a text of a worker
	maxMessageEntries = 100_000  // as many as a host may have resources
)

func checkText(what string, texts ...string) error {
	for _, text := range texts {
		if len(text) > maxMessageText {
			return breach("sent %s of %d bytes", what, len(text))
		}
	}
	return nil
}

func checkIndex(index int) error {
	if index < 0 || index >= maxMessageEntries {
		return breach("named resource %d", index)
	}
	return nil
}

// checkResult checks a result of the host, or of another one where a resource of the host ran.
func checkResult(r *wire.Result) error {
	if err := session.CheckResult(r, maxMessageEntries); err != nil {
		return breach("sent a result that no host sends: %v", err)
	}
	return checkText("a result", r.Error, r.Message, r.Because)
}

// check checks the number of the entry alone: a worker that was lost may have released it.
func (r Release) check(a *answerer) error { return checkIndex(r.Index) }

func (s StepPrompt) check(a *answerer) error {
	return checkText("a question for a person", s.Text)
}

// checkPlay checks the number of a play, from 0: it must be the play of the turn, or another play of the host.
func (a *answerer) checkPlay(number int) error {
	plays := a.fleet.plays
	if number < 0 || number >= len(plays) || number != a.of.number && !plays[number].has(a.host) {
		return breach("named play %d, which %s does not have", number+1, a.host)
	}
	return nil
}

// openEnded reports whether it is only known for each host which resources the play has.
func openEnded(play *manifest.Play) bool {
	open := play.JetFile != nil
	manifest.Walk(play.Resources, func(r *manifest.Resource, _ int) { open = open || r.Child == nil && r.Manifest != "" })
	return open
}

func (j Joins) check(a *answerer) error {
	if len(j.Entries) > maxMessageEntries || j.From < 0 || j.From > len(j.Entries) {
		return breach("sent a catalog of %d resources that begins with %d", len(j.Entries), j.From)
	}
	play := a.of.play
	written := map[[4]string]bool{}
	manifest.Walk(play.Resources, func(r *manifest.Resource, _ int) {
		for _, one := range r.Imports {
			written[[4]string{one.Property, one.Host.Text, one.Ref, one.Key}] = true
		}
	})
	for index, list := range j.Imports {
		if index < 0 || index >= len(j.Entries) {
			return breach("receives values for resource %d of %d", index, len(j.Entries))
		}
		for _, one := range list {
			if !openEnded(play) && !written[[4]string{one.Property, one.Host, one.Ref, one.Key}] {
				return breach("receives %.100s of %.100s of %.100s, which the play does not", one.Key, one.Ref, one.Host)
			}
		}
	}
	return nil
}

func (e Exports) check(a *answerer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.participant == nil || e.Result.Index < 0 || e.Result.Index >= len(a.catalog.Entries) {
		return breach("sent values of resource %d to other hosts", e.Result.Index)
	}
	for key := range e.Result.Sent {
		if !slices.Contains(a.catalog.Entries[e.Result.Index].Export, key) {
			return breach("sent the value %.100q to other hosts, which the resource does not", key)
		}
	}
	return checkResult(&e.Result)
}

func (i Imports) check(a *answerer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if list := a.imports[i.Index]; a.participant == nil || len(list) == 0 || !slices.Equal(i.Properties, propertiesOf(list)) {
		return breach("requested values of resource %d, which receives none of these", i.Index)
	}
	return nil
}

// Ready reports that the catalog of the host is compiled. The answer comes when all hosts of the batch are ready.
type Ready struct{}

func (Ready) check(a *answerer) error {
	if !Requests[PlayRequest](a.turn) {
		return notInTurn("ready")
	}
	if !a.fleet.runner.Options.CompileFirst {
		return breach("waits for the catalogs of other hosts in a run without --compile-first")
	}
	return nil
}

func (c Claims) check(a *answerer) error {
	if c.Within < 0 || len(c.Semaphores) == 0 {
		return breach("claims %d semaphores for %v", len(c.Semaphores), c.Within)
	}
	written, open := map[string]bool{stepSemaphore: true}, openEnded(a.of.play) || a.of.parts != nil
	manifest.Walk(a.of.play.Resources, func(r *manifest.Resource, _ int) {
		if r.Meta == nil || r.Meta.Node == nil {
			return
		}
		n := r.Meta.Node.Get("sema")
		open = open || r.Meta.Open(r.Meta.Node)
		if n == nil {
			return
		}
		for _, one := range append(slices.Clone(n.Items), n) {
			open = open || r.Meta.Open(one)
			written[one.Text] = true
		}
	})
	for _, one := range c.Semaphores {
		if !open && !written[one] {
			return breach("claims the semaphore %.100q, which the play does not have", one)
		}
	}
	return cmp.Or(checkIndex(c.Index), checkText("a resource", c.Type, c.Name, c.Alias))
}

func (o OnceNews) check(a *answerer) error {
	if !mayRunOnce(a.of.play) || len(o.Has) > maxMessageEntries {
		return breach("sent %d resources that run once, which the play does not have", len(o.Has))
	}
	if o.Ended == "" {
		return nil
	}
	if o.Result == nil {
		return breach("ended %.100q, which runs once, without a result", o.Ended)
	}
	return cmp.Or(Awaits{o.Ended}.check(a), checkResult(o.Result))
}

// check checks the name of a resource that runs once: the host has said that it has it.
func (q Awaits) check(a *answerer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, has := a.hasOnce[q.Resource]; !has {
		return breach("named %.100q, which does not run once on %s", q.Resource, a.host)
	}
	return nil
}

func (o OnceNews) answer(a *answerer) error {
	f := a.fleet
	if o.Ended != "" {
		f.once.Ended(a.host, o.Ended, o.Result)
		return nil
	}
	a.mu.Lock()
	a.hasOnce = o.Has
	a.mu.Unlock()
	f.hasOnce(a.of, a.host, o.Has)
	return nil
}

func (q Awaits) answer(a *answerer) (Awaited, error) {
	f := a.fleet
	ctx, end := f.untilStopped(a.ctx)
	defer end()
	on, result, err := f.once.Await(ctx, a.host, q.Resource)
	if err == nil && result == nil {
		f.begins(a.of.whole(), a.host, q.Resource)
	}
	return Awaited{on, result}, err
}

func (l Lookup) check(a *answerer) error {
	if (l.Key == nil) == (l.Registration == nil) {
		return breach("looks up %d and %d words", len(l.Key), len(l.Registration))
	}
	return checkText("a name", slices.Concat(l.Key, l.Registration)...)
}

// Watched is news of a watched host. After the answer, the host continues.
type Watched struct{ WatchNews }

func (n Watched) answer(a *answerer) error {
	a.fleet.watching.Tell(a.host)(a.ctx, n.WatchNews)
	return nil
}

func (n Watched) check(a *answerer) error {
	if !Requests[WatchRequest](a.turn) {
		return notInTurn("watched")
	}
	f := a.fleet
	if f.watching.Tell(a.host) == nil {
		return breach("reported that %s is watched, which it is not", a.host)
	}
	set := 0
	for _, is := range []bool{n.Stood != nil, n.Told != nil, n.Mended != nil, n.Lost != nil} {
		if is {
			set++
		}
	}
	if set != 1 || n.Play < 0 || n.Play > len(f.plays) {
		return breach("reported %d things of play %d at once", set, n.Play)
	}
	var verdicts []watching.Verdict
	most := maxMessageEntries
	switch {
	case n.Stood != nil:
		verdicts, most = n.Stood.Verdicts, len(n.Stood.Entries)
	case n.Told != nil:
		verdicts = n.Told.Verdicts
	case n.Lost != nil:
		return a.checkFailure(n.Lost.Failure.Event)
	}
	for _, v := range verdicts {
		if v.Index < 0 || v.Index >= most {
			return breach("reported resource %d of %d", v.Index, most)
		}
	}
	return nil
}

// checkFailure checks why the host failed as a whole.
func (a *answerer) checkFailure(e events.Event) error {
	switch e.(type) {
	case events.HostFailed, events.Unreachable:
		if events.HostOf(e) == a.host {
			return nil
		}
	}
	return breach("reported %T of %.100q as the failure of %s", e, events.HostOf(e), a.host)
}

// CheckEnd implements [TurnHandler].
func (a *answerer) CheckEnd(end TurnEnd) error {
	_, of, err := kindOf(requestKinds, a.turn.Request)
	if err != nil || end.Took < 0 {
		return breach("reported an end that no turn of %s has", a.host)
	}
	if end.Failure != nil {
		err = a.checkFailure(end.Failure.Event)
	}
	if err == nil && (len(end.Result) > 0 || end.err() == nil) {
		err = of.check(end.Result)
	}
	return err
}

// playOf returns the name of the play of an event that a worker may report; Untold has none. The coordinator reports all others itself.
func playOf(e events.Event) (play string, err error) {
	switch one := e.(type) {
	case events.Result:
		return one.Play, checkIndex(one.Index)
	case events.Message:
		return one.Play, nil
	case events.Output:
		return one.Play, nil
	case events.Reconnect:
		return one.Play, nil
	case events.Armed:
		return one.Play, nil
	case events.Watchdog:
		return one.Play, nil
	case events.Confirmed:
		return one.Play, nil
	case events.Reverted:
		return one.Play, nil
	case events.Untold:
		return "", nil
	}
	return "", breach("reported a %T, which only the coordinator reports", e)
}

// Check implements [TurnHandler].
func (a *answerer) Check(e events.Event) (events.Event, error) {
	play, err := playOf(e)
	if err != nil {
		return nil, err
	}
	switch one := e.(type) {
	case events.Untold:
		return e, nil
	case events.Result:
		list, err := a.registrations(&one)
		if err != nil {
			return nil, err
		}
		one.Registers, e = list, one
		if one.Fetched != "" && !a.mayFetch(cmp.Or(one.On, a.host), one.Name) {
			return nil, breach("reported a file %.100q that the play does not fetch", one.Name)
		}
	}
	if !slices.ContainsFunc(a.playsOfTurn(), func(s *selection) bool { return s.play.Name == play }) {
		return nil, breach("reported an event of the play %.100q, which %s does not run", play, a.host)
	}
	return e, nil
}

// playsOfTurn are the plays that the host may be reported of.
func (a *answerer) playsOfTurn() []*selection {
	plays := []*selection{a.of}
	for _, number := range a.turn.Later {
		if Requests[WatchRequest](a.turn) && number >= 0 && number < len(a.fleet.plays) {
			plays = append(plays, a.fleet.plays[number])
		}
	}
	if r := a.of.play.Rollout; r != nil {
		for _, one := range r.Plays() {
			plays = append(plays, &selection{play: one})
		}
	}
	return plays
}

// NoQuestions is the handler of turns in which a worker has no questions: it reads facts of the host, or logs in to it.
type NoQuestions struct{ Turn }

func (NoQuestions) Answer(Question) (Answer, error) { return Answer{Over: true}, nil }

func (n NoQuestions) Check(e events.Event) (events.Event, error) {
	if _, err := playOf(e); err != nil {
		return nil, err
	}
	if r, is := e.(events.Result); is && (len(r.Registers) > 0 || r.Fetched != "") {
		return nil, breach("registers services or hands over files of %s, which has no play", n.Host)
	}
	return e, nil
}

func (n NoQuestions) CheckEnd(end TurnEnd) error {
	return (&answerer{host: n.Host, turn: n.Turn}).CheckEnd(end)
}

var (
	_ TurnHandler = (*answerer)(nil)
	_ TurnHandler = NoQuestions{}
)
