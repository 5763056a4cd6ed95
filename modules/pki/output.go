package pki

import (
	"bytes"
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
)

// An Output is a file whose content is made on the host, so that it cannot be predicted.
type Output struct {
	Path               string
	Owner, Group, Mode string // empty means unchanged
	Absent             bool   // the file must not exist
	// Was, if set, is put in its place: it undoes another resource.
	Was      *file.File
	Informed modules.Circumstances
}

// steps are the steps of Apply.
type steps struct {
	seen string // SHA-256 of the replaced content; empty if nothing is replaced
	want modules.Attributes
}

// file is the desired file as far as it is known.
func (o *Output) file() *file.File {
	f := &file.File{Ensure: "present", Owner: o.Owner, Group: o.Group, Mode: o.Mode}
	switch {
	case o.Was != nil:
		f = o.Was
	case o.Absent:
		f = &file.File{Ensure: "absent"}
	}
	f.Name = o.Path
	f.Inform(o.Informed)
	return f
}

// Settled reports whether no content is made, since the resource removes or restores the file.
func (o *Output) Settled() bool { return o.Was != nil || o.Absent }

// CheckSettled is the Check of such a resource.
func (o *Output) CheckSettled(ctx context.Context, h modules.Host) (modules.Plan, error) {
	return o.file().Check(ctx, h)
}

// Check is the Check of the file. If changes is empty, its content is right; otherwise it is made again: then action
// describes the change, and effect predicts the new content.
func (o *Output) Check(ctx context.Context, h modules.Host, at Found, action string, changes []modules.Change, effect modules.Effect) (modules.Plan, error) {
	have := modules.NewAttributes(0o600, true)
	if at.Kind != modules.Absent {
		have = modules.Attributes{Mode: at.Mode, UID: at.UID, GID: at.GID}
	}
	want, err := have.Given(ctx, h.Accounts, o.Owner, o.Group, o.Mode)
	if err != nil {
		return modules.Plan{}, err
	}
	if at.Kind != modules.Absent && at.Predicted == nil && len(changes) == 0 {
		return o.file().Check(ctx, h)
	}
	differ := func(property, given string, same bool, have, want string) {
		if given != "" && !same && at.Kind != modules.Absent {
			changes = append(changes, modules.Change{Property: property, Have: have, Want: want})
		}
	}
	made := len(changes) > 0
	differ("owner", o.Owner, have.UID == want.UID, h.Accounts.UserName(ctx, have.UID), h.Accounts.UserName(ctx, want.UID))
	differ("group", o.Group, have.GID == want.GID, h.Accounts.GroupName(ctx, have.GID), h.Accounts.GroupName(ctx, want.GID))
	differ("mode", o.Mode, have.Mode == want.Mode, modules.FormatMode(have.Mode), modules.FormatMode(want.Mode))
	if len(changes) == 0 {
		return modules.Plan{}, nil
	}
	after := modules.FileInfo{Kind: modules.Regular, Mode: want.Mode, UID: want.UID, GID: want.GID, Links: 1}
	plan := modules.Plan{
		Action: action, Changes: changes,
		Effects: []modules.Effect{{Kind: modules.PathEffect, Key: o.Path, State: modules.PathState{FileInfo: after, Partial: true}}, effect},
	}
	if !made { // the file is only predicted, so this is never applied
		plan.Action = "updated attributes"
		return modules.PlanIfPermitted(plan, h.Files.MaySetAttributes(o.Path, want))
	}
	do := steps{want: want}
	if at.Kind == modules.Absent {
		if err := modules.InDirectory(h.Files, o.Path); err != nil {
			return modules.Plan{}, err
		}
	} else if at.Predicted == nil {
		is, err := h.Files.Stat(o.Path)
		switch {
		case err != nil:
			return modules.Plan{}, modules.PermissionRefusal(err)
		case is.Kind == modules.Symlink:
			return modules.Plan{}, modules.Refuse("the path %s is a symlink, and ccm-push does not write through a symlink (write the path of the target)", o.Path)
		}
		do.seen = modules.BytesContent(at.Text).SHA256()
	}
	plan.Steps = do
	return modules.PlanIfPermitted(plan, h.Files.MayReplace(o.Path), h.Files.MayCreate(want))
}

// Apply is the Apply of the file. content makes the desired content.
func (o *Output) Apply(ctx context.Context, h modules.Host, p modules.Plan, content func() ([]byte, error)) error {
	do, own := p.Steps.(steps)
	if !own {
		return o.file().Apply(ctx, h, p)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := content()
	if err != nil {
		return err
	}
	digest, err := h.Files.Digest(o.Path)
	switch {
	case err != nil && !modules.NotThere(err):
		return err
	case digest != do.seen:
		return modules.Refuse("%s was changed by another program during this run; run again", o.Path)
	}
	return h.Files.Write(ctx, o.Path, bytes.NewReader(text), do.want)
}

// Reversal returns the property Was of a resource that restores the current file; kept is that property of the stored
// resource, or nil. It returns nil if kept still restores the file.
func (o *Output) Reversal(ctx context.Context, h modules.Host, kept *file.File) (map[string]any, error) {
	f := o.file()
	if f.Ensure == "present" && f.Content.IsZero() { // restores the whole content
		f.Content = modules.TextContent("")
	}
	var earlier modules.Resource
	if kept != nil {
		earlier = kept
	}
	was, err := f.Reversal(ctx, h, earlier)
	if err != nil || was == nil {
		return nil, err
	}
	was["name"] = o.Path
	return map[string]any{"was": was}, nil
}

// Watch is the Watch of the file.
func (o *Output) Watch(ctx context.Context, h modules.Host) (modules.Sources, error) {
	return o.file().Watch(ctx, h)
}
