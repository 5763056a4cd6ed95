package playbooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// Validate reports all that can be wrong with the plays without contacting a
// host. broken is what is known to be wrong with them already: then nothing is
// compiled. Otherwise a play is also made ready for each of its hosts, as
// far as that needs no facts, or with those of Options.Catalog if facts is set;
// without an inventory that is one host without variables. Connect.Warn is told
// of plays that were not made ready.
func (r *Runner) Validate(ctx context.Context, broken error, facts bool) error {
	var hosts [][]*inventory.Host
	var err error
	if r.Inventory != nil {
		hosts, err = r.Select()
		_, unknown := r.Delegates()
		err = errors.Join(err, r.CheckReach(slices.Concat(hosts...)), unknown)
	}
	values, valuesErr := r.inventoryValues(hosts)
	compiling := r.compiling(nil)
	compilers, compilersErr := r.compilers(ctx, compiling, values)
	defer closeCompilers(compilers)
	parts, others, partsErr := r.rolloutParts(ctx, compiling, values)
	defer closeCompilers(others)
	if r.Inventory != nil && err == nil {
		err = r.checkRollouts(hosts)
	}
	compilersErr = errors.Join(compilersErr, partsErr)
	if err == nil && compilersErr == nil {
		err = r.checkVariables(compilers, hosts)
	}
	if err := together(broken, err, valuesErr, compilersErr, r.checkImports(hosts)); err != nil || !facts && r.Inventory == nil {
		return err
	}
	var errs []error
	for i, c := range compilers {
		r.askOthers(ctx, &selection{play: r.Plays[i], compiler: c, values: values[i]}, nil)
		paths, all := c.Facts()
		if !facts && (all || len(paths) > 0 || len(values[i].others) > 0) {
			r.warn(fmt.Sprintf("play %q reads facts, so it was not made ready for hosts; give some with --facts FILE", r.Plays[i].Name))
			continue
		}
		if hosts == nil {
			_, err := c.Compile(ctx, catalog.Host{})
			errs = append(errs, err)
			continue
		}
		errs = append(errs, compileAll(ctx, c, hosts[i]))
		for _, part := range parts[i].compilers() {
			if paths, all := part.Facts(); facts || !all && len(paths) == 0 {
				errs = append(errs, compileAll(ctx, part, hosts[i]))
			}
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// together sorts errors by where they stand.
func together(all ...error) error {
	var errs yamlpos.Errors
	for _, err := range all {
		errs.Add(err)
	}
	return manifest.Distinct(errs)
}

// compileAll compiles a play for hosts and gives each error once, with the
// hosts that it is about unless that is all of them.
func compileAll(ctx context.Context, c *catalog.Compiler, hosts []*inventory.Host) error {
	var found byHosts
	for _, h := range hosts {
		_, err := compile(ctx, c, h, nil)
		found.add(h, err)
	}
	return found.err(len(hosts))
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
	text := " (on " + pattern
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ")"
}
