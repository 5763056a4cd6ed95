package ral

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// find selects the provider: the suitable one among the play's matching providers; if the play has none, among the
// host's.
func (r *Ral) find(ctx context.Context, h modules.Host) (*provider, error) {
	v := &survey{r: r, h: h}
	if err := v.ofPlay(ctx); err != nil {
		return nil, err
	}
	matching := v.matching()
	if len(matching) == 0 {
		v.ofHost(ctx)
		matching = v.matching()
	}
	if len(matching) == 0 {
		return nil, modules.Refuse("no %s%s", r.asked(), v.known())
	}
	p, err := r.suitable(h.Files, matching)
	if err != nil {
		return nil, err
	}
	p.limit, err = r.limit()
	return p, err
}

// matching returns the providers that match the resource: those with the requested name, or else those with the type.
func (v *survey) matching() []*provider {
	var list, called []*provider
	for _, p := range v.all {
		if !v.r.matches(p.metadata) {
			continue
		}
		list = append(list, p)
		if v.r.Provider == p.Name || v.r.Provider == p.full() {
			called = append(called, p)
		}
	}
	if len(called) > 0 {
		return called
	}
	return list
}

// known lists, for an error, the found and the ignored providers.
func (v *survey) known() string {
	var names []string
	ignored := v.ignored
	if v.r.Play != nil {
		names = append(names, v.r.Play.Others...)
		ignored = append(slices.Clone(v.r.Play.Lost), ignored...)
	}
	for _, p := range v.all {
		names = append(names, p.where())
	}
	text := ""
	if len(names) > 0 {
		text = "; known: " + strings.Join(names, ", ")
	}
	if len(ignored) > 0 {
		text += "; ignored: " + strings.Join(ignored, "; ")
	}
	return text
}

// where returns the name of a provider and its file.
func (p *provider) where() string { return fmt.Sprintf("%s (%s)", p.full(), p.source) }

// suitable returns the only provider whose requirements the host fulfils.
func (r *Ral) suitable(files modules.FileReader, from []*provider) (*provider, error) {
	var fit []*provider
	var reasons []string
	for _, p := range from {
		if reason := p.unsuitable(files); reason != "" {
			reasons = append(reasons, p.where()+" "+reason)
			continue
		}
		fit = append(fit, p)
	}
	switch len(fit) {
	case 0:
		return nil, modules.Refuse("no %s is suitable for this host: %s", r.asked(), strings.Join(reasons, "; "))
	case 1:
		return fit[0], nil
	}
	var names []string
	for _, p := range fit {
		names = append(names, p.where())
	}
	return nil, modules.Refuse("more than one %s is suitable for this host: %s; write provider: %s", r.asked(), strings.Join(names, ", "), fit[0].full())
}

// unsuitable returns why a provider cannot be used on this host; "" if it can.
func (p *provider) unsuitable(files modules.FileReader) string {
	if p.Suitable.Never {
		return "is marked as unsuitable"
	}
	for _, c := range p.Suitable.Commands {
		name, unwanted := strings.CutPrefix(c, "not ")
		switch found := process.Find(files, strings.Split(modules.DefaultPath, ":"), name) != ""; {
		case found && unwanted:
			return fmt.Sprintf("is for hosts without the command %q", name)
		case !found && !unwanted:
			return fmt.Sprintf("needs the command %q", name)
		}
	}
	return ""
}
