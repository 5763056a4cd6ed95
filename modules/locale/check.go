package locale

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// kind is the kind of effect whose key is the spelling of a locale and whose state is whether it exists. Each locale
// has a kind of its own, so that the answer of a probe about one is certain while a change of another one is pending.
func (l *Locale) kind() modules.EffectKind { return modules.EffectKind("locale " + spelling(l.Name)) }

// timeout is how long it may take to generate a locale.
const timeout = 5 * time.Minute

// localeArchive is the file that localedef keeps locales in.
const localeArchive = "/usr/lib/locale/locale-archive"

// archiveKind is the kind of the effects of this type on the archive, which stays an archive.
const archiveKind modules.EffectKind = "locale archive"

// steps are the steps of Apply.
type steps struct {
	files    any // the steps of the edits
	generate bool
}

// Check implements [modules.Resource].
func (l *Locale) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	there, err := l.there(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	by, err := l.how(h)
	if err != nil {
		return modules.Plan{}, err
	}
	if err := l.possible(there, by); err != nil {
		return modules.Plan{}, err
	}
	files, err := l.files(h.Files, by)
	if err != nil {
		return modules.Plan{}, err
	}
	plan, err := files.Check(ctx, h)
	if err != nil {
		return modules.Plan{}, err
	}
	h.Warn(func(h modules.Host) string { return l.overridden(h.Files, by) })
	do := steps{files: plan.Steps}
	if want := l.Ensure != absent; there != want {
		do.generate = true
		plan.MayFail = !isArchive(h.Files.Knowing(archiveKind), localeArchive)
		plan.Changes = append([]modules.Change{{Property: "ensure", Have: ensured(there), Want: ensured(want)}}, plan.Changes...)
		plan.Effects = append(plan.Effects, modules.Effect{Kind: l.kind(), Key: spelling(l.Name), State: want})
		plan.Effects = append(plan.Effects, modules.Differ(archiveKind, localeArchive)...)
		if !modules.HasRootRights(h.Files, archive) {
			return modules.Plan{}, modules.Refuse(`only root may generate locales; use "become"`)
		}
	}
	switch {
	case do.generate && l.Ensure == absent:
		plan.Action = "removed the locale"
	case do.generate:
		plan.Action = "generated the locale"
	case do.files != nil:
		plan.Action = "set it up"
	default:
		return modules.Plan{}, nil
	}
	plan.Steps = do
	return plan, nil
}

// isArchive reports whether localedef can change the archive: it is missing, or begins with the number that localedef of
// either byte order writes. localedef does not repair another file, such as an empty one.
func isArchive(files modules.FileReader, name string) bool {
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	const number = 0xde020109
	return err == nil && (binary.LittleEndian.Uint32(magic[:]) == number || binary.BigEndian.Uint32(magic[:]) == number)
}

// overridden returns a warning if LC_ALL overrides LANG (locale(7)): in the same file, or in the one that logins read with it
// (pam_env(8)).
func (l *Locale) overridden(files modules.FileReader, by generates) string {
	if !l.Default || l.Restore != nil {
		return ""
	}
	own := commonFile
	if by.debian {
		own = defaultFile
	}
	for _, file := range []string{own, "/etc/environment"} {
		for _, line := range edit.Lines(files, file) {
			name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
			if value = strings.Trim(strings.TrimSpace(value), `"'`); name == "LC_ALL" && value != "" && spelling(value) != spelling(l.Name) {
				return fmt.Sprintf("%s sets LC_ALL to %s, which overrides the default locale; remove it there", file, value)
			}
		}
	}
	return ""
}

func ensured(there bool) string {
	if there {
		return present
	}
	return absent
}

// possible returns an error if the host cannot add the locale, or cannot remove it.
func (l *Locale) possible(there bool, by generates) error {
	switch want := l.Ensure != absent; {
	case !want && l.inside():
		return modules.Refuse("the C library always has %s", l.Name)
	case want && by.yes && by.charset == "" && !l.inside():
		return modules.Refuse("this host cannot generate %s: %s has no such locale", l.Name, supported)
	case there == want || by.yes:
		return nil
	case want:
		language, _, _ := strings.Cut(l.Name, "_")
		return modules.Refuse("this host has no locale %s, and no program locale-gen; install the package of the locale: locales on Debian, glibc-langpack-%s on Fedora", l.Name, language)
	}
	return modules.Refuse("this host has no locale-gen, so %s belongs to a package; remove the package", l.Name)
}

// there reports whether the host has the locale, in a check run whether it will have it.
func (l *Locale) there(ctx context.Context, h modules.Host) (bool, error) {
	if state, predicted := h.Forecast.Lookup(l.kind(), spelling(l.Name)); predicted {
		return state.(bool), nil
	}
	if !modules.HasProgram(h.Files, modules.DefaultPath, "locale") {
		h.Forecast.Lookup(modules.AnyEffect, "") // a package may bring it along
		return l.inside(), nil
	}
	exit, err := h.Commands.Probe(ctx, modules.Command{Argv: []string{"locale", "-a"}, Reads: l.kind(), Timeout: time.Minute})
	if err != nil {
		return false, err
	}
	for name := range strings.Lines(exit.Stdout.Text) {
		if spelling(strings.TrimSpace(name)) == spelling(l.Name) {
			return true, nil
		}
	}
	return false, nil
}

// how finds out how the host generates its locales.
func (l *Locale) how(h modules.Host) (generates, error) {
	by := generates{yes: modules.HasProgram(h.Files, modules.DefaultPath, "locale-gen"), debian: modules.HasProgram(h.Files, modules.DefaultPath, "dpkg")}
	if !by.yes {
		return by, nil
	}
	file, err := h.Files.Open(supported)
	switch {
	case modules.NotThere(err): // Alpine and Arch have none
		_, by.charset, _ = strings.Cut(l.Name, ".")
		by.charset, _, _ = strings.Cut(by.charset, "@")
		return by, nil
	case err != nil:
		return by, modules.PermissionRefusal(err)
	}
	defer file.Close()
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return by, err
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 2 && spelling(words[0]) == spelling(l.Name) {
			by.charset = words[1]
			return by, nil
		}
	}
	return by, nil
}

// Apply implements [modules.Resource]. The files are written last: locale-gen never finds a locale that
// localedef has refused.
func (l *Locale) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	do, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of a locale")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var generate func() error
	if do.generate {
		generate = func() error { return l.generate(ctx, h) }
	}
	by, err := l.how(h)
	if err != nil {
		return err
	}
	files, err := l.files(h.Files, by)
	if err != nil {
		return err
	}
	return files.ApplyAfter(ctx, h, do.files, generate)
}

// generate adds or removes the one locale with localedef(1), as locale-gen does for all that are listed. localedef
// warns with exit status 1; the following check finds out whether the locale exists.
func (l *Locale) generate(ctx context.Context, h modules.Host) error {
	by, err := l.how(h)
	if err != nil {
		return err
	}
	argv := []string{"localedef", "--delete-from-archive", spelling(l.Name)}
	language, set, whole := strings.Cut(l.Name, ".")
	if !whole { // the locale also exists under its full name
		language, variant, _ := strings.Cut(l.Name, "@")
		argv = append(argv, spelling(strings.TrimSuffix(language+"."+by.charset+"@"+variant, "@")))
	}
	if l.Ensure != absent {
		if _, variant, has := strings.Cut(set, "@"); has {
			language += "@" + variant
		}
		argv = []string{"localedef", "-i", language, "-c", "-f", by.charset, "-A", "/usr/share/locale/locale.alias", l.Name}
	}
	exit, err := h.Commands.Run(ctx, modules.Command{Argv: argv, Timeout: timeout})
	switch {
	case err != nil:
		return err
	case exit.Code > 0:
		h.Report.Output(exit)
	}
	if exit.Code > 1 {
		said, _, _ := strings.Cut(strings.TrimSpace(exit.Stderr.Text), "\n")
		return modules.Refuse("localedef ended with exit code %d: %s", exit.Code, said)
	}
	return nil
}
