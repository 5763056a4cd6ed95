package playbooks

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// Validate reports every error of the plays that can be found without a host. broken holds the errors that are known
// already: if there are any, nothing is compiled. Otherwise each play is also compiled for each of its hosts, unless it
// reads facts and facts is not set: facts means that Options.Catalog has the facts of all hosts. Without an inventory,
// each play is compiled for one host without variables. Connect.Warn receives a warning for each play that was not
// compiled.
func (r *Runner) Validate(ctx context.Context, broken error, facts bool) error {
	checked, err := r.check(ctx, nil, broken, r.compiling(nil), facts, func(p *manifest.Play, why string) {
		r.warn(fmt.Sprintf("play %q reads %s", p.Name, why))
	})
	checked.close()
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// checkedPlays holds what [Runner.check] has made of the plays of a run.
type checkedPlays struct {
	hosts     [][]*inventory.Host // hosts, by play; nil without an inventory
	done      []map[string]bool   // hosts that an earlier run, which is resumed, has finished
	others    []*inventory.Host   // hosts that run resources or give facts for others
	lent      []*inventory.Host   // hosts among them that run resources
	values    []*inventoryValues  // values of the inventory, by play
	compilers []*catalog.Compiler // compilers, by play
	parts     []*parts            // parts of rollouts, by play
	opened    []*catalog.Compiler // all compilers that close must close
	kept      []*keptResults      // kept results, by play
}

func (c *checkedPlays) close() { closeCompilers(c.opened) }

// remaining returns every host that the run needs, also hosts that only run
// resources of others. A host may be in it several times.
func (c *checkedPlays) remaining() []*inventory.Host {
	return slices.Concat(slices.Concat(remaining(c.hosts, c.done)...), c.others)
}

// check opens the plays and reports every error that can be found without a host, for [Runner.Validate] and
// [Runner.Run]. broken and facts are the parameters of Validate; skipped is called for each play that was not compiled,
// with the values that it reads. A signal on stop and the end of ctx end the compiling without an error. The result is
// never nil.
func (r *Runner) check(ctx context.Context, stop <-chan struct{}, broken error, compiling catalog.Options, facts bool, skipped func(p *manifest.Play, reads string)) (*checkedPlays, error) {
	c := &checkedPlays{done: r.done()}
	var err, reachErr error
	if r.Inventory != nil {
		c.hosts, err = r.Select()
	}
	var valuesErr, compilersErr error
	c.values, valuesErr = r.inventoryValues(c.hosts)
	if r.Inventory != nil {
		delegates, unknown := r.Delegates()
		c.lent = slices.DeleteFunc(slices.Concat(delegates...), func(h *inventory.Host) bool { return h == nil })
		for _, of := range c.values {
			c.others = append(c.others, of.others...)
		}
		c.others = append(c.others, c.lent...)
		reachErr = errors.Join(r.CheckReach(c.remaining()), unknown)
	}
	c.compilers, compilersErr = r.compilers(ctx, compiling, c.values)
	c.kept = make([]*keptResults, len(c.compilers))
	parts, others, partsErr := r.rolloutParts(ctx, compiling, c.values)
	c.parts, c.opened = parts, slices.Concat(c.compilers, others)
	err = errors.Join(err, reachErr)
	if r.Inventory != nil && err == nil {
		err = r.checkRollouts(c.hosts)
	}
	compilersErr = errors.Join(compilersErr, partsErr)
	if err == nil && compilersErr == nil {
		err = r.checkVariables(c.compilers, c.hosts)
	}
	if err := together(broken, err, valuesErr, compilersErr, r.checkImports(c.hosts)); err != nil || !facts && r.Inventory == nil {
		return c, err
	}
	if err := r.reachLookups(ctx, c.compilers); err != nil {
		return c, err
	}
	checking, end := stoppable(ctx, stop)
	defer end()
	err = r.checkHosts(checking, c, facts, compiling.Downloads != nil && r.Workers == nil, skipped)
	if checking.Err() != nil {
		err = nil
	}
	return c, err
}

// checkHosts compiles the plays for their remaining hosts. With keep the results that hosts do not have in
// common are kept for the run, as far as memory allows.
func (r *Runner) checkHosts(ctx context.Context, c *checkedPlays, facts, keep bool, skipped func(p *manifest.Play, reads string)) error {
	needsFacts := func(one *catalog.Compiler) bool {
		paths, all := one.Facts()
		return !facts && (all || len(paths) > 0)
	}
	hosts := remaining(c.hosts, c.done)
	room := new(atomic.Int64)
	if keep {
		room.Store(maxKept)
	}
	var errs []error
	for i, one := range c.compilers {
		r.askOthers(ctx, &selection{play: r.Plays[i], compiler: one, values: c.values[i]}, nil)
		switch {
		case needsFacts(one) || !facts && len(c.values[i].others) > 0:
			skipped(r.Plays[i], "host facts, so only its syntax was checked; for a full check pass --facts FILE")
			continue
		case len(manifest.Registering(r.Plays[:i])) > 0 && asksNATS(one, templates.RegistrationsFunction):
			skipped(r.Plays[i], "registrations of earlier plays, so only its syntax was checked")
			continue
		case hosts == nil:
			_, err := one.Check(ctx, catalog.Host{})
			errs = append(errs, err)
			continue
		}
		c.kept[i] = &keptResults{compiler: one, room: room}
		errs = append(errs, checkAll(ctx, one, hosts[i], c.kept[i]))
		for _, part := range c.parts[i].compilers() {
			if !needsFacts(part) {
				errs = append(errs, checkAll(ctx, part, hosts[i], nil))
			}
		}
	}
	return errors.Join(errs...)
}

// together sorts errors by place. If no error has a place, the order remains.
func together(all ...error) error {
	joined := errors.Join(all...)
	if _, placed := errors.AsType[*yamlpos.Error](joined); !placed {
		return joined
	}
	var errs yamlpos.Errors
	errs.Add(joined)
	return manifest.Distinct(errs)
}

// maxKept is about how many bytes of results of [Runner.check] are kept for the run.
const maxKept = 64 << 20

// keptResults are results of a check that the run uses, so that it does not compile for these hosts again. nil
// keeps none.
type keptResults struct {
	compiler *catalog.Compiler // compiler of the results
	room     *atomic.Int64     // bytes that may be kept
	mu       sync.Mutex
	made     map[*inventory.Host]*catalog.Compiled
}

// keep keeps the result for a host, if there is room for it.
func (k *keptResults) keep(h *inventory.Host, made *catalog.Compiled) {
	size := made.Size()
	if k == nil || size == 0 || k.room.Load() < size { // several at once may exceed it by a little
		return
	}
	k.room.Add(-size)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil {
		k.made = map[*inventory.Host]*catalog.Compiled{}
	}
	k.made[h] = made
}

// take returns the result of a compiler for a host, once; nil if none is kept.
func (k *keptResults) take(c *catalog.Compiler, h *inventory.Host) *catalog.Compiled {
	if k == nil || k.compiler != c {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	made := k.made[h]
	delete(k.made, h)
	return made
}

// checkAll compiles a play for hosts. It returns each error once, with the hosts that
// have it unless all do.
func checkAll(ctx context.Context, c *catalog.Compiler, hosts []*inventory.Host, kept *keptResults) error {
	var mu sync.Mutex
	var found byHosts
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, class := range classes(c, hosts) {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			h := class[0]
			// Hosts without any facts and hosts whose facts are not read are equal to the compiler.
			made, err := compileHost(ctx, hostOf(c, h, map[string]any{}), h, c.Check)
			if err == nil && len(class) == 1 { // results for equal hosts are quick to make again
				kept.keep(h, made)
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				for _, h := range class {
					found.add(h, err)
				}
			}
			return nil
		})
	}
	_ = g.Wait() // no function returns an error
	return found.err(len(hosts))
}

// classes groups hosts for which a play without facts has the same result: all variables
// that the play reads come from the same places.
func classes(c *catalog.Compiler, hosts []*inventory.Host) (all [][]*inventory.Host) {
	own := c.ReadsHost()
	reads, known := map[string]bool{}, map[string]int{}
	var key []byte
	for _, h := range hosts {
		if own {
			all = append(all, []*inventory.Host{h})
			continue
		}
		key = key[:0]
		for _, l := range h.Layers() {
			for _, p := range l.Node.Pairs {
				name := p.Key.Text
				read, met := reads[name]
				if !met {
					read = c.ReadsVariable(name)
					reads[name] = read
				}
				if read {
					key = fmt.Appendf(key, "%p ", p.Value)
				}
			}
		}
		i, met := known[string(key)]
		if !met {
			i = len(all)
			known[string(key)] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], h)
	}
	return all
}

// byHosts are errors with the hosts that each is about. The zero byHosts has none.
type byHosts map[yamlpos.Error][]string

func (b *byHosts) add(h *inventory.Host, err error) {
	if *b == nil {
		*b = byHosts{}
	}
	var errs yamlpos.Errors
	errs.Add(err)
	for _, e := range errs {
		(*b)[*e] = append((*b)[*e], h.Name)
	}
}

// err names the hosts of each error, unless it is about all, of which there are so many.
func (b byHosts) err(all int) error {
	var errs yamlpos.Errors
	for e, on := range b {
		if len(on) != all {
			e.Msg += onHosts(on)
		}
		errs.Add(&e)
	}
	slices.SortFunc(errs, func(a, b *yamlpos.Error) int { return strings.Compare(a.Msg, b.Msg) }) // of one place
	return errs.Err()
}

// onHosts names hosts, as many as do not hide the error.
func onHosts(hosts []string) string {
	const width = 60
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	pattern, more := events.Fold(hosts, width)
	text := " (host: " + pattern
	if len(hosts) > 1 {
		text = " (hosts: " + pattern
	}
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ")"
}
