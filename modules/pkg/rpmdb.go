package pkg

import (
	"context"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// rpmdb is the common part of the managers that are built on rpm.
type rpmdb struct{ *access }

func (rpmdb) database() string { return "/var/lib/rpm/.rpm.lock" }

// changes implements [changer]: the files of sqlite, ndb and Berkeley DB. The files next to them also change when they
// are read, such as the log of sqlite, which is empty once a transaction has ended.
func (d rpmdb) changes() modules.Sources {
	return d.told("/var/lib/rpm/rpmdb.sqlite", "/var/lib/rpm/Packages.db", "/var/lib/rpm/Packages")
}

// release implements [changer]: the managers themselves refuse to change a locked package.
func (rpmdb) release(string) string { return "" }

// installed implements [looker].
func (d rpmdb) installed(ctx context.Context, name string) (State, error) {
	rows, exit, err := d.rows(ctx, Effect, "rpm", "-q", "--qf", rpmFormat, name)
	switch {
	case err != nil:
		return State{}, err
	case exit.Code > 1: // 1: unknown package
		return State{}, failure("rpm -q", exit, nil)
	case len(rows) == 0:
		return State{}, nil
	}
	best, err := d.best(ctx, rows)
	return State{Installed: true, Version: best.version}, err
}

// provider implements [looker].
func (d rpmdb) provider(ctx context.Context, name string) (string, error) {
	rows, _, err := d.rows(ctx, Effect, "rpm", "-q", "--qf", rpmFormat, "--whatprovides", name)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0].name, nil
}

// survey implements [surveyor]. A name with a dash and a version also finds a
// package of that version, so only rows with the very name count.
func (d rpmdb) survey(ctx context.Context, names []string, states map[string]State) error {
	rows, missed := map[string][]rpmRow{}, false
	exit, err := d.query(ctx, Effect, func(line string) {
		if name, ok := rpmMissing(line); ok {
			states[name], missed = State{}, true
		}
		if row, ok := parseRPMRow(line); ok && len(rows[row.name]) < maxVersions {
			rows[row.name] = append(rows[row.name], row)
		}
	}, append([]string{"rpm", "-q", "--qf", rpmFormat, "--"}, names...)...)
	switch {
	case err != nil:
		return err
	case exit.Code != 0 && !missed:
		return failure("rpm -q", exit, nil)
	}
	for _, name := range names {
		if list := rows[name]; len(list) == 1 {
			states[name] = State{Installed: true, Version: list[0].version}
		}
	}
	return nil
}

// rows runs a query and reads the lines it prints in [rpmFormat] or [dnfFormat].
func (d rpmdb) rows(ctx context.Context, reads modules.EffectKind, argv ...string) ([]rpmRow, modules.Exit, error) {
	var rows []rpmRow
	exit, err := d.query(ctx, reads, func(line string) {
		if row, ok := parseRPMRow(line); ok && len(rows) < maxVersions {
			rows = append(rows, row)
		}
	}, argv...)
	return rows, exit, err
}

// best picks the row that a name without architecture means, the newest of them.
func (d rpmdb) best(ctx context.Context, rows []rpmRow) (rpmRow, error) {
	best := rows[0]
	if len(rows) == 1 {
		return best, nil
	}
	exit, err := d.query(ctx, Effect, nil, "uname", "-m")
	if err != nil {
		return best, err
	}
	machine := strings.TrimSpace(exit.Stdout.Text)
	own := slices.DeleteFunc(slices.Clone(rows), func(r rpmRow) bool { return r.arch != machine && r.arch != "noarch" })
	if len(own) > 0 {
		rows = own
	}
	return newest(rows), nil
}

// newest is the row with the highest version.
func newest(rows []rpmRow) rpmRow {
	return slices.MaxFunc(rows, func(a, b rpmRow) int { return compareRPM(a.version, b.version) })
}

// The output formats of rpm and dnf: a line per package. dnf 4 adds a line end itself, so there are empty lines
// between.
const (
	rpmFormat = `%{NAME}\t%{EPOCHNUM}\t%{VERSION}\t%{RELEASE}\t%{ARCH}\n`
	dnfFormat = `%{name}\t%{epoch}\t%{version}\t%{release}\t%{arch}\n`
)

// An rpmRow is a package of one version and architecture.
type rpmRow struct {
	name    string
	version string // [epoch:]version-release, without an epoch that is 0
	arch    string
}

// rowOfRPM matches a name, an epoch or "(none)", a version, a release and an architecture. None of them can contain the
// separators of a version.
var rowOfRPM = lazily(`^([^\s]+)\t(\d*|\(none\))\t([^\s:-]+)\t([^\s:-]+)\t(\S*)$`)

// parseRPMRow reads a line. ok is false if it is not about an installed package, such as "package x is not installed".
func parseRPMRow(line string) (row rpmRow, ok bool) {
	m := rowOfRPM().FindStringSubmatch(line)
	if m == nil {
		return rpmRow{}, false
	}
	v := evr{epoch: m[2], version: m[3], release: m[4]}
	if number(v.epoch) == 0 {
		v.epoch = ""
	}
	return rpmRow{m[1], v.String(), m[5]}, true
}

// An evr is a version as rpm takes it apart. Epoch and release may be "".
type evr struct{ epoch, version, release string }

func parseEVR(text string) evr {
	var v evr
	if epoch, rest, ok := strings.Cut(text, ":"); ok {
		v.epoch, text = epoch, rest
	}
	v.version, v.release, _ = strings.Cut(text, "-")
	return v
}

func (v evr) String() string {
	text := v.version
	if v.epoch != "" {
		text = v.epoch + ":" + text
	}
	if v.release != "" {
		text += "-" + v.release
	}
	return text
}

var architecture = lazily(`\.(noarch|i[3-6]86|x86_64(_v[234])?|aarch64|armv[5-8]h?n?l|ppc64(le)?|s390x?|riscv64|loongarch64)$`)

// splitArch splits name.arch as dnf writes it.
func splitArch(name string) (base, arch string) {
	at := architecture().FindStringIndex(name)
	if at == nil {
		return name, ""
	}
	return name[:at[0]], name[at[0]+1:]
}

func (rpmdb) suffix() string { return ".rpm" }

// inFile implements [filer]. It does not check the signature: the checksum, or the play, vouches for the file.
func (d rpmdb) inFile(ctx context.Context, file string) (name, version string, err error) {
	rows, exit, err := d.rows(ctx, "", "rpm", "-qp", "--nosignature", "--qf", rpmFormat, "--", file)
	if len(rows) > 0 {
		name, version = rows[0].name, rows[0].version
	}
	return told("rpm -qp", name, version, exit, err)
}

// ownVersions are different versions of a package among rows, the highest first.
func ownVersions(rows []rpmRow, name string) []string {
	base, arch := splitArch(name)
	var all []string
	for _, r := range rows {
		if r.name == base && (arch == "" || r.arch == arch) {
			all = append(all, r.version)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return compareRPM(b, a) })
	return slices.Compact(all)
}

// rpmMissing reads the line of rpm about a package that is not installed.
func rpmMissing(line string) (name string, ok bool) {
	name, ok = strings.CutPrefix(line, "package ")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, " is not installed")
}
