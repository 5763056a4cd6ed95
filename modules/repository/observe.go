package repository

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// Subject implements [modules.Reverser].
func (r *Repository) Subject() string { return "repository " + r.Name }

// Reversal implements [modules.Reverser]: the current files, and the key.
func (r *Repository) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	d, err := r.on(h)
	if err != nil {
		return nil, err
	}
	earlier, again := &Restore{}, false
	if before, ok := kept.(*Repository); ok && before.Restore != nil {
		earlier, again = before.Restore, true
	}
	files := d.files()
	at, key := d.at()
	back, still := *earlier, again
	for i, of := range []struct {
		earlier *edit.Restore
		back    **edit.Restore
	}{{earlier.Pin, &back.Pin}, {earlier.Definition, &back.Definition}}[2-len(files):] {
		file, err := files[i].Reversal(h, of.earlier)
		if err != nil {
			return nil, err
		}
		if file != nil {
			*of.back, still = file["restore"].(*edit.Restore), false
		}
	}
	if back.Key == nil && (r.hasKey() || r.Ensure == absent || r.Restore != nil && r.Restore.Key != nil) {
		text, err := readKey(h, key)
		back.Key, still = &KeyBefore{Text: string(text)}, false
		switch {
		case modules.NotThere(err):
			back.Key = &KeyBefore{Gone: true}
		case err != nil:
			return nil, modules.PermissionRefusal(err)
		case len(text) > modules.MaxKept:
			return nil, modules.Refuse("%s is larger than the %d KiB that are kept", key, modules.MaxKept>>10)
		}
	}
	if still {
		return nil, nil
	}
	return map[string]any{"provider": d.provider, "path": at, "restore": &back}, nil
}

// Watch implements [modules.Watcher].
func (r *Repository) Watch(_ context.Context, h modules.Host) (from modules.Sources, err error) {
	d, err := r.on(h)
	if err != nil {
		r.managers.AddPrograms(&from)
		return from, nil // Check reports the error
	}
	for _, f := range d.files() {
		from.Paths = append(from.Paths, f.Path)
	}
	_, key := d.at()
	from.Paths = append(from.Paths, key)
	return from, nil
}

type state struct {
	Name     string            `json:"name"`
	Path     string            `json:"path"`
	Provider string            `json:"provider"`
	Settings map[string]string `json:"settings,omitempty"`
	Key      string            `json:"key,omitempty"`
}

// Describe implements [modules.Describer].
func (r *Repository) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	d := modules.Description{Ensure: absent}
	var err error
	if d.Provider, err = r.managers.By(h, r.Provider); err != nil {
		return d, err
	}
	of := definition{r, d.Provider}
	at, key := of.at()
	is := state{Name: r.Name, Path: at, Provider: d.Provider}
	text, _, err := (&edit.File{Path: at}).Read(h.Files)
	if err != nil {
		return d, err
	}
	if have, _ := of.found(edit.Parse(text)); have != nil {
		d.Ensure, is.Settings = present, map[string]string{}
		for _, s := range have {
			is.Settings[s.name] = s.value
		}
	}
	if digest, err := h.Files.Digest(key); err == nil {
		is.Key = "sha256:" + digest
	}
	d.State = is
	return d, nil
}
