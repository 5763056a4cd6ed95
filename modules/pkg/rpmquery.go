package pkg

import (
	"slices"
	"strings"
)

// What is asked of rpm and dnf: a line per package. dnf 4 ends a line by itself,
// which gives empty ones between.
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

// rowOfRPM is a name, an epoch or "(none)", a version, a release and an
// architecture, none of which can hold what stands between them in a version.
var rowOfRPM = lazily(`^([^\s]+)\t(\d*|\(none\))\t([^\s:-]+)\t([^\s:-]+)\t(\S*)$`)

// parseRPMRow reads a line. It is not ok if it is none of a package, such as
// "package x is not installed".
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

// versionsOf lists different versions for an error, a few of them.
func versionsOf(rows []rpmRow) []string {
	const enough = 5
	var list []string
	for _, r := range slices.Backward(rows) {
		if !slices.Contains(list, r.version) {
			list = append(list, r.version)
		}
		if len(list) == enough {
			return append(list, "…")
		}
	}
	return list
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
