package pkg

import (
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/pkg/brings"
	"github.com/ccm-push/ccm-push/modules/process"
)

var (
	errDNF   = errors.New("this program cannot look into packages of dnf5")
	errFlags = errors.New("dnf is set up to omit parts of packages")
)

// maxHeaderText bounds what rpm prints about installed packages, in bytes.
const maxHeaderText = 8 << 20

// dnfBringer is the [bringer] of dnf 4.
type dnfBringer struct{ dnf dnf }

// brought implements [bringer].
func (d dnfBringer) brought(ctx context.Context, p pending) ([]*brings.Package, []brings.Header, error) {
	if d.dnf.program == "dnf5" {
		return nil, nil, errDNF
	}
	settings, err := d.settings()
	if err != nil {
		return nil, nil, err
	}
	for _, flag := range settings.List("tsflags") {
		if slices.Contains([]string{"noscripts", "notriggers", "justdb", "test"}, flag) {
			return nil, nil, errFlags
		}
	}
	packages, err := d.offered(ctx, p)
	if err != nil || len(packages) == 0 {
		return nil, nil, errors.Join(err, errNotListed)
	}
	if err := d.replaced(ctx, p, packages); err != nil {
		return nil, nil, err
	}
	cache, err := brings.OpenParts(p.host.Private)
	if err != nil {
		return nil, nil, err
	}
	f := &brings.Fetcher{Proxy: settings.Proxy, Password: func(string) bool { return false }, Cache: cache}
	if err := f.LookRPM(ctx, p.looks, packages); err != nil {
		return nil, nil, err
	}
	installed, err := d.headers(ctx, "rpm", "-qa", "--qf", brings.RPMTriggers())
	return packages, installed, err
}

// spec implements [bringer].
func (dnfBringer) spec(i item) string { return dnfSpec(i) }

// offered returns the packages that come, with their files as the lists of dnf describe them.
func (d dnfBringer) offered(ctx context.Context, p pending) ([]*brings.Package, error) {
	var specs []string
	for _, c := range p.comes {
		specs = append(specs, dnfSpec(item{name: c.name, version: c.version}))
	}
	type offer struct {
		rpmRow
		file     brings.File
		location string // below its repository
	}
	offers := map[string][]*offer{}
	err := d.lines(ctx, func(line string) {
		fields := strings.Split(line, "\t")
		const columns = 9
		if len(fields) != columns {
			return
		}
		row, ok := parseRPMRow(strings.Join(fields[:5], "\t"))
		size, err := strconv.ParseInt(fields[6], 10, 64)
		if ok && err == nil && len(offers[row.name]) < maxVersions {
			offers[row.name] = append(offers[row.name], &offer{row, brings.File{Origin: fields[5], Size: size, Built: fields[7]}, fields[8]})
		}
	}, append([]string{"--qf", strings.TrimSuffix(dnfFormat, `\n`) + `\t%{reponame}\t%{downloadsize}\t%{buildtime}\t%{location}\n`}, specs...)...)
	if err != nil {
		return nil, err
	}
	var packages []*brings.Package
	var locations []string // of packages
	specs = nil
	for _, c := range p.comes {
		list := slices.DeleteFunc(offers[c.name], func(o *offer) bool { return o.version != c.version })
		delete(offers, c.name) // the same package for two architectures is not known
		if len(list) == 0 {
			return nil, errNotListed
		}
		var rows []rpmRow
		for _, o := range list {
			rows = append(rows, o.rpmRow)
		}
		best, err := d.dnf.best(ctx, rows)
		if err != nil {
			return nil, err
		}
		chosen := list[slices.IndexFunc(list, func(o *offer) bool { return o.rpmRow == best })]
		packages = append(packages, &brings.Package{Name: c.name, Version: c.version, File: chosen.file, Asked: p.has(c.name)})
		locations = append(locations, "/"+chosen.location)
		specs = append(specs, dnfSpec(item{name: c.name + "." + best.arch, version: c.version}))
	}
	err = d.lines(ctx, func(line string) {
		for i, at := range locations {
			if strings.HasSuffix(line, at) && packages[i].File.URI == "" {
				packages[i].File.URI = line
			}
		}
	}, append([]string{"--location"}, specs...)...)
	if slices.ContainsFunc(packages, func(is *brings.Package) bool { return is.File.URI == "" }) {
		err = errors.Join(err, errNotListed)
	}
	return packages, err
}

// lines runs a query about available packages, and passes on the lines of its answer.
func (d dnfBringer) lines(ctx context.Context, onLine func(string), arguments ...string) error {
	arguments = append([]string{"-q", "repoquery", "--available"}, arguments...)
	exit, err := d.dnf.ask(ctx, arguments, func(argv []string) (modules.Exit, error) {
		return d.dnf.query(ctx, d.dnf.offersKind(), onLine, argv...)
	})
	if err == nil && exit.Code != 0 {
		err = failure(d.dnf.program+" repoquery", exit, nil)
	}
	return err
}

// replaced notes the installed packages that this transaction removes or upgrades.
func (d dnfBringer) replaced(ctx context.Context, p pending, packages []*brings.Package) error {
	argv := []string{"rpm", "-q", "--qf", brings.RPMHeaders(), "--"}
	byName := map[string]*brings.Package{}
	for _, is := range packages {
		argv = append(argv, is.Name)
		byName[is.Name] = is
		is.Fresh = true
	}
	for _, c := range p.gone {
		argv = append(argv, c.name)
		byName[c.name] = packages[0]
	}
	headers, err := d.headers(ctx, argv...)
	for _, h := range headers {
		if is := byName[h.Name]; is != nil {
			is.Fresh = is.Fresh && h.Name != is.Name
			is.Former = append(is.Former, h.Control)
		}
	}
	return err
}

// headers returns the headers of installed packages. Missing packages have no header.
func (d dnfBringer) headers(ctx context.Context, argv ...string) ([]brings.Header, error) {
	exit, err := d.dnf.Probe(ctx, modules.Command{Argv: argv, Env: environment, Timeout: queryTimeout, MaxOutput: maxHeaderText, Reads: Effect})
	switch {
	case err != nil:
		return nil, err
	case exit.Stdout.Dropped > 0, strings.Contains(exit.Stderr.Text, "error:"):
		return nil, failure("rpm -q", exit, nil)
	}
	return brings.ParseHeaders(exit.Stdout.Text)
}

// maxSettings bounds a file of settings, in bytes.
const maxSettings = 1 << 20

// settings reads the settings of dnf and of its repositories.
func (d dnfBringer) settings() (brings.DNFSettings, error) {
	s := brings.DNFSettings{"main": {}}
	text, err := process.ReadText(d.dnf.files, "/etc/dnf/dnf.conf", maxSettings)
	if err != nil && !modules.NotThere(err) {
		return nil, err
	}
	s.Add(text)
	folders := s.List("reposdir")
	if len(folders) == 0 {
		folders = []string{"/etc/yum.repos.d", "/etc/yum/repos.d", "/etc/distro.repos.d"}
	}
	for _, dir := range folders {
		names, _ := d.dnf.files.List(dir)
		for _, name := range names {
			if path.Ext(name) != ".repo" {
				continue
			}
			text, err := process.ReadText(d.dnf.files, path.Join(dir, name), maxSettings)
			if err != nil {
				return nil, err
			}
			s.Add(text)
		}
	}
	return s, nil
}

// dnfSettings are the files that change what dnf chooses, and folders of such files.
var dnfSettings = lists{sources: []string{
	"/etc/dnf", "/etc/dnf/dnf.conf", "/etc/dnf/vars", "/etc/dnf/plugins", "/etc/dnf/modules.d", "/etc/yum", "/etc/yum/vars", "/etc/yum.repos.d", "/etc/yum/repos.d", "/etc/distro.repos.d",
}}
