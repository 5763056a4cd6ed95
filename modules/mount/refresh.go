package mount

import (
	"context"
	"io"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/fstab"
)

// Refresh implements [modules.Refresher]: a mounted file system is remounted with its options. A resource that is an event
// and has no options uses the options in fstab, as mount(8) does.
func (m *Mount) Refresh(_ context.Context, h modules.Host, p modules.Plan) (modules.Plan, error) {
	do, _ := p.Steps.(steps)
	if m.Ensure != mounted || do.do != nothing {
		return p, nil
	}
	is, err := m.now(h)
	if err == nil {
		err = m.plain(h.Files, is)
	}
	if err != nil || !is.there {
		return p, err
	}
	want := *m
	if m.RefreshOnly && len(m.Options) == 0 {
		if want.Options, err = optionsInFstab(h.Files, m); err != nil {
			return p, err
		}
	}
	if err := needsRoot(); err != nil {
		return p, err
	}
	d := draft{Mount: &want, host: h, is: is, plan: p, steps: do}
	d.steps.do, d.steps.options = remountIt, d.remountOptions(nil, nil)
	if p.Action != "" {
		d.actions = []string{p.Action}
	}
	d.actions = append(d.actions, "remounted it via subscribe")
	d.will(is)
	d.plan.Action, d.plan.Steps, d.plan.MayFail, d.plan.Refreshed = strings.Join(d.actions, " and "), d.steps, true, true
	return d.plan, nil
}

// optionsInFstab returns the options of the line of a mount in fstab; none if it has no line.
func optionsInFstab(files modules.FileReader, m *Mount) ([]string, error) {
	file, err := files.Open(fstab.Path)
	if modules.NotThere(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer file.Close()
	const most, options = 1 << 20, 3
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := fstab.Fields(strings.TrimSuffix(line, "\n")); len(fields) > options && m.is(fields) {
			return strings.Split(fields[options], ","), nil
		}
	}
	return nil, nil
}
