package gather

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/facts"
)

// Options say where custom facts are and how long to wait.
type Options struct {
	Dirs    []string      // directories of custom facts, the most important last; see [Dirs]
	Timeout time.Duration // per collector; 0 means 2s
}

// MaxReport bounds the facts of a host, custom ones included: 1 MiB.
const MaxReport = 1 << 20

const defaultTimeout = 2 * time.Second

// Gather runs the named collectors side by side, answers queries (see [facts.Queries.Collector]) and reads the
// custom facts. The
// result is a [facts.Report] in JSON. A collector that fails or takes too long
// is mentioned in it and stops neither the others nor the run; only an unknown
// collector and the end of ctx are errors.
func Gather(ctx context.Context, names []string, opts Options) (json.RawMessage, error) {
	if opts.Timeout == 0 {
		opts.Timeout = defaultTimeout
	}
	names, queries, err := queriesOf(names)
	if err != nil {
		return nil, err
	}
	answers := make([]answer, len(names))
	asked := make(map[string]*answer, len(queries))
	var own custom
	var ownErr error
	var work sync.WaitGroup
	for i, name := range names {
		collect, known := collector(name)
		if !known {
			return nil, fmt.Errorf("unknown fact collector %q (known: %v)", name, facts.Names())
		}
		work.Go(func() { answers[i].value, answers[i].err = within(ctx, opts.Timeout, inJSON(collect)) })
	}
	work.Go(func() {
		own, ownErr = within(ctx, opts.Timeout, func(context.Context) (custom, error) { return readCustom(opts.Dirs), nil })
	})
	for name, q := range queries {
		a := &answer{}
		asked[name] = a
		work.Go(func() {
			a.value, a.err = within(ctx, askTimeout, inJSON(func(ctx context.Context) (any, error) { return ask(ctx, q) }))
		})
	}
	work.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := report{left: MaxReport}
	for i, name := range names {
		r.addFacts(name, answers[i])
	}
	r.addCustom(own, ownErr)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		r.addAsked(name, *asked[name])
	}
	return json.Marshal(r.Report)
}

// answer is the result of a collector, or its error.
type answer struct {
	value json.RawMessage
	err   error
}

// inJSON turns what a collector finds into JSON while its time still counts.
func inJSON(collect func(context.Context) (any, error)) func(context.Context) (json.RawMessage, error) {
	return func(ctx context.Context) (json.RawMessage, error) {
		value, err := collect(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(value)
	}
}

// within calls a function until its time is up, and then abandons it: a system call that hangs, as statfs does on a
// dead network file system, cannot be interrupted. The function ends later or with the process, and its result is
// discarded.
func within[T any](ctx context.Context, timeout time.Duration, call func(context.Context) (T, error)) (T, error) {
	type returned struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done := make(chan returned, 1)
	go func() {
		var r returned
		defer func() {
			// The kernel's text in /proc is not always what a parser expects.
			if p := recover(); p != nil {
				r.err = fmt.Errorf("broken: %v", p)
			}
			done <- r
		}()
		r.value, r.err = call(ctx)
	}()
	var r returned
	select {
	case r = <-done:
	case <-ctx.Done():
		r.err = ctx.Err()
	}
	if errors.Is(r.err, context.DeadlineExceeded) {
		r.err = fmt.Errorf("timed out after %v", timeout)
	}
	return r.value, r.err
}

// report puts answers together within the bound of a report.
type report struct {
	facts.Report
	left int // bytes
}

func (r *report) missing(format string, args ...any) {
	r.Partial = append(r.Partial, fmt.Sprintf(format, args...))
}

// take reports whether n more bytes fit, and records it if they do not.
func (r *report) take(what string, n int) bool {
	if n > r.left {
		r.missing("%s: skipped, because facts are limited to %d bytes", what, MaxReport)
		return false
	}
	r.left -= n
	return true
}

func (r *report) addFacts(name string, a answer) {
	if r.Facts == nil {
		r.Facts = map[string]json.RawMessage{}
	}
	if a.err != nil {
		r.missing("%s: %v", name, a.err)
		return
	}
	if r.take(name, len(a.value)) {
		r.Facts[name] = a.value
	}
}

func (r *report) addAsked(name string, a answer) {
	switch {
	case a.err != nil:
		r.missing("%s: %v", name, a.err)
	case r.take(name, len(a.value)):
		if r.Asked == nil {
			r.Asked = map[string]json.RawMessage{}
		}
		r.Asked[name] = a.value
	}
}

// queriesOf parts a list of collectors from the queries in it.
func queriesOf(list []string) (names []string, queries facts.Queries, err error) {
	for _, entry := range list {
		q, ok, err := facts.ParseQueries(entry)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			queries = q
			continue
		}
		names = append(names, entry)
	}
	return names, queries, nil
}

func (r *report) addCustom(own custom, err error) {
	if err != nil {
		r.missing("custom facts: %v", err)
	}
	r.Partial = slices.Concat(r.Partial, own.partial)
	for _, file := range own.files {
		if r.take(file.Path, len(file.Text)) {
			r.Custom = append(r.Custom, file)
		}
	}
}
