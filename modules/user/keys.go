package user

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/publickey"
)

// The modes that sshd requires; users other than the owner need no access (sshd(8), StrictModes).
const (
	sshDirMode  fs.FileMode = 0o700
	keyFileMode fs.FileMode = 0o600
)

// maxKeyFile bounds authorized_keys, in bytes: longer output of a program is truncated.
const maxKeyFile = modules.MaxOutput

// storeTimeout bounds the script that runs as the user, whose home may be on a server.
const storeTimeout = time.Minute

// keys plans the changes of ~/.ssh/authorized_keys. The home belongs to the user, so the user may replace any file in
// it by a link between two calls. Therefore root only compares, and only files that are not links. Text to keep is read
// as the user, and all changes are written as the user, so the user gains no access.
func (d *draft) keys(ctx context.Context) error {
	if d.SSHKeys == nil {
		return nil
	}
	want, err := parseKeys(d.SSHKeys)
	if err != nil {
		return err
	}
	f := &keyFile{User: d.User, plan: d}
	if err := f.look(ctx); err != nil {
		return err
	}
	before := len(d.Changes)
	f.compare(publickey.InFile(f.text), want)
	if len(d.Changes) == before && f.present.Kind == modules.Absent {
		return nil // there is nothing to write
	}
	f.compareModes()
	if len(d.Changes) == before {
		return nil
	}
	return f.write(want)
}

func (f *keyFile) write(want []key) error {
	if err := f.plan.h.Files.MayCreate(modules.Attributes{UID: f.plan.after.UID, GID: -1, KeepMode: true}); err != nil {
		return modules.Refuse("ssh_keys: %w", err)
	}
	after := mergeKeys(f.text, want, f.SSHKeysExclusive)
	if len(after) > maxKeyFile {
		return modules.Refuse("ssh_keys: %s would have more than %d bytes", f.name, maxKeyFile)
	}
	f.predict(after)
	exclusive := f.SSHKeysExclusive || f.present.Kind == modules.Absent
	f.plan.steps = append(f.plan.steps, func(ctx context.Context, h modules.Host) error {
		return f.store(ctx, h, want, exclusive)
	})
	return nil
}

// compare notes the differences between the keys of the file and the wanted ones.
func (f *keyFile) compare(have, want []key) {
	for _, w := range want {
		lines := slices.DeleteFunc(slices.Clone(have), func(k key) bool { return k.Blob != w.Blob })
		right := slices.IndexFunc(lines, func(k key) bool { return k.Line != w.Line }) < 0
		switch {
		case len(lines) == 0:
			f.plan.differs("ssh_keys", absent, w.Fingerprint())
		case !right:
			f.plan.differs("ssh_keys", w.Fingerprint()+" with other options or another comment", w.Fingerprint())
		}
	}
	if !f.SSHKeysExclusive {
		return
	}
	for _, k := range have {
		if !slices.ContainsFunc(want, func(w key) bool { return w.Blob == k.Blob }) {
			f.plan.differs("ssh_keys", k.Fingerprint(), absent)
		}
	}
}

func (f *keyFile) compareModes() {
	compare := func(name string, info modules.FileInfo, want fs.FileMode) {
		if info.Kind != modules.Absent && info.Mode.Perm() != want {
			f.plan.differs("ssh_keys", fmt.Sprintf("%s with mode %04o", name, info.Mode.Perm()), fmt.Sprintf("%s with mode %04o", name, want))
		}
	}
	compare("~/.ssh", f.inDir, sshDirMode)
	compare("~/.ssh/authorized_keys", f.present, keyFileMode)
}

// mergeKeys puts the wanted keys into the text of an authorized_keys: in place of lines with the same key, or else at
// the end. With exclusive it removes all other lines.
func mergeKeys(text string, want []key, exclusive bool) string {
	if exclusive {
		text = ""
	}
	lines := map[string]string{}
	for _, w := range want {
		lines[w.Blob] = w.Line
	}
	t := edit.Parse(text)
	done := map[string]bool{}
	t.Keep(func(rest []edit.Line) (int, []string) {
		k, err := publickey.Parse(rest[0].Text)
		wanted, ok := lines[k.Blob]
		switch {
		case err != nil || !ok:
			return 0, nil
		case done[k.Blob]:
			return 1, nil
		}
		done[k.Blob] = true
		return 1, []string{wanted}
	}, func() (missing []string) {
		for _, w := range want {
			if !done[w.Blob] {
				missing = append(missing, w.Line)
			}
		}
		return missing
	})
	return t.String()
}

// storeScript replaces authorized_keys by its standard input. It runs as the user. It is the same text for every user,
// so it needs no quoting.
const storeScript = `umask 077 && cd && mkdir -p .ssh && chmod 700 .ssh || exit
new=.ssh/.authorized_keys.ccm-$$
trap 'rm -f "$new"' EXIT
set -C
cat >"$new" && mv -f "$new" .ssh/authorized_keys`

func (f *keyFile) store(ctx context.Context, h modules.Host, want []key, exclusive bool) error {
	text := ""
	if !exclusive {
		exit, err := h.Commands.Run(ctx, modules.Command{Argv: []string{"cat", "--", f.name}, User: f.Name, Timeout: storeTimeout})
		switch {
		case err != nil:
			return err
		case exit.Code != 0 || exit.Stdout.Dropped > 0:
			return modules.Refuse("ssh_keys: user %q cannot read %s", f.Name, f.name)
		}
		text = exit.Stdout.Text
	}
	return accounts.Run(ctx, h, modules.Command{
		Argv: []string{"/bin/sh", "-c", storeScript}, User: f.Name, Stdin: mergeKeys(text, want, exclusive),
	})
}

// predict adds the effects of writing the keys.
func (f *keyFile) predict(text string) {
	d := f.plan
	s := newSkel(d.after)
	if f.inDir.Mode&fs.ModeSetgid != 0 || f.inDir.Kind == modules.Absent && d.setgidHome() {
		s.partial = true // inherits a group
	}
	if f.inDir.Kind == modules.Absent {
		s.add(f.dir, modules.FileInfo{Kind: modules.Directory, Mode: sshDirMode}, modules.Content{})
	} else if f.inDir.Mode.Perm() != sshDirMode {
		state := f.inDir
		state.Mode = state.Mode&^fs.ModePerm | sshDirMode
		d.Effects = append(d.Effects, pathEffect(f.dir, modules.PathState{FileInfo: state}))
	}
	s.add(f.name, modules.FileInfo{Kind: modules.Regular, Mode: keyFileMode, Size: int64(len(text)), Links: 1}, modules.TextContent(text))
	d.Effects = append(d.Effects, s.effects...)
}

// setgidHome reports whether new files in the home get the home's group.
func (d *draft) setgidHome() bool {
	if d.newHome {
		return d.tools == accounts.Busybox
	}
	info, err := modules.Follow(d.h.Files, d.after.Home)
	return err != nil || info.Mode&fs.ModeSetgid != 0
}
