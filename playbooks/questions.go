package playbooks

import (
	"cmp"
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

// A questionKind is one field of [Question]. The coordinator refuses a field without a kind, and a worker refuses an answer that
// fits fails for.
type questionKind struct {
	turns  func(Turn) bool // allowed turns; nil allows every turn of a play
	check  func(a *answerer, q *Question) error
	answer func(a *answerer, q *Question) Answer
	// fields of Answer which such an answer may have, if it has neither Error nor Over
	fields []string
	// fits checks these fields against the question; nil if there are none
	fits func(q *Question, a *Answer) error
}

var questionKinds = map[string]questionKind{
	"Known": {
		check:  func(a *answerer, q *Question) error { return a.checkKnown(q.Known) },
		answer: func(a *answerer, q *Question) Answer { return a.compile(q.Known) },
	},
	"Here": {
		check:  func(a *answerer, q *Question) error { return a.checkHere(q.Here) },
		answer: func(a *answerer, q *Question) Answer { return a.carryOut(q.Here) },
		fields: []string{"Result"},
		fits:   func(_ *Question, a *Answer) error { return checkAloneResult(a.Result) },
	},
	"Joins": {
		check: func(a *answerer, q *Question) error { return a.checkJoins(q.Joins) },
		answer: func(a *answerer, q *Question) Answer {
			a.join(q.Joins)
			return Answer{}
		},
	},
	"Exports": {
		check: func(a *answerer, q *Question) error { return a.checkExports(q.Exports) },
		answer: func(a *answerer, q *Question) Answer {
			a.export(q.Exports)
			return Answer{}
		},
	},
	"Imports": {
		check:  func(a *answerer, q *Question) error { return a.checkImports(q.Imports) },
		answer: func(a *answerer, q *Question) Answer { return a.imported(q.Imports.Index) },
		fields: []string{"Imported"},
		fits:   func(q *Question, a *Answer) error { return checkImported(q.Imports, a.Imported) },
	},
	"Claims": {
		check:  func(a *answerer, q *Question) error { return a.checkClaims(q.Claims) },
		answer: func(a *answerer, q *Question) Answer { return a.claim(q.Claims) },
		fields: []string{"MayHold"},
		fits:   func(q *Question, a *Answer) error { return checkMayHold(q.Claims, a.MayHold) },
	},
	"Release": {
		check: func(_ *answerer, q *Question) error { return checkIndex(*q.Release) }, // a lost worker may have released it
		answer: func(a *answerer, q *Question) Answer {
			a.release(*q.Release)
			return Answer{}
		},
	},
	"Once": {
		check:  func(a *answerer, q *Question) error { return a.checkOnce(q.Once) },
		answer: func(a *answerer, q *Question) Answer { return a.onceNews(q.Once) },
	},
	"Awaits": {
		check:  func(a *answerer, q *Question) error { return a.checkAwaits(q.Awaits) },
		answer: func(a *answerer, q *Question) Answer { return a.awaits(q.Awaits) },
		fields: []string{"On", "Result"},
		fits:   func(_ *Question, a *Answer) error { return checkAwaited(a) },
	},
	"Borrow": {
		check:  func(a *answerer, q *Question) error { return a.checkBorrow(q.Borrow) },
		answer: func(a *answerer, q *Question) Answer { return a.lend(q.Borrow) },
		fields: []string{"Result", "Lend", "Lent", "Predicted"},
		fits:   func(q *Question, a *Answer) error { return checkLent(q.Borrow.On, a) },
	},
	"Return": {
		check: func(a *answerer, q *Question) error { return a.checkReturn(q.Return) },
		answer: func(a *answerer, q *Question) Answer {
			a.returned(q.Return)
			return Answer{}
		},
	},
	"Lookup": {
		check:  func(_ *answerer, q *Question) error { return checkLookup(q.Lookup) },
		answer: func(a *answerer, q *Question) Answer { return a.looked(q.Lookup) },
		fields: []string{"Looked"},
		fits:   func(q *Question, a *Answer) error { return checkLooked(q.Lookup, a.Looked) },
	},
	"File": {
		check:  func(a *answerer, q *Question) error { return a.checkFile(q.File) },
		answer: func(a *answerer, q *Question) Answer { return a.filed(q.File) },
	},
	"Ready": {
		turns:  Requests[PlayRequest],
		check:  func(a *answerer, _ *Question) error { return a.checkReady() },
		answer: func(a *answerer, _ *Question) Answer { return a.ready() },
	},
	"Step": {
		check:  func(_ *answerer, q *Question) error { return checkText("a question for a person", q.Step) },
		answer: func(a *answerer, q *Question) Answer { return a.step(q.Step) },
	},
	"OtherFacts": {
		check:  func(a *answerer, q *Question) error { return a.checkPlay(*q.OtherFacts) },
		answer: func(a *answerer, q *Question) Answer { return a.otherFacts(*q.OtherFacts) },
		fields: []string{"OtherFacts"},
		fits:   func(_ *Question, a *Answer) error { return checkOtherFacts(a.OtherFacts) },
	},
	"Watched": {
		turns: Requests[WatchRequest],
		check: func(a *answerer, q *Question) error { return a.checkWatched(q.Watched) },
		answer: func(a *answerer, q *Question) Answer {
			a.fleet.watching.Tell(a.host)(a.ctx, *q.Watched)
			return Answer{}
		},
	},
}

// fieldsSet returns the names of the fields of a struct that are not zero.
func fieldsSet(v reflect.Value) (set []string) {
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			set = append(set, v.Type().Field(i).Name)
		}
	}
	return set
}

// kind returns the name of the only field that is set, and its kind.
func (q *Question) kind() (string, questionKind, error) {
	set := fieldsSet(reflect.ValueOf(q).Elem())
	if len(set) > 1 {
		return "", questionKind{}, breach("sent two requests in one: %s and %s", set[0], set[1])
	}
	if len(set) == 1 {
		if kind, known := questionKinds[set[0]]; known {
			return set[0], kind, nil
		}
	}
	return "", questionKind{}, breach("sent an unknown request")
}

// Answer implements [TurnHandler].
func (a *answerer) Answer(q Question) (Answer, error) {
	name, kind, err := q.kind()
	if err != nil {
		return Answer{}, err
	}
	allowed := kind.turns
	if allowed == nil {
		allowed = Turn.OfAPlay
	}
	if !allowed(a.turn) {
		return Answer{}, breach("sent a request about %s, which this turn does not allow", name)
	}
	if err := kind.check(a, &q); err != nil {
		return Answer{}, err
	}
	return kind.answer(a, &q), nil
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

func (a *answerer) checkJoins(j *Joins) error {
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

func (a *answerer) checkExports(e *Exports) error {
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

func (a *answerer) checkImports(i *Imports) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if list := a.imports[i.Index]; a.participant == nil || len(list) == 0 || !slices.Equal(i.Properties, propertiesOf(list)) {
		return breach("requested values of resource %d, which receives none of these", i.Index)
	}
	return nil
}

func (a *answerer) checkReady() error {
	if !a.fleet.runner.Options.CompileFirst {
		return breach("waits for the catalogs of other hosts in a run without --compile-first")
	}
	return nil
}

func (a *answerer) checkClaims(c *Claims) error {
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

func (a *answerer) checkOnce(o *OnceNews) error {
	if !mayRunOnce(a.of.play) || len(o.Has) > maxMessageEntries {
		return breach("sent %d resources that run once, which the play does not have", len(o.Has))
	}
	if o.Ended == "" {
		return nil
	}
	if o.Result == nil {
		return breach("ended %.100q, which runs once, without a result", o.Ended)
	}
	return cmp.Or(a.checkAwaits(o.Ended), checkResult(o.Result))
}

// checkAwaits checks the name of a resource that runs once: the host has said that it has it.
func (a *answerer) checkAwaits(resource string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, has := a.hasOnce[resource]; !has {
		return breach("named %.100q, which does not run once on %s", resource, a.host)
	}
	return nil
}

func (a *answerer) onceNews(o *OnceNews) Answer {
	f := a.fleet
	if o.Ended != "" {
		f.once.Ended(a.host, o.Ended, o.Result)
		return Answer{}
	}
	a.mu.Lock()
	a.hasOnce = o.Has
	a.mu.Unlock()
	f.hasOnce(a.of, a.host, o.Has)
	return Answer{}
}

func (a *answerer) awaits(resource string) Answer {
	f := a.fleet
	ctx, end := f.untilStopped(a.ctx)
	defer end()
	on, result, err := f.once.Await(ctx, a.host, resource)
	if err == nil && result == nil {
		f.begins(a.of.whole(), a.host, resource)
	}
	return waited(Answer{On: on, Result: result}, err)
}

func checkLookup(l *Lookup) error {
	if (l.Key == nil) == (l.Registration == nil) {
		return breach("looks up %d and %d words", len(l.Key), len(l.Registration))
	}
	return checkText("a name", slices.Concat(l.Key, l.Registration)...)
}

func (a *answerer) checkWatched(n *WatchNews) error {
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
