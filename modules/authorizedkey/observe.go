package authorizedkey

import (
	"context"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/publickey"
)

// Subject implements [modules.Reverser]: the key as a part of the keys of the user.
func (k *AuthorizedKey) Subject() string {
	key, err := publickey.Parse(k.Key)
	if err != nil { // Validate has seen it
		return "authorized_keys " + k.User + "\n" + k.Name
	}
	return "authorized_keys " + k.User + "\n" + key.Fingerprint()
}

// Reversal implements [modules.Reverser].
func (k *AuthorizedKey) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	var earlier *edit.Restore
	made := false
	if before, ok := kept.(*AuthorizedKey); ok {
		earlier, made = before.Restore, before.MadeDir
	}
	user, err := k.user(ctx, h)
	if err != nil {
		return nil, err
	}
	f := k.edited(user)
	back, err := f.Reversal(h, earlier)
	if back != nil {
		back["user"], back["key"] = k.User, k.Key
		if _, err := h.Files.Stat(path.Dir(f.Path)); made || k.Path == "" && modules.NotThere(err) {
			back["made_dir"] = true
		}
	}
	return back, err
}

// Watch implements [modules.Watcher].
func (k *AuthorizedKey) Watch(ctx context.Context, h modules.Host) (modules.Sources, error) {
	user, err := k.user(ctx, h)
	if err != nil {
		return modules.Sources{Paths: []string{"/etc/passwd"}}, nil
	}
	return modules.Sources{Paths: []string{k.edited(user).Path, "/etc/passwd"}}, nil
}

type state struct {
	Name        string `json:"name"`
	User        string `json:"user"`
	Path        string `json:"path,omitempty"`
	Fingerprint string `json:"fingerprint"`
	Options     string `json:"options,omitempty"`
}

// Describe implements [modules.Describer].
func (k *AuthorizedKey) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent, Provider: "openssh"}
	want, err := publickey.Parse(k.Key)
	if err != nil {
		return d, err
	}
	is := state{Name: k.Name, User: k.User, Fingerprint: want.Fingerprint()}
	user, err := k.user(ctx, h)
	if err != nil {
		d.State = is
		return d, nil
	}
	f := k.edited(user)
	is.Path = f.Path
	text, _, err := f.Read(h.Files)
	if err != nil {
		return d, err
	}
	for _, key := range publickey.InFile(text) {
		if key.Blob == want.Blob {
			d.Ensure, is.Options = present, strings.TrimSpace(key.Options())
		}
	}
	d.State = is
	return d, nil
}
