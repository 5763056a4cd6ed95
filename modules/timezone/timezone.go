package timezone

import (
	"cmp"
	"context"
	"errors"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/link"
)

// A Timezone is the time zone of the host: the target of /etc/localtime (localtime(5)). If /etc/timezone exists, as on
// Debian, it contains the zone too. Neither needs a program.
type Timezone struct {
	Name string `json:"name" required:"true" doc:"the zone, such as Europe/Vienna or UTC; something else if zone has it"`
	Zone string `json:"zone,omitempty" text:"argument" doc:"the zone, where the resource is called otherwise; default: name"`
	// Restore is set if the resource undoes another one.
	Restore map[string]*edit.Restore `json:"restore,omitzero" wire:"only"`
	// Target, for a reversal, is the old target of the link; empty means that the link is removed.
	Target string `json:"target,omitempty" wire:"only"`
}

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "timezone",
		Doc: "Keeps the time zone of the host. Programs that run keep the zone that they have begun with, " +
			"so services that print times subscribe to it.",
		New: func() modules.Resource { return new(Timezone) },
	}
}

// Requires implements [modules.Requirer].
func (z *Timezone) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// zoneShape matches names in the database of time zones.
var zoneShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$`) })

// Validate implements [modules.Resource].
func (z *Timezone) Validate() error {
	property := "name"
	if z.Zone != "" {
		property = "zone"
	}
	if is := z.zone(); is != "" && !zoneShape().MatchString(is) {
		return &modules.PropertyError{Path: property, Msg: "this is not a time zone", Hint: "write a name such as Europe/Vienna or UTC; timedatectl list-timezones lists them"}
	}
	return nil
}

func (z *Timezone) zone() string { return cmp.Or(z.Zone, z.Name) }

const (
	database = "/usr/share/zoneinfo"
	absent   = "absent"
)

// named is the file in which Debian has the name.
func (z *Timezone) named() edit.Files {
	return edit.Files{{Path: "/etc/timezone", Edit: z.edit, Optional: true}}.Restoring(z.Restore)
}

// edit makes the text of /etc/timezone.
func (z *Timezone) edit(t *edit.Text) (edit.Done, error) {
	have := strings.TrimSpace(t.String())
	if have == z.zone() {
		return edit.Done{}, nil
	}
	t.Replace(0, len(t.Lines), z.zone())
	return edit.Done{Action: "set the time zone", Changes: []modules.Change{{Property: "timezone file", Have: edit.Shown(have), Want: z.zone()}}}, nil
}

// localtime is the link, with its desired target.
func (z *Timezone) localtime() *link.Link {
	target := ".." + database + "/" + z.zone() // as timedatectl writes it
	if z.Restore != nil {
		target = z.Target
	}
	l := &link.Link{Name: "/etc/localtime", Ensure: "present", Target: target, Force: true}
	if target == "" {
		l.Ensure, l.Force = absent, false
	}
	return l
}

// steps are the steps of Apply.
type steps struct {
	named any // the steps of the edit
	link  *modules.Plan
}

// Check implements [modules.Resource].
func (z *Timezone) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	plan, err := z.named().Check(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	do := steps{named: plan.Steps}
	target, at, err := z.leads(h.Files)
	if err != nil {
		return modules.Plan{}, err
	}
	if z.Restore != nil && target != z.Target || z.Restore == nil && zoneOf(target) != z.zone() {
		if err := z.known(h); err != nil {
			return modules.Plan{}, err
		}
		led, err := z.localtime().Check(ctx, h)
		if err != nil {
			return modules.Plan{}, err
		}
		do.link = &led
		led.Changes = []modules.Change{{Property: "timezone", Have: shown(target, at), Want: z.wanted()}}
		led.Add(plan)
		plan = led
	}
	if do == (steps{}) {
		return modules.Plan{}, nil
	}
	plan.Action, plan.Steps = "set the time zone", do
	return plan, nil
}

// leads returns the target of the link, and the info of its path. The target is "" if the path does not exist or is not
// a link.
func (z *Timezone) leads(files modules.FileReader) (string, modules.FileInfo, error) {
	at, err := files.Stat("/etc/localtime")
	switch {
	case modules.NotThere(err):
		return "", modules.FileInfo{Kind: modules.Absent}, nil
	case err != nil:
		return "", at, modules.PermissionRefusal(err)
	}
	return at.Target, at, nil
}

// zoneOf is the zone that a link leads to.
func zoneOf(target string) string {
	_, zone, _ := strings.Cut(path.Clean(target), strings.TrimPrefix(database, "/usr")+"/")
	return zone
}

// shown is the zone for people, or the current kind if the path is not a link.
func shown(target string, at modules.FileInfo) string {
	return cmp.Or(zoneOf(target), target, string(at.Kind))
}

func (z *Timezone) wanted() string {
	if z.Restore != nil {
		return cmp.Or(zoneOf(z.Target), z.Target, absent)
	}
	return z.zone()
}

// known makes sure that the database has the zone.
func (z *Timezone) known(h modules.Host) error {
	if z.Restore != nil {
		return nil // a reversal restores any earlier target
	}
	_, err := modules.Follow(h.Files, database+"/"+z.zone())
	switch {
	case modules.NotThere(err):
		return modules.Refuse("this host has no time zone %s (to list the zones: timedatectl list-timezones; the package tzdata contains them)", z.zone())
	case err != nil:
		return modules.PermissionRefusal(err)
	}
	return nil
}

// Apply implements [modules.Resource].
func (z *Timezone) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a time zone")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if do.link == nil {
		return z.named().Apply(ctx, h, do.named)
	}
	return z.named().ApplyThen(ctx, h, do.named, func() error { return z.localtime().Apply(ctx, h, *do.link) })
}
