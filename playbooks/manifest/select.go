package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A Selection selects the part of the plays for a run. The zero Selection selects everything except resources tagged
// never.
type Selection struct {
	Tags    []string // only resources with one of these, or tagged always
	Skip    []string // and with none of these
	StartAt string   // and only from this one on, type#name or type#alias

	notifies bool // some resource has notify
}

// Tags with a built-in meaning, the same as in Ansible.
const (
	tagAlways   = "always"   // selected unless it is skipped
	tagNever    = "never"    // selected only if one of its tags is requested
	tagAll      = "all"      // every resource
	tagTagged   = "tagged"   // every resource with a tag
	tagUntagged = "untagged" // every resource without one
)

// all reports whether everything is selected except resources tagged never.
func (s *Selection) all() bool {
	return s == nil || len(s.Tags)+len(s.Skip) == 0 && s.StartAt == ""
}

// Select marks everything that is not selected, and returns the plays with a selected part. Unknown tags and an unknown
// start are errors.
func (s Selection) Select(plays []*Play) ([]*Play, error) {
	if err := s.check(plays); err != nil {
		return nil, err
	}
	start, before, err := s.start(plays)
	if err != nil {
		return nil, err
	}
	for _, p := range plays {
		Walk(p.Resources, func(r *Resource, _ int) { s.notifies = s.notifies || r.Notify != nil })
	}
	count := map[[2]string]int{}
	for _, p := range plays {
		key := [2]string{p.File, p.Name}
		p.Nth = count[key]
		count[key]++
	}
	var selected []*Play
	for i, p := range plays[start:] {
		if i == 0 {
			markBeforeStart(before, s.notifies)
		}
		p.selection = &s
		// A document may have no resources, if copies in it have a count of none.
		whole := s.all() && (p.RememberedAs != nil || p.Configuration != nil)
		if s.mark(p, p.Resources) || p.JetFile != nil || whole {
			selected = append(selected, p)
		}
	}
	if len(selected) == 0 && len(plays) > 0 {
		return nil, fmt.Errorf("nothing is selected: --tags and --skip-tags leave no resource")
	}
	return selected, nil
}

// markBeforeStart marks resources, listed as [flatten] does, that are before the start. Resources that they
// apply and that are known only per host are marked later, by [Play.mark].
func markBeforeStart(resources []*Resource, notifies bool) {
	for _, r := range resources {
		r.Unselected, r.BeforeStart = true, true
		if r.Child != nil {
			r.Child.beforeStart = true
		}
		if r.mayRefresh(notifies) {
			r.Refresh = wire.RefreshLater
		}
	}
}

// mark marks the unselected resources of a play that is known only per host.
func (p *Play) mark(resources []*Resource) {
	if p.beforeStart {
		order, _ := flatten(resources)
		markBeforeStart(order, p.selection == nil || p.selection.notifies)
		return
	}
	p.selection.mark(p, resources)
}

// written reports whether the manifest has exactly this name or alias for the resource.
func (r *Resource) written(name string) bool {
	return r.Name.Node.Text == name || r.Alias != nil && r.Alias.Node.Text == name
}

// mark marks the resources of a play that are not selected by their tags. A resource that applies a manifest passes its
// tags to the resources in it, and stays selected if any of them is. mark reports whether any resource is selected.
func (s *Selection) mark(p *Play, resources []*Resource) (some bool) {
	for _, r := range resources {
		if r.Unselected { // before the start, and so are the resources that it applies
			continue
		}
		tags := append(slices.Clone(p.Tags), r.Tags...)
		if !s.has(tags) {
			r.Unselected = true
		}
		if r.Child != nil {
			r.Child.AppliedBy(p, r)
		}
		if r.Unselected && r.selectedWithin(s) {
			r.Unselected, r.OnlyWithin = false, true
		}
		if r.Unselected && r.mayRefresh(s.notifies) {
			r.Refresh = s.refresh(tags)
		}
		some = some || !r.Unselected
	}
	return some
}

// selectedWithin reports whether any resource in what r applies is selected, or may be.
func (r *Resource) selectedWithin(s *Selection) bool {
	if r.Unknown() {
		return s != nil && len(s.Tags) > 0
	}
	return r.Child != nil && slices.ContainsFunc(r.Child.Resources, func(one *Resource) bool { return !one.Unselected })
}

// refresh returns how a refresh of an unselected resource with these tags is handled. As with Ansible's handlers,
// --tags does not keep it from running, and --skip-tags does. A resource tagged never belongs only to runs that request
// it.
func (s *Selection) refresh(tags []string) wire.Unselected {
	switch {
	case slices.Contains(tags, tagNever) && !slices.ContainsFunc(s.Skip, func(tag string) bool { return slices.Contains(tags, tag) }):
		return ""
	case (&Selection{Skip: s.Skip}).has(tags):
		return wire.RefreshNow
	}
	return wire.RefreshLater
}

// has reports whether a resource with these tags, including its play's, is selected.
func (s *Selection) has(tags []string) bool {
	if s == nil {
		return true
	}
	if len(tags) == 0 {
		tags = []string{tagUntagged}
	}
	is := func(tag string) bool { return slices.Contains(tags, tag) }
	listed := func(list []string) bool { return slices.ContainsFunc(list, is) }
	asked := func(list []string, tag string) bool { return slices.Contains(list, tag) }
	only := s.Tags
	if len(only) == 0 {
		only = []string{tagAll}
	}
	selected := is(tagAlways) || listed(only) ||
		!is(tagNever) && (asked(only, tagAll) || asked(only, tagTagged) && !is(tagUntagged))
	skipped := listed(s.Skip) || asked(s.Skip, tagTagged) && !is(tagUntagged) ||
		asked(s.Skip, tagAll) && !is(tagAlways)
	return selected && !skipped
}

// check reports tags that nothing has: a word mistyped would select or skip
// nothing.
func (s *Selection) check(plays []*Play) error {
	var known []string
	anything := false // some resources have tags that are known only per host
	for _, p := range plays {
		anything = anything || p.JetFile != nil
		known = append(known, p.Tags...)
		Walk(p.Resources, func(r *Resource, _ int) {
			anything = anything || r.Unknown()
			known = append(known, r.Tags...)
		})
	}
	if anything {
		return nil
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, flag := range []struct {
		name string
		tags []string
	}{{"--tags", s.Tags}, {"--skip-tags", s.Skip}} {
		for _, tag := range flag.tags {
			if slices.Contains([]string{tagAlways, tagNever, tagAll, tagTagged, tagUntagged}, tag) || slices.Contains(known, tag) {
				continue
			}
			return fmt.Errorf("%s %q: no play or resource has this tag; %s", flag.name, tag, knownTags(tag, known))
		}
	}
	return nil
}

func knownTags(tag string, known []string) string {
	switch meant := yamlpos.Suggest(tag, known); {
	case meant != "":
		return fmt.Sprintf("did you mean %q?", meant)
	case len(known) == 0:
		return "no tags exist"
	}
	return "the tags are " + strings.Join(known, ", ")
}

// start finds the resource to start at, and the resources of its play before it.
func (s *Selection) start(plays []*Play) (play int, before []*Resource, err error) {
	if s.StartAt == "" {
		return 0, nil, nil
	}
	typeName, name, ok := strings.Cut(s.StartAt, "#")
	if !ok || typeName == "" || name == "" {
		return 0, nil, fmt.Errorf("--start-at %q: write TYPE#NAME, such as file#/etc/motd", s.StartAt)
	}
	var all []*Resource
	var never error // set if no resource of that name would run
	hint := "--list-resources shows their names"
	for i, p := range plays {
		order, within := flatten(p.Resources)
		for j, r := range order {
			if r.Type.Name != typeName || !r.written(name) {
				continue
			}
			block := rescuer(order, within, j)
			if block == nil {
				return i, order[:j-within[j]], nil
			}
			never = cmp.Or[error](never, s.onlyRescues(r, block))
		}
		all = append(all, p.Resources...)
		if p.JetFile != nil {
			hint = "--start-at cannot name a resource that a template writes"
		}
	}
	if never != nil {
		return 0, nil, never
	}
	if meant := NewIndex(all, nil, false).Suggest(typeName, name); meant != "" {
		hint = meant
	}
	return 0, nil, fmt.Errorf("--start-at %q: no resource is called that; %s", s.StartAt, hint)
}

// rescuer returns the outermost block whose rescue contains resource j of a flat list; nil means none.
func rescuer(order []*Resource, within []int, j int) (block *Resource) {
	for k := j; k < len(order); k++ {
		if around := k-within[k] <= j; around && order[k].Part() == "rescue" {
			block = order[k].In
		}
	}
	return block
}

// onlyRescues returns the error for a start in a rescue: the resources that could fail are before it.
func (s *Selection) onlyRescues(r, block *Resource) error {
	return r.Name.Node.Errorf(fmt.Sprintf("start at the block: --start-at '%s'", block.Ref()),
		"--start-at %q: this resource is in the rescue of %s, so it runs only if the block fails", s.StartAt, block.Ref())
}
